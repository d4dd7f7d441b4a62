/**
 * Lists the slots of the present round for the dashboard, with the outcome of each past slot and the delegate of each
 * slot.
 */

import type { Block, Forger } from './answers.ts';

/** Number of delegates of a round if the node sends no number. */
const DELEGATES_OF_ROUND = 101;

type SlotState = 'forged' | 'missed' | 'now' | 'next';

export interface RoundSlot {
  readonly slot: number;
  readonly state: SlotState;
  readonly forger: Pick<Forger, 'username' | 'address' | 'publicKey'> | undefined;
  readonly block: Block | undefined;
}

export interface Round {
  readonly number: number;
  /** Number of slots in `slots` with a block. */
  readonly forged: number;
  readonly missed: number;
  /** The present slot by the node's clock, or the slot of the newest block if that slot is later. */
  readonly currentSlot: number;
  /**
   * Slots of the round in ascending order. Each missed slot makes the round one slot longer. If the network made no
   * blocks for a long time, the list omits the slots that are more than `2 * activeDelegates` slots before the present
   * slot.
   */
  readonly slots: readonly RoundSlot[];
}

export interface RoundRequest {
  /**
   * Blocks of the round, newest first, then the block before the round if that block is known. Older blocks can follow.
   */
  readonly blocks: readonly Block[];
  /** All forgers of the present round in any order. */
  readonly forgers: readonly Forger[];
  readonly blockTimeS: number;
  readonly currentSlot: number;
  /** Number of delegates of a round; default: 101. */
  readonly activeDelegates?: number;
}

/** Returns the number of the round to which a height belongs. The first round has number 1. */
export function roundOf(height: number, activeDelegates = DELEGATES_OF_ROUND): number {
  return Math.ceil(height / activeDelegates);
}

/**
 * Lists the slots of the present round. The present round is the round of the next block. The list assumes that no
 * further slot is missed.
 */
export function roundSlots({ blocks, forgers, blockTimeS, ...request }: RoundRequest): Round {
  const tip = blocks[0];
  const { activeDelegates = DELEGATES_OF_ROUND } = request;
  const number = roundOf((tip?.height ?? 0) + 1, activeDelegates);
  const firstHeight = (number - 1) * activeDelegates + 1;
  const slotOf = ({ timestamp }: Block): number => Math.floor(timestamp / blockTimeS);
  const currentSlot = tip === undefined ? request.currentSlot : Math.max(request.currentSlot, slotOf(tip));
  const bySlot = new Map(
    // No delegate forged the genesis block, and the genesis block has no slot in the round.
    blocks.filter(({ height }) => height >= firstHeight && height > 1).map((block) => [slotOf(block), block]),
  );
  const byPlace = new Map(forgers.map((forger) => [forger.nextSlot % activeDelegates, forger]));
  const before = blocks.find(({ height }) => height === firstHeight - 1 && height > 1);
  const known = [...bySlot.keys()];
  // A network can start long after its epoch. Slots before the first forged block of the network belong to no delegate.
  const firstSlot = before === undefined ? Math.min(currentSlot, ...known) : slotOf(before) + 1;
  const slots: RoundSlot[] = [];
  for (let slot = Math.max(firstSlot, currentSlot - 2 * activeDelegates); slot <= currentSlot; slot += 1) {
    const block = bySlot.get(slot);
    const state = block === undefined ? (slot === currentSlot ? 'now' : 'missed') : 'forged';
    slots.push({ slot, state, block, forger: byPlace.get(slot % activeDelegates) });
  }
  // Each further block of the round needs a slot. The first of these slots is already in `slots` if the present slot
  // has no block yet. The genesis block counts as the first block of round 1.
  const left = number * activeDelegates - (tip?.height ?? 0) - (slots.at(-1)?.state === 'now' ? 1 : 0);
  for (let ahead = 1; ahead <= left; ahead += 1) {
    const slot = currentSlot + ahead;
    const forger = byPlace.get(slot % activeDelegates);
    slots.push({ slot, state: 'next', block: undefined, forger });
  }
  const count = (state: SlotState): number => slots.filter((slot) => slot.state === state).length;
  return { number, forged: count('forged'), missed: count('missed'), currentSlot, slots };
}

/**
 * Returns the next slot of each delegate in the round, by public key. The present slot counts as a next slot if it has
 * no block yet. A delegate whose next slot is in the following round is not in the map, because the order of the
 * delegates in that round is not known yet.
 */
export function nextSlotsOf({ slots }: Pick<Round, 'slots'>): ReadonlyMap<string, number> {
  const nextSlots = new Map<string, number>();
  for (const { slot, state, forger } of slots) {
    const isAhead = state === 'now' || state === 'next';
    if (isAhead && forger !== undefined && !nextSlots.has(forger.publicKey)) nextSlots.set(forger.publicKey, slot);
  }
  return nextSlots;
}
