'use strict';
/**
 * Lets a process live through past time, faster than it passed: preload it with `-r` and give it INTEROP_CLOCK, a JSON
 * object {"fromMs", "speed"}. The clock begins at `fromMs` and runs at `speed` until it has caught up with the machine's;
 * timers are as much shorter. A lone node makes a chain of any length so, slot by slot, without any change to its code.
 */

const { fromMs, speed } = JSON.parse(process.env.INTEROP_CLOCK);
const RealDate = Date;
const startedMs = RealDate.now();

function nowMs() {
  const realMs = RealDate.now();
  return Math.min(realMs, Math.floor(fromMs + (realMs - startedMs) * speed));
}

class PastDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(nowMs());
    else super(...args);
  }

  static now() {
    return nowMs();
  }
}
global.Date = PastDate;

for (const name of ['setTimeout', 'setInterval']) {
  const original = global[name];
  const faster = (work, delayMs, ...args) =>
    original(work, nowMs() < RealDate.now() ? delayMs / speed : delayMs, ...args);
  global[name] = Object.defineProperties(faster, Object.getOwnPropertyDescriptors(original));
}
