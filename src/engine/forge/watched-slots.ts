/**
 * Stores the slots that delegates of this node left unused because another node may sign for them. The node watches
 * whether another node signs a block of the delegate in such a slot. `DoubleForgingGuard` decides about the signatures.
 */

import type { PublicKey } from '../../protocol/types.ts';

/** Slots of a delegate that it left unused one after the other, with no slot of the delegate in between that it used. */
export interface UnusedSlots {
  /** The last of these slots. */
  readonly last: number;
  readonly count: number;
}

/** A slot that a delegate left unused, and the id of the block that was in the delegate's watermark in this slot. */
interface WatchedRecall {
  readonly slot: number;
  readonly blockId: string;
}

export class WatchedSlots {
  readonly #last = new Map<PublicKey, number>();
  readonly #afterHandOver = new Map<PublicKey, UnusedSlots>();
  readonly #recalls = new Map<PublicKey, WatchedRecall>();

  /** Notes a slot that the delegate leaves unused. */
  note(publicKey: PublicKey, slot: number): void {
    this.#last.set(publicKey, slot);
  }

  /**
   * Notes a slot that the delegate leaves unused after the end of its hand-over (or without a hand-over).
   *
   * @param distanceMax largest distance between two consecutive slots of a delegate. After a greater distance, the count
   *   begins again
   */
  noteAfterHandOver(publicKey: PublicKey, slot: number, distanceMax: number): void {
    const known = this.#afterHandOver.get(publicKey);
    if (known?.last === slot) return;
    const isNext = known !== undefined && slot > known.last && slot - known.last <= distanceMax;
    this.#afterHandOver.set(publicKey, { last: slot, count: isNext ? known.count + 1 : 1 });
  }

  /** Notes a slot that the delegate leaves unused while its watermark has the block with the given id. */
  noteRecall(publicKey: PublicKey, slot: number, blockId: string): void {
    this.#recalls.set(publicKey, { slot, blockId });
  }

  /** The last slot that the delegate left unused; negative infinity if there is none. */
  last(publicKey: PublicKey): number {
    return this.#last.get(publicKey) ?? Number.NEGATIVE_INFINITY;
  }

  afterHandOver(publicKey: PublicKey): UnusedSlots | undefined {
    return this.#afterHandOver.get(publicKey);
  }

  /** Whether the delegate left a slot before `slot` unused while its watermark had the block with the given id. */
  hasRecalled(publicKey: PublicKey, slot: number, blockId: string): boolean {
    const watched = this.#recalls.get(publicKey);
    return watched !== undefined && watched.blockId === blockId && slot > watched.slot;
  }

  forget(publicKey: PublicKey): void {
    this.forgetUnused(publicKey);
    this.#recalls.delete(publicKey);
  }

  /** Forgets the slots of the delegate, except for the question whether its watermark has changed since. */
  forgetUnused(publicKey: PublicKey): void {
    this.#last.delete(publicKey);
    this.#afterHandOver.delete(publicKey);
  }

  forgetAfterHandOver(publicKey: PublicKey): void {
    this.#afterHandOver.delete(publicKey);
  }

  forgetAll(): void {
    this.#last.clear();
    this.#recalls.clear();
    this.#afterHandOver.clear();
  }

  /** Forgets slots in the future, which come from a clock that was ahead: in these slots, nothing was left unused. */
  forgetFuture(presentSlot: number): void {
    for (const [publicKey, slot] of this.#last) if (slot > presentSlot) this.#last.delete(publicKey);
    for (const [publicKey, { slot }] of this.#recalls) if (slot > presentSlot) this.#recalls.delete(publicKey);
    for (const [publicKey, { last }] of this.#afterHandOver)
      if (last > presentSlot) this.#afterHandOver.delete(publicKey);
  }
}
