import test from 'ava';
import { Health, SAMPLE_INTERVAL_MS, type Sample, type Verdict } from '../../../src/node/watchdog/health.ts';

const MB = 1_000_000;
const LIMITS = { memoryLimitBytes: 1000 * MB, blockedMsMax: 30_000 };

test('a node with heartbeats and a memory use below its limit stays healthy', (t) => {
  const life = new Life();
  t.is(life.pass(3_600_000), undefined);
});

test('a main thread that hangs for the configured time is ended', (t) => {
  const life = new Life();
  life.pass(10_000);
  life.isBeating = false;
  const stoodMs = life.timeTo('EVENT_LOOP_BLOCKED');
  t.true(stoodMs >= LIMITS.blockedMsMax && stoodMs <= LIMITS.blockedMsMax + 2 * SAMPLE_INTERVAL_MS, `${stoodMs}`);
});

test('a main thread that hangs briefly, starts, is debugged or has no limit is not ended', (t) => {
  const short = new Life();
  for (let times = 0; times < 5; times += 1) {
    short.isBeating = false;
    t.is(short.pass(LIMITS.blockedMsMax - 2000), undefined);
    short.isBeating = true;
    short.pass(1000);
  }
  const starting = new Life({ isArmed: false, isBeating: false });
  t.is(starting.pass(600_000), undefined);
  const debugged = new Life({ isDebugged: true, isBeating: false });
  t.is(debugged.pass(600_000), undefined);
  const patient = new Life({ isBeating: false }, { ...LIMITS, blockedMsMax: 0 });
  t.is(patient.pass(600_000), undefined);
});

test('the watchdog does not end a process that was stopped for an hour, or whose machine slept', (t) => {
  const life = new Life();
  life.pass(10_000);
  for (let times = 0; times < 20; times += 1) {
    life.sleep(3_600_000);
    t.is(life.pass(1000), undefined);
  }
});

test('on an overloaded machine a main thread without a turn is not ended', (t) => {
  const life = new Life({ isBeating: false });
  // The test simulates a machine that is so busy that the watchdog takes a sample only every ten seconds, instead of
  // every quarter of a second. Five such samples without a heartbeat do not prove that the main thread hung for fifty
  // seconds.
  for (let times = 0; times < 5; times += 1) {
    life.sleep(10_000);
    t.is(life.pass(SAMPLE_INTERVAL_MS), undefined);
  }
});

test('on a machine that other programs use, waiting for a processor counts neither as a hang nor as garbage collection', (t) => {
  // In this process, the main thread gets a processor for only 10 % of the elapsed time. The watchdog therefore ends
  // the process only if no heartbeat arrives for ten times `blockedMsMax`.
  const slow = new Life({ isBeating: false, waitShare: 0.9, processorShare: 0.1 });
  t.is(slow.pass(9 * LIMITS.blockedMsMax), undefined);
  t.is(slow.pass(2 * LIMITS.blockedMsMax)?.kind, 'end');
  // The operating system reports the duration of a wait for a processor only when the wait ends. Here each wait lasts
  // for 40 samples.
  const late = new Life({ isBeating: false, waitShare: 0.9, processorShare: 0.1, waitsAtOnce: 40 });
  t.is(late.pass(6 * LIMITS.blockedMsMax), undefined);
  // In this process, garbage collection takes 95 % of the elapsed time, but the process uses only 30 % of a processor.
  // The helper threads of the garbage collector wait for a processor, and the main thread waits for these threads. The
  // watchdog does not end this process.
  const collecting = new Life({ gcShare: 0.95, processorShare: 0.3 });
  t.is(collecting.pass(600_000), undefined);
  // The duration of a collection includes the waits of the main thread for a processor. Here the collections take 50 %
  // of the whole time, and the waits take 60 %. The watchdog must compare the collections with the whole time, not with
  // the 40 % without waits.
  const sharing = new Life({ gcShare: 0.5, waitShare: 0.6, processorShare: 0.4 });
  t.is(sharing.pass(600_000), undefined);
});

test('near the memory limit the watchdog collects garbage now and then, and does not end the node', (t) => {
  const life = new Life({ ownBytes: 900 * MB });
  t.is(life.pass(600_000), undefined);
  t.true(life.collections >= 4 && life.collections <= 6, `${life.collections}`);
});

test('a process above its memory limit is ended when a garbage collection did not help', (t) => {
  const helped = new Life();
  helped.pass(1000);
  helped.ownBytes = 1100 * MB;
  t.is(helped.pass(500), undefined);
  t.is(helped.collections, 1);
  helped.ownBytes = 500 * MB;
  t.is(helped.pass(60_000), undefined);

  const leaking = new Life({ ownBytes: 1100 * MB });
  const tookMs = leaking.timeTo('MEMORY_LIMIT_EXCEEDED');
  t.is(leaking.collections, 1);
  t.true(tookMs >= 2000 && tookMs < 3000, `${tookMs}`);
});

test('a process far above its limit, or with a hanging main thread, is ended at once', (t) => {
  t.is(new Life({ ownBytes: 1300 * MB }).timeTo('MEMORY_LIMIT_EXCEEDED'), SAMPLE_INTERVAL_MS);
  const blocked = new Life({ isBeating: false });
  blocked.pass(5000);
  blocked.ownBytes = 1001 * MB;
  t.is(blocked.timeTo('MEMORY_LIMIT_EXCEEDED'), SAMPLE_INTERVAL_MS);
});

test("a heap that stays near V8's limit ends the node, a short peak does not", (t) => {
  const life = new Life({ heapUsedBytes: 490 * MB, heapLimitBytes: 500 * MB });
  t.is(life.pass(1500), undefined);
  life.heapUsedBytes = 300 * MB;
  t.is(life.pass(10_000), undefined);
  life.heapUsedBytes = 490 * MB;
  t.true(life.timeTo('HEAP_FULL') < 3000);
});

test('a node is ended if it spends nearly all time on garbage collection, but not if it spends half of the time', (t) => {
  t.is(new Life({ gcShare: 0.5 }).pass(600_000), undefined);
  const life = new Life({ gcShare: 0.9 });
  const tookMs = life.timeTo('GARBAGE_COLLECTION_ALONE');
  t.true(tookMs >= LIMITS.blockedMsMax && tookMs < LIMITS.blockedMsMax + 1000, `${tookMs}`);
});

/**
 * A simulated process of a node. The watchdog takes samples of it at regular times, and decides from the samples
 * whether to end the process.
 */
class Life {
  isBeating = true;
  isArmed = true;
  isDebugged = false;
  ownBytes = 200 * MB;
  heapUsedBytes = 100 * MB;
  heapLimitBytes = 4000 * MB;
  gcShare = 0;
  /** Share of the time for which the main thread waits for a processor. */
  waitShare = 0;
  /** The operating system reports the waits of this number of samples together, at the last of these samples. */
  waitsAtOnce = 1;
  /** Processor time of the process as a share of the passed time. */
  processorShare = 1;
  collections = 0;
  #beats = 0;
  #gcMs = 0;
  #atMs = 0;
  #usedMs = 0;
  #steps = 0;
  #waitedMs = 0;
  readonly #health: Health;

  constructor(changes: Partial<Life> = {}, limits = LIMITS) {
    Object.assign(this, changes);
    this.#health = new Health(limits);
    this.#judge();
  }

  /**
   * Moves the time forward and takes the samples that fall due. If the watchdog decides after a sample to end the
   * process, takes no further samples and returns this decision.
   */
  pass(timeMs: number): Verdict | undefined {
    for (const endMs = this.#atMs + timeMs; this.#atMs < endMs;) {
      const verdict = this.#step();
      if (verdict.kind === 'end') return verdict;
    }
    return undefined;
  }

  timeTo(code: string): number {
    const fromMs = this.#atMs;
    const verdict = this.pass(600_000);
    if (verdict?.kind !== 'end' || verdict.code !== code) throw new Error(`${JSON.stringify(verdict)} is not ${code}`);
    return this.#atMs - fromMs;
  }

  /** Simulates a time in which neither the process nor the watchdog runs. */
  sleep(timeMs: number): void {
    this.#atMs += timeMs - SAMPLE_INTERVAL_MS;
    const verdict = this.#step(0);
    if (verdict.kind === 'end') throw new Error(verdict.reason);
  }

  #step(beats = 1): Verdict {
    this.#atMs += SAMPLE_INTERVAL_MS;
    if (this.isBeating) this.#beats += beats;
    this.#gcMs += this.gcShare * SAMPLE_INTERVAL_MS;
    this.#usedMs += this.processorShare * SAMPLE_INTERVAL_MS;
    this.#steps += 1;
    if (this.#steps % this.waitsAtOnce === 0) this.#waitedMs += this.waitShare * SAMPLE_INTERVAL_MS * this.waitsAtOnce;
    return this.#judge();
  }

  #judge(): Verdict {
    const { isArmed, isDebugged, ownBytes, heapUsedBytes, heapLimitBytes } = this;
    const sample: Sample = {
      beats: this.#beats,
      gcMs: this.#gcMs,
      atMs: this.#atMs,
      usedMs: this.#usedMs,
      waitedMs: this.#waitedMs,
      isArmed,
      isDebugged,
      ownBytes,
      heapUsedBytes,
      heapLimitBytes,
    };
    const verdict = this.#health.judge(sample);
    if (verdict.kind === 'collect') this.collections += 1;
    return verdict;
  }
}
