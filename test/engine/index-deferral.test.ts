import test from 'ava';
import { DiskWatch } from '../../src/engine/disk-watch.ts';
import { IndexDeferral } from '../../src/engine/index-deferral.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';

/** Makes an `IndexDeferral` with indexes that record their calls, and with a clock that the test sets. */
function setUpDeferral() {
  const world = {
    nowMs: 0,
    lag: 0,
    canWait: true,
    isAwaited: false,
    steps: 3,
    failure: undefined as Error | undefined,
  };
  const calls: string[] = [];
  const indexes = {
    get indexLag() {
      return world.lag;
    },
    deferIndexing: () => void calls.push('defer'),
    resumeIndexing: () => void calls.push('resume'),
    *backfill() {
      for (let step = 1; step <= world.steps; step += 1) {
        if (world.failure !== undefined) throw world.failure;
        calls.push(`step ${step}`);
        yield;
      }
      world.lag = 0;
    },
  };
  const users = {
    canWait: () => world.canWait,
    isAwaited: () => world.isAwaited,
    completed: () => void calls.push('completed'),
  };
  const timers = new Set<() => void>();
  const clock = {
    nowMs: () => world.nowMs,
    after: (delayMs: number, work: () => void) => {
      if (delayMs > 0) {
        timers.add(work);
        return { cancel: () => void timers.delete(work) };
      }
      calls.push('pause');
      const immediate = setImmediate(work);
      return { cancel: () => clearImmediate(immediate) };
    },
  };
  /**
   * Fires the timers, and waits for 20 iterations of the event loop. Work that does not have to wait for `queue.idle`
   * ends within these iterations.
   */
  const pass = async (): Promise<void> => {
    for (const work of [...timers]) {
      timers.delete(work);
      work();
    }
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const disk = new DiskWatch({
    store: { transact: (work) => work({ setNote: () => undefined }) },
    clock,
    observer: SILENT,
  });
  const logged: string[] = [];
  const observer: Observer = { ...SILENT, log: (_level, code) => void logged.push(code) };
  const queue = { idle: Promise.resolve() };
  const runExclusive = (work: () => Promise<void>): Promise<void> => queue.idle.then(work);
  const deferral = new IndexDeferral({ indexes, users, clock, disk, observer, runExclusive });
  return { world, calls, disk, timers, pass, logged, queue, deferral };
}

const COMPLETED = ['step 1', 'pause', 'step 2', 'pause', 'step 3', 'pause', 'resume', 'completed'];

test('indexes lag until the end, and are then completed in steps with pauses', async (t) => {
  const { calls, deferral } = setUpDeferral();
  deferral.begin();
  deferral.begin();
  await deferral.limit();
  t.deepEqual(calls, ['defer']);
  await deferral.end();
  t.deepEqual(calls.splice(0), ['defer', ...COMPLETED]);
  await deferral.end();
  await deferral.limit();
  t.deepEqual(calls, [], 'without a deferral, nothing is backfilled');
});

test('a backfill is reported while it runs', async (t) => {
  const { deferral } = setUpDeferral();
  deferral.begin();
  t.false(deferral.isBackfilling);
  const ended = deferral.end();
  t.true(deferral.isBackfilling);
  await ended;
  t.false(deferral.isBackfilling);
});

test('the lag is limited by its size, by its age, and by a process that waits for complete indexes', async (t) => {
  const { world, calls, deferral } = setUpDeferral();
  const limits: [string, () => void, () => void][] = [
    ['size', () => (world.lag = 50_001), () => (world.lag = 50_000)],
    ['age', () => (world.nowMs += 5_001), () => (world.nowMs += 5_000)],
    ['clock', () => (world.nowMs -= 1), () => undefined],
    ['start', () => (world.isAwaited = true), () => (world.isAwaited = false)],
  ];
  for (const [name, exceed, keep] of limits) {
    deferral.begin();
    keep();
    await deferral.limit();
    t.deepEqual(calls, ['defer'], name);
    exceed();
    await deferral.limit();
    t.deepEqual(calls.splice(0), ['defer', ...COMPLETED], name);
    world.isAwaited = false;
  }
});

test('indexes do not lag before all processes have moved to the last complete chain', async (t) => {
  const { world, calls, deferral } = setUpDeferral();
  world.canWait = false;
  deferral.begin();
  await deferral.limit();
  await deferral.end();
  t.deepEqual(calls, []);
  world.canWait = true;
  deferral.begin();
  t.deepEqual(calls, ['defer']);
});

test('a failed backfill is rethrown, marks the disk, and is tried again when the disk can be written', async (t) => {
  const { world, calls, disk, timers, pass, logged, deferral } = setUpDeferral();
  deferral.begin();
  world.failure = new ProtocolError('STORE_WRITE_FAILED', {}, 'no space left');
  await t.throwsAsync(deferral.end(), { code: 'STORE_WRITE_FAILED' });
  t.deepEqual(calls.splice(0), ['defer'], 'indexing stays deferred, and no process is told that it is complete');
  t.is(disk.checkWritable()?.cause, 'STORE_WRITE_FAILED');
  deferral.begin();
  t.deepEqual(calls, [], 'the indexes do not lag further');
  await pass();
  t.deepEqual(calls, [], 'nothing is written while writes fail');
  world.nowMs += 2_000;
  world.failure = undefined;
  await pass();
  t.deepEqual(calls, COMPLETED);
  t.is(timers.size, 0);
  t.deepEqual(logged, []);
});

test('an error that is not of the disk is reported as a failed backfill, and logged if no caller gets it', async (t) => {
  const { world, pass, logged, deferral } = setUpDeferral();
  deferral.begin();
  world.failure = new Error('the pending entries are gone');
  await t.throwsAsync(deferral.end(), { code: 'STORE_BACKFILL_FAILED', message: /pending entries are gone/ });
  await t.throwsAsync(deferral.limit(), { code: 'STORE_BACKFILL_FAILED' });
  await pass();
  await pass();
  t.deepEqual(logged, ['STORE_BACKFILL_FAILED'], 'once');
});

test('the limits also hold while no block is committed, until the chain stops', async (t) => {
  const { world, calls, timers, pass, deferral } = setUpDeferral();
  deferral.begin();
  await pass();
  t.deepEqual(calls, ['defer']);
  world.isAwaited = true;
  await pass();
  t.deepEqual(calls.splice(0), ['defer', ...COMPLETED]);
  t.is(timers.size, 0);

  world.isAwaited = false;
  deferral.begin();
  t.is(timers.size, 1);
  deferral.stop();
  await pass();
  t.is(timers.size, 0);
  t.deepEqual(calls, ['defer']);
});

test('a check that waits in the queue does nothing after a stop, and sets no second timer after a new begin', async (t) => {
  for (const begins of [false, true]) {
    const { world, calls, timers, pass, queue, deferral } = setUpDeferral();
    let release: () => void = () => undefined;
    queue.idle = new Promise((resolve) => (release = resolve));
    deferral.begin();
    await pass();
    t.is(timers.size, 0, 'the check waits');
    if (begins) {
      await deferral.end();
      deferral.begin();
    } else {
      deferral.stop();
    }
    calls.length = 0;
    world.isAwaited = true;
    release();
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    t.is(timers.size, begins ? 1 : 0);
    await pass();
    t.deepEqual(calls, begins ? COMPLETED : []);
    t.is(timers.size, 0);
  }
});
