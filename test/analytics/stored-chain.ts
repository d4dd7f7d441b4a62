/**
 * Copies the chain in the store of a node to a sink, and compares the sink with the store. The chain is too long to
 * compare every row. Instead, `fillFromStore` compares four values of each range of heights: the number of
 * transactions, the sum of their amounts, the sum of their fees, and the XOR of their ids. `fillFromStore` also
 * compares the balance of each account.
 */

import { createQueries } from '../../src/store/query/queries.ts';
import { openStoreSource } from '../../src/node/sink-source.ts';
import { openIndexedSnapshot, type ChainLocation } from '../../src/node/chain-tool.ts';
import { amountOf } from '../../src/protocol/tx/amounts.ts';
import { runSink } from '../../src/sinks/run.ts';
import type { StoredChain } from '../../src/store/chain/chain-store.ts';
import type { Answers, Engine } from './engines.ts';

export interface StoredChainReport {
  readonly blocks: number;
  readonly transactions: number;
  readonly ranges: number;
  readonly accounts: number;
  /** Duration of the run of the sink, including its reads of the store. */
  readonly fillMs: number;
  /**
   * Differences between the store and the sink: one text for each range of heights whose transactions differ, one text
   * for each account whose balance differs, and one text if the number of accounts differs.
   */
  readonly differences: readonly string[];
}

/** Number of heights in a range of the sink and in a range of the comparison. */
const RANGE_BLOCKS = 1_000;
/**
 * In generation 2, the source of the sink reports this number of newest blocks as not final, so that the sink has a
 * tail (blocks that the node can still revert).
 */
const DEPTH = 202;

export async function fillFromStore(engine: Engine, place: ChainLocation): Promise<StoredChainReport> {
  const startedMs = performance.now();
  const source = openStoreSource(place, { depth: DEPTH, pollMs: 10 });
  const sink = engine.open();
  const { signal } = new AbortController();
  await runSink({ source, sink, rangeBlocks: RANGE_BLOCKS, signal, follows: false });
  await sink.end();
  await source.close();
  const fillMs = Math.round(performance.now() - startedMs);
  const { store, rules } = await openIndexedSnapshot(place);
  const answers = await engine.ask();
  try {
    const { sums, transactions } = rangesOf(store);
    const query = { limit: 1, offset: 0, sort: { field: 'balance', direction: 'desc' } } as const;
    const { total: accounts } = await createQueries(store, rules.params).accounts(query);
    const differences = [
      ...(await differentRanges(answers, sums)),
      ...(await differentBalances(answers, store, accounts)),
    ];
    return { blocks: store.tip()?.height ?? 0, transactions, ranges: sums.length, accounts, fillMs, differences };
  } finally {
    await answers.close();
    await store.close();
  }
}

/**
 * Returns the total number of transactions in the store. Also returns, for each range of heights, a text with the
 * number of transactions, the sum of their amounts, the sum of their fees, and the XOR of their ids.
 */
function rangesOf(store: StoredChain): { readonly sums: readonly string[]; readonly transactions: number } {
  const sums: string[] = [];
  let transactions = 0;
  const height = store.tip()?.height ?? 0;
  for (let from = 1; from <= height; from += RANGE_BLOCKS) {
    let [count, amount, fees, ids] = [0, 0n, 0n, 0n];
    for (let at = from; at < Math.min(from + RANGE_BLOCKS, height + 1); at += 1) {
      for (const transaction of store.block(at)?.transactions ?? []) {
        count += 1;
        amount += amountOf(transaction);
        fees += transaction.fee;
        ids ^= BigInt(transaction.id);
      }
    }
    transactions += count;
    sums.push(`${count} ${amount} ${fees} ${ids}`);
  }
  return { sums, transactions };
}

async function differentRanges(answers: Answers, sums: readonly string[]): Promise<readonly string[]> {
  const rows = (await answers.rows(
    `SELECT intDiv(height - 1, ${RANGE_BLOCKS}) AS part, count() AS transactions, sum(amount) AS amount, sum(fee) AS fees, ` +
      'groupBitXor(id) AS ids FROM transactions GROUP BY part ORDER BY part',
  )) as readonly Readonly<Record<'part' | 'transactions' | 'amount' | 'fees' | 'ids', string | number>>[];
  const found = new Map(
    rows.map(({ part, transactions, amount, fees, ids }) => [Number(part), `${transactions} ${amount} ${fees} ${ids}`]),
  );
  const empty = '0 0 0 0';
  return sums.flatMap((sum, part) =>
    (found.get(part) ?? empty) === sum ? [] : [`range ${part}: ${found.get(part) ?? empty}, the node has ${sum}`],
  );
}

async function differentBalances(answers: Answers, store: StoredChain, accounts: number): Promise<readonly string[]> {
  const rows = (await answers.rows(
    'SELECT address, sum(amount) AS balance FROM balance_changes GROUP BY address',
  )) as readonly { readonly address: string; readonly balance: string }[];
  const differences = rows.flatMap(({ address, balance }) => {
    const held = store.account(address)?.balance;
    return held === BigInt(balance) ? [] : [`${address}: ${balance}, the node has ${held ?? 'no account'}`];
  });
  return rows.length === accounts ? differences : [...differences, `${rows.length} accounts of ${accounts}`];
}
