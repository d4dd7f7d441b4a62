/** Slot arithmetic: chain time counts whole seconds since the network's epoch, slots last `blockTimeS` of them. */

import type { ChainParams } from './params.ts';

type Timing = Pick<ChainParams, 'blockTimeS'>;
type Calendar = Pick<ChainParams, 'blockTimeS' | 'epochMs'>;

/** Slot that a moment of chain time falls in, counted from 0; negative before the epoch. */
export function slotAt(epochTimeS: number, params: Timing): number {
  return Math.floor(epochTimeS / params.blockTimeS);
}

/** First second of a slot, in chain time: the timestamp of an honestly forged block. */
export function slotStartS(slot: number, params: Timing): number {
  return slot * params.blockTimeS;
}

/** Chain time of a Unix time in milliseconds, in whole seconds (rounded down). */
export function epochTimeS(unixMs: number, params: Pick<ChainParams, 'epochMs'>): number {
  return Math.floor((unixMs - params.epochMs) / 1000);
}

/** Unix time in milliseconds of a moment of chain time, in seconds. */
export function momentMs(epochTimeS: number, params: Pick<ChainParams, 'epochMs'>): number {
  return params.epochMs + epochTimeS * 1000;
}

/** Unix time in milliseconds at which a slot begins. */
export function slotStartMs(slot: number, params: Calendar): number {
  return momentMs(slotStartS(slot, params), params);
}

/** Slot that a Unix time in milliseconds falls in. */
export function slotAtMs(unixMs: number, params: Calendar): number {
  return slotAt(epochTimeS(unixMs, params), params);
}
