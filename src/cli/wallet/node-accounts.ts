/** The wallet's queries to a node, for accounts, delegates and transactions. */

import { setTimeout as sleep } from 'node:timers/promises';
import { isCanonicalHex } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { NodeAsker } from '../ask-node.ts';
import { createStepProgress } from '../progress.ts';

export interface AccountFacts {
  readonly balance: bigint;
  readonly secondPublicKey: string | undefined;
}

const POLL_MS = 500;
/**
 * Maximum time in milliseconds to wait until a block contains a transaction. The maximum is much longer than a slot of
 * the public networks. A transaction may wait in a pool longer than this maximum, and enter a block later.
 */
const WAIT_MS_MAX = 300_000;

/**
 * Returns the balance and the second public key of an account. An account that never received anything has a balance of
 * 0.
 */
export async function accountFacts(node: NodeAsker, address: string): Promise<AccountFacts> {
  const [account] = await node.ask<{ balance: string; secondPublicKey?: string }[]>(`accounts?address=${address}`);
  return {
    balance: BigInt(account?.balance ?? '0'),
    secondPublicKey: account?.secondPublicKey === '' ? undefined : account?.secondPublicKey,
  };
}

/**
 * Returns the public key of the delegate with the given name.
 *
 * @throws ProtocolError `DELEGATE_UNKNOWN`; errors of `NodeAsker.ask`
 */
export async function delegateKey(node: NodeAsker, name: string): Promise<string> {
  const found = await node.ask<{ account: { publicKey: string } }[]>(`delegates?username=${encodeURIComponent(name)}`);
  const publicKey = found[0]?.account.publicKey;
  if (publicKey !== undefined && isCanonicalHex(publicKey, 32)) return publicKey;
  throw new ProtocolError('DELEGATE_UNKNOWN', { name }, `no delegate \`${name}\` is registered on this network`);
}

/**
 * Waits until a block contains the transaction, and resolves with the height of this block.
 *
 * @throws ProtocolError `TRANSACTION_UNCONFIRMED` when no block has the transaction within five minutes; errors of
 *   `NodeAsker.ask`
 */
export async function heightOfTransaction(
  node: NodeAsker,
  id: string,
  flags: { readonly json?: true },
): Promise<number> {
  const progress = createStepProgress({ isQuiet: flags.json === true });
  try {
    return await waitForBlock(node, id, () => progress.show(`waiting for a block with transaction ${id}`));
  } finally {
    progress.end();
  }
}

async function waitForBlock(node: NodeAsker, id: string, onPoll: () => void): Promise<number> {
  const deadlineMs = Date.now() + WAIT_MS_MAX;
  while (Date.now() < deadlineMs) {
    const [transaction] = await node.ask<{ height: number }[]>(`transactions?id=${id}`);
    if (transaction !== undefined) return transaction.height;
    onPoll();
    await sleep(POLL_MS);
  }
  throw new ProtocolError(
    'TRANSACTION_UNCONFIRMED',
    { id },
    `transaction ${id} was accepted, but no block contains it after ${WAIT_MS_MAX / 1000} s: ask later with ` +
      `${node.base}/api/transactions?id=${id}`,
  );
}
