/** Computes SHA-256 digests, and ids, which are parts of SHA-256 digests. */

import { hash } from 'node:crypto';

// The functions of this file call `hash` of `node:crypto`, and get the digest as text. For short inputs, `hash` takes
// half the time of `createHash`. If `hash` returns text, it takes at most half the time that it takes for a buffer.

/** Computes the SHA-256 digest of the concatenated parts. */
export function sha256(...parts: readonly Uint8Array[]): Buffer {
  return Buffer.from(hash('sha256', joined(parts), 'binary'), 'binary');
}

/** Computes the SHA-256 digest of the concatenated parts, as lower-case hexadecimal text. */
export function sha256Hex(...parts: readonly Uint8Array[]): string {
  return hash('sha256', joined(parts), 'hex');
}

const FIRST_BYTES = new DataView(new ArrayBuffer(8));

/**
 * Computes the first eight bytes of the digest of `bytes` as an unsigned little-endian integer. The kind of `bytes`
 * decides what the result is: the id of a transaction, the id of a block, or the number in the address of a public key.
 *
 * @param bytes one of three values: a transaction with `signature` and `signSignature` (but without members' signatures
 *   of a multisignature account), a block header with the block's signature, or a public key
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
