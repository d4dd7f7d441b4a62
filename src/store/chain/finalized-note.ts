/** The note of the height that is final: it decides which blocks may be reverted, and nothing else shows it to be wrong. */

import type { NoteName } from '../../ports/notes.ts';
import { TABLES } from '../tables/layout.ts';
import { sealed, unsealed } from './sealed.ts';

export const FINALIZED_NOTE: NoteName = 'chain/finalized';
const KEY = TABLES.notes.key(FINALIZED_NOTE);
/** A height, as it was written before it had a checksum. */
const UNSEALED_BYTES = 4;

/** Why a store is damaged whose note is not what was written. */
export const FINALITY_CHANGED = 'the note of the height that is final is not what was written, as its checksum shows';

/** The note as it is stored. */
export function finalizedRecord(note: Uint8Array): Buffer {
  return sealed(KEY, note);
}

/** The note in what is stored; undefined when it is not what was written. */
export function finalizedIn(record: Buffer): Buffer | undefined {
  return record.length === UNSEALED_BYTES ? record : unsealed(KEY, record);
}
