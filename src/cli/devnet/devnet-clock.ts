/** The chain clock of a devnet: frozen, or running at a constant offset from the clock of the machine. */

import { timeOf, type ClockSetting } from '../../node/movable-clock.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MiningMode } from './mining.ts';

/** Clock setting and mining mode of a devnet. */
export interface TimeState {
  readonly setting: ClockSetting;
  readonly mode: MiningMode;
}

export class DevnetClock {
  setting: ClockSetting;
  readonly #machine: Clock;

  /** @param machine clock of the machine */
  constructor(machine: Clock, setting: ClockSetting = { kind: 'running', aheadMs: 0 }) {
    this.#machine = machine;
    this.setting = setting;
  }

  /** Returns the time of the chain clock, as Unix time in milliseconds. */
  nowMs(): number {
    return timeOf(this.setting, this.#machine.nowMs());
  }

  /** Sets the clock to a time. A frozen clock stays frozen. */
  moveTo(atMs: number): void {
    this.setting = this.setting.kind === 'frozen' ? { kind: 'frozen', atMs } : this.#runningFrom(atMs);
  }

  freeze(): void {
    this.setting = { kind: 'frozen', atMs: this.nowMs() };
  }

  /** Lets a frozen clock continue from its present time. */
  resume(): void {
    this.setting = this.#runningFrom(this.nowMs());
  }

  #runningFrom(atMs: number): ClockSetting {
    return { kind: 'running', aheadMs: atMs - this.#machine.nowMs() };
  }
}
