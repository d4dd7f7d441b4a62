/** Bytes, their hexadecimal text and the integers cut from them. */

import { ProtocolError } from './errors.ts';

export type Bytes = Uint8Array;

const LOWER_HEX = /^[0-9a-f]*$/;
const ANY_HEX = /^[0-9a-fA-F]+$/;
/** Decimal texts of fewer digits than the largest 64-bit integer has need not be computed to be compared with it. */
const U64_DIGITS_MAX = 20;
const U64_MAX = 0xffff_ffff_ffff_ffffn;

/** Lower-case hexadecimal text of the bytes, two characters for each. */
export function hexOf(bytes: Bytes): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

/**
 * Bytes of a hexadecimal text of either letter case.
 *
 * @throws ProtocolError `HEX_INVALID` for anything that is not whole bytes of hexadecimal digits
 */
export function bytesOfHex(hex: string): Buffer {
  const bytes = Buffer.from(hex, 'hex');
  // Buffer.from stops silently at the first character it does not know.
  if (bytes.length * 2 !== hex.length) throw new ProtocolError('HEX_INVALID', { hex: hex.slice(0, 80) });
  return bytes;
}

/** True for a non-empty hexadecimal text of whole bytes, either letter case. */
export function isHex(text: string): boolean {
  return text.length % 2 === 0 && ANY_HEX.test(text);
}

/** True for canonical (lower-case) hexadecimal text of exactly `byteLength` bytes. */
export function isCanonicalHex(text: string, byteLength: number): boolean {
  return text.length === byteLength * 2 && LOWER_HEX.test(text);
}

/** UTF-8 bytes of a text. */
export function utf8(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}

/** Big-endian unsigned 64-bit form of an integer in 0..2^64-1. */
export function u64be(value: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  writeU64BE(bytes, value, 0);
  return bytes;
}

const U64_BYTES = new Uint8Array(8);
const U64_VIEW = new DataView(U64_BYTES.buffer);

/**
 * Writes an integer, big-endian. A DataView writes a bigint several times as fast as a Buffer does.
 *
 * @throws RangeError unless it is in 0..2^64-1
 */
export function writeU64BE(bytes: Bytes, value: bigint, at: number): void {
  if (value < 0n || value > U64_MAX) throw new RangeError(`${value} does not fit 64 bits`);
  U64_VIEW.setBigUint64(0, value);
  bytes.set(U64_BYTES, at);
}

/** Decimal text of the first eight bytes read as an unsigned little-endian integer. */
export function decimalOfFirst8BytesLE(bytes: Bytes): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, 8).readBigUInt64LE(0).toString();
}

/** True for the canonical decimal text of an unsigned 64-bit integer (no sign, no leading zero). */
export function isU64Decimal(text: string): boolean {
  return /^(?:0|[1-9][0-9]{0,19})$/.test(text) && (text.length < U64_DIGITS_MAX || BigInt(text) <= U64_MAX);
}

/** True when both hold the same bytes. Not for secrets: it stops at the first difference. */
export function bytesEqual(a: Bytes, b: Bytes): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
