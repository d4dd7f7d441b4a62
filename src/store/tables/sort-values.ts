/**
 * Writes sort values into keys. A sort value is the integer by which transactions are sorted: an amount, a fee, a
 * timestamp or a type. The bytes of sort values sort like the values. The bytes of one value are never a prefix of the
 * bytes of another value.
 */

import { PARTS } from './key-parts.ts';
import { writeOrderedNumber } from './ordered-bytes.ts';

/**
 * A sort value: a safe integer as a number, or an integer of any size as a bigint. Nearly all sort values are safe
 * integers, and numbers are written several times as fast as bigints.
 */
export type SortInteger = bigint | number;

/** The form of a sort value in keys. */
export interface SortValue {
  /** Maximum number of bytes that a value takes in a key. */
  readonly bytesMax: number;
  /** @returns the position after the value */
  write(key: Buffer, value: SortInteger, at: number): number;
  /** Returns the position after the value that begins at `at`. */
  end(key: Buffer, at: number): number;
  /**
   * Returns `value` if this form can represent `value`. Otherwise, returns the nearest value that this form can
   * represent.
   */
  nearest(value: SortInteger): SortInteger;
}

const AMOUNT_BYTES_MAX = 128;

export const SORT_VALUES = {
  amount: {
    bytesMax: AMOUNT_BYTES_MAX,
    write: (key, value, at) =>
      typeof value === 'number' && value >= 0
        ? writeOrderedNumber(key, value, at)
        : PARTS.amount.write(key, BigInt(value), at),
    end: (key, at) => PARTS.amount.end(key, at, key.length),
    nearest: (value) => value,
  },
  timestamp: {
    bytesMax: 4,
    write: (key, value, at) => PARTS.timestamp.write(key, Number(value), at),
    end: (_key, at) => at + 4,
    nearest: (value) => within(value, -(2 ** 31), 2 ** 31 - 1),
  },
  u16: {
    bytesMax: 2,
    write: (key, value, at) => PARTS.u16.write(key, Number(value), at),
    end: (_key, at) => at + 2,
    nearest: (value) => within(value, 0, 0xffff),
  },
} as const satisfies Record<string, SortValue>;

export function bytesOf(kind: SortValue, value: SortInteger): Buffer {
  const bytes = Buffer.allocUnsafe(kind.bytesMax);
  return bytes.subarray(0, kind.write(bytes, value, 0));
}

function within(value: SortInteger, min: number, max: number): number {
  return value < min ? min : value > max ? max : Number(value);
}
