/** The balance of an account over time, reckoned back from its present one through its transactions. */

import type { Transaction } from './answers.ts';

export interface BalanceStep {
  /** Whole seconds since the epoch of the network. */
  readonly timestamp: number;
  /** After all transactions of that second. */
  readonly beddows: bigint;
}

/**
 * @param balance present one, in beddows as text
 * @param transactions of the account, newest first and without a gap; where older ones are missing the steps begin with the oldest
 * @returns oldest first. What forging brought is in no transaction: for an account that forged the steps are wrong
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
    // A transaction of genesis has the epoch as its time, years before the network began.
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
