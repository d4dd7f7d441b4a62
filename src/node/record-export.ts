/**
 * Exports the signing record (`signing-record.ts`) of a data folder. By default, the export ends signing in this
 * folder.
 */

import { rmSync } from 'node:fs';
import { isLater } from '../engine/forge/watermarked-journal.ts';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { ChainParams } from '../protocol/params.ts';
import type { PublicKey } from '../protocol/types.ts';
import type { JournalFile } from './journal-file.ts';
import { writeInstead, writeNew } from './record-file.ts';
import { markAll } from './record-watermarks.ts';
import { moveRecord, recordOf, textOfRecord, type SigningRecord } from './signing-record.ts';
import type { WatermarkFiles } from './watermark-files.ts';

export interface RecordExport {
  readonly journal: JournalFile;
  readonly params: Pick<ChainParams, 'networkIdentifier'>;
  /** Watermarks of this machine; undefined if the node stores no watermarks. */
  readonly watermarks: WatermarkFiles | undefined;
  /** True if the node of the journal continues to sign after the export. */
  readonly isKept: boolean;
  /** Present Unix time in whole seconds. */
  readonly exportedAtS: number;
}

export interface PreparedExport {
  readonly record: SigningRecord;
  /** The text from `doubtAbout`; empty if that function finds no reason for doubt. */
  readonly doubt: string;
  /** Ends signing for the delegates of the record. Does nothing if `isKept` is true. */
  readonly endSigning: () => void;
}

/** Makes the record of a journal. The journal changes only when the caller calls `endSigning`. */
export function prepareExport({ journal, params, watermarks, isKept, exportedAtS }: RecordExport): PreparedExport {
  // The exported record is marked as a copy if it is possible that the delegates have signed, or will sign, headers
  // that are not in the record. If `isKept` is true, this node signs further headers after the export. If the journal
  // of this node is a copy or was restored from a backup, the delegates have possibly signed later headers that are not
  // in this journal. If some delegates were already exported before, another node has possibly imported this earlier
  // record, and can sign for these delegates.
  const doubt = doubtAbout(journal, watermarks);
  // If a delegate has a watermark but no header in the journal, the delegate has possibly signed headers that the
  // journal lacks. In the record, the entry of this delegate then gets the mark `DelegateRecord.isCopy`. The missing
  // headers concern only this delegate, so they are no reason to mark the whole record (`SigningRecord.isCopy`).
  const isBehind = (publicKey: PublicKey): boolean =>
    isLater(watermarks?.read(publicKey) ?? {}, journal.last(publicKey)) && journal.last(publicKey) === undefined;
  const record = recordOf(journal, params, { exportedAtS, isCopy: isKept || doubt !== '', isBehind });
  const endSigning = (): void => {
    if (isKept) return;
    // If a delegate was exported before, another folder on this machine has possibly imported the delegate. The
    // watermark then belongs to that folder, so this export does not change the watermark.
    const ended = record.delegates.filter(({ publicKey }) => journal.movedAtS(publicKey) === undefined);
    moveRecord(journal, record);
    markAll(journal, { ...record, delegates: ended }, watermarks, exportedAtS);
  };
  return { record, doubt, endSigning };
}

/**
 * Looks for a reason to suspect that the delegates of the journal have signed, or will sign, headers that are not in
 * the journal. Returns a text with this reason and with the effect on a node that imports the record. If there is no
 * such reason, the text is empty.
 */
function doubtAbout(journal: JournalFile, watermarks: WatermarkFiles | undefined): string {
  const wait = 'a node that imports this record waits as if it had no record';
  const delegates = journal.delegates();
  if (delegates.some((publicKey) => journal.movedAtS(publicKey) !== undefined))
    return `; delegates of this record were exported before; ${wait}`;
  // When a node starts with a restored data folder, it gives the journal a new identity. Afterwards, only the watermark
  // shows that the journal lacks headers, or that its delegates were exported before.
  const isBehind = delegates.some((publicKey) => {
    const watermark = watermarks?.read(publicKey);
    const last = journal.last(publicKey);
    return watermark !== undefined && last !== undefined && isLater(watermark, last);
  });
  if (journal.isCopied || isBehind) return `; the file here was copied or restored and may lack lines; ${wait}`;
  // This check concerns only the delegates whose header in the record counts as their last header. For any other
  // delegate, the record itself says that later headers are possible (`heldSinceS`).
  const isMarkCopied = delegates.some((publicKey) => {
    const last = journal.last(publicKey);
    const isWhole = last !== undefined && (journal.heldSinceS(publicKey) ?? 0) <= last.timestamp;
    return isWhole && watermarks?.read(publicKey)?.isCopied === true;
  });
  return isMarkCopied ? `; the watermarks were copied or restored, so the file here may be, too; ${wait}` : '';
}

/**
 * Writes the record to a new file, in two steps. First, the function writes the record marked as a copy, and calls
 * `endSigning`. If the record itself counts as a copy (`isCopy`), the file keeps the mark, and there is no second step.
 * Otherwise, the function then replaces the file by the record without the mark. At this time, the end of signing is
 * already on the disk.
 *
 * @throws ProtocolError `SIGNING_RECORD_EXISTS`; `SIGNING_RECORD_UNWRITABLE`; the errors of `endSigning`. After an
 *   error of `endSigning`, no record remains
 */
export function writeRecord(file: string, record: SigningRecord, endSigning: () => void): void {
  writeNew(file, textOfRecord({ ...record, isCopy: true }));
  try {
    endSigning();
  } catch (error) {
    rmSync(file, { force: true });
    if (!(error instanceof ProtocolError)) throw error;
    throw new ProtocolError(error.code, error.data, `${error.message}; the record was not exported`, { cause: error });
  }
  if (record.isCopy) return;
  try {
    writeInstead(file, textOfRecord(record));
  } catch (error) {
    const message =
      `${file}: could not be completed (${messageOf(error)}): if it counts as a copy, a node that imports it waits as if ` +
      'it had no record; this node does not sign for its delegates any more';
    throw new ProtocolError('SIGNING_RECORD_UNWRITABLE', { file }, message, { cause: error });
  }
}
