import test from 'ava';

import { Pacer, RateWindow } from '../../src/p2p/rate-window.ts';
import type { Clock } from '../../src/ports/clock.ts';

/**
 * A clock that the test moves forward with `pass`, which also fires the timers that are due. Each timer fires 0.4 ms
 * early, because real timers may fire slightly early.
 */
class HandClock implements Clock {
  #nowMs = 1_000;
  #timers: { dueMs: number; work: () => void }[] = [];

  nowMs(): number {
    return Math.floor(this.#nowMs);
  }

  after(delayMs: number, work: () => void) {
    this.#timers.push({ dueMs: this.#nowMs + delayMs - 0.4, work });
    return { cancel: () => undefined };
  }

  async pass(ms: number): Promise<void> {
    for (let step = 0; step < ms; step += 1) {
      this.#nowMs += 1;
      const due = this.#timers.filter(({ dueMs }) => dueMs <= this.#nowMs);
      this.#timers = this.#timers.filter(({ dueMs }) => dueMs > this.#nowMs);
      for (const { work } of due) work();
      await Promise.resolve();
      await Promise.resolve();
    }
  }
}

test('no more calls start in a second than allowed, none waits without need, and each gets its turn', async (t) => {
  const clock = new HandClock();
  const pacer = new Pacer(clock, 10);
  const begun: number[] = [];
  for (let call = 0; call < 35; call += 1) {
    void pacer.wait().then(() => begun.push(clock.nowMs()));
  }
  await clock.pass(1);
  t.is(begun.length, 10);
  await clock.pass(5_000);
  t.is(begun.length, 35);
  t.true((begun.at(-1) ?? 0) <= 1_000 + 3_010);
  for (const [index, atMs] of begun.entries()) t.true(index < 10 || atMs - (begun[index - 10] ?? 0) >= 999, `${index}`);

  await clock.pass(2_000);
  const before = begun.length;
  void pacer.wait().then(() => begun.push(clock.nowMs()));
  await clock.pass(1);
  t.is(begun.length, before + 1);
});

test('an extended window lasts for its full length, and an ended one stays ended', (t) => {
  const window = new RateWindow(1_000);
  window.use(0, 5);
  window.extend(900);
  t.is(window.use(1_800), 6);
  window.extend(5_000);
  t.is(window.use(5_000), 1);
  window.extend(4_000);
  t.is(window.use(5_500), 2, 'a clock that was set back extends nothing');
});
