/**
 * Reads members of a block from JSON. Both generations use these functions. For a member of a wrong form, the functions
 * throw `BlockRejected`. The code of this error is `BLOCK_MALFORMED`, if the comment of the function names no other
 * code.
 */

import { isCanonicalHex, isU64Decimal } from '../../primitives/bytes.ts';
import { integerOf } from '../../primitives/decimal.ts';
import { decimalIn } from '../tx/amounts.ts';
import { member } from '../tx/json.ts';
import type { Transaction } from '../types.ts';
import { BlockRejected, TransactionRejected } from '../verdict.ts';

const U32_MAX = 0xffff_ffff;
const U64_MAX = 0xffff_ffff_ffff_ffffn;

/**
 * Maximum number of transactions in a received block. The member `transactionsPerBlockMax` of a `network.json` cannot
 * exceed this number. The limit bounds the work that a malicious list can cause.
 */
const TRANSACTIONS_MAX = 150;

/**
 * Maximum number of transactions in a genesis block. A genesis block can fund thousands of accounts, so this maximum is
 * high. The store has 16 bits for the position of a transaction in its block, so a block cannot have more than 65,536
 * transactions.
 */
export const GENESIS_TRANSACTIONS_MAX = 65_535;

/**
 * Reads the transactions of a block. If the member `transactions` is missing or falsy, the result is an empty list.
 *
 * @param transactionsMax maximum length of the list; a longer list is refused before any transaction is read
 * @throws BlockRejected `BLOCK_MALFORMED` if the member is not a list or is too long; `BLOCK_TRANSACTION_INVALID` if a
 *   transaction cannot be read
 */
export function readTransactions(
  json: unknown,
  transactionFromJson: (json: unknown) => Transaction,
  transactionsMax = TRANSACTIONS_MAX,
): Transaction[] {
  const list = member(json, 'transactions') || [];
  if (!Array.isArray(list)) throw malformed('transactions', 'should be array');
  if (list.length > transactionsMax) {
    throw malformed('transactions', `should NOT have more than ${transactionsMax} items`);
  }
  return list.map((each: unknown, index) => {
    try {
      return transactionFromJson(each);
    } catch (error) {
      if (!(error instanceof TransactionRejected)) throw error;
      const data = { index, reason: error.code };
      throw new BlockRejected('BLOCK_TRANSACTION_INVALID', error.message, data, error.errors);
    }
  });
}

/** Reads the id of the previous block. Returns undefined if the member is missing or null. */
export function readPreviousId(json: unknown, name: string): string | undefined {
  const id = member(json, name);
  if (id === undefined || id === null) return undefined;
  if (typeof id !== 'string' || !isU64Decimal(id) || id === '0') throw malformed(name, 'should match format "id"');
  return id;
}

/**
 * Reads a member that is an unsigned 32-bit integer in the bytes of a block.
 *
 * @param missing the result for a member that is missing or null; without this value, the function refuses the missing
 *   member
 * @throws BlockRejected `BLOCK_MALFORMED`
 */
export function readCount(json: unknown, name: string, missing?: number): number {
  const value = member(json, name) ?? missing;
  if (value === undefined) throw malformed(name, 'is required');
  if (typeof value !== 'number' || !Number.isInteger(value)) throw malformed(name, 'should be integer');
  if (value < 0 || value > U32_MAX) throw malformed(name, `should be >= 0 and <= ${U32_MAX}`);
  return value === 0 ? 0 : value;
}

/**
 * Reads an amount in beddows. The amount can be any text that lisk-sdk's number library reads as an unsigned 64-bit
 * integer (`+7`, ` 7.0`, `7e0`), because the block's bytes contain the number, not its text. The amount can also be a
 * JSON number up to 2^53 - 1, because some peers send numbers. The function reads a list with one element like the
 * element itself, as lisk-sdk's number library does. The function reads a missing amount, `null`, `false` and the empty
 * text as 0.
 *
 * @throws BlockRejected `BLOCK_MALFORMED`
 */
export function readTotal(json: unknown, name: string): bigint {
  const value = member(json, name);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  const number = decimalIn(value);
  const beddows = number === undefined ? undefined : integerOf(number);
  if (beddows === undefined || beddows < 0n || beddows > U64_MAX) {
    throw malformed(name, 'should be an amount in beddows');
  }
  return beddows;
}

/**
 * Reads the total of the amounts of a block's transactions. The signature of a registration (for example of a delegate)
 * does not cover the amount in the JSON of the registration (`countedAmount`), so this amount can have any size. The
 * function returns the same values as `readTotal`, but throws another error for a total that lisk-sdk cannot store. A
 * peer gets no penalty points for this error, because it is possible that an honest lisk-sdk node forges and sends a
 * block with such a total.
 *
 * @throws BlockRejected `BLOCK_UNSTORABLE` for such a total: `Infinity`, `NaN`, a positive fraction, or a number of
 *   more than 64 bits; `BLOCK_MALFORMED` for any other invalid total
 */
export function readOpenTotal(json: unknown, name: string): bigint {
  const value = member(json, name);
  const number = decimalIn(value);
  const beddows = number && integerOf(number);
  // The lisk-sdk number library writes `Infinity` or `NaN` for a sum of amounts, if the exponent of an amount is too
  // large for the library (`0e9999999999`).
  const isEndless = value === 'Infinity' || value === 'NaN';
  const isTooLarge = number !== undefined && !number.isNegative && (beddows === undefined || beddows > U64_MAX);
  if (!isEndless && !isTooLarge) return readTotal(json, name);
  throw new BlockRejected('BLOCK_UNSTORABLE', `'.${name}' should be a whole number of 64 bits`, { member: name });
}

/**
 * Reads hexadecimal text of a given number of bytes. The text can be in upper or lower case; the result is in lower
 * case.
 */
export function readHex(json: unknown, name: string, byteLength: number): string {
  const value = member(json, name);
  return readLowerHex({ [name]: typeof value === 'string' ? value.toLowerCase() : value }, name, byteLength);
}

/**
 * Reads lower-case hexadecimal text of a given number of bytes. The text must be in lower case, because lisk-sdk
 * compares the text with the lower-case text that it computes itself.
 */
export function readLowerHex(json: unknown, name: string, byteLength: number): string {
  const value = member(json, name);
  const text = typeof value === 'string' ? value : '';
  if (!isCanonicalHex(text, byteLength)) throw malformed(name, `should be ${byteLength} bytes in hexadecimal`);
  return text;
}

export function malformed(name: string, fault: string): BlockRejected {
  return new BlockRejected('BLOCK_MALFORMED', `'.${name}' ${fault}`, { member: name });
}
