/**
 * Records a pause of forging on this node: the reason why no delegate of this node may forge, and the start of the
 * pause.
 */

import type { Clock } from '../../ports/clock.ts';
import type { ForgingPause } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import { momentMs } from '../../protocol/slots.ts';
import type { Chain } from '../chain.ts';
import type { NotReady } from '../disk-watch.ts';

export interface PauseDependencies {
  readonly chain: Pick<Chain, 'rules' | 'tip'>;
  /** The clock that determines the present slot. */
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly notReady: () => NotReady | undefined;
  readonly observer: Observer;
}

/**
 * If the clock is behind the start of the tip's slot by at least this time in milliseconds, the clock counts as wrong.
 * A smaller difference is normal, because the clocks of forgers differ a little, and time services set clocks in small
 * steps.
 */
const BEHIND_MS_MIN = 2000;
const SET_IT = 'set it right (timedatectl set-ntp true)';

export class Pause {
  readonly #dependencies: PauseDependencies;
  /**
   * The kind of the current pause (the code of its cause, or its reason without numbers), and the start of the pause as
   * Unix time in milliseconds. Undefined if there is no pause.
   */
  #since: { readonly kind: string; readonly sinceMs: number } | undefined;
  /**
   * Unix time in milliseconds at which the node logged that its clock is behind the start of the tip's slot. Undefined
   * if the node has not logged this, or if the clock has since reached this start.
   */
  #behindSinceMs: number | undefined;

  constructor(dependencies: PauseDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Logs when the clock falls behind the start of the tip's slot by at least `BEHIND_MS_MIN`, and when the clock
   * reaches this start again. Also updates the recorded pause if `hasDelegates` is true. The scheduler calls this
   * method about every second, so the recorded start of a pause is exact to about a second.
   *
   * @param hasDelegates whether forging of at least one delegate is switched on
   */
  update(hasDelegates: boolean): void {
    this.#logClock();
    if (hasDelegates) this.now();
  }

  /** Returns the current pause; undefined if nothing prevents forging. */
  now(): ForgingPause | undefined {
    const notReady = this.#clockFault() ?? this.#dependencies.notReady();
    if (notReady === undefined) {
      this.#since = undefined;
      return undefined;
    }
    const { reason, cause, writesFailSinceMs } = notReady;
    // If only the numbers in a reason change, the pause continues.
    const kind = cause ?? reason.replace(/\d+/g, '');
    if (this.#since?.kind !== kind) this.#since = { kind, sinceMs: this.#dependencies.clock.nowMs() };
    const sinceMs = writesFailSinceMs ?? this.#since.sinceMs;
    return { reason, sinceMs, ...(cause === undefined ? {} : { cause }) };
  }

  /**
   * Returns the time in milliseconds by which the clock is behind the start of the tip's slot; negative if the slot has
   * begun.
   */
  #behindMs(): number {
    const { chain, clock } = this.#dependencies;
    return momentMs(chain.tip.header.timestamp, chain.rules.params) - clock.nowMs();
  }

  /**
   * Returns a reason if the clock is behind the start of the tip's slot by at least `BEHIND_MS_MIN`. The node refuses
   * blocks of future slots. The clock can therefore be behind the slot of the tip only in two cases: the clock was set
   * back, or the data folder comes from a machine whose clock was ahead.
   */
  #clockFault(): NotReady | undefined {
    if (this.#behindMs() < BEHIND_MS_MIN) return undefined;
    const seconds = Math.ceil(this.#behindMs() / 1000);
    const reason = `the clock shows a time ${seconds} s before the newest block: it was set back, or was fast before: ${SET_IT}`;
    return { reason, cause: 'CLOCK_BEHIND_TIP' };
  }

  #logClock(): void {
    const { chain, clock, observer } = this.#dependencies;
    const notReady = this.#clockFault();
    const { height, timestamp } = chain.tip.header;
    if (notReady !== undefined && this.#behindSinceMs === undefined) {
      this.#behindSinceMs = clock.nowMs();
      const blockTime = new Date(momentMs(timestamp, chain.rules.params)).toISOString();
      const message =
        'the clock is behind the newest block: the node neither forges nor accepts blocks until the clock is right';
      observer.log('warn', 'CLOCK_BEHIND_TIP', message, { height, blockTime, reason: notReady.reason });
    } else if (this.#behindSinceMs !== undefined && this.#behindMs() <= 0) {
      this.#behindSinceMs = undefined;
      observer.log('info', 'CLOCK_REACHED_TIP', 'the clock has reached the newest block again: the node continues', {
        height,
      });
    }
  }
}
