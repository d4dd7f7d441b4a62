/** Records that carry a checksum of their key and their content: what no other record shows to be wrong. */

import { CHECKSUM_BYTES, checksumOfEntry } from './state-checksum.ts';

/** A record as it is stored: its content, then the checksum. */
export function sealed(key: Uint8Array, content: Uint8Array): Buffer {
  return Buffer.concat([content, checksumOfEntry(key, content)]);
}

/** Content of a record as it is stored; undefined when it does not fit its checksum. */
export function unsealed(key: Uint8Array, record: Buffer): Buffer | undefined {
  if (record.length < CHECKSUM_BYTES) return undefined;
  const content = record.subarray(0, -CHECKSUM_BYTES);
  return checksumOfEntry(key, content).equals(record.subarray(-CHECKSUM_BYTES)) ? content : undefined;
}
