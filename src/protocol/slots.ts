/**
 * Converts between slots and times. Chain time is in whole seconds since the network's epoch, and a slot lasts
 * `blockTimeS` seconds.
 */

import type { ChainParams } from './params.ts';

type Timing = Pick<ChainParams, 'blockTimeS'>;
type Calendar = Pick<ChainParams, 'blockTimeS' | 'epochMs'>;

/**
 * Number of the slot at a moment of chain time. The slot that begins at the epoch has number 0. Slots before the epoch
 * have negative numbers.
 */
export function slotAt(epochTimeS: number, params: Timing): number {
  return Math.floor(epochTimeS / params.blockTimeS);
}

/**
 * Returns the start of a slot in chain time. If this node or lisk-sdk forges a block in the slot, the timestamp of the
 * block is the start of the slot.
 */
export function slotStartS(slot: number, params: Timing): number {
  return slot * params.blockTimeS;
}

/** Converts Unix time in milliseconds to chain time in whole seconds (rounded down). */
export function epochTimeS(unixMs: number, params: Pick<ChainParams, 'epochMs'>): number {
  return Math.floor((unixMs - params.epochMs) / 1000);
}

/** Converts chain time in seconds to Unix time in milliseconds. */
export function momentMs(epochTimeS: number, params: Pick<ChainParams, 'epochMs'>): number {
  return params.epochMs + epochTimeS * 1000;
}

/** Start of a slot as Unix time in milliseconds. */
export function slotStartMs(slot: number, params: Calendar): number {
  return momentMs(slotStartS(slot, params), params);
}

/** Number of the slot at a Unix time in milliseconds. */
export function slotAtMs(unixMs: number, params: Calendar): number {
  return slotAt(epochTimeS(unixMs, params), params);
}
