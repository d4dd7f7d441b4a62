/** The wallet's queries to a node, for accounts, delegates and transactions. */

import { setTimeout as sleep } from 'node:timers/promises';
import { isCanonicalHex } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { NodeAsker } from '../ask-node.ts';
import { printStderr } from '../output.ts';
import { createStepProgress } from '../progress.ts';
import { isTransient } from '../sink/node-retry.ts';

export interface AccountFacts {
  readonly balance: bigint;
  readonly secondPublicKey: string | undefined;
}

export interface Group {
  /** Number of members that must sign. */
  readonly min: number;
  readonly members: readonly unknown[];
}

const POLL_MS = 500;
/**
 * Maximum time in milliseconds to wait until a block contains a transaction. The maximum is much longer than a slot of
 * the public networks. A transaction can wait in a pool longer than this maximum, and enter a block later.
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
 * Returns the multisignature group of an account; undefined if the account has none, or if the node does not answer the
 * query. The wallet needs the group only for a hint.
 */
export async function groupOf(node: NodeAsker, address: string): Promise<Group | undefined> {
  try {
    const [group] = await node.ask<readonly Group[]>(`accounts/${address}/multisignature_groups`);
    return Array.isArray(group?.members) ? group : undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
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
 * Waits until a block contains the transaction, and resolves with the height of this block. The function first prints
 * to the standard error output what the node has accepted, because the user can end the command during the wait. The
 * wait continues while the node does not answer.
 *
 * @param accepted what the node has accepted: the transaction, or a member's signature for the transaction
 * @throws ProtocolError `TRANSACTION_UNCONFIRMED` when no block has the transaction within five minutes, or when the
 *   node refuses to look up the transaction
 */
export async function heightOfTransaction(
  node: NodeAsker,
  id: string,
  accepted: string,
  flags: { readonly json?: true },
): Promise<number> {
  printStderr(`${accepted}: accepted by ${node.base}; waiting for a block with the transaction`);
  const progress = createStepProgress({ isQuiet: flags.json === true });
  try {
    return await waitForBlock(node, id, accepted, (failure) => {
      const doubt = failure === undefined ? '' : ', but the node does not answer';
      progress.show(`waiting for a block with transaction ${id}${doubt}`);
    });
  } finally {
    progress.end();
  }
}

async function waitForBlock(
  node: NodeAsker,
  id: string,
  accepted: string,
  onPoll: (failure: ProtocolError | undefined) => void,
): Promise<number> {
  const deadlineMs = Date.now() + WAIT_MS_MAX;
  let failure: ProtocolError | undefined;
  while (Date.now() < deadlineMs) {
    try {
      const [transaction] = await node.ask<{ height: number }[]>(`transactions?id=${id}`);
      if (transaction !== undefined) return transaction.height;
      failure = undefined;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      failure = error;
      // While a node starts again, a proxy in front of the node can answer with other status codes than the node.
      const mayAnswerLater = isTransient(error) || Number(error.data['status']) >= 500;
      if (!mayAnswerLater)
        throw unconfirmed(id, `${accepted} was accepted: do not send it again; ${error.message}`, error);
    }
    onPoll(failure);
    await sleep(POLL_MS);
  }
  const doubt = failure === undefined ? '' : ` (${failure.message})`;
  const later = `ask later with ${node.base}/api/transactions?id=${id}`;
  throw unconfirmed(
    id,
    `${accepted} was accepted, but no block contains the transaction after ${WAIT_MS_MAX / 1000} s${doubt}: ${later}`,
    failure,
  );
}

function unconfirmed(id: string, message: string, cause: ProtocolError | undefined): ProtocolError {
  return new ProtocolError('TRANSACTION_UNCONFIRMED', { id }, message, { cause });
}
