import test from 'ava';
import { renameSync, rmSync } from 'node:fs';
import { codeOf } from '../../src/primitives/errors.ts';
import type { Block } from '../../src/protocol/types.ts';
import { openStoreSource, storeSource } from '../../src/node/sink-source.ts';
import { openMemoryChainStore } from '../../src/store/chain/open.ts';
import { chainDirectory, openChain } from '../../src/node/chain-tool.ts';
import { emptyMemorySink, MemorySink, type MemorySinkContent } from '../../src/sinks/memory-sink.ts';
import { RowMaker } from '../../src/sinks/row-maker.ts';
import { runSink } from '../../src/sinks/run.ts';
import type { RangeDraft, Sink } from '../../src/sinks/sink.ts';
import type { ChainChange } from '../../src/sinks/source.ts';
import { joinedRows } from '../../src/sinks/tables.ts';
import { locationIn, storeChain } from '../support/chain-folder.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { sorted } from './contract.ts';
import { fullChain, type FullChain } from './full-chain.ts';
import { Crash, crashingSink, listSource } from './list-source.ts';

const RANGE = 10;
const FORK = 41;
/**
 * The rules finalize `chain` up to height 51. `LATE_FORK` is the first height of a branch that begins above height 51.
 */
const LATE_FORK = 54;
const chain = fullChain(3, 58);
const branch = fullChain(3, 61, 1, FORK);
const whole = { rangeBlocks: RANGE, signal: new AbortController().signal };

function rowsOf({ maker }: FullChain, blocks: readonly Block[]): unknown {
  const rows = new RowMaker(maker.rules);
  return sorted(joinedRows(blocks.map((block) => rows.rowsOf(block))));
}

/**
 * The changes of a reorg. First, the blocks of `chain` are reverted, from the tip down to and including height `FORK`.
 * Then the blocks of `branch` are applied, from height `FORK` on. At the end, height 55 is reported as final.
 */
const REORGANISATION: readonly ChainChange[] = [
  ...chain.blocks
    .slice(FORK - 1)
    .reverse()
    .map(({ height, id }) => ({ kind: 'reverted', height, blockId: id }) as const),
  ...branch.blocks.slice(FORK - 1).map((block) => ({ kind: 'applied', block }) as const),
  { kind: 'final', height: 55 },
];

test('a sink holds the final ranges and the tail above them', async (t) => {
  const content = emptyMemorySink();
  const source = listSource(chain.maker.rules, { blocks: chain.blocks, finalHeight: 33 });
  await runSink({ ...whole, source, sink: new MemorySink(content), follows: false });
  t.deepEqual(
    content.ranges.map(({ span }) => span.toHeight),
    [10, 20, 30],
  );
  t.deepEqual(
    content.tail.map(({ height }) => height),
    chain.blocks.slice(30).map(({ height }) => height),
  );
  t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(chain, chain.blocks));
});

test('until a sink has caught up, also after a reorg, one write of its tail has blocks of at most 50 ranges', async (t) => {
  const { blocks } = fullChain(3, 120);
  const other = fullChain(3, 121, 1, 3).blocks;
  for (const [rangeBlocks, written, writtenAgain] of [
    [1, [50, 50, 20], [50, 50, 19]],
    [1_000, [120], [119]],
  ] as const) {
    const inner = new MemorySink(emptyMemorySink());
    const writes: number[] = [];
    const sink: Sink = {
      begin: (identity) => inner.begin(identity),
      draftRange: () => inner.draftRange(),
      putTail: (added) => {
        writes.push(added.length);
        return inner.putTail(added);
      },
      revertTail: (height) => inner.revertTail(height),
      end: () => inner.end(),
    };
    const source = listSource(chain.maker.rules, { blocks, finalHeight: 0 });
    await runSink({ ...whole, rangeBlocks, source, sink, follows: false });
    t.deepEqual(writes, written, `ranges of ${rangeBlocks} blocks`);
    writes.length = 0;
    const afterReorg = listSource(chain.maker.rules, { blocks: other, finalHeight: 0 });
    await runSink({ ...whole, rangeBlocks, source: afterReorg, sink, follows: false });
    t.deepEqual(writes, writtenAgain, `ranges of ${rangeBlocks} blocks, after a reorg`);
  }
});

test('the rows of a range are made while the sink writes the previous range', async (t) => {
  const content = emptyMemorySink();
  const sink = new MemorySink(content);
  const source = listSource(chain.maker.rules, { blocks: chain.blocks, finalHeight: 33 });
  let read = 0;
  const blocks: typeof source.blocks = async function* (from, to) {
    for await (const block of source.blocks(from, to)) {
      read = block.height;
      yield block;
    }
  };
  let writing = 0;
  const draftRange = (): RangeDraft => {
    const draft = sink.draftRange();
    return {
      add: (rows) => draft.add(rows),
      async put(span, lastBlockId) {
        t.is((writing += 1), 1, 'one range after the other');
        while (read < Math.min(span.toHeight + RANGE, 30)) await new Promise((resolve) => setImmediate(resolve));
        await draft.put(span, lastBlockId);
        writing -= 1;
      },
    };
  };
  const late: Sink = {
    begin: (identity) => sink.begin(identity),
    draftRange,
    putTail: (added) => sink.putTail(added),
    revertTail: (height) => sink.revertTail(height),
    end: () => sink.end(),
  };
  await runSink({ ...whole, source: { ...source, blocks }, sink: late, follows: false });
  t.is(content.ranges.length, 3);
  t.deepEqual(sorted(sink.rows()), rowsOf(chain, chain.blocks));
});

test('a range that the chain no longer has completely is not written', async (t) => {
  const content = emptyMemorySink();
  const source = listSource(chain.maker.rules, { blocks: chain.blocks.slice(0, 2 * RANGE + 5), finalHeight: 33 });
  const error = await t.throwsAsync(runSink({ ...whole, source, sink: new MemorySink(content), follows: false }));
  t.is(codeOf(error), 'SINK_REVERTED_BELOW');
  t.is(content.ranges.length, 2);
});

test('a reorg reverts the tail, and ranges follow as blocks become final', async (t) => {
  const content = emptyMemorySink();
  const source = listSource(chain.maker.rules, { blocks: chain.blocks, finalHeight: 33, changes: REORGANISATION });
  await runSink({ ...whole, source, sink: new MemorySink(content), follows: true });
  t.is(content.ranges.length, 5);
  t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(branch, branch.blocks));
});

test('while a sink catches up after a reorg, it never holds blocks of two branches', async (t) => {
  const content = emptyMemorySink();
  const before = listSource(chain.maker.rules, { blocks: chain.blocks, finalHeight: 33 });
  await runSink({ ...whole, source: before, sink: new MemorySink(content), follows: false });
  for (const finalHeight of [40, 50, 55]) {
    const held: MemorySinkContent = { ...content, ranges: [...content.ranges] };
    const inner = new MemorySink(held);
    const faults: string[] = [];
    const checked = async (write: Promise<void>): Promise<void> => {
      await write;
      const blocks = inner.rows().blocks;
      for (const [index, { height, previous_id }] of blocks.entries())
        if (index > 0 && blocks[index - 1]?.id !== previous_id) faults.push(`block ${height} does not follow`);
    };
    const sink: Sink = {
      begin: (identity) => inner.begin(identity),
      draftRange: () => {
        const draft = inner.draftRange();
        return { add: (rows) => draft.add(rows), put: (span, id) => checked(draft.put(span, id)) };
      },
      putTail: (added) => checked(inner.putTail(added)),
      revertTail: (height) => checked(inner.revertTail(height)),
      end: () => inner.end(),
    };
    const early = fullChain(3, 61, 1, 33);
    // With `isLate`, the blocks above height 33 become final only after the sink has begun to follow the chain.
    for (const isLate of [false, true]) {
      const after = listSource(early.maker.rules, { blocks: early.blocks, finalHeight });
      const source = isLate ? { ...after, finalHeight: () => Promise.resolve(33) } : after;
      await runSink({ ...whole, source, sink, follows: false });
      t.deepEqual(faults, [], `final height ${finalHeight}`);
      t.deepEqual(sorted(inner.rows()), rowsOf(early, early.blocks));
      Object.assign(held, { ...content, ranges: [...content.ranges] });
    }
  }
});

test('a sink that crashes at any step continues without a gap or a duplicate', async (t) => {
  const source = listSource(chain.maker.rules, { blocks: chain.blocks, finalHeight: 33, changes: REORGANISATION });
  const after = listSource(branch.maker.rules, { blocks: branch.blocks, finalHeight: 55 });
  const expected = rowsOf(branch, branch.blocks);
  let crashes = 0;
  for (const isBefore of [true, false]) {
    for (let call = 1; ; call += 1) {
      const content = emptyMemorySink();
      const sink = crashingSink(new MemorySink(content), call, isBefore);
      const error = await runSink({ ...whole, source, sink, follows: true }).catch((thrown: unknown) => thrown);
      if (error === undefined) break;
      if (!(error instanceof Crash)) throw error;
      crashes += 1;
      await runSink({ ...whole, source: after, sink: new MemorySink(content), follows: false });
      t.deepEqual(sorted(new MemorySink(content).rows()), expected, `crash at call ${call}`);
      t.is(content.ranges.length, 5);
    }
  }
  t.true(crashes > 40, `${crashes} crashes`);
});

test('a reverted block that counted as final ends the run with the remedy of its generation', async (t) => {
  const changes: readonly ChainChange[] = [{ kind: 'final', height: 50 }, ...REORGANISATION];
  const source = listSource(chain.maker.rules, { blocks: chain.blocks, finalHeight: 33, changes });
  const error = await t.throwsAsync(runSink({ ...whole, source, sink: new MemorySink(), follows: true }));
  t.is(codeOf(error), 'SINK_REVERTED_BELOW');
  t.regex(error?.message ?? '', /^block 50 was reverted, .*: create the sink again$/);
  const { maker, blocks } = fullChain(2, 58);
  const reverted = blocks
    .slice(40)
    .reverse()
    .map(({ height, id }): ChainChange => ({ kind: 'reverted', height, blockId: id }));
  const early = listSource(maker.rules, { blocks, finalHeight: 50, changes: reverted });
  const shallow = await t.throwsAsync(runSink({ ...whole, source: early, sink: new MemorySink(), follows: true }));
  t.regex(shallow?.message ?? '', /^block 50 was reverted, .*: create the sink again with a larger --depth$/);
});

test('a reverted block above the last range ends the run, and the next run repairs the sink', async (t) => {
  const late = fullChain(3, 61, 1, LATE_FORK);
  const changes: readonly ChainChange[] = [{ kind: 'final', height: 55 }, ...REORGANISATION];
  const source = listSource(chain.maker.rules, { blocks: chain.blocks, finalHeight: 33, changes });
  const content = emptyMemorySink();
  const error = await t.throwsAsync(runSink({ ...whole, source, sink: new MemorySink(content), follows: true }));
  t.is(codeOf(error), 'SINK_REVERTED_BELOW');
  t.regex(
    error?.message ?? '',
    /^block 55 was reverted, .*: start the command again; .* block 50 .* create the sink again$/,
  );
  const after = listSource(late.maker.rules, { blocks: late.blocks, finalHeight: 55 });
  await runSink({ ...whole, source: after, sink: new MemorySink(content), follows: false });
  t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(late, late.blocks));
});

test('a reverted block of the last range ends the run, also when the source does not report the revert', async (t) => {
  const changes: readonly ChainChange[] = [
    ...REORGANISATION.slice(0, 8),
    ...branch.blocks.slice(50).map((block) => ({ kind: 'applied', block }) as const),
  ];
  const source = listSource(chain.maker.rules, { blocks: chain.blocks, finalHeight: 50, changes });
  const error = await t.throwsAsync(runSink({ ...whole, source, sink: new MemorySink(), follows: true }));
  t.is(codeOf(error), 'SINK_REVERTED_BELOW', error?.message);
  t.regex(error?.message ?? '', /^block 50 was reverted, .*: create the sink again$/);
});

test('a chain that is reorganised while a range is read ends the run', async (t) => {
  const source = listSource(chain.maker.rules, {
    blocks: [...chain.blocks.slice(0, 45), ...branch.blocks.slice(45)],
    finalHeight: 55,
  });
  const content = emptyMemorySink();
  const error = await t.throwsAsync(runSink({ ...whole, source, sink: new MemorySink(content), follows: false }));
  t.is(codeOf(error), 'SINK_REVERTED_BELOW', error?.message);
  t.regex(error?.message ?? '', /^block 45 was reverted, .*: start the command again; /);
});

test('a sink written for another branch of final blocks is refused', async (t) => {
  const content = emptyMemorySink();
  const run = { ...whole, sink: new MemorySink(content), follows: false };
  await runSink({ ...run, source: listSource(chain.maker.rules, { blocks: chain.blocks, finalHeight: 50 }) });
  const other = listSource(branch.maker.rules, { blocks: branch.blocks, finalHeight: 55 });
  const refused = await t.throwsAsync(runSink({ ...run, source: other }));
  t.is(codeOf(refused), 'SINK_OF_OTHER_CHAIN');
  t.regex(refused?.message ?? '', / at height 50, the chain has [0-9]+ there: .*create the sink again$/);
  const short = listSource(chain.maker.rules, { blocks: chain.blocks.slice(0, 30), finalHeight: 25 });
  t.is(codeOf(await t.throwsAsync(runSink({ ...run, source: short }))), 'SINK_OF_OTHER_CHAIN');
});

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: the rows of a data folder's sink match each account of the store`, async (t) => {
    const { network, blocks } = fullChain(generation, 103);
    const place = locationIn(temporaryFolder(t), network);
    await storeChain(place, blocks);
    const source = openStoreSource(place, { depth: 20, pollMs: 1 });
    const sink = new MemorySink();
    await runSink({ ...whole, source, sink, follows: false });
    await source.close();
    const { store, close } = await openChain(place, false);
    t.teardown(close);
    const sums = new Map<string, bigint>();
    for (const { address, amount } of sink.rows().balance_changes)
      sums.set(address, (sums.get(address) ?? 0n) + amount);
    t.true(sums.size > 20);
    for (const [address, sum] of sums) t.is(store.account(address)?.balance, sum, address);
    t.is(sink.rows().blocks.length, 103);
  });
}

test('a sink of a data folder notices that its chain was replaced, for example by a restored copy', async (t) => {
  const lateBranch = fullChain(3, 61, 1, LATE_FORK);
  const [place, copy] = [chain, lateBranch].map(({ network }) => locationIn(temporaryFolder(t), network));
  if (place === undefined || copy === undefined) throw new Error('there are two places');
  await storeChain(place, chain.blocks);
  await storeChain(copy, lateBranch.blocks);
  const source = openStoreSource(place, { depth: 20, pollMs: 1 });
  const abort = new AbortController();
  const tips: ChainChange[] = [];
  for await (const change of source.changes(1, abort.signal)) {
    tips.push(change);
    if (change.kind === 'caughtUp') {
      rmSync(chainDirectory(place), { recursive: true });
      renameSync(chainDirectory(copy), chainDirectory(place));
    }
    if (change.kind === 'applied' && change.block.id === lateBranch.blocks.at(-1)?.id) abort.abort();
  }
  await source.close();
  const reverted = tips.flatMap((change) => (change.kind === 'reverted' ? [change.height] : []));
  t.deepEqual(reverted, [58, 57, 56, 55, 54]);
});

test('a sink follows a store with new blocks and reorgs', async (t) => {
  const { rules } = chain.maker;
  const lateBranch = fullChain(3, 61, 1, LATE_FORK);
  const store = openMemoryChainStore({ codec: rules.codec, params: rules.params });
  const append = (blocks: readonly Block[]): void =>
    blocks.forEach((block) =>
      store.transact((writer) =>
        writer.append(block, (state) => {
          if (block.height === 1) rules.applyGenesis(state, block);
          else rules.applyBlock(state, block, { nowS: block.timestamp, verify: () => true });
        }),
      ),
    );
  append(chain.blocks.slice(0, 50));
  const content = emptyMemorySink();
  const abort = new AbortController();
  const source = {
    ...storeSource('made', rules, (work) => Promise.resolve(work(store)), { depth: 20, pollMs: 1 }),
    close: () => Promise.resolve(),
  };
  let wake: () => void = () => undefined;
  const onProgress = (): void => wake();
  const run = runSink({
    ...whole,
    source,
    sink: new MemorySink(content),
    follows: true,
    signal: abort.signal,
    onProgress,
  });
  const reached = async (tipId: string | undefined): Promise<void> => {
    while (content.tail.at(-1)?.blockId !== tipId) await new Promise<void>((resolve) => (wake = resolve));
  };
  await Promise.race([run, reached(chain.blocks[49]?.id)]);
  append(chain.blocks.slice(50));
  await Promise.race([run, reached(chain.blocks.at(-1)?.id)]);
  t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(chain, chain.blocks));
  while ((store.tip()?.height ?? 0) >= LATE_FORK) store.transact((writer) => writer.revert());
  append(lateBranch.blocks.slice(LATE_FORK - 1));
  await Promise.race([run, reached(lateBranch.blocks.at(-1)?.id)]);
  t.deepEqual(sorted(new MemorySink(content).rows()), rowsOf(lateBranch, lateBranch.blocks));
  abort.abort();
  await run;
});
