/** Members of a block document, read with the same care by both generations. */

import { isCanonicalHex, isU64Decimal } from '../../primitives/bytes.ts';
import { integerOf } from '../../primitives/decimal.ts';
import { decimalIn } from '../tx/amounts.ts';
import { member } from '../tx/json.ts';
import type { Transaction } from '../types.ts';
import { BlockRejected, TransactionRejected } from '../verdict.ts';

const U32_MAX = 0xffff_ffff;
const U64_MAX = 0xffff_ffff_ffff_ffffn;

/** As many as any network may allow in a block: a rogue list costs little. */
const TRANSACTIONS_MAX = 150;

/** A genesis block is given, not received, and may fund thousands of accounts: positions in a block are 16 bits. */
export const GENESIS_TRANSACTIONS_MAX = 65_535;

/**
 * @param transactionsMax longer lists are refused unread
 * @throws BlockRejected `BLOCK_MALFORMED` or `BLOCK_TRANSACTION_INVALID`
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

/** Id of the previous block, undefined when there is none. */
export function readPreviousId(json: unknown, name: string): string | undefined {
  const id = member(json, name);
  if (id === undefined || id === null) return undefined;
  if (typeof id !== 'string' || !isU64Decimal(id) || id === '0') throw malformed(name, 'should match format "id"');
  return id;
}

/** A member that is written as four unsigned bytes. */
export function readCount(json: unknown, name: string, missing?: number): number {
  const value = member(json, name) ?? missing;
  if (value === undefined) throw malformed(name, 'is required');
  if (typeof value !== 'number' || !Number.isInteger(value)) throw malformed(name, 'should be integer');
  if (value < 0 || value > U32_MAX) throw malformed(name, `should be >= 0 and <= ${U32_MAX}`);
  return value === 0 ? 0 : value;
}

/**
 * Beddows in any text that the reference's number library reads (`+7`, ` 7.0`, `7e0`), as the bytes hold the number alone; or, as
 * some peers send them, as a number that is exact; or as a list of one, which the library reads like the one.
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
 * As `readTotal`, of a total for which amounts count that nobody signed.
 *
 * @throws BlockRejected `BLOCK_UNSTORABLE` for a number that has a fraction or more than 64 bits: real nodes forge such a block
 *   and pass it on before they fail to store it
 */
export function readOpenTotal(json: unknown, name: string): bigint {
  const value = member(json, name);
  const number = decimalIn(value);
  const beddows = number && integerOf(number);
  // What the reference's number library writes of a sum with a power beyond its own (`0e9999999999`).
  const isEndless = value === 'Infinity' || value === 'NaN';
  const isTooLarge = number !== undefined && !number.isNegative && (beddows === undefined || beddows > U64_MAX);
  if (!isEndless && !isTooLarge) return readTotal(json, name);
  throw new BlockRejected('BLOCK_UNSTORABLE', `'.${name}' should be a whole number of 64 bits`, { member: name });
}

/** Hexadecimal text of so many bytes in either letter case, as lower case. */
export function readHex(json: unknown, name: string, byteLength: number): string {
  const value = member(json, name);
  return readLowerHex({ [name]: typeof value === 'string' ? value.toLowerCase() : value }, name, byteLength);
}

/** Lower-case hexadecimal text of so many bytes: what the reference compares with a text of its own making. */
export function readLowerHex(json: unknown, name: string, byteLength: number): string {
  const value = member(json, name);
  const text = typeof value === 'string' ? value : '';
  if (!isCanonicalHex(text, byteLength)) throw malformed(name, `should be ${byteLength} bytes in hexadecimal`);
  return text;
}

export function malformed(name: string, fault: string): BlockRejected {
  return new BlockRejected('BLOCK_MALFORMED', `'.${name}' ${fault}`, { member: name });
}
