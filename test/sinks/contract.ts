/** The contract of the interface `Sink`, as a test suite that every sink must pass. */

import { isDeepStrictEqual } from 'node:util';
import type { ExecutionContext } from 'ava';
import { codeOf } from '../../src/primitives/errors.ts';
import { RowMaker } from '../../src/sinks/row-maker.ts';
import { runSink } from '../../src/sinks/run.ts';
import { rangeAfter, type Sink, type SinkBlock, type SinkIdentity, type SinkPlace } from '../../src/sinks/sink.ts';
import { joinedRows, SINK_TABLE_NAMES, type Rows } from '../../src/sinks/tables.ts';
import type { Block } from '../../src/protocol/types.ts';
import { fullChain, type FullChain } from './full-chain.ts';
import { Crash, listSource } from './list-source.ts';

/** The storage of one sink. A test opens several sink objects over one storage, in sequence or at the same time. */
export interface SinkSite {
  /**
   * Opens a sink over the storage, as a new process would.
   *
   * @param owner name of the process that takes the lease or the process lock of the sink
   * @param pause runs before each write; for the ClickHouse sink, before each insert of rows, after this process has
   *   checked its lease. A function that waits simulates a paused process. A function that throws simulates a killed
   *   process, and the sink must then not make the write. Only `pausedContract` and `crashContract` pass the function.
   */
  open(owner: string, pause?: () => Promise<void>): Sink;
  /**
   * Takes the sink from the process that has it, as if this process was killed or paused for a long time. Deletes the
   * file of a process lock, or lets a lease expire. If the storage is empty, does nothing.
   */
  expire(): Promise<void>;
  /**
   * Reads all rows as a reader of the sink sees them. The rows have exactly the columns of `src/sinks/tables.ts`, in
   * the same order. A value of the type `u64` or `i64` is a bigint. A value of the type `time` is a Unix time in
   * seconds.
   */
  rows(): Promise<Rows>;
  close(): Promise<void>;
}

const RANGE = 10;

const chain = fullChain(3, 34);
const branch = fullChain(3, 36, 1, 31);
const blocks = sinkBlocks(chain);
const otherBlocks = sinkBlocks(branch);

export const IDENTITY: SinkIdentity = {
  network: 'made',
  generation: 3,
  genesisBlockId: chain.network.params.genesisBlockId,
  rangeBlocks: RANGE,
};

function sinkBlocks({ maker, blocks: all }: FullChain): readonly SinkBlock[] {
  const rows = new RowMaker(maker.rules);
  return all.map((block: Block) => ({ height: block.height, blockId: block.id, rows: rows.rowsOf(block) }));
}

/** Returns the rows of each table as sorted texts, so that a test can compare two sets of rows. */
export function sorted(rows: Rows): unknown {
  const textOf = (row: object): string =>
    JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
  return Object.fromEntries(SINK_TABLE_NAMES.map((table) => [table, rows[table].map(textOf).sort()]));
}

function rowsTo(height: number, of = blocks): unknown {
  return sorted(joinedRows(of.slice(0, height).map(({ rows }) => rows)));
}

function placeAt(finalHeight: number, tailHeight: number, of = blocks): SinkPlace {
  const places = of.map(({ height, blockId }) => ({ height, blockId }));
  return { final: places[finalHeight - 1], tail: places.slice(finalHeight, tailHeight) };
}

/**
 * Writes one range of the test chain to a sink. The first range has number 1.
 *
 * @param change changes the rows before they are stored
 */
export async function putRange(sink: Sink, number: number, change = (rows: Rows): Rows => rows): Promise<void> {
  const span = rangeAfter((number - 1) * RANGE, RANGE);
  const part = blocks.slice(span.fromHeight - 1, span.toHeight);
  const draft = sink.draftRange();
  for (const { rows } of part) draft.add(change(rows));
  await draft.put(span, part.at(-1)?.blockId ?? '');
}

/** Returns the blocks of the test chain from `fromHeight` to `toHeight`, both included. */
export function blocksOf(fromHeight: number, toHeight: number): readonly SinkBlock[] {
  return blocks.slice(fromHeight - 1, toHeight);
}

type Tester = (title: string, work: (t: ExecutionContext) => Promise<void>) => void;

/**
 * Tests the rows, the positions and the lease of a sink.
 *
 * @param open creates empty storage for one sink
 */
export function sinkContract(test: Tester, name: string, open: () => Promise<SinkSite> | SinkSite): void {
  const using: Using = (title, work) =>
    test(`${name}: ${title}`, async (t) => {
      const site = await open();
      const opened: Sink[] = [];
      const openSink: OpenSink = (owner = 'process 1', pause) => {
        const sink = site.open(owner, pause);
        opened.push(sink);
        return sink;
      };
      try {
        await work(t, { ...site, open: openSink });
      } finally {
        for (const sink of opened) await sink.end();
        await site.close();
      }
    });
  contentContract(using);
  leaseContract(using);
}

type OpenSink = (owner?: string, pause?: () => Promise<void>) => Sink;
type OpenSite = Omit<SinkSite, 'open'> & { readonly open: OpenSink };
type Using = (title: string, work: (t: ExecutionContext, site: OpenSite) => Promise<void>) => void;

/** Tests the rows and the position of a sink after each call. */
function contentContract(using: Using): void {
  using('a new sink is empty, and reports its heights when it is opened again', async (t, site) => {
    const sink = site.open();
    t.deepEqual(await sink.begin(IDENTITY), { final: undefined, tail: [] });
    t.deepEqual(sorted(await site.rows()), rowsTo(0));
    await putRange(sink, 1);
    await putRange(sink, 2);
    await sink.putTail(blocks.slice(20, 25));
    await sink.putTail(blocks.slice(25, 34));
    await sink.end();
    const again = site.open();
    t.deepEqual(await again.begin(IDENTITY), placeAt(20, 34));
    t.deepEqual(sorted(await site.rows()), rowsTo(34));
    await again.end();
  });

  using('a range written twice, as after a crash, changes nothing', async (t, site) => {
    const sink = site.open();
    await sink.begin(IDENTITY);
    await putRange(sink, 1);
    await putRange(sink, 1);
    await sink.end();
    const again = site.open();
    await again.begin(IDENTITY);
    await putRange(again, 1);
    t.deepEqual(sorted(await site.rows()), rowsTo(10));
    await putRange(again, 2);
    t.deepEqual(sorted(await site.rows()), rowsTo(20));
    await again.end();
  });

  using('a range replaces the tail blocks at its heights', async (t, site) => {
    const sink = site.open();
    await sink.begin(IDENTITY);
    await sink.putTail(blocks.slice(0, 13));
    t.deepEqual(sorted(await site.rows()), rowsTo(13));
    await putRange(sink, 1);
    t.deepEqual(sorted(await site.rows()), rowsTo(13));
    await sink.end();
    t.deepEqual(await site.open().begin(IDENTITY), placeAt(10, 13));
  });

  using('tail blocks written twice change nothing', async (t, site) => {
    const sink = site.open();
    await sink.begin(IDENTITY);
    await putRange(sink, 1);
    await sink.putTail(blocks.slice(10, 15));
    await sink.putTail(blocks.slice(10, 17));
    t.deepEqual(sorted(await site.rows()), rowsTo(17));
    await sink.end();
    t.deepEqual(await site.open().begin(IDENTITY), placeAt(10, 17));
  });

  using('reverted blocks are removed, and others of their heights added', async (t, site) => {
    const sink = site.open();
    await sink.begin(IDENTITY);
    await putRange(sink, 1);
    await putRange(sink, 2);
    await putRange(sink, 3);
    await sink.putTail(blocks.slice(30, 34));
    await sink.revertTail(30);
    t.deepEqual(sorted(await site.rows()), rowsTo(30));
    await sink.putTail(otherBlocks.slice(30, 36));
    t.deepEqual(sorted(await site.rows()), rowsTo(36, otherBlocks));
    await sink.revertTail(33);
    await sink.end();
    t.deepEqual(sorted(await site.rows()), rowsTo(33, otherBlocks));
    t.deepEqual(await site.open().begin(IDENTITY), placeAt(30, 33, otherBlocks));
  });

  using('a branch that returns after another one is stored once', async (t, site) => {
    const sink = site.open();
    await sink.begin(IDENTITY);
    await putRange(sink, 1);
    await putRange(sink, 2);
    await putRange(sink, 3);
    for (const part of [blocks, otherBlocks, blocks, otherBlocks]) {
      await sink.revertTail(30);
      await sink.putTail(part.slice(30, 34));
      t.deepEqual(sorted(await site.rows()), rowsTo(34, part));
    }
    await sink.end();
  });

  using('a sink refuses another chain, and ranges of another size', async (t, site) => {
    const sink = site.open();
    await sink.begin(IDENTITY);
    await putRange(sink, 1);
    await sink.end();
    for (const change of [{ genesisBlockId: '17' }, { rangeBlocks: 20 }, { generation: 2 }, { network: 'other' }]) {
      const error = await t.throwsAsync(site.open().begin({ ...IDENTITY, ...change }));
      t.is(codeOf(error), 'SINK_OF_OTHER_CHAIN', JSON.stringify(change));
    }
    t.deepEqual(sorted(await site.rows()), rowsTo(10));
  });
}

/** Tests that only one process at a time writes to a sink. */
function leaseContract(using: Using): void {
  using(
    'a sink that was never begun can be closed twice, and does not release the sink of another',
    async (t, site) => {
      const unused = site.open('process 2');
      await unused.end();
      await unused.end();
      const first = site.open('process 1');
      await first.begin(IDENTITY);
      const other = site.open('process 2');
      await other.end();
      t.is(codeOf(await t.throwsAsync(site.open('process 3').begin(IDENTITY))), 'SINK_IN_USE');
      await putRange(first, 1);
      await first.end();
      await first.end();
      t.deepEqual(await site.open('process 3').begin(IDENTITY), placeAt(10, 10));
    },
  );

  using('a second process is refused with the name of the first, which continues', async (t, site) => {
    const first = site.open('process 4711 on host-a');
    await first.begin(IDENTITY);
    await putRange(first, 1);
    const error = await t.throwsAsync(site.open('process 4712 on host-a').begin(IDENTITY));
    t.is(codeOf(error), 'SINK_IN_USE');
    t.regex(error?.message ?? '', /^[^\n]* is in use by process [0-9]+/);
    await putRange(first, 2);
    await first.putTail(blocks.slice(20, 25));
    t.deepEqual(sorted(await site.rows()), rowsTo(25));
    await first.end();
    t.deepEqual(await site.open('process 4712 on host-a').begin(IDENTITY), placeAt(20, 25));
  });

  using(
    'a process whose lease ended changes nothing any more, whether another has the sink or not',
    async (t, site) => {
      const first = site.open('process 1');
      await first.begin(IDENTITY);
      await putRange(first, 1);
      await first.putTail(blocks.slice(10, 14));
      await site.expire();
      const lost = async (work: Promise<void>): Promise<void> => {
        t.is(codeOf(await t.throwsAsync(work)), 'SINK_LEASE_LOST');
        t.deepEqual(sorted(await site.rows()), rowsTo(14));
      };
      await lost(putRange(first, 2));
      const second = site.open('process 2');
      t.deepEqual(await second.begin(IDENTITY), placeAt(10, 14));
      await lost(first.revertTail(11));
      await lost(first.putTail(blocks.slice(14, 16)));
      await lost(putRange(first, 2));
      // The first process must not release the lease of the second process.
      await first.end();
      t.is(codeOf(await t.throwsAsync(site.open('process 3').begin(IDENTITY))), 'SINK_IN_USE');
      await putRange(second, 2);
      t.deepEqual(sorted(await site.rows()), rowsTo(20));
    },
  );
}

/**
 * Tests a sink whose lease can expire while its process is paused. During the pause, a second process takes the sink,
 * and writes blocks at the heights that the first process is about to write or revert. The first process then continues
 * its write, which must change nothing.
 */
export function pausedContract(test: Tester, name: string, open: () => Promise<SinkSite> | SinkSite): void {
  const writes: Readonly<Record<string, (sink: Sink) => Promise<void>>> = {
    'a range': (sink) => putRange(sink, 3),
    'blocks of the tail': (sink) => sink.putTail(blocks.slice(24, 30)),
    'a revert': (sink) => sink.revertTail(22),
  };
  for (const [what, write] of Object.entries(writes)) {
    test(`${name}: ${what} written by a paused process changes nothing`, async (t) => {
      let paused = 0;
      while (await tryPause(t, await open(), write, paused + 1)) paused += 1;
      t.true(paused > 0);
    });
  }
}

/**
 * Runs `write` in a first process. The process pauses before one of its writes to the storage. During the pause, a
 * second process takes the sink.
 *
 * @param at number of the write before which the process pauses; the first write of `write` to the storage has number 1
 * @returns false if the call has fewer than `at` writes
 */
async function tryPause(
  t: ExecutionContext,
  site: SinkSite,
  write: (sink: Sink) => Promise<void>,
  at: number,
): Promise<boolean> {
  let left = Infinity;
  const second = site.open('process 2');
  const takeOver = async (): Promise<void> => {
    await site.expire();
    await second.begin(IDENTITY);
    await putRange(second, 3);
    await second.putTail(otherBlocks.slice(30, 34));
  };
  // The error of the second process. If `takeOver` threw this error in the call of the first process, the test could
  // not see the error of the first process.
  let fault: unknown;
  const first = site.open('process 1', async () => {
    left -= 1;
    if (left === 0) await takeOver().catch((error: unknown) => (fault = error));
  });
  try {
    await first.begin(IDENTITY);
    await putRange(first, 1);
    await putRange(first, 2);
    await first.putTail(blocks.slice(20, 24));
    left = at;
    const error: unknown = await write(first).catch((thrown: unknown) => thrown);
    if (left > 0) return false;
    t.is(fault, undefined, `write ${at}: the second process`);
    t.is(codeOf(error), 'SINK_LEASE_LOST', `write ${at}`);
    t.deepEqual(sorted(await site.rows()), rowsTo(34, otherBlocks), `write ${at}`);
    await second.revertTail(31);
    t.deepEqual(sorted(await site.rows()), rowsTo(31, otherBlocks));
    await second.end();
    const third = site.open('process 3');
    t.deepEqual(await third.begin(IDENTITY), placeAt(30, 31, otherBlocks));
    t.deepEqual(sorted(await site.rows()), rowsTo(31, otherBlocks));
    await third.end();
    return true;
  } finally {
    await first.end();
    await second.end();
    await site.close();
  }
}

/** Number of heights in a range of the crash tests. */
const CRASH_RANGE = 2;
/** The crash tests revert the blocks from this height on, and write the blocks of another branch instead. */
const CRASH_FORK = 3;
const crashBranch = fullChain(3, 6, 1, CRASH_FORK);
const crashBlocks = sinkBlocks(crashBranch);
const CRASH_IDENTITY: SinkIdentity = { ...IDENTITY, rangeBlocks: CRASH_RANGE };

/** A position of a sink, and the rows that the sink has at this position. */
interface CrashState {
  readonly place: SinkPlace;
  readonly rows: unknown;
}

interface CrashCall {
  readonly what: string;
  readonly call: (sink: Sink) => Promise<unknown>;
  /**
   * The states that a crash during the call may leave: the state before the call, and one after each range or block.
   */
  readonly states: readonly CrashState[];
}

/**
 * The calls of one run of a sink, in order. The run has a reorg, which replaces blocks of the tail. When the run writes
 * a range, the blocks of the range are already in the tail.
 */
const CRASH_CALLS: readonly CrashCall[] = [
  { what: 'the first start', call: (sink) => sink.begin(CRASH_IDENTITY), states: [crashState(0, 0)] },
  { what: 'a write of the tail', call: (sink) => sink.putTail(blocks.slice(0, 4)), states: statesTo(0, 0, 4) },
  {
    what: 'a write of a range',
    call: (sink) => putCrashRange(sink, 1, blocks),
    states: [crashState(0, 4), crashState(2, 4)],
  },
  { what: 'a revert', call: (sink) => sink.revertTail(CRASH_FORK - 1), states: statesTo(2, 2, 4) },
  {
    what: 'a write of another branch',
    call: (sink) => sink.putTail(crashBlocks.slice(2, 5)),
    states: statesTo(2, 2, 5, crashBlocks),
  },
  {
    what: 'a write of the next range',
    call: (sink) => putCrashRange(sink, 2, crashBlocks),
    states: [crashState(2, 5, crashBlocks), crashState(4, 5, crashBlocks)],
  },
];

function crashState(finalHeight: number, tailHeight: number, of = blocks): CrashState {
  return { place: placeAt(finalHeight, tailHeight, of), rows: rowsTo(tailHeight, of) };
}

/**
 * Returns one state for each height from `fromHeight` to `toHeight`: a state whose tail ends at this height. In all
 * states, the ranges end at `finalHeight`.
 */
function statesTo(finalHeight: number, fromHeight: number, toHeight: number, of = blocks): readonly CrashState[] {
  return Array.from({ length: toHeight - fromHeight + 1 }, (_, index) =>
    crashState(finalHeight, fromHeight + index, of),
  );
}

async function putCrashRange(sink: Sink, number: number, of: readonly SinkBlock[]): Promise<void> {
  const span = rangeAfter((number - 1) * CRASH_RANGE, CRASH_RANGE);
  const draft = sink.draftRange();
  for (const { rows } of of.slice(span.fromHeight - 1, span.toHeight)) draft.add(rows);
  await draft.put(span, of[span.toHeight - 1]?.blockId ?? '');
}

/**
 * Tests that a crash leaves no incomplete data. For each write of each call in `CRASH_CALLS`, the test simulates that
 * the process of the sink is killed before the write. The next process must find the sink as it was before the call or
 * as it is after the call. If the call writes or reverts several blocks of the tail, the sink may instead contain a
 * part of these blocks: the lowest ones, without a gap. At the end, the sink must have the rows of the whole chain.
 */
export function crashContract(test: Tester, name: string, open: () => Promise<SinkSite> | SinkSite): void {
  for (const [index, { what }] of CRASH_CALLS.entries()) {
    test(`${name}: a process killed during ${what} leaves the sink as before or after it`, async (t) => {
      let kills = 0;
      while (await tryKill(t, await open(), index, kills + 1)) kills += 1;
      // Some sinks write nothing at their first start.
      t.true(kills > 0 || index === 0, 'the sink calls the function `pause` of its site before each write');
    });
  }
}

/**
 * Makes the calls of `CRASH_CALLS` in a first process, up to the call `index`. Kills the process before one of the
 * writes of this last call to the storage. Then other processes check the sink and write the remaining blocks.
 *
 * @param index index of the call in `CRASH_CALLS`
 * @param at number of the write before which the process is killed; the first write of the call has number 1
 * @returns false if the call has fewer than `at` writes
 */
async function tryKill(t: ExecutionContext, site: SinkSite, index: number, at: number): Promise<boolean> {
  const { what, call, states } = CRASH_CALLS[index] as CrashCall;
  const step = `${what}, write ${at}`;
  let left = Infinity;
  const opened: Sink[] = [];
  const openSink = (owner: string, pause?: () => Promise<void>): Sink => {
    const sink = site.open(owner, pause);
    opened.push(sink);
    return sink;
  };
  const first = openSink('process 1', () => {
    left -= 1;
    return left <= 0 ? Promise.reject(new Crash()) : Promise.resolve();
  });
  try {
    for (const earlier of CRASH_CALLS.slice(0, index)) await earlier.call(first);
    left = at;
    const error: unknown = await call(first).catch((thrown: unknown) => thrown);
    if (left > 0) {
      if (error instanceof Error) throw error;
      return false;
    }
    // A killed process does not call `end`, so the test lets the lease of this process expire.
    await site.expire();
    const second = openSink('process 2');
    const place = await second.begin(CRASH_IDENTITY);
    const state = states.find((each) => isDeepStrictEqual(each.place, place));
    if (state === undefined) t.deepEqual(place, states[0]?.place, `${step}: the place is none of the possible ones`);
    else t.deepEqual(await site.rows().then(sorted, String), state.rows, `${step}: the rows after the next start`);
    await second.end();
    const { signal } = new AbortController();
    const source = listSource(crashBranch.maker.rules, { blocks: crashBranch.blocks, finalHeight: 4 });
    const third = openSink('process 3');
    await runSink({ source, sink: third, rangeBlocks: CRASH_RANGE, signal, follows: false });
    t.deepEqual(sorted(await site.rows()), rowsTo(6, crashBlocks), `${step}: the rows of the whole chain`);
    await third.end();
    const fourth = openSink('process 4');
    t.deepEqual(await fourth.begin(CRASH_IDENTITY), placeAt(4, 6, crashBlocks), `${step}: the place at the end`);
    return true;
  } finally {
    for (const sink of opened) await sink.end().catch(() => undefined);
    await site.close();
  }
}
