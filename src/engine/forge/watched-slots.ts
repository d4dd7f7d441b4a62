/**
 * Stores the slots that delegates of this node left unused because another node perhaps signs for them. The node
 * watches whether another node signs a block of the delegate in such a slot. `SlotWatch` decides about the signatures.
 */

import type { PublicKey } from '../../protocol/types.ts';

/**
 * The slots that a delegate left unused after its hand-over. The order of the delegates changes with each round, so two
 * slots of a delegate can follow each other closely. One restart of another node can then cover both slots. Therefore
 * only slots that are at least a round apart count.
 */
export interface UnusedSlots {
  readonly first: number;
  /** The last unused slot. */
  readonly last: number;
  /** The last unused slot that counts. */
  readonly lastCounted: number;
  readonly count: number;
}

/** Maximum number of unused slots that `WatchedSlots` stores for each delegate. */
const SLOTS_MAX = 4;

/** A slot that a delegate left unused, and the id of the block that was in the delegate's watermark in this slot. */
interface WatchedRecall {
  readonly slot: number;
  readonly blockId: string;
}

export class WatchedSlots {
  /** The newest `SLOTS_MAX` unused slots of each delegate, in ascending order. */
  readonly #slots = new Map<PublicKey, readonly number[]>();
  readonly #afterHandOver = new Map<PublicKey, UnusedSlots>();
  readonly #recalls = new Map<PublicKey, WatchedRecall>();

  /** Notes a slot that the delegate leaves unused. Several calls with the same slot count as one call. */
  note(publicKey: PublicKey, slot: number): void {
    const others = (this.#slots.get(publicKey) ?? []).filter((each) => each !== slot);
    this.#slots.set(publicKey, [...others, slot].sort((a, b) => a - b).slice(-SLOTS_MAX));
  }

  /**
   * Notes a slot that the delegate leaves unused after the end of its hand-over (or without a hand-over). Several calls
   * with the same slot count as one call.
   *
   * @param round number of slots of a round. If the last unused slot is two rounds ago or more, the count begins again
   */
  noteAfterHandOver(publicKey: PublicKey, slot: number, round: number): void {
    const known = this.#afterHandOver.get(publicKey);
    if (known === undefined || slot < known.last || slot - known.last >= 2 * round)
      this.#afterHandOver.set(publicKey, { first: slot, last: slot, lastCounted: slot, count: 1 });
    else if (slot - known.lastCounted >= round)
      this.#afterHandOver.set(publicKey, { ...known, last: slot, lastCounted: slot, count: known.count + 1 });
    else this.#afterHandOver.set(publicKey, { ...known, last: slot });
  }

  /**
   * Call after the chain has got a block that another node signed for the delegate in the given slot. Forgets the slots
   * up to `slot` that the delegate left unused.
   */
  forgetUpTo(publicKey: PublicKey, slot: number): void {
    const later = (this.#slots.get(publicKey) ?? []).filter((each) => each > slot);
    this.#slots.set(publicKey, later);
    const unused = this.#afterHandOver.get(publicKey);
    if (unused !== undefined && unused.first <= slot) this.#afterHandOver.delete(publicKey);
  }

  /** Notes a slot that the delegate leaves unused while its watermark has the block with the given id. */
  noteRecall(publicKey: PublicKey, slot: number, blockId: string): void {
    this.#recalls.set(publicKey, { slot, blockId });
  }

  /** The last slot that the delegate left unused; negative infinity if there is none. */
  last(publicKey: PublicKey): number {
    return this.#slots.get(publicKey)?.at(-1) ?? Number.NEGATIVE_INFINITY;
  }

  /** The first slot after `above` and before `below` that the delegate left unused; undefined if there is none. */
  firstBetween(publicKey: PublicKey, above: number, below: number): number | undefined {
    return this.#slots.get(publicKey)?.find((slot) => slot > above && slot < below);
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

  /**
   * Forgets the unused slots of the delegate. The method does not forget the slot of `noteRecall`, which shows whether
   * the watermark of the delegate has changed since that slot.
   */
  forgetUnused(publicKey: PublicKey): void {
    this.#slots.delete(publicKey);
    this.#afterHandOver.delete(publicKey);
  }

  forgetAfterHandOver(publicKey: PublicKey): void {
    this.#afterHandOver.delete(publicKey);
  }

  forgetAll(): void {
    this.#slots.clear();
    this.#recalls.clear();
    this.#afterHandOver.clear();
  }

  /** Forgets slots in the future. Such slots come from a clock that was ahead, so no delegate has left them unused. */
  forgetFuture(presentSlot: number): void {
    for (const [publicKey, slots] of this.#slots) {
      this.#slots.set(
        publicKey,
        slots.filter((slot) => slot <= presentSlot),
      );
    }
    for (const [publicKey, { slot }] of this.#recalls) if (slot > presentSlot) this.#recalls.delete(publicKey);
    for (const [publicKey, { last }] of this.#afterHandOver)
      if (last > presentSlot) this.#afterHandOver.delete(publicKey);
  }
}
