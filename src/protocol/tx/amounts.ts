/**
 * Computes two amounts of a transaction in beddows: the amount that the transaction states (`amountOf`), and the amount
 * that counts in block totals, spending and vote weights (`countedAmount`). The amounts differ only for registrations
 * (of a second key, a delegate, a group or an application) whose asset has the unknown member `amount`.
 */

import { decimalOf, DecimalSum, ZERO, type Decimal } from '../../primitives/decimal.ts';
import type { Transaction } from '../types.ts';
import { member } from './json.ts';

/** Maximum number of significant digits that lisk-sdk accepts in an amount given as a JSON number. */
const SIGNIFICANT_DIGITS_MAX = 15;

/**
 * Returns the amount in the payload of a transaction, in beddows; 0 if the payload has no amount. The amount does not
 * include the fee.
 */
export function amountOf({ payload }: Pick<Transaction, 'payload'>): bigint {
  return 'amount' in payload ? payload.amount : 0n;
}

/**
 * Returns the total amount of a block with these transactions: the sum of their counted amounts (`countedAmount`).
 * Returns undefined if a counted amount is not a number, or if the sum is not a whole number of beddows.
 */
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
 * Returns the counted amount of a transaction. The counted amount is added to the total of the block and to the
 * spending of the sender. The counted amount is subtracted from the vote weights of the delegates for whom the sender
 * votes. If an account receives the amount of the transaction, the counted amount is also added to the vote weights of
 * the delegates for whom this account votes. The payload of a registration has no member `amount`. The counted amount
 * of a registration is therefore the value of the unknown member `amount` in its asset. No signature covers this
 * member. If the asset does not have this member, the counted amount is 0. The value can have any form that lisk-sdk's
 * number library reads.
 *
 * @returns undefined if `decimalIn` cannot read the member; in this case, a block that contains the transaction is
 *   invalid
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
 * Caches the amounts that no signature covers. An asset can be megabytes long. Without the cache, the node would parse
 * the asset several times.
 */
const unsigned = new WeakMap<Transaction, Decimal | undefined>();

/**
 * Returns true if the asset has an unknown member `amount` whose value does not count as 0. No signature covers this
 * member. The result is also true for a value that is not a number.
 */
export function hasUnsignedAmount(transaction: Transaction): boolean {
  const amount = countedAmount(transaction);
  return transaction.written?.asset !== undefined && typeof amount !== 'bigint' && amount?.digits !== '';
}

export function addAmount(to: DecimalSum, amount: bigint | Decimal): void {
  if (typeof amount === 'bigint') to.addInteger(amount);
  else to.add(amount);
}

/**
 * Converts the value of a JSON member to a number as lisk-sdk's number library does. A missing member, `null`, `false`
 * and an empty text count as 0. A list with one number counts as that number.
 *
 * @returns undefined if the value is not a number, or is a JSON number with more than 15 significant digits
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

/**
 * If a list has a single element, and this element is a text or a number, the function returns the element as text. If
 * the single element is itself a list, the same rule applies to this inner list. For any other list, the result is an
 * empty text, which `decimalOf` refuses. The reference (lisk-sdk) reads a list with a single element like the element
 * itself.
 */
function textOfList(list: readonly unknown[]): string {
  let value: unknown = list;
  while (Array.isArray(value) && value.length === 1) [value] = value as readonly unknown[];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
