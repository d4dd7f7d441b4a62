/**
 * Finds what happened between two looks of a process: whether it ran, the machine slept, or the clock was set. It
 * compares three clocks of the machine: one that can be set; one that cannot, and stands still while the machine is suspended;
 * and, on most systems, one that cannot be set and goes on meanwhile.
 */

import type { Clock, ProcessTimes } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';

/** The advance of each clock between two looks; only `setMs` may be negative. */
export interface Passage {
  /** Time in which the machine ran. */
  readonly ranMs: number;
  /** Processor time of the process in it. */
  readonly processorMs: number;
  /** Time in which the machine was suspended; undefined where the system does not tell. */
  readonly sleptMs: number | undefined;
  /** Time by which the clock was set forward; if `sleptMs` is undefined, it includes suspended time. */
  readonly setMs: number;
}

export interface ClockWatchDependencies {
  /** Of the machine. */
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Undefined where nothing but that clock is known. */
  readonly times: ProcessTimes | undefined;
  /** Called when the clock was set; undefined where it is not known whether it was. */
  readonly clockSet?: ((byMs: number | undefined) => void) | undefined;
  readonly observer: Observer;
}

interface Reading {
  readonly wallMs: number;
  readonly runMs: number;
  readonly bootMs: number | undefined;
  readonly processorMs: number;
}

/** Services that keep a clock in time step it by less, or slew it: a difference like this loses slots. */
const SET_MS_MIN = 2000;
/** Readings follow one another and are not taken at once. */
const SLEPT_MS_MIN = 1000;
/** Looks come a second apart. */
const LATE_MS_MIN = 2000;
/** A reading that takes longer is taken again, so many times. */
const READING_MS_MAX = 100;
const ATTEMPTS_MAX = 5;
/** Share of the time that a busy process has a processor. */
const BUSY_SHARE = 0.5;

export class ClockWatch {
  readonly #dependencies: ClockWatchDependencies;
  #last: Reading | undefined;

  constructor(dependencies: ClockWatchDependencies) {
    this.#dependencies = dependencies;
  }

  /** What passed since the last look; tells of a clock that was set and of a machine that slept. Undefined for the first look. */
  look(): Passage | undefined {
    const now = this.#read();
    if (now === undefined) return undefined;
    const last = this.#last;
    this.#last = now;
    if (last === undefined) return undefined;
    const ranMs = now.runMs - last.runMs;
    const isBootKnown = now.bootMs !== undefined && last.bootMs !== undefined;
    const sleptMs = isBootKnown ? Math.max(0, Number(now.bootMs) - Number(last.bootMs) - ranMs) : undefined;
    const setMs = now.wallMs - last.wallMs - ranMs - (sleptMs ?? 0);
    const passage = { ranMs, processorMs: now.processorMs - last.processorMs, sleptMs, setMs };
    this.#tell(passage);
    return passage;
  }

  /** All clocks at one moment: a process that is stopped between two of them would seem to see the clock set. */
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

  #tell({ sleptMs, setMs }: Passage): void {
    const { observer } = this.#dependencies;
    if (sleptMs !== undefined && sleptMs >= SLEPT_MS_MIN)
      observer.log('warn', 'MACHINE_SLEPT', 'the machine was asleep', { seconds: seconds(sleptMs) });
    if (Math.abs(setMs) < SET_MS_MIN) return;
    const isUnclear = sleptMs === undefined && setMs > 0;
    this.#dependencies.clockSet?.(isUnclear ? undefined : setMs);
    const message = isUnclear
      ? 'the clock was set forward, or the machine was asleep'
      : `the clock was set ${way(setMs)}`;
    observer.log('warn', 'CLOCK_SET', message, { bySeconds: seconds(setMs) });
  }
}

/** Whether slots were passed over by the clock alone: no time passed in which the node could have looked at them. */
export function isSetPast({ ranMs, sleptMs = 0, setMs }: Passage): boolean {
  return setMs >= SET_MS_MIN && setMs > ranMs + sleptMs;
}

/** Why slots passed between two looks, as a clause; undefined where the clocks do not tell. */
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
