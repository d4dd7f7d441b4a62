/** Converts between bytes, hexadecimal text and integers. */

import { assert, ProtocolError } from './errors.ts';

export type Bytes = Uint8Array;

const ANY_HEX = /^[0-9a-fA-F]+$/;
const U64_MAX = 0xffff_ffff_ffff_ffffn;
const U64_MAX_TEXT = U64_MAX.toString();

/** Lower-case hexadecimal text of the bytes, two characters for each byte. */
export function hexOf(bytes: Bytes): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

/**
 * Converts hexadecimal text, in upper or lower case, to bytes.
 *
 * @throws ProtocolError `HEX_INVALID` if the text does not consist of pairs of hexadecimal digits
 */
export function bytesOfHex(hex: string): Buffer {
  const bytes = Buffer.from(hex, 'hex');
  // Buffer.from stops without an error at the first character that is not a hexadecimal digit. In this case, the result
  // has too few bytes for the text.
  if (bytes.length * 2 !== hex.length) throw new ProtocolError('HEX_INVALID', { hex: hex.slice(0, 80) });
  return bytes;
}

/** True for a non-empty hexadecimal text with two digits for each byte, in upper or lower case. */
export function isHex(text: string): boolean {
  return text.length % 2 === 0 && ANY_HEX.test(text);
}

const HEX_BYTES_MAX = 64;
const CHARACTERS = Buffer.alloc(HEX_BYTES_MAX * 2);
/** For each character code, 0 if the character is a lower-case hexadecimal digit, and otherwise 1. */
const NO_DIGIT = Uint8Array.from({ length: 256 }, (_, code) => (/[0-9a-f]/.test(String.fromCharCode(code)) ? 0 : 1));

/**
 * True for canonical (lower-case) hexadecimal text of exactly `byteLength` bytes.
 *
 * @param byteLength number of bytes, at most 64
 */
export function isCanonicalHex(text: string, byteLength: number): boolean {
  assert(byteLength <= HEX_BYTES_MAX, 'isCanonicalHex checks at most 64 bytes');
  const length = byteLength * 2;
  if (text.length !== length || Buffer.byteLength(text, 'utf8') !== length) return false;
  CHARACTERS.write(text, 'latin1');
  // The loop has no branch that depends on a character. The processor would often mispredict such a branch, because
  // hexadecimal texts are random.
  let wrong = 0;
  for (let at = 0; at < length; at += 1) wrong |= NO_DIGIT[CHARACTERS[at] as number] as number;
  return wrong === 0;
}

/** Returns the UTF-8 bytes of a text. */
export function utf8(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}

/**
 * Encodes an integer in 0..2^64-1 as eight big-endian bytes.
 *
 * @throws RangeError if the integer is not in this range
 */
export function u64be(value: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  writeU64BE(bytes, value, 0);
  return bytes;
}

const U64_BYTES = new Uint8Array(8);
const U64_VIEW = new DataView(U64_BYTES.buffer);

/**
 * Writes an unsigned 64-bit integer as eight big-endian bytes into `bytes`, from the index `at` on. The function uses a
 * DataView, because DataView writes a bigint several times as fast as Buffer does.
 *
 * @throws RangeError if the integer is not in 0..2^64-1
 */
export function writeU64BE(bytes: Bytes, value: bigint, at: number): void {
  if (value < 0n || value > U64_MAX) throw new RangeError(`${value} does not fit 64 bits`);
  U64_VIEW.setBigUint64(0, value);
  for (let index = 0; index < 8; index += 1) bytes[at + index] = U64_BYTES[index] as number;
}

/**
 * Reads a big-endian unsigned 64-bit integer. A double represents each value below 2^53 exactly. For such a value,
 * converting one double to a bigint is faster than combining two bigints.
 */
export function readU64BE(bytes: Buffer, at: number): bigint {
  const high = bytes.readUInt32BE(at);
  const low = bytes.readUInt32BE(at + 4);
  return high < 0x20_0000 ? BigInt(high * 0x1_0000_0000 + low) : (BigInt(high) << 32n) | BigInt(low);
}

/** True for the canonical decimal text of an unsigned 64-bit integer (no sign, no leading zero). */
export function isU64Decimal(text: string): boolean {
  // Two decimal texts of equal length sort like the two numbers, so it is enough to compare the texts.
  return /^(?:0|[1-9][0-9]{0,19})$/.test(text) && (text.length < U64_MAX_TEXT.length || text <= U64_MAX_TEXT);
}

/**
 * True if both arrays have the same bytes. Do not use this function for secrets. The comparison stops at the first
 * difference, so its duration reveals the position of the difference.
 */
export function bytesEqual(a: Bytes, b: Bytes): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** Returns a Buffer that shares the memory of `bytes`, without a copy. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
