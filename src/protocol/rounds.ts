/** Rounds: a block for each active delegate, whose forgers come from a frozen list of delegates in an order that the round number shuffles. */

import { sha256 } from '../crypto/hash.ts';
import { utf8 } from '../primitives/bytes.ts';
import type { ChainParams } from './params.ts';
import type { Delegate, StateReader } from './state.ts';
import type { PublicKey } from './types.ts';

/** How long the rounds of a network are. */
export type RoundLength = Pick<ChainParams, 'activeDelegates'>;

/** Round that a height belongs to, from 1. The genesis block is the first block of round 1. */
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

/** Delegates by weight, heaviest first, equal weights by ascending public key; at most a round's number of them. */
export function delegatesByWeight(state: StateReader, { activeDelegates }: RoundLength): readonly PublicKey[] {
  return [...state.delegates()]
    .sort(byWeight)
    .slice(0, activeDelegates)
    .map((delegate) => delegate.publicKey);
}

/** Order of two delegates: the heavier first, equal weights by ascending public key. */
export function byWeight(a: Delegate, b: Delegate): number {
  if (a.voteWeight !== b.voteWeight) return a.voteWeight > b.voteWeight ? -1 : 1;
  return a.publicKey < b.publicKey ? -1 : 1;
}

/**
 * The forging order of a round: entry `slot mod activeDelegates` owns the slot. Every fifth position is skipped as a source of swaps and
 * the first hash is of the round's decimal text, later ones of the hash bytes before them.
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

/** Index of the frozen list that a round forges with, when lists wait `offset` rounds before they are used. */
export function listIndexOf(round: number, offset: number): number {
  return Math.max(round - offset, 1);
}

// A list is shuffled once for its round and then asked for every block: keyed by the list object, which readers may keep.
const orders = new WeakMap<readonly PublicKey[], { readonly round: number; readonly order: readonly PublicKey[] }>();

/**
 * The forging order for a height, undefined when its list is not known.
 *
 * @param offset rounds that a frozen list waits before it is used
 */
export function forgingOrder(
  state: StateReader,
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

/** Owner of a slot, undefined for a slot that nobody owns: the modulus is the same where fewer delegates are registered. */
export function ownerOfSlot(
  order: readonly PublicKey[],
  slot: number,
  { activeDelegates }: RoundLength,
): PublicKey | undefined {
  return order[slot % activeDelegates];
}
