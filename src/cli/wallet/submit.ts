/**
 * Sends a signed transaction to a node, and finds out whether the node has it. Sending the same signed transaction
 * again is safe, because a chain contains each transaction id at most once. Signing the payment again can be a second
 * payment. Therefore no error of this module lets the user believe that a transaction was not sent if the node may have
 * accepted it.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { NodeAsker } from '../ask-node.ts';
import { SEARCH_ORDER } from '../chain-query/pool-states.ts';

/** What the node says about a transaction that it has already. */
export interface KnownTransaction {
  /** Height of the block that contains the transaction; undefined if the transaction is only in the pool. */
  readonly height: number | undefined;
}

export interface Submission {
  /** Undefined if the node has just accepted the transaction. */
  readonly known: KnownTransaction | undefined;
}

/** HTTP status with which a node says that it did not accept the transaction. */
const NOT_ACCEPTED = 503;

/**
 * Sends the transaction. If the answer is lost, sends the same transaction a second time. If the node then refuses the
 * transaction because it has the transaction already, the first attempt has succeeded.
 *
 * @param isRepeated true if an earlier command may have sent the same signed transaction. In this case, it is also a
 *   success if the node has had the transaction before the first attempt.
 * @throws ProtocolError `TRANSACTION_UNCERTAIN` if the node may have accepted the transaction, but did not say so;
 *   otherwise errors of `NodeAsker.send`
 */
export async function submit(node: NodeAsker, id: string, json: unknown, isRepeated: boolean): Promise<Submission> {
  let lost: ProtocolError | undefined;
  for (;;) {
    try {
      await node.send('POST', 'transactions', json);
      return { known: undefined };
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      if (error.code === 'NODE_REFUSED') {
        if (!isRepeated && lost === undefined) throw error;
        const known = await knownTransaction(node, id);
        if (known === undefined) throw error;
        return { known };
      }
      const isLost = mayHaveArrived(error);
      if (lost === undefined && !isLost) throw error;
      if (lost !== undefined || error.data['isLate'] === true) throw uncertain(node, id, lost ?? error);
      lost = error;
    }
  }
}

/** True if the node may have accepted the transaction of a request that ended with this error. */
function mayHaveArrived({ code, data }: ProtocolError): boolean {
  if (code === 'NODE_UNREACHABLE') return data['isUnsent'] !== true;
  const status = Number(data['status']);
  return code === 'NODE_ANSWER_UNEXPECTED' && (status >= 500 || status < 300) && status !== NOT_ACCEPTED;
}

/** Returns undefined if the node has the transaction neither in a block nor in its pool, or if it does not answer. */
async function knownTransaction(node: NodeAsker, id: string): Promise<KnownTransaction | undefined> {
  try {
    const [confirmed] = await node.ask<{ height: number }[]>(`transactions?id=${id}`);
    if (confirmed !== undefined) return { height: confirmed.height };
    for (const queue of SEARCH_ORDER) {
      const [pooled] = await node.ask<unknown[]>(`node/transactions/${queue}?id=${id}`);
      if (pooled !== undefined) return { height: undefined };
    }
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
  }
  return undefined;
}

function uncertain({ base }: NodeAsker, id: string, cause: ProtocolError): ProtocolError {
  return new ProtocolError(
    'TRANSACTION_UNCERTAIN',
    { id, url: base },
    `the node may have accepted transaction ${id}, but its answer was lost (${String(cause.data['why'] ?? cause.message)}); do not sign it again: ` +
      `look it up with \`bloomery tx ${id}\`, or send the same signed transaction again with \`bloomery broadcast\``,
    { cause },
  );
}
