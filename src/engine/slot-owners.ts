/**
 * Finds the owners of slots, according to the chain of this node. For a slot at or before the tip, the owner is
 * certain. The first block in this slot or in a later slot shows the round, and the round gives the order of forgers.
 * For slots after the tip, it is possible that other nodes have blocks that this node does not have. The owner of a
 * slot after the tip is therefore certain only if such blocks cannot have begun a later round before the slot.
 */

import type { ChainReader } from '../ports/store.ts';
import type { ChainParams } from '../protocol/params.ts';
import { firstHeightOf, lastHeightOf, ownerOfSlot, roundOf } from '../protocol/rounds.ts';
import type { Rules } from '../protocol/rules.ts';
import { slotAt } from '../protocol/slots.ts';
import type { BlockHeader, PublicKey } from '../protocol/types.ts';

export interface SlotOwner {
  readonly delegate: PublicKey;
  /**
   * Height of the first block in this slot or in a later slot. For a slot after the tip, this is the height of the next
   * block. The order of forgers at this height determines the owner.
   */
  readonly height: number;
  /**
   * False if perhaps other nodes have blocks after the tip of this node, and these blocks perhaps begin a later round
   * before the slot. The owner of the slot then depends on the order of forgers in the later round. This node does not
   * know that order.
   */
  readonly isCertain: boolean;
}

/**
 * Returns whether the order of forgers for a slot after the tip is certain. The order is certain if the round of the
 * next block cannot end before the slot. For this check, the function assumes that other nodes have a block in every
 * slot after the tip.
 */
export function isOrderCertain(tip: BlockHeader, slot: number, params: ChainParams): boolean {
  const slotsSince = Math.max(0, slot - slotAt(tip.timestamp, params) - 1);
  return roundOf(tip.height + 1, params) === roundOf(tip.height + 1 + slotsSince, params);
}

/** Finds slot owners for the current chain. The chain must not change while an instance of this class is in use. */
export class SlotOwners {
  readonly #rules: Pick<Rules, 'forgers' | 'params'>;
  readonly #state: ChainReader;
  /**
   * For each round, the map contains the owner of each slot, by the slot number modulo the number of active delegates.
   * The map is a cache, because the search for the owners reads all headers of the round.
   */
  readonly #rounds = new Map<number, ReadonlyMap<number, PublicKey>>();

  constructor(rules: Pick<Rules, 'forgers' | 'params'>, state: ChainReader) {
    this.#rules = rules;
    this.#state = state;
  }

  /**
   * Returns the owner of a slot. The result is undefined if the store is empty, or if the slot has no owner (see
   * `ownerOfSlot`). For a slot without a block, the result is also undefined if the owner is unknown. The owner is
   * unknown if the store has deleted the delegate list of the round, or if this list disagrees with the blocks of the
   * round.
   */
  of(slot: number): SlotOwner | undefined {
    const { params } = this.#rules;
    const tip = this.#state.tip();
    if (tip === undefined) return undefined;
    const isPast = tip.height > 1 && slotAt(tip.timestamp, params) >= slot;
    const height = isPast ? this.#heightAt(slot, tip.height) : tip.height + 1;
    const delegate = this.#owners(roundOf(height, params)).get(slot % params.activeDelegates);
    if (delegate === undefined) return undefined;
    return { delegate, height, isCertain: isPast || isOrderCertain(tip, slot, params) };
  }

  /**
   * Returns the height of the first block in this slot or in a later slot. The genesis block does not count, because
   * no slot owner forged it. The caller ensures that a block in this slot or in a later slot exists.
   */
  #heightAt(slot: number, tipHeight: number): number {
    let [low, high] = [2, tipHeight];
    while (low < high) {
      const middle = (low + high) >> 1;
      const header = this.#state.header(middle);
      if (header !== undefined && slotAt(header.timestamp, this.#rules.params) >= slot) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #owners(round: number): ReadonlyMap<number, PublicKey> {
    const known = this.#rounds.get(round);
    if (known !== undefined) return known;
    const owners = this.#ownersOf(round);
    this.#rounds.set(round, owners);
    return owners;
  }

  /**
   * Finds the owners of the slots of a round. The blocks of the round show the owners of the slots that have blocks.
   * The delegate list in the store gives the owners of all slots (`Rules.forgers`). The method uses the delegate list
   * only if the store still has the list, and the list agrees with the blocks. The list can disagree with the blocks in
   * the rounds that the network's exception `ignoreDelegateListCacheForRounds` (in `exceptions.json`) names. In these
   * rounds, the order of the blocks can differ from the list.
   */
  #ownersOf(round: number): ReadonlyMap<number, PublicKey> {
    const rules = this.#rules;
    const state = this.#state;
    const { params } = rules;
    const owners = new Map<number, PublicKey>();
    const first = firstHeightOf(round, params);
    for (let height = Math.max(2, first); height <= lastHeightOf(round, params); height += 1) {
      const header = state.header(height);
      if (header === undefined) break;
      owners.set(slotAt(header.timestamp, params) % params.activeDelegates, header.generatorPublicKey);
    }
    const order = rules.forgers(state, first);
    const fits = [...owners].every(([place, delegate]) => ownerOfSlot(order, place, params) === delegate);
    if (fits) order.forEach((delegate, place) => owners.set(place, delegate));
    return owners;
  }
}
