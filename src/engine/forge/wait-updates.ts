/**
 * Passes events to the guard of signatures (`double-forging-guard.ts`): blocks of other nodes, and steps of the system
 * clock forward. The events come from listeners that must not throw, so a failed write of the journal is repeated later.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Block, PublicKey } from '../../protocol/types.ts';
import type { DoubleForgingGuard } from './double-forging-guard.ts';
import type { ForeignBlock } from './waits.ts';

const FIRST_FORGED_HEIGHT = 2;

export class WaitUpdates {
  readonly #guard: DoubleForgingGuard;
  readonly #enabled: () => Iterable<PublicKey>;
  /** Steps forward after which the waits are not renewed yet; undefined for a step of unknown size. */
  readonly #steps: { readonly byMs: number | undefined }[] = [];

  /** @param enabled returns the delegates that are enabled on this node; the wait of another one begins when it is enabled */
  constructor(guard: DoubleForgingGuard, enabled: () => Iterable<PublicKey>) {
    this.#guard = guard;
    this.#enabled = enabled;
  }

  /**
   * If the write fails, `Waits` repeats it before the next decision about the delegate. If the process ends before, the
   * next start finds the block on the chain, unless a reorganisation has removed it.
   */
  noteForeign(blocks: readonly ForeignBlock[]): void {
    for (const block of blocks) this.#noteForeign(block);
  }

  #noteForeign(block: ForeignBlock): void {
    const enabled = Array.from(this.#enabled());
    // A write can fail only for a block of another node.
    let isForeign = true;
    tryTo(() => (isForeign = this.#guard.waits.noteForeign(block)));
    if (!enabled.includes(block.generatorPublicKey)) this.#guard.noteOther(block);
    else if (isForeign) this.#guard.noteElsewhere(block, enabled);
  }

  /** Call after this node has signed a block. */
  noteSigned({ height }: Pick<Block, 'height'>): void {
    if (height === FIRST_FORGED_HEIGHT) this.#guard.waits.noteBeginning(this.#enabled());
  }

  /** @param byMs as in `ClockWatchDependencies.onClockSet` */
  clockSet(byMs: number | undefined): void {
    if (byMs === undefined || byMs > 0) this.#steps.push({ byMs });
  }

  /**
   * Call at each check of the scheduler. Renews the waits after steps of the clock, and finds needless waits
   * (`DoubleForgingGuard.refresh`). If the journal cannot be written, the next call tries again.
   */
  renew(): void {
    tryTo(() => {
      this.renewOrThrow();
      this.#guard.refresh(Array.from(this.#enabled()));
    });
  }

  /**
   * Renews the waits after steps of the clock, and reports a failed write. Call before each decision about a
   * signature: no delegate may sign by a wait that began by a wrong clock.
   *
   * @throws ProtocolError as the writes of the journal
   */
  renewOrThrow(): void {
    for (let step = this.#steps[0]; step !== undefined; step = this.#steps[0]) {
      const { byMs } = step;
      this.#guard.clockSetForward(this.#enabled(), byMs === undefined ? undefined : Math.ceil(byMs / 1000));
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
