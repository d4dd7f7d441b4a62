/**
 * Imports a signing record (`signing-record.ts`) into the journal of a data folder, and marks the record as imported. A
 * later import of the same record then counts as an import of a copy. There is one exception: the record was imported
 * into the same folder, and adds nothing to the journal (kind `known`).
 */

import { closeSync, openSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { ProtocolError } from '../primitives/errors.ts';
import type { PublicKey } from '../protocol/types.ts';
import { ImportedRecords, type ImportedRecord } from './imported-records.ts';
import type { JournalFile } from './journal-file.ts';
import { writeInstead } from './record-file.ts';
import { distrustAll, markAll } from './record-watermarks.ts';
import {
  coversAllOf,
  idOfRecord,
  isWhole,
  mayHaveMovedSince,
  knowsAllOf,
  recordOfText,
  takenOf,
  textOfRecord,
  waitingAmong,
  type DelegateRecord,
  type SigningRecord,
} from './signing-record.ts';
import type { WatermarkFiles } from './watermark-files.ts';

export interface RecordImport {
  readonly journal: JournalFile;
  readonly record: SigningRecord;
  /** Path of the file with the record; `-` for the standard input. */
  readonly file: string;
  readonly into: string;
  /** Folder for watermarks and for `ImportedRecords`; undefined if the node stores no watermarks. */
  readonly watermarkFolder: string | undefined;
  readonly watermarks: WatermarkFiles | undefined;
  /** Present chain time in whole seconds. */
  readonly nowS: number;
  /** Present Unix time in whole seconds. */
  readonly unixS: number;
}

/**
 * The kinds of imports. `known`: the record is not marked as a copy, was imported into this folder before, and adds
 * nothing to the journal. `copy`: the record counts as a copy. The other three kinds are for a record that is neither
 * known nor a copy. `moved`: a watermark shows that a delegate was exported later than the record. `inCopy`: the
 * journal is a copy and stays a copy. `first`: any other such record.
 */
export const IMPORT_KINDS = ['first', 'inCopy', 'moved', 'copy', 'known'] as const;

export interface Imported {
  readonly kind: (typeof IMPORT_KINDS)[number];
  /** The earlier import of the same record on this machine. */
  readonly before: ImportedRecord | undefined;
  /**
   * Number of delegates that wait because the record possibly lacks some of their signatures. This number is counted
   * only for the kinds `first` and `inCopy`. For all other kinds, the value is 0, even if delegates wait. For example,
   * all delegates of the record wait after an import of the kind `copy`.
   */
  readonly waiting: number;
  /** True if the file is now marked as a copy. */
  readonly isMarked: boolean;
}

/**
 * Imports a record in three steps. The first step writes the record to the journal as if the record were a copy
 * (`isCopy`): all delegates of the record then wait before they sign. The second step stores two marks of the import:
 * an entry on this machine (`ImportedRecords`), and the mark `isCopy` in the file of the record. The third step ends
 * the waits from the first step, except the waits that are necessary for another reason. The third step is left out if
 * the record is a copy, if the record was possibly imported before, if the marked record could not be written to the
 * file (for example because the disk is full), or if the journal or a watermark shows that the whole record is possibly
 * outdated.
 *
 * It is possible that the process ends, or that a write fails, between two of these steps. Even then, a node that
 * imports the record signs without a wait only after its import has marked the file, or has found that the file cannot
 * be marked (`NOT_MARKED`). If the first step fails, for example because the disk is full, neither mark is stored. A
 * repetition of the import then still counts as the first import.
 *
 * If the process ends after the second step has stored one of its two marks, and the operator repeats the import, the
 * repetition counts as an import of a copy. There is one exception: the file has no mark, and the third step has
 * already ended the waits of all delegates of the record. The repetition then has the kind `known` (see
 * `IMPORT_KINDS`), and causes no new wait.
 */
export function importRecord({
  journal,
  record,
  file,
  into,
  watermarkFolder,
  watermarks,
  nowS,
  unixS,
}: RecordImport): Imported {
  const imports = watermarkFolder === undefined ? undefined : new ImportedRecords(watermarkFolder);
  const before = imports?.find(record);
  const doubted = record.delegates.filter((delegate) => isDoubtedBy(watermarks, delegate));
  // If the doubt concerns a header that the record states as the last one (`isWhole`), the whole record is doubtful. If
  // the record itself says that the header of a delegate is possibly not the last one, only this delegate is doubtful.
  const isDoubted = mayHaveMovedSince(journal, record) || doubted.some(isWhole);
  if (!record.isCopy && !isDoubted && before?.into === into && knowsAllOf(journal, record)) {
    // The first import of this record possibly ended before it changed the watermarks. Such watermarks are outdated,
    // and are changed now.
    const isOutdated = ({ publicKey }: { readonly publicKey: PublicKey }): boolean =>
      (watermarks?.read(publicKey)?.movedAtS ?? Number.POSITIVE_INFINITY) <= before.atS;
    const delegates = journal.isCopied ? [] : record.delegates.filter(isOutdated);
    markAll(journal, { ...record, delegates }, watermarks);
    return { kind: 'known', before, waiting: 0, isMarked: markAsCopy(file, record).isMarked };
  }
  // The first call of `take` changes the journal. The values for the second call must not depend on this change, so
  // they are computed before the first call.
  const whole = takenOf(journal, withDoubts(record, doubted), nowS);
  journal.take(takenOf(journal, { ...record, isCopy: true }, nowS));
  const isNew = before === undefined && addNote(imports, record, { into, atS: unixS });
  const { isMarked, isFirst } = record.isCopy ? MARKED_BEFORE : markAsCopy(file, record);
  if (isDoubted || !isNew || !isFirst) {
    distrustAll(journal, record, watermarks);
    return { kind: 'copy', before, waiting: 0, isMarked };
  }
  distrustAll(journal, { ...record, delegates: doubted }, watermarks);
  const isComplete = coversAllOf(journal, record);
  try {
    journal.take(whole, isComplete);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    distrustAll(journal, record, watermarks);
    const message = `${error.message}; the record was imported as a copy, so the node waits as if it had no record`;
    throw new ProtocolError(error.code, error.data, message, { cause: error });
  }
  const undoubted = record.delegates.filter((delegate) => !doubted.includes(delegate));
  markAll(journal, { ...record, delegates: undoubted }, watermarks);
  if (record.delegates.some(({ publicKey }) => watermarks?.read(publicKey)?.movedAtS !== undefined))
    return { kind: 'moved', before, waiting: 0, isMarked };
  const kind = journal.isCopied && !isComplete ? 'inCopy' : 'first';
  return { kind, before, waiting: waitingAmong(whole), isMarked };
}

/**
 * True if the watermark of a delegate shows that the header in the delegate's record is possibly not the newest one.
 * There are two cases:
 * - The watermark counts as a copy. The delegate has then possibly signed newer headers after the copy was made.
 * - The watermark has a header that is newer than the header in the record, and no note of an export of the delegate.
 *   If the watermark has such a note, the newer header is no reason for doubt, because the node reads the note at its
 *   start (`WatermarkedJournal`). If the journal then has a header of the delegate, the node does not sign for the
 *   delegate. If the journal has no header of the delegate, the delegate waits as after the import of a copy.
 */
function isDoubtedBy(watermarks: WatermarkFiles | undefined, { publicKey, last }: DelegateRecord): boolean {
  const watermark = watermarks?.read(publicKey);
  if (watermark?.isCopied === true) return true;
  if (watermark === undefined || watermark.movedAtS !== undefined) return false;
  return (watermark.last?.timestamp ?? -1) > (last?.timestamp ?? -1);
}

/** Returns the record, in which each doubted delegate is marked as a copy. */
function withDoubts(record: SigningRecord, doubted: readonly DelegateRecord[]): SigningRecord {
  const delegates = record.delegates.map((delegate): DelegateRecord =>
    doubted.includes(delegate) ? { ...delegate, isCopy: true } : delegate,
  );
  return { ...record, delegates };
}

/**
 * Stores the entry of this import (`imported-records.ts`). Returns false if there already is an entry for the record,
 * for example because another process has just stored one.
 */
function addNote(imports: ImportedRecords | undefined, record: SigningRecord, note: ImportedRecord): boolean {
  try {
    return imports?.add(record, note) ?? true;
  } catch {
    // If the folder for watermarks is not writable, the import still succeeds. In this case, this machine has no entry
    // of the import. If a user later imports a copy of the signing record, this machine does not notice the second
    // import.
    return true;
  }
}

interface Marking {
  /** True if the file is now marked as a copy. */
  readonly isMarked: boolean;
  /**
   * False if another import has marked the file, or marks the file at this moment. Also false if the file was moved or
   * changed after this process read it, or if `writeNew` could not write the marked record.
   */
  readonly isFirst: boolean;
}

const MARKED_BEFORE: Marking = { isMarked: true, isFirst: false };
const NOT_MARKED: Marking = { isMarked: false, isFirst: true };
/** Number of digits of the record's id in the name of the file `<file>.<id>.import` (see `markAsCopy`). */
const CLAIM_DIGITS = 16;

/**
 * Replaces the record in the file by the same record, marked as a copy (`isCopy`). Several imports can run at the same
 * moment, also on several machines with a shared folder. Only the import that creates the file `<file>.<id>.import` is
 * the first import. A killed import leaves this file behind. The name contains the id of the record, so the file does
 * not hinder the import of a different record.
 *
 * @returns `NOT_MARKED` when the record came from the standard input, a pipe or a device, or when this process is not
 *   allowed to create files in the folder of the file
 */
function markAsCopy(file: string, record: SigningRecord): Marking {
  let claim: string | undefined;
  try {
    if (file === '-' || !statSync(file).isFile()) return NOT_MARKED;
    const path = `${realpathSync(file)}.${idOfRecord(record).slice(0, CLAIM_DIGITS)}.import`;
    try {
      closeSync(openSync(path, 'wx', 0o600));
      claim = path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    // Another import has possibly marked the file after this process read it. In this case, this import is not the
    // first.
    const isFirst = claim !== undefined && !recordOfText(readFileSync(file, 'utf8'), file).isCopy;
    writeInstead(file, textOfRecord({ ...record, isCopy: true }));
    return { isMarked: true, isFirst };
  } catch (error) {
    // True if the file was moved or changed after this process read it. In this case, somebody possibly imports the
    // file elsewhere. Also true if `writeNew` could not write the marked record, for example because the disk is full.
    const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof ProtocolError;
    return isGone ? { isMarked: false, isFirst: false } : NOT_MARKED;
  } finally {
    if (claim !== undefined) rmSync(claim, { force: true });
  }
}
