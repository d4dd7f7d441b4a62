/** Tests the answers of processes that read a store while another process writes this store. */

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';

import { TRANSACTION_SORTS, type TransactionQuery } from '../../../src/ports/queries.ts';
import { openChainStore } from '../../../src/store/chain/open.ts';
import type { StoredChain } from '../../../src/store/chain/stored-chain.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { fc } from '../../support/fast-check.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { temporaryFolder } from '../backends.ts';
import { build, direction, page, request, type World } from '../model.ts';
import { ADDRESSES } from '../model.ts';
import { Dice, nextStep } from '../world.ts';
import type { LookRequest, SnapshotAnswers } from './looking-reader.ts';
import { filters, fitsTransaction, SORTED_BY } from './plain-transactions.ts';

const PROGRAM = fileURLToPath(new URL('./looking-reader.js', import.meta.url));
/** Number of random chains. For each chain, each of two readers answers `QUERIES` queries. */
const CHAINS = Number(process.env['CHAINS_LOOKED_AT'] ?? 2);
const QUERIES = 25;
const READERS = 2;

const query = fc
  .record({ ...request, filters, sort: fc.record({ field: fc.constantFrom(...TRANSACTION_SORTS), direction }) })
  .map(({ filters: wanted, ...rest }) => ({ ...wanted, ...rest }) as TransactionQuery);

/**
 * The keys are the ids of all tips of the store so far. The value of a tip contains the blocks and the accounts of the
 * chain that ends with this tip.
 */
type Worlds = Map<string, Pick<World, 'blocks' | 'accounts'>>;

/** Reverts up to four blocks, and then appends up to two random blocks, in one transaction of the store. */
function step(store: StoredChain, dice: Dice, worlds: Worlds): void {
  const blocks = [...(worlds.get(store.tip()?.id ?? '')?.blocks ?? [])];
  store.transact((writer) => {
    const reverted = dice.chance(40) ? dice.below(Math.min(5, blocks.length)) : 0;
    for (let count = 0; count < reverted; count += 1) {
      writer.revert();
      blocks.pop();
    }
    for (let count = dice.below(3); count > 0; count -= 1) {
      const { block, apply } = nextStep(dice, writer.tip());
      writer.append(block, apply);
      blocks.push(block);
    }
  });
  keep(store, blocks, worlds);
}

function keep(store: StoredChain, blocks: World['blocks'], worlds: Worlds): void {
  const accounts = ADDRESSES.map((address) => store.account(address)).filter((account) => account !== undefined);
  worlds.set(blocks.at(-1)?.id ?? '', { blocks, accounts });
}

/** Sends the queries to a reader one after another. Throws an error if the reader ends before its last answer. */
async function askAll(reader: ChildProcess, queries: readonly TransactionQuery[]): Promise<readonly SnapshotAnswers[]> {
  const answers: SnapshotAnswers[] = [];
  const ended = once(reader, 'exit').then(([code]) => {
    throw new Error(`a reader ended with code ${code}; its error is on standard error`);
  });
  ended.catch(() => undefined);
  for (const [at, each] of queries.entries()) {
    reader.send({ at, query: each } satisfies LookRequest);
    const [answer] = (await Promise.race([once(reader, 'message'), ended])) as [SnapshotAnswers];
    answers.push(answer);
  }
  return answers;
}

function compare(t: ExecutionContext, answer: SnapshotAnswers, asked: TransactionQuery, worlds: Worlds): void {
  const world = worlds.get(answer.tipId);
  if (world === undefined) return t.fail(`no chain had the tip ${answer.tipId}`);
  const all = world.blocks.flatMap((block) =>
    block.transactions.map((transaction, index) => ({ transaction, block, order: block.height * 100 + index })),
  );
  const matches = all.filter(({ transaction, block }) => fitsTransaction(asked, world, transaction, block));
  const { field, direction: towards } = asked.sort;
  const cut = (limit: number, offset: number): readonly string[] =>
    page(
      matches,
      ({ transaction }) => SORTED_BY[field](transaction),
      towards,
      (a, b) => a.order - b.order,
      { limit, offset },
    ).items.map(({ transaction }) => transaction.id);
  const { page: found, total, walk, count } = answer;
  t.deepEqual(
    { found, total, walk, count },
    {
      found: cut(asked.limit, asked.offset),
      total: matches.length,
      walk: cut(matches.length, 0),
      count: all.length,
    },
    `${JSON.stringify(asked, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))} at ${answer.tipId}`,
  );
}

test('each answer of two processes belongs to one height, whatever is appended and reverted meanwhile', async (t) => {
  let moments = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.constantFrom(1, 4, 256),
      fc.array(query, { minLength: QUERIES, maxLength: QUERIES }),
      async (seed, shortListMax, queries) => {
        const directory = temporaryFolder();
        const store = await openChainStore({ directory, codec: FAKE_CODEC, params: paramsWith(), shortListMax });
        const worlds: Worlds = new Map();
        const dice = new Dice(seed);
        keep(store, build(store, dice, 20).blocks, worlds);
        const readers = Array.from({ length: READERS }, () =>
          fork(PROGRAM, [directory, String(shortListMax)], { serialization: 'advanced' }),
        );
        try {
          const progress = { isOver: false };
          const asking = Promise.all(readers.map((reader) => askAll(reader, queries))).finally(
            () => (progress.isOver = true),
          );
          while (!progress.isOver) {
            step(store, dice, worlds);
            await new Promise((resolve) => setImmediate(resolve));
          }
          for (const answers of await asking) {
            for (const answer of answers) compare(t, answer, queries[answer.at] as TransactionQuery, worlds);
            moments += new Set(answers.map(({ tipId }) => tipId)).size;
          }
        } finally {
          for (const reader of readers) reader.kill('SIGKILL');
          await store.close();
          rmSync(directory, { recursive: true });
        }
      },
    ),
    { numRuns: CHAINS },
  );
  // If the answers contained fewer different tips than this, the store would hardly have changed during the reads.
  t.true(moments > CHAINS * READERS * 3, `${moments} moments`);
});
