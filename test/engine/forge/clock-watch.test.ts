/**
 * Tests that `ClockWatch` distinguishes three events: someone sets the clock, the machine sleeps, or the process
 * pauses.
 */

import test from 'ava';
import { ClockWatch } from '../../../src/engine/forge/clock-watch.ts';
import { SILENT, type Observer } from '../../../src/ports/observer.ts';
import { systemTimes } from '../../../src/node/system.ts';

/** Clocks that the test moves. A reading of a clock can take some time. */
function watched() {
  const now = { wallMs: 1_000_000, runMs: 0, bootMs: 0 };
  let stopMs = 0;
  const logged: string[] = [];
  const observer: Observer = { ...SILENT, log: (_level, code) => void logged.push(code) };
  const pass = (ms: number): void => {
    now.wallMs += ms;
    now.runMs += ms;
    now.bootMs += ms;
  };
  const watch = new ClockWatch({
    clock: {
      nowMs: () => {
        const read = now.wallMs;
        pass(stopMs);
        stopMs = 0;
        return read;
      },
    },
    times: { runMs: () => now.runMs, bootMs: () => now.bootMs, processorMs: () => 0 },
    observer,
  });
  return { watch, now, logged, pass, stopInNextReading: (ms: number) => (stopMs = ms) };
}

test('a process that is stopped between two readings does not report a set clock', (t) => {
  const { watch, logged, pass, stopInNextReading } = watched();
  watch.read();
  pass(1000);
  stopInNextReading(60_000);
  t.like(watch.read(), { ranMs: 61_000, sleptMs: 0, setMs: 0 });
  pass(1000);
  t.like(watch.read(), { ranMs: 1000, sleptMs: 0, setMs: 0 });
  t.deepEqual(logged, []);
});

test('a clock that is set while the machine sleeps is distinguished from the sleep', (t) => {
  const { watch, now, logged, pass } = watched();
  watch.read();
  pass(1000);
  now.wallMs += 600_000 - 5000;
  now.bootMs += 600_000;
  t.deepEqual(watch.read(), { ranMs: 1000, processorMs: 0, sleptMs: 600_000, setMs: -5000 });
  t.deepEqual(logged, ['MACHINE_SLEPT', 'CLOCK_SET']);
});

test('a check reports a step of the clock once, and the next reading still covers it', (t) => {
  const { watch, now, logged, pass } = watched();
  watch.read();
  pass(300);
  now.wallMs += 60_000;
  watch.check();
  t.deepEqual(logged, ['CLOCK_SET']);
  pass(700);
  t.like(watch.read(), { ranMs: 1000, setMs: 60_000 });
  t.deepEqual(logged, ['CLOCK_SET']);
});

test('two small steps of the clock are one event, also with a check between them', (t) => {
  const { watch, now, logged, pass } = watched();
  watch.read();
  for (const isRead of [false, true]) {
    pass(500);
    now.wallMs += 1900;
    if (isRead) t.like(watch.read(), { setMs: 3800 });
    else watch.check();
  }
  t.deepEqual(logged, ['CLOCK_SET']);
});

test('the clocks of a running machine advance alike', async (t) => {
  const before = systemTimes.runMs();
  const bootBefore = systemTimes.bootMs();
  const between = systemTimes.runMs();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const after = systemTimes.runMs();
  const bootAfter = systemTimes.bootMs();
  const end = systemTimes.runMs();
  if (bootBefore === undefined || bootAfter === undefined) {
    t.not(process.platform, 'linux');
    return;
  }
  // The system reports the time since its start in hundredths of a second, so the test allows a difference of 20 ms.
  const passedMs = bootAfter - bootBefore;
  t.true(passedMs >= after - between - 20 && passedMs <= end - before + 20, `${passedMs}`);
  t.true(systemTimes.processorMs() > 0);
});
