/** How fast blocks of a devnet come. */

import { usageError } from '../problems.ts';
import type { MiningMode } from './mining.ts';

export interface Pace {
  /** Of a slot, where it is another than the network's. */
  readonly slotS?: number;
  /** Of the machine between two blocks, where it is less than a slot. */
  readonly intervalMs?: number;
}

/** The least that a network may have. */
const SLOT_S_MIN = 2;
const BLOCK_TIME_S_MIN = 0.2;
const BLOCK_TIME_S_MAX = 3600;

export const BLOCK_TIMES_TEXT = `an integer from 2 to ${BLOCK_TIME_S_MAX}, or a number from ${BLOCK_TIME_S_MIN} to 1.99`;

/** Whole seconds, or a time below two seconds in hundredths. */
export function isBlockTime(seconds: number): boolean {
  if (!(seconds >= BLOCK_TIME_S_MIN && seconds <= BLOCK_TIME_S_MAX)) return false;
  return Number.isInteger(seconds) || (seconds < SLOT_S_MIN && /^[01]\.[0-9]{1,2}$/.test(String(seconds)));
}

/**
 * Of a chain that is there already: its slots stay as long as they are, and blocks may come sooner.
 *
 * @throws ProtocolError `USAGE` for a longer time, and for a shorter one where blocks do not come by themselves
 */
export function paceOfFork(blockTime: number | undefined, mine: MiningMode, slotS: number): Pace {
  if (blockTime === undefined || blockTime === slotS) return {};
  if (blockTime > slotS)
    throw usageError(`--block-time: slots of this chain have ${slotS} s, and cannot become longer`);
  if (mine !== 'interval') throw usageError(`--block-time below the ${slotS} s of a slot is for --mine interval`);
  return { intervalMs: Math.round(blockTime * 1000) };
}

/**
 * Slots are whole seconds, two of them at least; blocks may come faster than slots pass on the machine's clock.
 *
 * @throws ProtocolError `USAGE` for a short time where blocks do not come by themselves
 */
export function paceOf(blockTime: number | undefined, mine: MiningMode): Pace {
  if (blockTime === undefined) return {};
  if (blockTime >= SLOT_S_MIN) return { slotS: blockTime };
  if (mine !== 'interval') throw usageError(`--block-time below ${SLOT_S_MIN} s is for --mine interval`);
  return { slotS: SLOT_S_MIN, intervalMs: Math.round(blockTime * 1000) };
}
