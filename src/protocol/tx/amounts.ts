/** Beddows that transactions move, and those that they count for: the network counts some that nobody signed. */

import { decimalOf, DecimalSum, ZERO, type Decimal } from '../../primitives/decimal.ts';
import type { Transaction } from '../types.ts';
import { member } from './json.ts';

/** Decimal digits that the reference allows in an amount given as a number. */
const SIGNIFICANT_DIGITS_MAX = 15;

/** Beddows that a transaction moves beside its fee; 0 for those that move nothing. */
export function amountOf({ payload }: Pick<Transaction, 'payload'>): bigint {
  return 'amount' in payload ? payload.amount : 0n;
}

/** Total amount of a block of these transactions; undefined where their amounts give no whole number of beddows. */
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
 * Beddows that a transaction counts for in the total of its block, in what its sender spends and in what its sender's vote
 * loses. Of transactions that move nothing that is a member of the asset which nobody signs, in any form that the reference's
 * number library reads.
 *
 * @returns undefined for what is no number: no block can hold it
 */
export function countedAmount(transaction: Transaction): bigint | Decimal | undefined {
  const { payload, written } = transaction;
  if (written?.asset === undefined || 'amount' in payload) return amountOf(transaction);
  if (!unsigned.has(transaction)) {
    unsigned.set(transaction, decimalIn(member(JSON.parse(written.asset), 'amount')));
  }
  return unsigned.get(transaction);
}

/** An asset may be megabytes long, and its transaction is counted several times on its way into the chain. */
const unsigned = new WeakMap<Transaction, Decimal | undefined>();

/** True for a transaction that counts for an amount which it does not move. */
export function hasUnsignedAmount(transaction: Transaction): boolean {
  const amount = countedAmount(transaction);
  return transaction.written?.asset !== undefined && typeof amount !== 'bigint' && amount?.digits !== '';
}

export function addAmount(to: DecimalSum, amount: bigint | Decimal): void {
  if (typeof amount === 'bigint') to.addInteger(amount);
  else to.add(amount);
}

/**
 * The number that the reference's number library reads in a member of a document: missing and empty ones are 0, and a list of
 * one number is that number.
 *
 * @returns undefined for what is no number, and for numbers of JSON with more than 15 digits
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

/** What a list of one number is as text: the reference takes it for the number. */
function textOfList(list: readonly unknown[]): string {
  let value: unknown = list;
  while (Array.isArray(value) && value.length === 1) [value] = value as readonly unknown[];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
