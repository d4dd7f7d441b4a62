/** SHA-256 and the identifiers cut from it. */

import { hash } from 'node:crypto';
import { decimalOfFirst8BytesLE } from '../primitives/bytes.ts';

/** SHA-256 over the parts as if they were one text. In one call, which for short texts takes half the time of a hash object. */
export function sha256(...parts: readonly Uint8Array[]): Buffer {
  const [first] = parts;
  return hash('sha256', parts.length === 1 && first !== undefined ? first : Buffer.concat(parts), 'buffer');
}

/**
 * Identifier of a transaction or block: the first eight bytes of the digest as an unsigned little-endian integer.
 *
 * @param bytes the whole signed object, signatures included
 * @returns canonical decimal text
 */
export function idOf(bytes: Uint8Array): string {
  return decimalOfFirst8BytesLE(sha256(bytes));
}
