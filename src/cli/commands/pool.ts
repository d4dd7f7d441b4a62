/** `bloomery pool`: lists the transactions in the pool of a node. */

import { POOL_STATES, SEARCH_ORDER, WAITS_FOR, type PoolStateName } from '../chain-query/pool-states.ts';
import { POOLED_TRANSACTIONS, type TransactionJson } from '../chain-query/shapes.ts';
import { askSource, type Source } from '../chain-query/chain-source.ts';
import { descriptionOf, lsk } from '../chain-query/format-rows.ts';
import type { LimitFlags } from '../flags.ts';
import { printJson, printLine, printLines } from '../output.ts';
import { tableLines, type Column } from '../table.ts';

interface Waiting {
  readonly state: PoolStateName;
  readonly transaction: TransactionJson;
}

/** @throws ProtocolError in the same cases as `askSource` and `Source.ask` */
export async function pool(flags: LimitFlags): Promise<void> {
  const waiting = await askSource(flags, (source) => waitingAt(source, flags.limit));
  if (flags.json === true)
    printJson({ transactions: waiting.map(({ state, transaction }) => ({ state, ...transaction })) });
  else if (waiting.length === 0) printLine('no transaction waits');
  else printLines(tableLines(COLUMNS, waiting));
}

async function waitingAt(source: Source, limit: number): Promise<readonly Waiting[]> {
  const waiting = new Map<string, Waiting>();
  for (const state of SEARCH_ORDER) {
    const path = `node/transactions/${state}?sort=timestamp:asc&limit=${limit}`;
    // A transaction that moves to another queue between two requests can be in both answers of the node. In this case,
    // the state from the later answer replaces the state from the earlier answer.
    for (const transaction of await source.ask<readonly TransactionJson[]>(path, POOLED_TRANSACTIONS))
      waiting.set(transaction.id, { state, transaction });
  }
  return POOL_STATES.flatMap((listed) => [...waiting.values()].filter(({ state }) => state === listed));
}

const COLUMNS: readonly Column<Waiting>[] = [
  { heading: 'transaction', of: ({ transaction }) => transaction.id },
  { heading: 'waits', of: waitsFor },
  { heading: 'fee', of: ({ transaction }) => lsk(transaction.fee), isNumber: true },
  { heading: 'sender', of: ({ transaction }) => transaction.senderId },
  { heading: 'does', of: ({ transaction }) => descriptionOf(transaction) },
];

function waitsFor({ state, transaction: { signatures = [] } }: Waiting): string {
  return state === 'pending' ? `${WAITS_FOR[state]}, has ${signatures.length}` : WAITS_FOR[state];
}
