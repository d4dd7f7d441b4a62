/** `bloomery pool`: transactions that wait for a block at a node. */

import { nodeAsker } from '../ask-node.ts';
import { POOL_STATES, WAITS_FOR, type PoolStateName } from '../explore/pool-states.ts';
import { POOLED_TRANSACTIONS, type TransactionJson } from '../explore/shapes.ts';
import { deedOf, lsk } from '../explore/words.ts';
import type { PoolFlags } from '../flags.ts';
import { printJson, printLine, printLines } from '../output.ts';

/** @throws ProtocolError as asking does */
export async function pool({ node: url, limit, json }: PoolFlags): Promise<void> {
  const node = nodeAsker(url);
  const known = new Set<string>();
  const waiting: { readonly state: PoolStateName; readonly transaction: TransactionJson }[] = [];
  // A transaction that moves on meanwhile may be in two answers.
  for (const state of POOL_STATES) {
    const path = `node/transactions/${state}?sort=timestamp:asc&limit=${limit}`;
    for (const transaction of await node.ask<readonly TransactionJson[]>(path, POOLED_TRANSACTIONS)) {
      if (known.has(transaction.id)) continue;
      known.add(transaction.id);
      waiting.push({ state, transaction });
    }
  }
  if (json === true) printJson({ transactions: waiting.map(({ state, transaction }) => ({ state, ...transaction })) });
  else if (waiting.length === 0) printLine('no transaction waits');
  else printLines(waiting.map(({ state, transaction }) => lineOf(state, transaction)));
}

function lineOf(state: PoolStateName, transaction: TransactionJson): string {
  const { id, senderId, fee, signatures = [] } = transaction;
  const signed = state === 'pending' ? `, has ${signatures.length}` : '';
  return `${id.padEnd(20)}  ${senderId} ${deedOf(transaction)}, fee ${lsk(fee)}; waits ${WAITS_FOR[state]}${signed}`;
}
