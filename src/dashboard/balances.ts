/** Computes the balance of an account over time from its present balance and its transactions. */

import type { Transaction } from './answers.ts';

export interface BalanceStep {
  /** Time of the balance, in whole seconds since the epoch of the network. */
  readonly timestamp: number;
  /** Balance after all transactions whose timestamp is at most `timestamp`. */
  readonly beddows: bigint;
}

/**
 * @param balance present balance, in beddows as decimal digits
 * @param transactions transactions of the account, newest first and without a gap; if older transactions are missing,
 *   the steps begin with the oldest given transaction
 * @returns the steps, oldest first. Earnings from forging are in no transaction, so the steps of an account that forged
 *   are wrong
 */
export function balanceSteps(
  address: string,
  balance: string,
  transactions: readonly Pick<Transaction, 'timestamp' | 'senderId' | 'recipientId' | 'amount' | 'fee' | 'height'>[],
): readonly BalanceStep[] {
  const steps: BalanceStep[] = [];
  let after = BigInt(balance);
  for (const transaction of transactions) {
    const { timestamp, height } = transaction;
    // Transactions of the genesis block make no step. Their time is the epoch, which can be years before the first
    // forged block. A step at the epoch would therefore make the other steps too narrow in the chart.
    if (height !== 1 && steps.at(-1)?.timestamp !== timestamp) steps.push({ timestamp, beddows: after });
    after -= effectOn(address, transaction);
  }
  return steps.reverse();
}

function effectOn(
  address: string,
  { senderId, recipientId, amount, fee }: Pick<Transaction, 'senderId' | 'recipientId' | 'amount' | 'fee'>,
): bigint {
  const received = recipientId === address ? BigInt(amount) : 0n;
  return senderId === address ? received - BigInt(amount) - BigInt(fee) : received;
}
