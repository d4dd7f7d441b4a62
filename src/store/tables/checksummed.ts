/**
 * Reads and writes records with a checksum of their key and content. Data have a separate checksum if no other
 * record would reveal damage to the data.
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
