/**
 * Encodes and decodes the note of the finalized height. The note decides which blocks the node is allowed to revert.
 * With a damaged note, the node could revert final blocks. No other data in the store would reveal the damage, so the
 * note has a checksum.
 */

import { FINALIZED_NOTE } from '../../ports/notes.ts';
import { TABLES } from '../tables/layout.ts';
import { withChecksum, verifiedContent } from '../tables/checksummed.ts';

const KEY = TABLES.notes.key(FINALIZED_NOTE);
/** Size in bytes of a note without a checksum. In an earlier version of Bloomery, the note had no checksum. */
const NO_CHECKSUM_BYTES = 4;

/** Text of the error for a note of the finalized height that does not match its checksum. */
export const FINALITY_CHANGED = 'the note of the finalized height does not match its checksum';

/** Returns the stored form of the note: its content, then the checksum. */
export function finalizedRecord(note: Uint8Array): Buffer {
  return withChecksum(KEY, note);
}

/**
 * Returns the content of a stored note; undefined if the note does not match its checksum. A note from an earlier
 * version has no checksum, so the function returns the note without a check.
 */
export function finalizedIn(record: Buffer): Buffer | undefined {
  return record.length === NO_CHECKSUM_BYTES ? record : verifiedContent(KEY, record);
}
