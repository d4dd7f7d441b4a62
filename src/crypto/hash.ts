/** SHA-256 and the identifiers cut from it. */

import { hash } from 'node:crypto';

// Each in one call of the library, which for short texts takes half the time of a hash object, and as text, which takes half
// the time of a digest that lies in memory of its own.

/** SHA-256 over the parts as if they were one text. */
export function sha256(...parts: readonly Uint8Array[]): Buffer {
  return Buffer.from(hash('sha256', joined(parts), 'binary'), 'binary');
}

/** The same as lower-case hexadecimal text. */
export function sha256Hex(...parts: readonly Uint8Array[]): string {
  return hash('sha256', joined(parts), 'hex');
}

const FIRST_BYTES = new DataView(new ArrayBuffer(8));

/**
 * Identifier of a transaction or block: the first eight bytes of the digest as an unsigned little-endian integer.
 *
 * @param bytes the whole signed object, signatures included
 * @returns canonical decimal text
 */
export function idOf(bytes: Uint8Array): string {
  const digest = hash('sha256', bytes, 'binary');
  for (let at = 0; at < 8; at += 1) FIRST_BYTES.setUint8(at, digest.charCodeAt(at));
  return FIRST_BYTES.getBigUint64(0, true).toString();
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
}
