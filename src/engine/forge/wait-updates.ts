/**
 * Passes events to the waits of incomplete records (`waits.ts`): blocks of other nodes, and steps of the system clock.
 * The events come from listeners that must not throw, so a failed write of the journal is repeated later.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Block } from '../../protocol/types.ts';
import type { Waits } from './waits.ts';

export class WaitUpdates {
  readonly #waits: Waits;
  /**
   * Steps of the system clock, in milliseconds, after which the waits are not renewed yet; undefined for a step of
   * unknown size.
   */
  readonly #steps: { readonly byMs: number | undefined }[] = [];

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  /**
   * If the write fails, `Waits` repeats it before the next decision about the delegate. If the process ends before, the
   * next start finds the block on the chain, unless a reorganisation has removed it.
   */
  noteForeign(blocks: readonly Block[]): void {
    for (const block of blocks) tryTo(() => this.#waits.noteForeign(block));
  }

  /** @param byMs as in `ClockWatchDependencies.onClockSet` */
  clockSet(byMs: number | undefined): void {
    this.#steps.push({ byMs });
  }

  /** Renews the waits after steps of the clock. If the journal cannot be written, the next call tries again. */
  renew(): void {
    tryTo(() => this.renewOrThrow());
  }

  /**
   * As `renew`, but reports a failed write. Call before each decision about a signature: no delegate may sign by a wait
   * that began by a wrong clock.
   *
   * @throws ProtocolError as the writes of the journal
   */
  renewOrThrow(): void {
    for (let step = this.#steps[0]; step !== undefined; step = this.#steps[0]) {
      const { byMs } = step;
      if (byMs === undefined) this.#waits.clockSetForward(undefined);
      else if (byMs < 0) this.#waits.clockSetBack(Math.floor(-byMs / 1000));
      else this.#waits.clockSetForward(Math.ceil(byMs / 1000));
      this.#steps.shift();
    }
  }
}

/** Ignores a failed write of the journal. The next slot of a delegate of this node then shows the reason. */
function tryTo(write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
  }
}
