/**
 * Reads and writes the index watermark, which is a height. For blocks above this height, the indexes can lack the
 * entries of transactions. A store whose indexes are complete has no watermark.
 */

import { assert, ProtocolError } from '../../primitives/errors.ts';
import type { KeyValueReader, KeyValueWriter } from '../tables/key-value.ts';
import { META_INDEX_WATERMARK, TABLES } from '../tables/layout.ts';
import { isU32 } from '../tables/ordered-bytes.ts';
import { withChecksum, verifiedContent } from '../tables/checksummed.ts';

const KEY = TABLES.meta.key(META_INDEX_WATERMARK);
const HEIGHT_BYTES = 4;

/**
 * @returns height of the watermark; undefined if all transactions are indexed
 * @throws ProtocolError `STORE_UNREADABLE` if the stored watermark does not match its checksum
 */
export function readIndexWatermark(keys: KeyValueReader): number | undefined {
  const record = keys.get(KEY);
  if (record === undefined) return undefined;
  const content = verifiedContent(KEY, record);
  if (content?.length === HEIGHT_BYTES) return content.readUInt32BE();
  throw new ProtocolError(
    'STORE_UNREADABLE',
    { key: META_INDEX_WATERMARK },
    'The chain store is damaged: the index watermark, a height, does not match its checksum. Restore a backup or a snapshot, ' +
      'or move the folder away and let the node download the chain again.',
  );
}

/** @param height height of the watermark; undefined to remove the watermark when all transactions are indexed */
export function writeIndexWatermark(keys: KeyValueWriter, height: number | undefined): void {
  if (height === undefined) {
    keys.remove(KEY);
    return;
  }
  assert(isU32(height), 'the index watermark is a height');
  const content = Buffer.alloc(HEIGHT_BYTES);
  content.writeUInt32BE(height);
  keys.put(KEY, withChecksum(KEY, content));
}
