import test from 'ava';
import { rmSync } from 'node:fs';
import { fc } from '../../support/fast-check.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { BACKENDS, dump, temporaryFolder, withStore, type Backend } from '../backends.ts';
import { Dice, nextStep, type Step } from '../world.ts';
import type { StoredChain } from '../../../src/store/chain/stored-chain.ts';
import { CountedKeySets } from '../../../src/store/index/counted-key-sets.ts';
import { readIndexWatermark, writeIndexWatermark } from '../../../src/store/index/index-watermark.ts';
import { META_INDEX_WATERMARK, TABLES } from '../../../src/store/tables/layout.ts';
import { openLmdb } from '../../../src/store/disk/lmdb.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { chainStoreOver } from '../../../src/store/chain/open.ts';

const OPTIONS = { codec: FAKE_CODEC, params: paramsWith(), shortListMax: 4 };

/**
 * An event of the property test: one action on the stores that the test compares. The store `prompt` writes its index
 * entries with each block. The store `deferred` writes them later while its indexing is deferred. Both stores get the
 * events `append`, `fail` and `revert`. Only `deferred` gets the other events.
 */
const event = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      seed: fc.nat(),
      blocks: fc.integer({ min: 1, max: 6 }),
    }),
  },
  fc.record({ kind: fc.constant('fail' as const), seed: fc.nat(), reverts: fc.boolean() }),
  fc.record({ kind: fc.constant('revert' as const), blocks: fc.integer({ min: 1, max: 2 }) }),
  // In this event, the store writes missing index entries (a backfill). The test stops the backfill after `steps`
  // database transactions, unless the backfill needs fewer database transactions.
  fc.record({
    kind: fc.constant('backfill' as const),
    steps: fc.oneof(fc.nat(12), fc.constant(Infinity)),
    transactionsMax: fc.constantFrom(1, 5, 1000),
  }),
  fc.record({ kind: fc.constant('reopen' as const), postpones: fc.boolean() }),
  fc.constantFrom({ kind: 'defer' as const }, { kind: 'resume' as const }),
);

for (const backend of BACKENDS) {
  test(`${backend}: deferred indexes equal those written per block, whatever happens before their write`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 2, maxLength: 12 }), async (events) => {
        await withStore('memory', async (prompt) => {
          const deferred = new Reopened(backend);
          try {
            let isDeferring = true;
            deferred.store.deferIndexing();
            const ids: string[] = [];
            for (const each of events) {
              switch (each.kind) {
                case 'append': {
                  const steps = append(prompt, new Dice(each.seed), each.blocks);
                  deferred.store.transact((writer) => {
                    for (const { block, apply } of steps) writer.append(block, apply);
                  });
                  for (const { block } of steps) ids.push(...block.transactions.map(({ id }) => id));
                  if (!isDeferring) t.is(deferred.store.indexLag, 0);
                  break;
                }
                case 'fail':
                  for (const store of [prompt, deferred.store])
                    t.throws(() => fail(store, each.seed, each.reverts), { message: 'bad' });
                  break;
                case 'revert': {
                  const blocks = Math.min(each.blocks, (prompt.tip()?.height ?? 0) - 1);
                  for (const store of [prompt, deferred.store]) {
                    store.transact((writer) => {
                      for (let i = 0; i < blocks; i += 1) writer.revert();
                    });
                  }
                  break;
                }
                case 'backfill': {
                  let left = each.steps;
                  if (left === 0) break;
                  const limits = { pagesMax: 1, transactionsMax: each.transactionsMax };
                  for (const _ of deferred.store.backfill(limits)) if ((left -= 1) <= 0) break;
                  break;
                }
                case 'reopen':
                  await deferred.reopen();
                  isDeferring = each.postpones;
                  if (isDeferring) deferred.store.deferIndexing();
                  break;
                case 'defer':
                  isDeferring = true;
                  deferred.store.deferIndexing();
                  break;
                case 'resume':
                  isDeferring = false;
                  deferred.store.resumeIndexing();
              }
              t.is(deferred.store.stateDigest(), prompt.stateDigest());
              for (const id of ids) t.deepEqual(deferred.store.transactionPlace(id), prompt.transactionPlace(id));
            }
            for (const _ of deferred.store.backfill({ pagesMax: 1 })) continue;
            t.is(deferred.store.indexLag, 0);
            t.deepEqual(dump(deferred.store), dump(prompt));
            const { tables } = deferred.store;
            t.is(tables instanceof CountedKeySets ? tables.wrongBlock() : 'none', undefined);
          } finally {
            await deferred.end();
          }
        });
      }),
      { numRuns: backend === 'memory' ? 150 : 15 },
    );
  });
}

test('a store with lagging indexes reports so at each open, until the backfill', async (t) => {
  const keyValue = new MemoryKeyValue();
  const store = chainStoreOver(keyValue, OPTIONS, 'memory');
  append(store, new Dice(1), 3);
  store.deferIndexing();
  t.is(store.indexLag, 0);
  t.is(readIndexWatermark(keyValue), undefined);
  const steps = append(store, new Dice(2), 4);
  const transactions = steps.flatMap(({ block }) => block.transactions);
  const lacking = steps.findIndex(({ block }) => block.transactions.length > 0);
  t.true(lacking >= 0);
  t.is(readIndexWatermark(keyValue), 3 + lacking);
  t.is(store.indexLag, 4 - lacking + transactions.length);
  for (const other of [store, store.snapshot(), chainStoreOver(keyValue, OPTIONS, 'memory')]) {
    t.is(other.indexLag, store.indexLag);
    t.true(transactions.every(({ id }) => other.hasTransaction(id)));
    t.false(other.hasTransaction('1'));
  }
  for (const _ of store.backfill()) continue;
  t.is(readIndexWatermark(keyValue), undefined);
  t.is(store.indexLag, 0);
  t.true(transactions.every(({ id }) => store.hasTransaction(id)));
});

test('a transaction without blocks between the steps of a backfill writes no index entry, and ends no backfill', (t) => {
  const [prompt, deferred] = [0, 1].map(() => chainStoreOver(new MemoryKeyValue(), OPTIONS, 'memory')) as [
    StoredChain,
    StoredChain,
  ];
  deferred.deferIndexing();
  for (const store of [prompt, deferred]) append(store, new Dice(3), 8);
  deferred.resumeIndexing();
  let steps = 0;
  for (const _ of deferred.backfill({ pagesMax: 1 })) {
    steps += 1;
    deferred.transact((writer) => writer.setNote('peers/book', undefined));
  }
  t.true(steps > 2, `${steps}`);
  t.is(deferred.indexLag, 0);
  t.deepEqual(dump(deferred), dump(prompt));
});

test('after the end of a deferral, the next transaction completes the indexes, even without a block', (t) => {
  const [prompt, deferred] = [0, 1].map(() => chainStoreOver(new MemoryKeyValue(), OPTIONS, 'memory')) as [
    StoredChain,
    StoredChain,
  ];
  deferred.deferIndexing();
  for (const store of [prompt, deferred]) append(store, new Dice(3), 8);
  t.true(deferred.indexLag > 0);
  deferred.resumeIndexing();
  t.true(deferred.indexLag > 0, 'nothing is written before the next transaction');
  for (const store of [prompt, deferred]) store.transact(() => undefined);
  t.is(deferred.indexLag, 0);
  t.deepEqual(dump(deferred), dump(prompt));
});

test('an index watermark with any changed bit is refused', (t) => {
  const keyValue = new MemoryKeyValue();
  const store = chainStoreOver(keyValue, OPTIONS, 'memory');
  const [first] = append(store, new Dice(1), 3);
  t.truthy(first);
  keyValue.transact((writer) => writeIndexWatermark(writer, 1));
  const key = TABLES.meta.key(META_INDEX_WATERMARK);
  const record = Buffer.from(keyValue.get(key) ?? '');
  t.is(record.length, 12);
  for (let bit = 0; bit < record.length * 8; bit += 1) {
    const changed = Buffer.from(record);
    changed[bit >> 3]! ^= 1 << (bit & 7);
    keyValue.transact((writer) => writer.put(key, changed));
    const opened = chainStoreOver(keyValue, OPTIONS, 'memory');
    t.throws(() => opened.indexLag, { code: 'STORE_UNREADABLE', message: /index watermark/ });
    t.throws(() => Array.from(opened.backfill()), { code: 'STORE_UNREADABLE' });
  }
  for (const length of [0, 4, 11]) {
    keyValue.transact((writer) => writer.put(key, record.subarray(0, length)));
    t.throws(() => chainStoreOver(keyValue, OPTIONS, 'memory').indexLag, { code: 'STORE_UNREADABLE' });
  }
});

test('no block can be appended between the steps of a backfill', (t) => {
  const store = chainStoreOver(new MemoryKeyValue(), OPTIONS, 'memory');
  store.deferIndexing();
  append(store, new Dice(3), 8);
  const steps = store.backfill({ pagesMax: 1 })[Symbol.iterator]();
  t.false(steps.next().done);
  t.throws(() => append(store, new Dice(5), 8), { message: /nothing is appended during a backfill/ });
});

for (const isLookedUp of [false, true]) {
  const lookup = isLookedUp ? ', and then a lookup of an id,' : '';
  test(`a failed transaction${lookup} between the steps ends them, and the next backfill starts again`, (t) => {
    const [prompt, deferred] = [0, 1].map(() => chainStoreOver(new MemoryKeyValue(), OPTIONS, 'memory')) as [
      StoredChain,
      StoredChain,
    ];
    deferred.deferIndexing();
    for (const store of [prompt, deferred]) append(store, new Dice(3), 8);
    const lag = deferred.indexLag;
    const steps = deferred.backfill({ pagesMax: 1 })[Symbol.iterator]();
    t.false(steps.next().done);
    t.throws(() => fail(deferred, 5, false));
    // After the failed transaction, the missing index entries are no longer in memory. The lookup computes them from
    // the blocks again. Perhaps their positions in memory (row numbers) then differ from the positions that the running
    // backfill uses.
    if (isLookedUp) t.false(deferred.hasTransaction('1'));
    t.throws(() => steps.next(), { message: /the pending entries are in memory until the backfill ends/ });
    t.is(deferred.indexLag, lag);
    for (const _ of deferred.backfill({ pagesMax: 1 })) continue;
    t.deepEqual(dump(deferred), dump(prompt));
  });
}

test('a backfill larger than the memory runs in chunks, and continues after a kill', (t) => {
  const prompt = chainStoreOver(new MemoryKeyValue(), OPTIONS, 'memory');
  const keyValue = new MemoryKeyValue();
  const reopened = (): StoredChain => chainStoreOver(keyValue, OPTIONS, 'memory');
  const deferred = reopened();
  deferred.deferIndexing();
  for (const store of [prompt, deferred]) append(store, new Dice(3), 60);
  const limits = { pagesMax: 1, transactionsMax: 10 };
  const perBlock = Array.from({ length: 60 }, (_, at) => prompt.block(at + 1)?.transactions.length ?? 0);
  const lacking = (): number => {
    return perBlock
      .slice(readIndexWatermark(keyValue) ?? perBlock.length)
      .reduce((sum, transactions) => sum + transactions, 0);
  };
  const parts = [lacking()];
  t.true((parts[0] ?? 0) > 10 * limits.transactionsMax, parts.join());
  // Each pass of the loop stands for a process that runs a backfill (a job that writes missing index entries). In the
  // first pass and in every second pass after it, the process is killed right after the first part of the backfill. In
  // the other passes, the process is killed one database transaction later.
  for (let left = lacking(), processes = 0; left > 0; left = lacking(), processes += 1) {
    t.true(processes < 100, 'each comes further');
    let stepsMore = processes % 2;
    for (const _ of reopened().backfill(limits)) if (lacking() < left && (stepsMore -= 1) < 0) break;
    parts.push(lacking());
  }
  // A part of the backfill ends with the block at which the part reaches `transactionsMax`.
  const bounds = parts.slice(1).map((left, at) => (parts[at] ?? 0) - left);
  t.true(Math.max(...bounds) < limits.transactionsMax + Math.max(...perBlock), parts.join());
  t.deepEqual(dump(reopened()), dump(prompt));
  t.is(readIndexWatermark(keyValue), undefined);
});

test('a query for an id during a backfill in chunks fails instead of calling the id unknown', (t) => {
  const keyValue = new MemoryKeyValue();
  const deferred = chainStoreOver(keyValue, OPTIONS, 'memory');
  deferred.deferIndexing();
  const ids = append(deferred, new Dice(3), 20).flatMap(({ block }) => block.transactions.map(({ id }) => id));
  const store = chainStoreOver(keyValue, OPTIONS, 'memory');
  const steps = store.backfill({ pagesMax: 1, transactionsMax: 3 })[Symbol.iterator]();
  t.false(steps.next().done);
  t.throws(() => ids.map((id) => store.hasTransaction(id)), { message: /during a backfill in chunks/ });
  steps.return?.();
  t.true(ids.every((id) => store.hasTransaction(id)));
});

test('an unreadable block is named when its missing indexes are backfilled', (t) => {
  const keyValue = new MemoryKeyValue();
  const store = chainStoreOver(keyValue, OPTIONS, 'memory');
  store.deferIndexing();
  const { height } = append(store, new Dice(3), 8).findLast(({ block }) => block.transactions.length > 0)!.block;
  keyValue.transact((writer) =>
    writer.put(TABLES.transactions.key({ height, index: 0 }), Buffer.from('ffffff', 'hex')),
  );
  const other = chainStoreOver(keyValue, OPTIONS, 'memory');
  const refused = {
    code: 'STORE_UNREADABLE',
    message: new RegExp(`block at height ${height}, which indexes lack, cannot`),
  };
  // The second lookup and the second backfill must fail too. After a failed backfill, the store must not report that
  // its indexes are complete.
  for (let i = 0; i < 2; i += 1) {
    t.throws(() => other.hasTransaction('1'), refused);
    t.throws(() => [...other.backfill()], refused);
  }
});

function append(store: StoredChain, dice: Dice, blocks: number): readonly Step[] {
  return store.transact((writer) =>
    Array.from({ length: blocks }, () => {
      const step = nextStep(dice, writer.tip());
      writer.append(step.block, step.apply);
      return step;
    }),
  );
}

function fail(store: StoredChain, seed: number, reverts: boolean): void {
  store.transact((writer) => {
    if (reverts && (writer.tip()?.height ?? 0) > 1) writer.revert();
    const dice = new Dice(seed);
    for (let i = 0; i < 3; i += 1) {
      const { block, apply } = nextStep(dice, writer.tip());
      writer.append(block, apply);
    }
    throw new Error('bad');
  });
}

/**
 * A store that a test can close and open again. Neither the close nor the open starts a backfill. Indexes that lag at
 * the close therefore still lag after the open, as if a killed process had left the store.
 */
class Reopened {
  readonly #directory: string | undefined;
  readonly #memory = new MemoryKeyValue();
  store: StoredChain;

  constructor(backend: Backend) {
    this.#directory = backend === 'lmdb' ? temporaryFolder() : undefined;
    this.store = this.#open();
  }

  async reopen(): Promise<void> {
    await this.store.close();
    this.store = this.#open();
  }

  async end(): Promise<void> {
    await this.store.close();
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true });
  }

  #open(): StoredChain {
    const keyValue = this.#directory === undefined ? this.#memory : openLmdb(this.#directory, true, false);
    return chainStoreOver(keyValue, OPTIONS, 'deferred');
  }
}
