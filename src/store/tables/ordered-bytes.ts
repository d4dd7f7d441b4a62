/** Writes and reads parts of keys. A number in a key is written as bytes that sort like the number. */

import { assert } from '../../primitives/errors.ts';
import type { TransactionPlace } from '../../ports/store.ts';

export const EMPTY: Buffer = Buffer.alloc(0);
export const PLACE_BYTES = 6;
export const HEIGHT_BYTES = 4;

/** Returns the height as 4 bytes. The bytes of several heights sort like the heights. */
export function heightBytes(height: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEIGHT_BYTES);
  writeU32(bytes, height, 0);
  return bytes;
}

/**
 * Returns the place of a transaction (block height and index in the block) as 6 bytes. The bytes of several places sort
 * like the places in the chain.
 */
export function placeBytes(place: TransactionPlace): Buffer {
  const bytes = Buffer.allocUnsafe(PLACE_BYTES);
  writePlace(bytes, place.height, place.index, 0);
  return bytes;
}

/** Reads the place of a transaction (block height and index in the block) from the last 6 bytes of a key or value. */
export function placeAtEnd(bytes: Buffer): TransactionPlace {
  const at = bytes.length - PLACE_BYTES;
  return { height: bytes.readUInt32BE(at), index: bytes.readUInt16BE(at + 4) };
}

/** Reads a height from the last 4 bytes of a key or value. */
export function heightAtEnd(bytes: Buffer): number {
  return bytes.readUInt32BE(bytes.length - HEIGHT_BYTES);
}

export function isU16(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 0xffff;
}

export function isU32(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;
}

/**
 * Returns the bytes of an integer whose absolute value is below 2^1016. The bytes sort like the integers. The bytes of
 * one integer are never a prefix of the bytes of another integer. Let n be the number of bytes of the absolute value.
 * An integer that is not negative is stored as the byte 128 + n, followed by the n bytes. A negative integer is stored
 * as the byte 128 - n, followed by the bitwise complement of the n bytes.
 */
export function orderedBigint(value: bigint): Buffer {
  const magnitude = value < 0n ? -value : value;
  const size = sizeOfBigint(magnitude);
  const bytes = Buffer.allocUnsafe(1 + size);
  writeOrderedBigint(bytes, value < 0n, magnitude, size, 0);
  return bytes;
}

export function writeOrderedBigint(
  bytes: Buffer,
  isNegative: boolean,
  magnitude: bigint,
  size: number,
  at: number,
): void {
  assert(size < 128, 'an amount is below 2^1016');
  bytes[at] = isNegative ? 128 - size : 128 + size;
  writeBigint(bytes, magnitude, at + 1, size);
  if (isNegative) for (let i = at + 1; i <= at + size; i += 1) bytes[i] = 255 - (bytes[i] ?? 0);
}

/**
 * Writes a safe integer that is at least 0, in the form of `orderedBigint`.
 *
 * @returns position after the integer
 */
export function writeOrderedNumber(bytes: Buffer, value: number, at: number): number {
  let size = 0;
  for (let bound = 1; bound <= value; bound *= 256) size += 1;
  bytes[at] = 128 + size;
  let rest = value;
  for (let i = at + size; i > at; i -= 1) {
    bytes[i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return at + size + 1;
}

/** Reads the integer that begins at `offset` in the form of `orderedBigint`. */
export function orderedBigintAt(bytes: Buffer, offset: number): bigint {
  const end = offset + orderedBigintBytes(bytes, offset);
  const isNegative = (bytes[offset] ?? 0) < 128;
  let magnitude = 0n;
  for (let at = offset + 1; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    magnitude = magnitude * 256n + BigInt(isNegative ? 255 - byte : byte);
  }
  return isNegative ? -magnitude : magnitude;
}

/** Returns the length in bytes of the integer that begins at `offset` in the form of `orderedBigint`. */
export function orderedBigintBytes(bytes: Buffer, offset: number): number {
  return 1 + Math.abs((bytes[offset] ?? 128) - 128);
}

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Returns the smallest number of bytes that can represent `value`, which must be at least 0. For the value 0, the
 * result is 0.
 */
export function sizeOfBigint(value: bigint): number {
  if (value > SAFE_MAX) return (value.toString(16).length + 1) >> 1;
  const number = Number(value);
  let size = 0;
  for (let bound = 1; bound <= number; bound *= 256) size += 1;
  return size;
}

/**
 * Writes `value`, which must be at least 0, as `size` big-endian bytes. Nearly all amounts are safe integers. For these
 * amounts, the function uses doubles instead of bigints, because arithmetic with doubles is several times as fast.
 */
export function writeBigint(bytes: Buffer, value: bigint, at: number, size: number): void {
  if (value > SAFE_MAX) {
    bytes.write(value.toString(16).padStart(size * 2, '0'), at, size, 'hex');
    return;
  }
  let rest = Number(value);
  for (let i = at + size - 1; i >= at; i -= 1) {
    bytes[i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
}

export function writeU32(bytes: Buffer, value: number, at: number): void {
  assert(isU32(value), 'heights and positions fit 32 bits');
  writeWord(bytes, value, at);
}

export function writeTimestamp(bytes: Buffer, timestamp: number, at: number): void {
  writeWord(bytes, timestamp ^ 0x8000_0000, at);
}

export function writePlace(bytes: Buffer, height: number, index: number, at: number): void {
  assert(isU16(index), 'a block has at most 65536 transactions');
  writeU32(bytes, height, at);
  bytes[at + 4] = index >> 8;
  bytes[at + 5] = index;
}

/**
 * Writes a 32-bit word byte by byte. The keys of a store contain millions of 32-bit words. Four writes of one byte each
 * take a third of the time that a method of Buffer takes.
 */
function writeWord(bytes: Buffer, value: number, at: number): void {
  bytes[at] = value >> 24;
  bytes[at + 1] = value >> 16;
  bytes[at + 2] = value >> 8;
  bytes[at + 3] = value;
}
