/** Computes for each slot of the ended rounds which delegate forged or missed the slot. */

import type { Block } from './answers.ts';

export interface PastSlot {
  readonly slot: number;
  /** Undefined for a missed slot. */
  readonly block: Block | undefined;
  /**
   * Public key of the slot owner; undefined for a missed slot whose owner is unknown. The owner is unknown if
   * `PastRoundsRequest.forgers` does not name the owner, and the owner forged no block of the round.
   */
  readonly forger: string | undefined;
}

export interface PastRound {
  readonly number: number;
  readonly forged: number;
  readonly missed: number;
  /**
   * The slots of a round in ascending order. If the network made no blocks for a long time, a round has very many
   * slots. The list then has only the last `2 * activeDelegates + 1` slots.
   */
  readonly slots: readonly PastSlot[];
}

export interface PastRoundsRequest {
  /** Blocks in any order; a block can occur twice. */
  readonly blocks: readonly Block[];
  readonly blockTimeS: number;
  readonly activeDelegates: number;
  /** Public keys of slot owners, by slot, if the node has sent them. */
  readonly forgers?: ReadonlyMap<number, string>;
}

/**
 * @returns ended rounds, newest first. If a needed block of a round is missing, the list contains neither this round
 *   nor any older round. All blocks of a round are needed. For each round except the first, the block before the round
 *   is needed, too, because the first slot of the round follows the slot of this block
 */
export function pastRounds({ blocks, blockTimeS, activeDelegates, forgers }: PastRoundsRequest): readonly PastRound[] {
  const byHeight = new Map(blocks.map((block) => [block.height, block]));
  const newest = Math.max(0, ...byHeight.keys());
  const rounds: PastRound[] = [];
  const slotOf = ({ timestamp }: Block): number => Math.floor(timestamp / blockTimeS);
  for (let number = Math.floor(newest / activeDelegates); number >= 1; number -= 1) {
    const firstHeight = (number - 1) * activeDelegates + 1;
    const own = Array.from({ length: activeDelegates }, (_, index) => byHeight.get(firstHeight + index));
    const whole = own.filter((block) => block !== undefined);
    const before = byHeight.get(firstHeight - 1);
    if (whole.length < activeDelegates || (number > 1 && before === undefined)) break;
    // No delegate forges the genesis block. A network can start long after its epoch, so the slots before the first
    // forged block belong to no delegate.
    const forged = whole.filter(({ height }) => height > 1);
    const bySlot = new Map(forged.map((block) => [slotOf(block), block]));
    const slots = [...bySlot.keys()];
    const last = Math.max(...slots);
    const first = before === undefined || before.height === 1 ? Math.min(...slots) : slotOf(before) + 1;
    rounds.push(roundOf(number, Math.max(first, last - 2 * activeDelegates), last, bySlot));
  }
  return rounds;

  function roundOf(number: number, first: number, last: number, bySlot: ReadonlyMap<number, Block>): PastRound {
    // A round with a missed slot has more slots than delegates, and its forging order starts again after the last
    // delegate. The delegate of a missed slot is therefore the forger of the slot that is `activeDelegates` slots later
    // or earlier in the round.
    const byPlace = new Map([...bySlot].map(([slot, block]) => [slot % activeDelegates, block.generatorPublicKey]));
    const slots: PastSlot[] = [];
    for (let slot = first; slot <= last; slot += 1) {
      const block = bySlot.get(slot);
      const forger = block?.generatorPublicKey ?? forgers?.get(slot) ?? byPlace.get(slot % activeDelegates);
      slots.push({ slot, block, forger });
    }
    const forged = slots.filter(({ block }) => block !== undefined).length;
    return { number, forged, missed: slots.length - forged, slots };
  }
}

/** Returns the missed slots whose owner is not known. */
export function unknownSlots(rounds: readonly PastRound[]): readonly number[] {
  return rounds.flatMap(({ slots }) => slots.filter(({ forger }) => forger === undefined).map(({ slot }) => slot));
}
