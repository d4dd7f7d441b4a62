/**
 * Stores the slots that delegates of this node left unused because another node perhaps signs for them. The node
 * watches whether another node signs a block of the delegate in such a slot. `SlotWatch` decides about the signatures.
 *
 * A slot without a block of the other node proves something only if this node would have got such a block. Therefore
 * the class also stores whether this node heard the network around the slot: shortly before the slot and shortly after
 * it, the chain got blocks that another node signed.
 */

import type { PublicKey } from '../../protocol/types.ts';

/** A slot that a delegate left unused. */
interface UnusedSlot {
  readonly slot: number;
  /** Whether the delegate was in no hand-over in the slot, and the slot counts for `count`. */
  readonly isCounted: boolean;
  readonly isHeardBefore: boolean;
  readonly isHeardAfter: boolean;
}

/** A slot that a delegate left unused, and the id of the block that was in the delegate's watermark in this slot. */
interface WatchedRecall {
  readonly slot: number;
  readonly blockId: string;
}

export interface UnusedSlots {
  /** Number of unused slots that are at least a round apart. */
  readonly count: number;
  /** The newest unused slot; negative infinity if there is none. */
  readonly last: number;
}

/**
 * Maximum number of unused slots that the class stores for each delegate. A delegate must leave at most four slots
 * unused that are at least a round apart. A delegate has at most three slots in two rounds.
 */
const SLOTS_MAX = 16;

export class WatchedSlots {
  readonly #round: number;
  /** The newest `SLOTS_MAX` unused slots of each delegate, in ascending order. */
  readonly #slots = new Map<PublicKey, readonly UnusedSlot[]>();
  readonly #recalls = new Map<PublicKey, WatchedRecall>();
  /** The newest slot that `hear` was called with; negative infinity if there is none. */
  #newestHeard = Number.NEGATIVE_INFINITY;

  /** @param round number of slots of a round */
  constructor(round: number) {
    this.#round = round;
  }

  /**
   * Notes a slot that the delegate leaves unused. In calls with the same slot, only the first value of `isCounted`
   * counts: if the delegate was in a hand-over for a part of the slot, the other node was perhaps in it, too.
   *
   * @param isCounted whether the slot counts for `count`
   */
  note(publicKey: PublicKey, slot: number, isCounted: boolean): void {
    const known = this.#slots.get(publicKey) ?? [];
    if (known.some((each) => each.slot === slot)) return;
    const isHeardBefore = this.#isHeardBefore(this.#newestHeard, slot);
    // A later slot comes from a clock that was ahead. The watch then begins again.
    const earlier = known.every((each) => each.slot < slot) ? known : [];
    const added = { slot, isCounted, isHeardBefore, isHeardAfter: false };
    this.#slots.set(publicKey, [...earlier, added].slice(-SLOTS_MAX));
  }

  /** Call after the chain has got a block that shows that this node hears the network. @param slot slot of the block */
  hear(slot: number): void {
    this.#newestHeard = Math.max(this.#newestHeard, slot);
    for (const [publicKey, slots] of this.#slots) {
      const isNear = slots.some((each) => Math.abs(each.slot - slot) <= this.#near);
      if (isNear)
        this.#slots.set(
          publicKey,
          slots.map((each) => this.#heard(each, slot)),
        );
    }
  }

  #heard(unused: UnusedSlot, slot: number): UnusedSlot {
    const isHeardBefore = unused.isHeardBefore || this.#isHeardBefore(slot, unused.slot);
    const isHeardAfter = unused.isHeardAfter || (slot > unused.slot && slot - unused.slot <= this.#near);
    return { ...unused, isHeardBefore, isHeardAfter };
  }

  #isHeardBefore(heard: number, slot: number): boolean {
    return heard < slot && slot - heard <= this.#near;
  }

  /**
   * Maximum number of slots between an unused slot and a block that shows that the node hears the network around this
   * slot: half a round. If the node hears nothing for a round, no slot of this time counts.
   */
  get #near(): number {
    return Math.max(2, Math.floor(this.#round / 2));
  }

  /** The newest slot that `hear` was called with; negative infinity if there is none. */
  get newestHeard(): number {
    return this.#newestHeard;
  }

  /**
   * Call after the chain has got a block that another node signed for the delegate in the given slot. Forgets the slots
   * up to `slot` that the delegate left unused.
   */
  forgetUpTo(publicKey: PublicKey, slot: number): void {
    const later = (this.#slots.get(publicKey) ?? []).filter((each) => each.slot > slot);
    this.#slots.set(publicKey, later);
  }

  /** Notes a slot that the delegate leaves unused while its watermark has the block with the given id. */
  noteRecall(publicKey: PublicKey, slot: number, blockId: string): void {
    this.#recalls.set(publicKey, { slot, blockId });
  }

  /** The last slot that the delegate left unused; negative infinity if there is none. */
  last(publicKey: PublicKey): number {
    return this.#slots.get(publicKey)?.at(-1)?.slot ?? Number.NEGATIVE_INFINITY;
  }

  /** The first slot after `above` that the delegate left unused, and around which the network was heard. */
  firstHeard(publicKey: PublicKey, above: number): number | undefined {
    return this.#slots.get(publicKey)?.find((each) => each.slot > above && isHeard(each))?.slot;
  }

  /**
   * Counts the slots that the delegate left unused outside of a hand-over. The order of the delegates changes with each
   * round, so two slots of a delegate can follow each other closely. One restart of another node can then cover both
   * slots. Therefore only slots that are at least a round apart count. After a gap of two rounds between two unused
   * slots, the count begins again.
   *
   * @param isHeardOnly whether only slots count around which the network was heard
   */
  count(publicKey: PublicKey, isHeardOnly: boolean): UnusedSlots {
    let [count, last, lastCounted] = [0, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const unused of this.#slots.get(publicKey) ?? []) {
      if (!unused.isCounted || (isHeardOnly && !isHeard(unused))) continue;
      const { slot } = unused;
      const isGap = slot - last >= 2 * this.#round;
      if (isGap) count = 0;
      if (isGap || slot - lastCounted >= this.#round) {
        count += 1;
        lastCounted = slot;
      }
      last = slot;
    }
    return { count, last };
  }

  /**
   * The newest slot that counts for `count`, also if the network was not heard around it; undefined if there is none.
   */
  lastCounted(publicKey: PublicKey): number | undefined {
    return this.#slots.get(publicKey)?.findLast(({ isCounted }) => isCounted)?.slot;
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
    this.#slots.delete(publicKey);
  }

  /** After this call, the slots of the delegate before the slot `below` do not count for `count`. */
  uncount(publicKey: PublicKey, below: number): void {
    const slots = this.#slots.get(publicKey);
    if (slots === undefined) return;
    this.#slots.set(
      publicKey,
      slots.map((each) => (each.slot < below ? { ...each, isCounted: false } : each)),
    );
  }

  forgetAll(): void {
    this.#slots.clear();
    this.#recalls.clear();
  }

  /**
   * Forgets slots after `presentSlot`. Such slots come from a clock that was ahead. In these slots, the delegate has
   * not left anything unused.
   */
  forgetFuture(presentSlot: number): void {
    if (this.#newestHeard > presentSlot) this.#newestHeard = Number.NEGATIVE_INFINITY;
    for (const [publicKey, slots] of this.#slots) {
      this.#slots.set(
        publicKey,
        slots.filter(({ slot }) => slot <= presentSlot),
      );
    }
    for (const [publicKey, { slot }] of this.#recalls) if (slot > presentSlot) this.#recalls.delete(publicKey);
  }
}

function isHeard({ isHeardBefore, isHeardAfter }: UnusedSlot): boolean {
  return isHeardBefore && isHeardAfter;
}
