/**
 * The owners of slots, by the chain of this node. The owner of a slot before the tip is certain, because it follows from the
 * height that a block of the slot would have had. The owner of a slot after the tip is certain only as long as no other node
 * can have begun another round.
 */

import type { ChainReader } from '../ports/store.ts';
import type { ChainParams } from '../protocol/params.ts';
import { firstHeightOf, lastHeightOf, ownerOfSlot, roundOf } from '../protocol/rounds.ts';
import type { Rules } from '../protocol/rules.ts';
import { slotAt } from '../protocol/slots.ts';
import type { BlockHeader, PublicKey } from '../protocol/types.ts';

export interface SlotOwner {
  readonly delegate: PublicKey;
  /** Height of the block whose forging order names the owner. */
  readonly height: number;
  /** False where others may have begun a round since, with an order that is not known here. */
  readonly isCertain: boolean;
}

/** Whether the order of the block after the tip must be that of a slot, even if others have filled every slot since the tip. */
export function isOrderCertain(tip: BlockHeader, slot: number, params: ChainParams): boolean {
  const slotsSince = Math.max(0, slot - slotAt(tip.timestamp, params) - 1);
  return roundOf(tip.height + 1, params) === roundOf(tip.height + 1 + slotsSince, params);
}

/** Slot owners at one moment: the chain must not change while an instance is in use. */
export class SlotOwners {
  readonly #rules: Pick<Rules, 'forgers' | 'params'>;
  readonly #state: ChainReader;
  /** Owners by place in the round: looking one up reads all headers of its round. */
  readonly #rounds = new Map<number, ReadonlyMap<number, PublicKey>>();

  constructor(rules: Pick<Rules, 'forgers' | 'params'>, state: ChainReader) {
    this.#rules = rules;
    this.#state = state;
  }

  /** Undefined for a slot without an owner, and for a slot of an old round whose order is not kept any more. */
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

  /** Lowest height above the genesis block whose block is of this slot or a later one; there is one. */
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
   * The blocks of the round tell whose places are filled. Its list tells of all, where it is still kept and fits them: a round of
   * which the exceptions of a network say that it is reckoned anew has another order by now.
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
