/**
 * Amounts of transactions in beddows: the amount that a transaction moves, and the amount with which it counts in sums. The
 * network also counts some amounts that nobody signed.
 */

import { decimalOf, DecimalSum, ZERO, type Decimal } from '../../primitives/decimal.ts';
import type { Transaction } from '../types.ts';
import { member } from './json.ts';

/** Maximum of decimal digits that the reference accepts in an amount given as a number. */
const SIGNIFICANT_DIGITS_MAX = 15;

/** Beddows that a transaction moves besides its fee; 0 if it moves none. */
export function amountOf({ payload }: Pick<Transaction, 'payload'>): bigint {
  return 'amount' in payload ? payload.amount : 0n;
}

/** Total amount of a block with these transactions; undefined if the sum is no whole number of beddows. */
export function totalAmountOf(transactions: readonly Transaction[]): bigint | undefined {
  const total = new DecimalSum();
  for (const transaction of transactions) {
    const amount = countedAmount(transaction);
    if (amount === undefined) return undefined;
    addAmount(total, amount);
  }
  return total.integer();
}

/**
 * Amount of a transaction that counts in the total of its block, in the spending of its sender, and in the vote weights of its
 * sender's delegates. If a transaction moves no amount, this is a member of its asset that nobody signs, in any form that the
 * reference's number library reads.
 *
 * @returns undefined if the member is no number; no block may contain such a transaction
 */
export function countedAmount(transaction: Transaction): bigint | Decimal | undefined {
  const { payload, written } = transaction;
  if (written?.asset === undefined || 'amount' in payload) return amountOf(transaction);
  if (!unsigned.has(transaction)) {
    unsigned.set(transaction, decimalIn(member(JSON.parse(written.asset), 'amount')));
  }
  return unsigned.get(transaction);
}

/**
 * Caches these amounts. An asset may have megabytes, and its transaction is counted several times on its way into the chain.
 */
const unsigned = new WeakMap<Transaction, Decimal | undefined>();

/** True if the transaction counts in sums with an amount that it does not move. */
export function hasUnsignedAmount(transaction: Transaction): boolean {
  const amount = countedAmount(transaction);
  return transaction.written?.asset !== undefined && typeof amount !== 'bigint' && amount?.digits !== '';
}

export function addAmount(to: DecimalSum, amount: bigint | Decimal): void {
  if (typeof amount === 'bigint') to.addInteger(amount);
  else to.add(amount);
}

/**
 * Reads a member of a document as the reference's number library does. A missing or empty member is 0, and a list with one
 * number is that number.
 *
 * @returns undefined if it is no number, or a JSON number with more than 15 digits
 */
export function decimalIn(value: unknown): Decimal | undefined {
  if (!value) return ZERO;
  if (typeof value === 'number') {
    const text = String(value);
    const digits = text.replace(/e.*$/, '').replace(/^-/, '').replace('.', '').replace(/^0+/, '');
    return digits.length > SIGNIFICANT_DIGITS_MAX ? undefined : decimalOf(text);
  }
  if (typeof value === 'string') return decimalOf(value);
  return Array.isArray(value) ? decimalOf(textOfList(value)) : undefined;
}

/** The text of a list with a single element. The reference treats a list with a single element like this element. */
function textOfList(list: readonly unknown[]): string {
  let value: unknown = list;
  while (Array.isArray(value) && value.length === 1) [value] = value as readonly unknown[];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
