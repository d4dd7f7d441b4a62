/**
 * Passes events to the double-forging guard (`double-forging-guard.ts`): blocks of other nodes, and steps of the system
 * clock forward. The events come from listeners that must not throw, so a failed write of the journal causes no error,
 * and is repeated later.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Block, PublicKey } from '../../protocol/types.ts';
import type { DoubleForgingGuard } from './double-forging-guard.ts';
import type { ForeignBlock } from './waits.ts';

const FIRST_FORGED_HEIGHT = 2;

export class WaitUpdates {
  readonly #guard: DoubleForgingGuard;
  readonly #enabled: () => Iterable<PublicKey>;
  /**
   * Steps of the clock forward after which the waits are not renewed yet. `byMs` is undefined for a step of unknown
   * size.
   */
  readonly #steps: { readonly byMs: number | undefined }[] = [];

  /**
   * @param enabled returns the delegates that are enabled on this node; the wait of any other delegate begins when this
   * delegate is enabled
   */
  constructor(guard: DoubleForgingGuard, enabled: () => Iterable<PublicKey>) {
    this.#guard = guard;
    this.#enabled = enabled;
  }

  /**
   * Call after the chain has got blocks that this node did not forge. If the write to the journal fails, `Waits`
   * repeats the write before the next decision about the delegate. If the process ends before this repetition, the next
   * start finds the block on the chain, unless a reorganisation has removed the block.
   */
  noteForeign(blocks: readonly ForeignBlock[]): void {
    for (const block of blocks) if (this.#noteForeign(block)) this.#guard.hear(block);
  }

  /**
   * Call with a block that this node has received but does not apply (`UnappliedBlocks`). Such a block can show that
   * another node signs for a delegate of this node. The block does not show that this node gets the blocks of the
   * network's chain, so the method does not call `DoubleForgingGuard.hear`.
   *
   * @returns whether another node signed the block
   */
  noteUnapplied(block: ForeignBlock): boolean {
    return this.#noteForeign(block);
  }

  /** @returns whether another node signed the block */
  #noteForeign(block: ForeignBlock): boolean {
    const enabled = Array.from(this.#enabled());
    // A write can fail only for a block of another node. If it fails, the value therefore stays true.
    let isForeign = true;
    tryTo(() => (isForeign = this.#guard.waits.noteForeign(block)));
    if (isForeign && enabled.includes(block.generatorPublicKey)) this.#guard.noteElsewhere(block, enabled);
    return isForeign;
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
   * Renews the waits after steps of the clock, and reports a failed write. Call before each decision about a signature:
   * no delegate is allowed to sign after a wait whose begin comes from a wrong clock.
   *
   * @throws ProtocolError in the same cases as the writes of the journal
   */
  renewOrThrow(): void {
    for (let step = this.#steps[0]; step !== undefined; step = this.#steps[0]) {
      const { byMs } = step;
      this.#guard.clockSetForward(this.#enabled(), byMs === undefined ? undefined : Math.ceil(byMs / 1000));
      this.#steps.shift();
    }
  }
}

/**
 * Ignores a failed write about a delegate to the journal. The node repeats the write in the next slot of this delegate
 * at the latest. If the write fails again, the delegate does not sign, and the log line about its slot states why the
 * write failed.
 */
function tryTo(write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
  }
}
