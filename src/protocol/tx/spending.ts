/**
 * Checks the spending rule: the balance of a sender before a batch of transactions must cover the total of the amounts
 * and fees of the sender's transactions in the batch.
 */

import type { StateReader } from '../state.ts';
import type { Address, Transaction } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { DecimalSum } from '../../primitives/decimal.ts';
import { addAmount, countedAmount } from './amounts.ts';

const NONE: ReadonlyMap<Transaction, TransactionError> = new Map<Transaction, TransactionError>();

/**
 * Adds up the spending of each sender, in the order of the batch. If a transaction would raise the total spending of
 * its sender above the sender's balance, the function returns an error for this transaction. The function also returns
 * an error for each transaction whose counted amount (`countedAmount`) is not a number. The errors are in the order of
 * the batch. As in lisk-sdk, the function skips a sender that has only one transaction in the batch, because applying
 * the transaction checks the balance of its sender. A transaction that gets an error is not counted in the total of its
 * sender.
 */
export function spendingErrors(
  state: StateReader,
  transactions: readonly Transaction[],
): ReadonlyMap<Transaction, TransactionError> {
  const counts = new Map<Address, number>();
  for (const { senderId } of transactions) counts.set(senderId, (counts.get(senderId) ?? 0) + 1);
  if (counts.size === transactions.length) return NONE;
  const spent = new Map<Address, DecimalSum>();
  const errors = new Map<Transaction, TransactionError>();
  for (const transaction of transactions) {
    const { senderId } = transaction;
    if ((counts.get(senderId) ?? 0) < 2) continue;
    const balance = state.account(senderId)?.balance ?? 0n;
    const amount = countedAmount(transaction);
    if (amount === undefined) {
      errors.set(transaction, transactionError(transaction.id, 'Unknown member is not an amount', '.asset.amount'));
      continue;
    }
    const spending = spent.get(senderId) ?? new DecimalSum();
    const before = spending.copy();
    addAmount(spending, amount);
    spending.addInteger(transaction.fee);
    const lack = spending.copy();
    lack.addInteger(-balance);
    if (lack.sign() <= 0) {
      spent.set(senderId, spending);
      continue;
    }
    spent.set(senderId, before);
    const text = spending.integer() ?? 'no whole number';
    const message = `Account does not have enough LSK for total spending. balance: ${balance}, spending: ${text}`;
    errors.set(transaction, transactionError(transaction.id, message, '.amount'));
  }
  return errors;
}
