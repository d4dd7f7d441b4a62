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
  /**
   * Whether the slot counts for `count`. It does not count if it proves nothing: the delegate was in a hand-over, left
   * the slot to another node, or waited for the end of a search. It also stops counting with `uncount`.
   */
  readonly isCounted: boolean;
  readonly isHeardBefore: boolean;
  readonly isHeardAfter: boolean;
}

/** A slot that a delegate left unused, and the id of the block that was in the delegate's watermark in this slot. */
interface WatchedRecall {
  readonly slot: number;
  readonly blockId: string;
}

export interface CountedSlots {
  /** Number of counted slots that are at least a round apart. */
  readonly count: number;
  /**
   * The newest slot that proves something, even if it is less than a round after another one; -Infinity if none does.
   */
  readonly newest: number;
}

/** Maximum number of unused slots that the class stores for each delegate. */
const SLOTS_MAX = 64;
/**
 * Minimum number of heard slots that the class stores. On a network with longer rounds, it stores as many heard slots
 * as a round has slots, because the order of the delegates, and so the distances, stay the same for a round.
 */
const HEARD_MIN = 16;
/** With fewer heard slots than this number, the class does not know their usual distances. */
const HEARD_KNOWN_MIN = 4;
/**
 * Share of the distances between two heard slots (slots that `hear` was called with) that count as usual. If many slots
 * are stored, a few longer distances do not change what is usual.
 */
const USUAL_SHARE = 0.9;
/** Least value of `#near` in slots. In each network, it happens that a single slot has no block. */
const NEAR_MIN = 2;
/**
 * If the node hears nothing for this number of rounds, the watch begins again. In this time, the other node perhaps had
 * no connection either, so a slot from before and a slot from after do not belong together.
 */
const SILENT_ROUNDS_MAX = 2;

export class WatchedSlots {
  readonly #round: number;
  /** The newest `SLOTS_MAX` unused slots of each delegate, in ascending order. */
  readonly #slots = new Map<PublicKey, readonly UnusedSlot[]>();
  readonly #recalls = new Map<PublicKey, WatchedRecall>();
  /** The newest slots that `hear` was called with, in ascending order. */
  #heardSlots: readonly number[] = [];

  /** @param round number of slots of a round */
  constructor(round: number) {
    this.#round = round;
  }

  /**
   * Notes a slot that the delegate leaves unused. If the method is called again with the same slot, the first value of
   * `isCounted` stays. A slot therefore does not count if a hand-over of the delegate ends during the slot. Such a slot
   * proves nothing: another node with the delegate was perhaps in the same hand-over, and left the slot unused, too.
   *
   * @param isCounted whether the slot counts for `count`
   */
  note(publicKey: PublicKey, slot: number, isCounted: boolean): void {
    const known = this.#slots.get(publicKey) ?? [];
    if (known.some((each) => each.slot === slot)) return;
    // A later slot comes from a clock that was ahead. The watch then begins again.
    const earlier = known.every((each) => each.slot < slot) ? known : [];
    const near = this.#near();
    const isHeardBefore = this.#heardSlots.some((heard) => heard < slot && slot - heard <= near);
    const added = { slot, isCounted, isHeardBefore, isHeardAfter: false };
    this.#slots.set(publicKey, [...earlier, added].slice(-SLOTS_MAX));
  }

  /**
   * Call after this node has got a new block that shows that it hears the network.
   *
   * @param slot slot of the block
   */
  hear(slot: number): void {
    if (slot - this.newestHeard >= SILENT_ROUNDS_MAX * this.#round) this.#beginAgain(slot);
    if (!this.#heardSlots.includes(slot)) {
      const stored = Math.max(HEARD_MIN, this.#round);
      this.#heardSlots = [...this.#heardSlots, slot].sort((a, b) => a - b).slice(-stored);
    }
    const near = this.#near();
    const isNear = (unused: number): boolean => unused !== slot && Math.abs(unused - slot) <= near;
    for (const [publicKey, slots] of this.#slots) {
      if (!slots.some((each) => isNear(each.slot))) continue;
      const marked = slots.map((each) => {
        if (!isNear(each.slot)) return each;
        return slot < each.slot ? { ...each, isHeardBefore: true } : { ...each, isHeardAfter: true };
      });
      this.#slots.set(publicKey, marked);
    }
  }

  /** After this call, the unused slots before `slot` do not count as heard. */
  #beginAgain(slot: number): void {
    for (const [publicKey, slots] of this.#slots) {
      this.#slots.set(
        publicKey,
        slots.map((each) => (each.slot < slot ? { ...each, isHeardBefore: false } : each)),
      );
    }
  }

  /**
   * Maximum number of slots between an unused slot and a block that shows that the node hears the network around this
   * slot. The number is the longest usual distance between two heard slots (`USUAL_SHARE`). In a longer time without a
   * block of another node, this node has perhaps lost its connection.
   */
  #near(): number {
    if (this.#heardSlots.length < HEARD_KNOWN_MIN) return NEAR_MIN;
    const distances = this.#heardSlots.slice(1).map((slot, index) => slot - (this.#heardSlots[index] ?? slot));
    const usual = distances.sort((a, b) => a - b)[Math.floor(USUAL_SHARE * (distances.length - 1))] ?? NEAR_MIN;
    return Math.max(NEAR_MIN, Math.min(usual, this.#round));
  }

  /** The newest slot that `hear` was called with; negative infinity if there is none. */
  get newestHeard(): number {
    return this.#heardSlots.at(-1) ?? Number.NEGATIVE_INFINITY;
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
   * Counts the slots that the delegate left unused and that prove something (`UnusedSlot.isCounted`). The order of the
   * delegates changes with each round, so two slots of a delegate can follow each other closely. One restart of another
   * node can then cover both slots. Therefore only slots that are at least a round apart count. If the delegate left no
   * slot unused for two rounds, the count begins again.
   *
   * @param isHeardOnly whether only slots count around which the network was heard
   */
  count(publicKey: PublicKey, isHeardOnly: boolean): CountedSlots {
    let [count, newest, before, lastCounted] = [0, -Infinity, -Infinity, -Infinity];
    for (const unused of this.#slots.get(publicKey) ?? []) {
      if (!unused.isCounted) continue;
      const { slot } = unused;
      if (slot - before >= 2 * this.#round) [count, lastCounted] = [0, -Infinity];
      before = slot;
      if (isHeardOnly && !isHeard(unused)) continue;
      newest = slot;
      if (slot - lastCounted < this.#round) continue;
      count += 1;
      lastCounted = slot;
    }
    return { count, newest };
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

  /** Forgets the slots that the delegate left unused, but not those of `noteRecall`. */
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
    this.#heardSlots = this.#heardSlots.filter((slot) => slot <= presentSlot);
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
