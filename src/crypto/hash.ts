/** SHA-256 and the identifiers cut from it. */

import { createHash } from 'node:crypto';
import { decimalOfFirst8BytesLE } from '../primitives/bytes.ts';

/** SHA-256 over the parts as if they were one text. */
export function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
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
