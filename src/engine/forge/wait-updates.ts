/**
 * Passes events to the waits of incomplete records (`waits.ts`): blocks of other nodes, and steps of the system clock.
 * The events come from listeners that must not throw, so a failed write of the journal is repeated later.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Block, PublicKey } from '../../protocol/types.ts';
import type { Waits } from './waits.ts';

export class WaitUpdates {
  readonly #waits: Waits;
  readonly #enabled: () => Iterable<PublicKey>;
  /**
   * Steps of the system clock, in milliseconds, after which the waits are not renewed yet; undefined for a step of
   * unknown size.
   */
  readonly #steps: { readonly byMs: number | undefined }[] = [];

  /** @param enabled returns the delegates that are enabled on this node */
  constructor(waits: Waits, enabled: () => Iterable<PublicKey>) {
    this.#waits = waits;
    this.#enabled = enabled;
  }

  /** If the write fails, `Waits` repeats it before the next decision about the delegate. */
  noteForeign(blocks: readonly Block[]): void {
    for (const block of blocks) isWritten(() => this.#waits.noteForeign(block));
  }

  /** @param byMs as in `ClockWatchDependencies.onClockSet` */
  clockSet(byMs: number | undefined): void {
    this.#steps.push({ byMs });
  }

  /** Renews the waits after steps of the clock. If the journal cannot be written, the next call tries again. */
  renew(): void {
    for (let step = this.#steps[0]; step !== undefined; step = this.#steps[0]) {
      const { byMs } = step;
      const renewal = (): void => {
        if (byMs !== undefined && byMs < 0) this.#waits.clockSetBack();
        else this.#waits.clockSetForward(this.#enabled(), byMs === undefined ? undefined : Math.ceil(byMs / 1000));
      };
      if (!isWritten(renewal)) return;
      this.#steps.shift();
    }
  }
}

/** Returns false if the journal cannot be written. The next slot of a delegate of this node then shows the reason. */
function isWritten(write: () => void): boolean {
  try {
    write();
    return true;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return false;
  }
}
