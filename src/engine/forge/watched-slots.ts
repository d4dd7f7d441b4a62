/**
 * Stores the unused slots of the delegates of this node. In an unused slot, this node deliberately made no block for
 * the delegate, because another node perhaps signs for the delegate. The node watches whether another node signs a
 * block of the delegate in such a slot. `SlotWatch` decides about the signatures.
 *
 * If the other node makes no block in an unused slot, this is a sign that no other node signs for the delegate. The
 * sign counts only if this node would have got such a block. Therefore the class also stores whether this node heard
 * the network around the slot: shortly before the slot and shortly after it, the chain got blocks that another node
 * signed.
 */

import type { PublicKey } from '../../protocol/types.ts';

/**
 * A slot of a delegate of this node. The node deliberately made no block in this slot, because another node perhaps
 * signs for the delegate.
 */
interface UnusedSlot {
  readonly slot: number;
  /**
   * Whether the method `count` counts the slot as a sign that no other node signs for the delegate. The value is false
   * in three cases, in which an empty slot shows nothing. First, another node had signed a block of the delegate
   * (`FORGING_ELSEWHERE`). Second, the delegate was in a hand-over: a wait until the rules of the generation allow the
   * delegate to sign again (`HandOvers`). Third, this node still searched the chain for blocks that the delegate signed
   * on another node. The method `uncount` also sets the value to false.
   */
  readonly isCounted: boolean;
  readonly isHeardBefore: boolean;
  readonly isHeardAfter: boolean;
}

/**
 * A slot in which this node deliberately made no block for a delegate, and the id of a block. During this slot, the
 * delegate's watermark (a record of the delegate's newest signed header, stored outside of the data folder) named the
 * block with this id.
 */
interface WatchedRecall {
  readonly slot: number;
  readonly blockId: string;
}

export interface CountedSlots {
  /**
   * Number of unused slots of the delegate that count as signs that no other node signs for the delegate. Only slots
   * that are at least a round apart count (see `WatchedSlots.count`).
   */
  readonly count: number;
  /**
   * The newest unused slot that can show that no other node signs for the delegate. Here, the slot can also be less
   * than a round after another such slot. The value is -Infinity if there is no such slot.
   */
  readonly newest: number;
}

/** Maximum number of unused slots that the class stores for each delegate. */
const SLOTS_MAX = 64;
/**
 * Number of heard slots that the class stores on a network with short rounds. A heard slot is the slot of a block that
 * showed that this node hears the network (the argument of `hear`). If a round has more slots than this number, the
 * class stores as many heard slots as a round has slots. The distances between the heard slots depend on the order of
 * the delegates, which stays the same during a round.
 */
const HEARD_MIN = 16;
/**
 * If the class has stored fewer heard slots (see `HEARD_MIN`) than this number, `#near` does not compute a usual
 * distance between heard slots, and returns `NEAR_MIN`.
 */
const HEARD_KNOWN_MIN = 4;
/**
 * Share of the distances between two consecutive heard slots (slots that `hear` was called with) that count as usual.
 * The shortest distances count as usual. If many slots are stored, a few long distances therefore do not change the
 * longest usual distance.
 */
const USUAL_SHARE = 0.9;
/**
 * Least result of `#near`, in slots. `#near` returns the greatest distance at which a block before or after an unused
 * slot shows that this node heard the network (got blocks of the network) around the unused slot. In each network, it
 * happens that a single slot has no block.
 */
const NEAR_MIN = 2;
/**
 * If this node gets no new block that shows a connection to the network for this number of rounds, this node no longer
 * assumes that it heard the network around the earlier unused slots (`#beginAgain`). During the pause, the other node
 * that perhaps signs for the delegate had perhaps no connection either. An unused slot from before the pause and an
 * unused slot from after the pause must therefore not count together as signs that no other node signs for the
 * delegate.
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
   * Notes a slot that the delegate leaves unused (this node makes no block in the slot). If the method is called again
   * with the same slot, the value of `isCounted` from the first call stays. Suppose that a hand-over of the delegate (a
   * wait until the rules of the generation allow the delegate to sign again) ends during the slot. The first call,
   * before the end of the hand-over, then passed false, so the slot does not count. Such a slot does not show that no
   * other node signs for the delegate: another node with the delegate was perhaps in the same hand-over, and left the
   * slot unused, too.
   *
   * @param isCounted whether the slot counts as a sign that no other node signs for the delegate (see `count`)
   */
  note(publicKey: PublicKey, slot: number, isCounted: boolean): void {
    const known = this.#slots.get(publicKey) ?? [];
    if (known.some((each) => each.slot === slot)) return;
    // If a stored slot of the delegate is later than `slot`, the clock was ahead when the later slot was stored. In
    // this case, the method forgets all stored slots of the delegate.
    const earlier = known.every((each) => each.slot < slot) ? known : [];
    const near = this.#near();
    const isHeardBefore = this.#heardSlots.some((heard) => heard < slot && slot - heard <= near);
    const added = { slot, isCounted, isHeardBefore, isHeardAfter: false };
    this.#slots.set(publicKey, [...earlier, added].slice(-SLOTS_MAX));
  }

  /**
   * Call after this node has got a new block that shows that this node hears the network (gets blocks of the network).
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

  /**
   * Removes the mark `isHeardBefore` from all unused slots before `slot`: the class no longer assumes that this node
   * heard the network shortly before such an unused slot. `SILENT_ROUNDS_MAX` gives the reason.
   */
  #beginAgain(slot: number): void {
    for (const [publicKey, slots] of this.#slots) {
      this.#slots.set(
        publicKey,
        slots.map((each) => (each.slot < slot ? { ...each, isHeardBefore: false } : each)),
      );
    }
  }

  /**
   * Returns the greatest distance, in slots, at which a block before or after an unused slot shows that this node heard
   * the network (got blocks of the network) around the unused slot. The result is the longest usual distance between
   * two consecutive heard slots (slots that `hear` was called with; see `USUAL_SHARE`). A distance of more than a round
   * counts as a round, and the result is at least `NEAR_MIN`. In a longer time without a block of another node, this
   * node has perhaps lost its connection.
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

  /** Notes a slot that the delegate leaves unused while the delegate's watermark names the block with the given id. */
  noteRecall(publicKey: PublicKey, slot: number, blockId: string): void {
    this.#recalls.set(publicKey, { slot, blockId });
  }

  /** The last slot that the delegate left unused; negative infinity if there is none. */
  last(publicKey: PublicKey): number {
    return this.#slots.get(publicKey)?.at(-1)?.slot ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * The first slot after `above` that the delegate left unused, and around which this node heard the network
   * (`hear` was called with slots shortly before and shortly after the slot).
   */
  firstHeard(publicKey: PublicKey, above: number): number | undefined {
    return this.#slots.get(publicKey)?.find((each) => each.slot > above && isHeard(each))?.slot;
  }

  /**
   * Counts the unused slots of the delegate that are signs that no other node signs for the delegate
   * (`UnusedSlot.isCounted`). The order of the delegates changes with each round, so two slots of a delegate can follow
   * each other closely. One restart of another node can then cover both slots. Therefore only slots that are at least a
   * round apart count. If the distance between two consecutive slots with `isCounted` is two rounds or more, the count
   * begins again with the later slot.
   *
   * @param isHeardOnly whether only slots count around which this node heard the network (`hear` was called with
   *   slots shortly before and shortly after the slot)
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
   * The newest unused slot of the delegate with `isCounted` (the slot can show that no other node signs for the
   * delegate), even if this node did not hear the network around this slot; undefined if there is no such slot.
   */
  lastCounted(publicKey: PublicKey): number | undefined {
    return this.#slots.get(publicKey)?.findLast(({ isCounted }) => isCounted)?.slot;
  }

  /**
   * Whether the delegate left a slot before `slot` unused while the delegate's watermark named the block with the given
   * id (`noteRecall`).
   */
  hasRecalled(publicKey: PublicKey, slot: number, blockId: string): boolean {
    const watched = this.#recalls.get(publicKey);
    return watched !== undefined && watched.blockId === blockId && slot > watched.slot;
  }

  forget(publicKey: PublicKey): void {
    this.forgetUnused(publicKey);
    this.#recalls.delete(publicKey);
  }

  /** Forgets the slots that the delegate left unused, but not the slot that `noteRecall` noted. */
  forgetUnused(publicKey: PublicKey): void {
    this.#slots.delete(publicKey);
  }

  /**
   * Sets `isCounted` to false for the delegate's unused slots before the slot `below`. The method `count` then no
   * longer counts these slots as signs that no other node signs for the delegate.
   */
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
