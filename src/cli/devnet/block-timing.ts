/** Intervals between the blocks of a devnet. */

import { usageError } from '../error-lines.ts';
import type { MiningMode } from './mining.ts';

export interface BlockTiming {
  /** Length of a slot in seconds; undefined if the slots keep the length that the network has. */
  readonly slotS?: number;
  /**
   * Time between two blocks on the machine's clock, in milliseconds; present only if this time is shorter than a slot.
   */
  readonly intervalMs?: number;
}

/** Shortest slot of a network, in seconds. */
const SLOT_S_MIN = 2;
const BLOCK_TIME_S_MIN = 0.2;
const BLOCK_TIME_S_MAX = 3600;

export const BLOCK_TIMES_TEXT = `an integer from 2 to ${BLOCK_TIME_S_MAX}, or a number from ${BLOCK_TIME_S_MIN} to 1.99`;

/**
 * True for a block time that a devnet can have: from 0.2 to 3600 seconds. Times of two seconds or more must be whole
 * seconds. Shorter times can have one or two decimals.
 */
export function isBlockTime(seconds: number): boolean {
  if (!(seconds >= BLOCK_TIME_S_MIN && seconds <= BLOCK_TIME_S_MAX)) return false;
  return Number.isInteger(seconds) || (seconds < SLOT_S_MIN && /^[01]\.[0-9]{1,2}$/.test(String(seconds)));
}

/**
 * Block timing of a forked chain. The slots of a forked chain keep their length. If the block time is shorter than a
 * slot, the chain clock runs faster than the machine's clock.
 *
 * @throws ProtocolError `USAGE` for a block time longer than a slot, and for a shorter block time in a mode other than
 *   `interval`
 */
export function blockTimingOfFork(blockTime: number | undefined, mine: MiningMode, slotS: number): BlockTiming {
  if (blockTime === undefined || blockTime === slotS) return {};
  if (blockTime > slotS)
    throw usageError(`--block-time: slots of this chain have ${slotS} s, and cannot become longer`);
  if (mine !== 'interval') throw usageError(`--block-time below the ${slotS} s of a slot is for --mine interval`);
  return { intervalMs: Math.round(blockTime * 1000) };
}

/**
 * Block timing of a new chain. Slots last whole seconds, at least two. If the block time is below two seconds, the
 * chain clock runs faster than the machine's clock.
 *
 * @throws ProtocolError `USAGE` for a block time below two seconds in a mode other than `interval`
 */
export function blockTimingOf(blockTime: number | undefined, mine: MiningMode): BlockTiming {
  if (blockTime === undefined) return {};
  if (blockTime >= SLOT_S_MIN) return { slotS: blockTime };
  if (mine !== 'interval') throw usageError(`--block-time below ${SLOT_S_MIN} s is for --mine interval`);
  return { slotS: SLOT_S_MIN, intervalMs: Math.round(blockTime * 1000) };
}
