/**
 * Computes rounds, and the order of the forgers in each round. A round has `activeDelegates` blocks. After the genesis
 * block and after each round, the node lists the delegates with the highest vote weights, and stores the list in the
 * state. Later votes do not change this frozen list. The forgers of a round come from one of the frozen lists
 * (`listIndexOf`). The number of the round determines how the node shuffles this list. In generation 2, the exceptions
 * of a network can list rounds for which the node uses no frozen list, but computes a list for each block
 * (`isRecomputed`).
 */

import { sha256 } from '../crypto/hash.ts';
import { utf8 } from '../primitives/bytes.ts';
import type { ChainParams } from './params.ts';
import type { Delegate, StateReader } from './state.ts';
import type { PublicKey } from './types.ts';

/** The number of blocks in a round. */
export type RoundLength = Pick<ChainParams, 'activeDelegates'>;

/** Number of the round that contains a height. The genesis block (height 1) is the first block of round 1. */
export function roundOf(height: number, { activeDelegates }: RoundLength): number {
  return Math.ceil(height / activeDelegates);
}

export function firstHeightOf(round: number, { activeDelegates }: RoundLength): number {
  return (round - 1) * activeDelegates + 1;
}

export function lastHeightOf(round: number, { activeDelegates }: RoundLength): number {
  return round * activeDelegates;
}

export function isLastOfRound(height: number, { activeDelegates }: RoundLength): boolean {
  return height % activeDelegates === 0;
}

/**
 * Returns the delegates with the highest vote weights, highest first. Delegates with equal weights are in ascending
 * order of their public keys. The list has at most `activeDelegates` entries.
 */
export function delegatesByWeight(state: StateReader, { activeDelegates }: RoundLength): readonly PublicKey[] {
  return [...state.delegates()]
    .sort(byWeight)
    .slice(0, activeDelegates)
    .map((delegate) => delegate.publicKey);
}

/**
 * Compares two delegates. The higher vote weight comes first, and equal weights are ordered by ascending public key.
 */
export function byWeight(a: Delegate, b: Delegate): number {
  if (a.voteWeight !== b.voteWeight) return a.voteWeight > b.voteWeight ? -1 : 1;
  return a.publicKey < b.publicKey ? -1 : 1;
}

/**
 * Shuffles a delegate list into the order of forgers in a round: entry `slot mod activeDelegates` owns the slot. Each
 * of the first four bytes of a hash determines one swap: the entry at the current position changes places with the
 * entry at the position `byte mod length of the list`. After each swap, the function continues at the next position.
 * After the four swaps of a hash, the function skips one position. The first hash is SHA-256 of the round's number as
 * decimal text. Each later hash is SHA-256 of the previous hash.
 */
export function shuffled<T>(list: readonly T[], round: number): readonly T[] {
  const order = [...list];
  let seed = sha256(utf8(String(round)));
  for (let index = 0; index < order.length; index += 1) {
    for (let byte = 0; byte < 4 && index < order.length; byte += 1, index += 1) {
      const other = seed.readUInt8(byte) % order.length;
      const held = order[index] as T;
      order[index] = order[other] as T;
      order[other] = held;
    }
    seed = sha256(seed);
  }
  return order;
}

/**
 * Returns the index of the delegate list from which the forgers of a round come. To freeze a list means to store the
 * list in the state, so that later votes do not change the list. The node freezes list 1 after the genesis block. The
 * node freezes each later list n after round n - 1. Round n + `offset` uses list n. The rounds 1 to `offset` use list
 * 1.
 */
export function listIndexOf(round: number, offset: number): number {
  return Math.max(round - offset, 1);
}

// Caches the shuffled list, because every block of a round needs this list. The key of the cache is the list object. If
// a state reader returns the same list object again for the same round, the list is not shuffled again.
const orders = new WeakMap<readonly PublicKey[], { readonly round: number; readonly order: readonly PublicKey[] }>();

/**
 * Returns the order of forgers in the round of a height; undefined if the state does not contain the list that the
 * round uses.
 *
 * @param offset difference between the number of a round and the number of the list that this round uses (see
 *   `listIndexOf`)
 */
export function forgingOrder(
  state: Pick<StateReader, 'roundList'>,
  height: number,
  offset: number,
  params: RoundLength,
): readonly PublicKey[] | undefined {
  const round = roundOf(height, params);
  const list = state.roundList(listIndexOf(round, offset));
  if (list === undefined) return undefined;
  const known = orders.get(list);
  if (known?.round === round) return known.order;
  const order = shuffled(list, round);
  orders.set(list, { round, order });
  return order;
}

/**
 * Returns the owner of a slot; undefined if the slot has no owner. Slots without an owner exist if `order` has fewer
 * than `activeDelegates` entries.
 */
export function ownerOfSlot(
  order: readonly PublicKey[],
  slot: number,
  { activeDelegates }: RoundLength,
): PublicKey | undefined {
  return order[slot % activeDelegates];
}
