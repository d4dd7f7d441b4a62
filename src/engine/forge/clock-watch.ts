/**
 * Compares three clocks of the machine. The comparison shows how long the machine ran, and how long it was suspended,
 * between two readings of the clocks. The comparison also shows whether somebody set the system clock. The first clock
 * is the system clock, which can be set. The second clock (`runMs`) cannot be set, and stands still during a
 * suspension. The third clock (`bootMs`) cannot be set, and continues to run during a suspension. The node can read the
 * third clock only on Linux.
 */

import type { Clock, ProcessTimes } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';

/**
 * The changes between two successful readings of the clocks, in milliseconds. Only the value of `setMs` is negative in
 * some cases.
 */
export interface Passage {
  /**
   * Time in milliseconds for which the machine ran between the two readings. The time of a suspension does not count.
   */
  readonly ranMs: number;
  /** Processor time in milliseconds that this process used between the two readings. */
  readonly processorMs: number;
  /**
   * Time in milliseconds for which the machine was suspended between the two readings; undefined if the node cannot
   * read the clock `bootMs` (a clock that continues to run during a suspension).
   */
  readonly sleptMs: number | undefined;
  /**
   * Time in milliseconds by which the system clock was set forward between the two readings; negative if it was set
   * back. If `sleptMs` is undefined, `setMs` includes the time of a suspension.
   */
  readonly setMs: number;
}

export interface ClockWatchDependencies {
  /** The system clock, which can be set. */
  readonly clock: Pick<Clock, 'nowMs'>;
  /** The clocks that cannot be set. If this member is undefined, `read` returns undefined. */
  readonly times: ProcessTimes | undefined;
  /**
   * Called when the system clock was set, or was perhaps set, by at least `SET_MS_MIN`. `byMs` is the number of
   * milliseconds by which the clock was set forward, or a negative number if the clock was set back. `byMs` is
   * undefined if the node cannot determine whether the clock was set or the machine was suspended.
   */
  readonly onClockSet?: ((byMs: number | undefined) => void) | undefined;
  readonly observer: Observer;
}

interface Reading {
  readonly wallMs: number;
  readonly runMs: number;
  readonly bootMs: number | undefined;
  readonly processorMs: number;
}

/**
 * Smallest step of the system clock in milliseconds that the node reports. Time services usually correct a clock
 * gradually, or in smaller steps. A larger step can make delegates miss slots.
 */
const SET_MS_MIN = 2000;
/**
 * Shortest suspension in milliseconds that the node reports. The process reads the clocks one after another, so
 * `sleptMs` can be a little above 0 even without a suspension.
 */
const SLEPT_MS_MIN = 1000;
/**
 * If the machine ran for at least this time in milliseconds between two calls of `read`, the second call counts as
 * late. The usual time between two calls is one second.
 */
const LATE_MS_MIN = 2000;
/**
 * If reading the clocks takes longer than this time in milliseconds, the process reads all clocks again. The process
 * makes at most `ATTEMPTS_MAX` attempts.
 */
const READING_MS_MAX = 100;
const ATTEMPTS_MAX = 5;
/** A process counts as busy if it used the processor for at least this share of the time for which the machine ran. */
const BUSY_SHARE = 0.5;

export class ClockWatch {
  readonly #dependencies: ClockWatchDependencies;
  /** The last successful reading of `read`. */
  #last: Reading | undefined;
  /** The last successful reading of `read`, or a later reading of `check` that reported an event. */
  #reported: Reading | undefined;

  constructor(dependencies: ClockWatchDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Reads the clocks, and compares them with the last successful reading. Writes a log line if the system clock was set
   * forward or back by at least `SET_MS_MIN`, or if the machine was suspended for at least `SLEPT_MS_MIN`.
   *
   * @returns undefined if this reading fails, or if no reading has succeeded before
   */
  read(): Passage | undefined {
    const now = this.check();
    if (now === undefined) return undefined;
    const last = this.#last;
    this.#last = now;
    this.#reported = now;
    return last === undefined ? undefined : passageOf(last, now);
  }

  /**
   * Reads the clocks and writes the log lines, as `read` does. The two methods together report each event only once. A
   * call of this method does not change the result of the next call of `read`.
   *
   * @returns the reading; undefined if it fails
   */
  check(): Reading | undefined {
    const now = this.#read();
    const last = this.#reported;
    if (now !== undefined && last !== undefined && this.#report(passageOf(last, now))) this.#reported = now;
    return now;
  }

  /**
   * Reads all clocks at nearly the same moment. If the process paused between the readings of two clocks, the system
   * clock would seem to have been set.
   *
   * @returns undefined if `times` is undefined, or if each attempt took too long
   */
  #read(): Reading | undefined {
    const { clock, times } = this.#dependencies;
    if (times === undefined) return undefined;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const runMs = times.runMs();
      const reading = { wallMs: clock.nowMs(), runMs, bootMs: times.bootMs(), processorMs: times.processorMs() };
      if (times.runMs() - runMs <= READING_MS_MAX) return reading;
    }
    return undefined;
  }

  /** @returns whether there was an event to report */
  #report({ sleptMs, setMs }: Passage): boolean {
    const { observer } = this.#dependencies;
    const hasSlept = sleptMs !== undefined && sleptMs >= SLEPT_MS_MIN;
    if (hasSlept) observer.log('warn', 'MACHINE_SLEPT', 'the machine was asleep', { seconds: seconds(sleptMs) });
    if (Math.abs(setMs) < SET_MS_MIN) return hasSlept;
    const isUnclear = sleptMs === undefined && setMs > 0;
    this.#dependencies.onClockSet?.(isUnclear ? undefined : setMs);
    const message = isUnclear
      ? 'the clock was set forward, or the machine was asleep'
      : `the clock was set ${way(setMs)}`;
    observer.log('warn', 'CLOCK_SET', message, { bySeconds: seconds(setMs) });
    return true;
  }
}

function passageOf(last: Reading, now: Reading): Passage {
  const ranMs = now.runMs - last.runMs;
  const isBootKnown = now.bootMs !== undefined && last.bootMs !== undefined;
  const sleptMs = isBootKnown ? Math.max(0, Number(now.bootMs) - Number(last.bootMs) - ranMs) : undefined;
  const setMs = now.wallMs - last.wallMs - ranMs - (sleptMs ?? 0);
  return { ranMs, processorMs: now.processorMs - last.processorMs, sleptMs, setMs };
}

/**
 * Returns whether slots passed mainly because the system clock was set forward. In this case, the node had no time to
 * forge in the skipped slots. Only on Linux can the node read a clock that continues to run during a suspension
 * (`bootMs`). On other systems, a suspension looks like a step of the system clock, so the result is also true if the
 * suspension took at least `SET_MS_MIN`, and was longer than the time for which the machine ran.
 */
export function isSetPast({ ranMs, sleptMs = 0, setMs }: Passage): boolean {
  return setMs >= SET_MS_MIN && setMs > ranMs + sleptMs;
}

/**
 * Returns the part of a log message that explains why slots passed while the forging scheduler did not run; undefined
 * if the clocks show no cause.
 */
export function causeOf({ ranMs, processorMs, sleptMs, setMs }: Passage): string | undefined {
  const causes: string[] = [];
  if (sleptMs !== undefined && sleptMs >= SLEPT_MS_MIN) causes.push(`the machine was asleep for ${seconds(sleptMs)} s`);
  if (setMs >= SET_MS_MIN) {
    const or = sleptMs === undefined ? ', or the machine was asleep for as long' : '';
    causes.push(`the clock was set forward by ${seconds(setMs)} s${or}`);
  }
  if (ranMs >= LATE_MS_MIN) {
    const isBusy = processorMs >= BUSY_SHARE * ranMs;
    const why = isBusy
      ? 'the node was busy with other work'
      : 'the process was stopped, or the machine had no processor for it,';
    causes.push(`${why} for ${seconds(ranMs)} s`);
  }
  return causes.length === 0 ? undefined : causes.join('; ');
}

function way(setMs: number): 'forward' | 'back' {
  return setMs > 0 ? 'forward' : 'back';
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
