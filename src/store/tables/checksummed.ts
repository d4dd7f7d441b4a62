/**
 * Reads and writes records that end with a checksum of their key and content. A record has such a checksum if no other
 * data in the store would reveal damage to the record.
 */

import { CHECKSUM_BYTES, checksumOfEntry } from './entry-checksum.ts';

/** Returns the stored form of a record: its content, then the checksum. */
export function withChecksum(key: Uint8Array, content: Uint8Array): Buffer {
  return Buffer.concat([content, checksumOfEntry(key, content)]);
}

/** Returns the content of a stored record; undefined if the record does not match its checksum. */
export function verifiedContent(key: Uint8Array, record: Buffer): Buffer | undefined {
  if (record.length < CHECKSUM_BYTES) return undefined;
  const content = record.subarray(0, -CHECKSUM_BYTES);
  return checksumOfEntry(key, content).equals(record.subarray(-CHECKSUM_BYTES)) ? content : undefined;
}
