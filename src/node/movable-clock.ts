/**
 * Implements a chain clock (the clock for slots and timestamps) that users can stop and set. Only the nodes of a devnet
 * use a movable clock. All other nodes use the clock of the machine.
 */

import type { Clock, Timer } from '../ports/clock.ts';

/** Setting of a movable clock. Clocks with the same setting in two processes on one machine show the same time. */
export type ClockSetting =
  /**
   * The clock runs ahead of the machine's clock by `aheadMs`. With a negative value, this clock runs behind the
   * machine's clock.
   */
  | { readonly kind: 'running'; readonly aheadMs: number }
  /** The clock is stopped and shows `atMs`, a Unix time in milliseconds. */
  | { readonly kind: 'frozen'; readonly atMs: number };

/**
 * Shortest delay of timers on a frozen clock, in milliseconds; a delay of 0 stays 0. A frozen clock never shows a later
 * time, so code that waits for a later time sets a timer again and again. Without this minimum, such code would run in
 * a busy loop if the delay of its timer is short.
 */
const FROZEN_DELAY_MS_MIN = 50;

/**
 * Returns the Unix time in milliseconds that a clock with this setting shows when the machine's clock shows
 * `machineMs`.
 */
export function timeOf(setting: ClockSetting, machineMs: number): number {
  return setting.kind === 'frozen' ? setting.atMs : machineMs + setting.aheadMs;
}

/**
 * Returns a setting whose clock is `skewMs` ahead of a clock with the given setting. If `skewMs` is negative, the clock
 * is behind.
 */
export function skewed(setting: ClockSetting, skewMs: number): ClockSetting {
  return setting.kind === 'frozen'
    ? { kind: 'frozen', atMs: setting.atMs + skewMs }
    : { kind: 'running', aheadMs: setting.aheadMs + skewMs };
}

export class MovableClock implements Clock {
  readonly #machine: Clock;
  #setting: ClockSetting;

  /** @throws RangeError for a setting without a finite time */
  constructor(machine: Clock, setting: ClockSetting) {
    this.#machine = machine;
    this.#setting = checked(setting);
  }

  get setting(): ClockSetting {
    return this.#setting;
  }

  /**
   * @throws RangeError for a setting without a finite time. In this case, the clock keeps its previous setting
   */
  set(setting: ClockSetting): void {
    this.#setting = checked(setting);
  }

  nowMs(): number {
    return timeOf(this.#setting, this.#machine.nowMs());
  }

  /** Timers use the machine's clock, so setting this clock does not change running delays. */
  after(delayMs: number, work: () => void): Timer {
    const leastMs = this.#setting.kind === 'frozen' && delayMs > 0 ? FROZEN_DELAY_MS_MIN : 0;
    return this.#machine.after(Math.max(delayMs, leastMs), work);
  }
}

/** Refuses settings without a finite time. With NaN, all comparisons of times and slots would be false. */
function checked(setting: ClockSetting): ClockSetting {
  if (Number.isFinite(timeOf(setting, 0))) return setting;
  throw new RangeError(`a clock cannot be set to ${timeOf(setting, 0)}`);
}

/** Returns the setting in a parsed JSON value; undefined if the value is not a setting. */
export function clockSettingOf(value: unknown): ClockSetting | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { kind, aheadMs, atMs } = value as Readonly<Record<string, unknown>>;
  if (kind === 'running' && Number.isSafeInteger(aheadMs)) return { kind, aheadMs: Number(aheadMs) };
  if (kind === 'frozen' && Number.isSafeInteger(atMs)) return { kind, atMs: Number(atMs) };
  return undefined;
}
