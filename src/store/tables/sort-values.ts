/** The values that orders go by: integers as bytes that sort like them and of which none begins with another. */

import { PARTS } from './key-parts.ts';
import { writeOrderedNumber } from './ordered-bytes.ts';

/** Numbers stand for integers that a double holds: most do, and are written several times as fast. */
export type SortInteger = bigint | number;

export interface SortValue {
  /** More bytes than any value of the chain takes. */
  readonly bytesMax: number;
  /** @returns where it ends */
  write(key: Buffer, value: SortInteger, at: number): number;
  /** Where the value ends that begins at `at`. */
  end(key: Buffer, at: number): number;
  /** The value itself, or the nearest to it that there can be. */
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

/** A value as its bytes. */
export function bytesOf(kind: SortValue, value: SortInteger): Buffer {
  const bytes = Buffer.allocUnsafe(kind.bytesMax);
  return bytes.subarray(0, kind.write(bytes, value, 0));
}

function within(value: SortInteger, min: number, max: number): number {
  return value < min ? min : value > max ? max : Number(value);
}
