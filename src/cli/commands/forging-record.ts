/** `bloomery forging export` and `forging import`: move the signing record to another machine. */

import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { readBounded, readStandardInput, whyUnreadable } from '../../config/bounded-file.ts';
import { journalFileOf, openJournal, type JournalFile } from '../../node/journal-file.ts';
import {
  checkNetwork,
  coversAllOf,
  hasMovedSince,
  knowsAllOf,
  moveRecord,
  recordOf,
  recordOfText,
  takenOf,
  waitingAmong,
  textOfRecord,
  type SigningRecord,
} from '../../node/signing-record.ts';
import { ImportedRecords, type ImportedRecord } from '../../node/imported-records.ts';
import { loadConfig } from '../../config/load.ts';
import { isLater } from '../../engine/forge/watermarked-journal.ts';
import type { Network } from '../../config/network.ts';
import { WatermarkFiles, watermarkFolderOf } from '../../node/watermark-files.ts';
import { SILENT } from '../../ports/observer.ts';
import { ProtocolError, messageOf } from '../../primitives/errors.ts';
import { epochTimeS } from '../../protocol/slots.ts';
import { flushNames } from '../../store/disk/flush.ts';
import { writeNewFile } from '../../store/disk/new-file.ts';
import { locationOfNetwork } from '../chain-location.ts';
import type { ForgingExportFlags, ForgingImportFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { flushOutput, printStderr, printJson, printLine, printText, report } from '../output.ts';

/** Maximum size of a signing record. A record with the maximum number of delegates is several times smaller. */
const BYTES_MAX = 16 * 1024 * 1024;

/**
 * Exports the signing record of a node. Without `--keep`, the function also records in the journal that the node must
 * not sign any more. At no time is there a record that is not marked as a copy while this node can still sign: another
 * node that imported such a record would sign at once.
 *
 * @throws ProtocolError `USAGE` if there is no journal, if the journal has no delegate, or if `--json` is given without
 *   a file; `JOURNAL_IN_USE` while the node runs; `JOURNAL_UNREADABLE`; `JOURNAL_WRITE_FAILED` if the end of signing
 *   cannot be recorded, and `SIGNING_RECORD_EXISTS`, which both leave no record; `SIGNING_RECORD_UNWRITABLE` if the
 *   record goes to a file; `OUTPUT_UNWRITABLE` if it goes to the standard output; errors of `locationOfNetwork` and
 *   `loadConfig`
 */
export function forgingExport(file: string, flags: ForgingExportFlags): void {
  if (file === '-' && flags.json === true)
    throw usageError('--json needs a file: the standard output has the signing record');
  const { network, dataDirectory } = locationOfNetwork(flags);
  const watermarkFolder = watermarkFolderFor(network, flags);
  const journalFile = journalFileOf(dataDirectory);
  if (!existsSync(journalFile)) throw usageError(`there is no signing record in ${dataDirectory}: correct --data-dir`);
  withJournal(journalFile, (journal) => {
    const exportedAtS = Math.floor(Date.now() / 1000);
    const isKept = flags.keep === true;
    // The exported record is marked as a copy if the delegates may have signed, or may later sign, headers that are not
    // in the record. With `--keep`, this node signs further headers after the export. If the journal of this node is a
    // copy or was restored from a backup, the delegates may have signed later headers that are not in this journal. If
    // delegates were exported before, another node may have imported the earlier record, and may sign for them.
    const watermarks = watermarksIn(network, watermarkFolder);
    const doubt = doubtAbout(journal, watermarks);
    const record = recordOf(journal, network.params, { exportedAtS, isCopy: isKept || doubt !== '' });
    if (record.delegates.length === 0)
      throw usageError(`${journalFile} contains no delegate: there is nothing to export`);
    const endSigning = (): void => {
      if (isKept) return;
      // If a delegate was exported before, the watermark may already be that of another folder, which has imported it.
      const ended = record.delegates.filter(({ publicKey }) => journal.movedAtS(publicKey) === undefined);
      moveRecord(journal, record);
      markAll(journal, { ...record, delegates: ended }, watermarks, exportedAtS);
    };
    if (file === '-') printRecord(record, endSigning, isKept);
    else writeRecord(file, record, endSigning);
    const ended = record.delegates.filter(({ publicKey }) => journal.movedAtS(publicKey) !== undefined).length;
    const done = `${file === '-' ? 'the record' : file} was written${isKept ? '' : ', and this node does not sign any more'}`;
    report(done, () => {
      if (flags.json === true) {
        const delegates = record.delegates.map(({ publicKey }) => publicKey);
        printJson({ file: resolve(file), network: network.name, delegates, isCopy: record.isCopy });
      } else {
        const ending = endingText(ended, record.delegates.length);
        printStderr(`${countOf(record.delegates.length)} exported from ${dataDirectory}; ${ending}${doubt}`);
      }
    });
  });
}

/** @param ended number of the delegates for which this node does not sign any more */
function endingText(ended: number, count: number): string {
  if (ended === 0) return 'this node continues to sign';
  const whom = ended === count ? 'none of them' : `${ended} of them no longer`;
  return `this node signs for ${whom} until the record is imported here again`;
}

/**
 * Returns why the delegates of the journal may have signed, or may later sign, headers that are not in the journal. The
 * text also says what a node does that imports the record. The text is empty if there is no such reason.
 */
function doubtAbout(journal: JournalFile, watermarks: WatermarkFiles | undefined): string {
  const wait = 'a node that imports this record waits as if it had no record';
  const delegates = journal.delegates();
  if (delegates.some((publicKey) => journal.movedAtS(publicKey) !== undefined))
    return `; delegates of this record were exported before; ${wait}`;
  // After a restore of the data folder, the first start of the node gives the journal a new identity. Only the watermark
  // then shows that the journal lacks headers, or that its delegates were exported before.
  const isBehind = delegates.some((publicKey) => {
    const watermark = watermarks?.read(publicKey);
    return watermark !== undefined && isLater(watermark, journal.last(publicKey));
  });
  if (journal.isCopied || isBehind) return `; the file here was copied or restored and may lack lines; ${wait}`;
  const isMarkCopied = delegates.some((publicKey) => watermarks?.read(publicKey)?.isCopied === true);
  return isMarkCopied ? `; the watermarks were copied or restored, so the file here may be, too; ${wait}` : '';
}

/**
 * Prints the record after the end of signing. If the output fails, the signing stays ended: a reader may have received
 * enough of the record to import it.
 *
 * @throws ProtocolError as described at `forgingExport`
 */
function printRecord(record: SigningRecord, endSigning: () => void, isKept: boolean): void {
  endSigning();
  const print = (): void => {
    printText(textOfRecord(record));
    flushOutput();
  };
  if (isKept) print();
  else report('this node does not sign for its delegates any more: export them again, to a file', print);
}

/**
 * Writes the record to a new file, in two steps. Until the end of signing is on the disk, the file is marked as a copy.
 *
 * @throws ProtocolError as described at `forgingExport`
 */
function writeRecord(file: string, record: SigningRecord, endSigning: () => void): void {
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

/**
 * Imports a signing record. After the first import of a record that is not a copy, this node need not wait longer
 * before it signs than the exporting node would have waited. The first import marks the file of the record as a copy,
 * unless this process cannot write to the file. The first import also stores, on this machine, the path of the data
 * folder into which it imported the record. After the import of a copy, or after a repeated import, the node waits
 * before it signs, to make sure that no other node signs. A repeated import changes nothing in the journal if three
 * conditions hold: the file is not marked as a copy, the data folder is the same as at the first import, and the record
 * would add nothing to the journal in this folder (`knowsAllOf`).
 *
 * @throws ProtocolError `SIGNING_RECORD_UNREADABLE`, `SIGNING_RECORD_INVALID`, `SIGNING_RECORD_OTHER`,
 *   `JOURNAL_UNREADABLE`, `JOURNAL_IN_USE` while the node runs, or errors of `locationOfNetwork` and `loadConfig`;
 *   after these errors nothing was changed. `JOURNAL_WRITE_FAILED`; after this error, the record may count as a copy
 */
export function forgingImport(file: string, flags: ForgingImportFlags): void {
  const { network, dataDirectory } = locationOfNetwork(flags);
  const watermarkFolder = watermarkFolderFor(network, flags);
  const name = file === '-' ? 'standard input' : file;
  const record = recordOfText(readText(file, name), name);
  checkNetwork(record, network.params);
  const into = resolve(dataDirectory);
  const nowS = epochTimeS(Date.now(), network.params);
  const watermarks = watermarksIn(network, watermarkFolder);
  const { kind, before, waiting, isMarked } = withJournal(journalFileOf(dataDirectory), (journal) =>
    importOnce({ journal, record, file, into, watermarkFolder, watermarks, nowS }),
  );
  const earlier =
    before === undefined ? '' : `it was imported into ${before.into} at ${new Date(before.atS * 1000).toISOString()}`;
  const wait = 'the node first makes sure that no other node signs';
  const ending = {
    first:
      waiting === 0
        ? 'this node may sign for them now'
        : `it may lack signatures of ${waiting === record.delegates.length ? 'them' : `${waiting} of them`}, so ${wait}`,
    inCopy: `the signing record of this folder is a copy and has further delegates, so ${wait}`,
    moved:
      'the watermarks of this machine say that a delegate of it was exported later, so this node does not sign for that delegate',
    known: `${earlier}, so nothing was changed`,
    copy:
      record.isCopy || before === undefined
        ? `it ${record.isCopy ? 'is' : 'counts as'} a copy, so ${wait}`
        : `${earlier}, so it counts as a copy, and ${wait}${before.into === into ? '' : ': to move the delegates, export them there'}`,
  }[kind];
  const advice = isMarked ? '' : `; ${name} could not be marked as imported: remove it, and import it nowhere else`;
  report('the record was imported', () => {
    if (flags.json === true) {
      const delegates = record.delegates.map(({ publicKey }) => publicKey);
      printJson({ folder: dataDirectory, network: network.name, delegates, isCopy: kind === 'copy', isMarked });
    } else printLine(`${countOf(record.delegates.length)} imported into ${dataDirectory}; ${ending}${advice}`);
  });
}

interface Import {
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
}

interface Imported {
  /**
   * Whether the record is new here, counts as a copy, or was imported into this folder before (`known`). A record that
   * is new here is of the kind `inCopy` if the journal stays a copy, and `moved` if a watermark shows that a delegate was
   * exported later.
   */
  readonly kind: 'first' | 'inCopy' | 'moved' | 'copy' | 'known';
  /** The earlier import of the same record on this machine. */
  readonly before: ImportedRecord | undefined;
  /** Number of delegates that wait, because the record may lack signatures of them; for the kind `first`. */
  readonly waiting: number;
  /** Whether the file is now marked as a copy. */
  readonly isMarked: boolean;
}

/**
 * Imports a record in three steps: imports the record as a copy, marks the record as imported (on this machine and in
 * the file), and then ends the wait that the import of a copy causes. If the process ends or a write fails between two
 * of these steps, there is never a node that signs without a wait while the file is not marked. The record of a first
 * import is not lost if the first step fails, for example because the disk is full. If the process ends in a later step,
 * a repetition of the import is an import of a copy.
 */
function importOnce({ journal, record, file, into, watermarkFolder, watermarks, nowS }: Import): Imported {
  const imports = watermarkFolder === undefined ? undefined : new ImportedRecords(watermarkFolder);
  const before = imports?.find(record);
  const isMarked = (): boolean => record.isCopy || markAsCopy(file, record);
  const isDoubted = hasMovedSince(journal, record) || isDoubtedBy(watermarks, record);
  if (!record.isCopy && !isDoubted && before?.into === into && knowsAllOf(journal, record))
    return { kind: 'known', before, waiting: 0, isMarked: isMarked() };
  // The first write changes the journal, and the second write must not depend on this change.
  const whole = takenOf(journal, record, nowS);
  journal.take(takenOf(journal, { ...record, isCopy: true }, nowS));
  const isNew = before === undefined && addNote(imports, record, { into, atS: Math.floor(Date.now() / 1000) });
  const marked = isMarked();
  if (record.isCopy || isDoubted || !isNew) {
    forgetMoves(journal, record, watermarks);
    return { kind: 'copy', before, waiting: 0, isMarked: marked };
  }
  const isComplete = coversAllOf(journal, record);
  try {
    journal.take(whole, isComplete);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    forgetMoves(journal, record, watermarks);
    const message = `${error.message}; the record was imported as a copy, so the node waits as if it had no record`;
    throw new ProtocolError(error.code, error.data, message, { cause: error });
  }
  markAll(journal, record, watermarks);
  if (record.delegates.some(({ publicKey }) => watermarks?.read(publicKey)?.movedAtS !== undefined))
    return { kind: 'moved', before, waiting: 0, isMarked: marked };
  const kind = journal.isCopied && !isComplete ? 'inCopy' : 'first';
  return { kind, before, waiting: waitingAmong(whole), isMarked: marked };
}

/**
 * True if a watermark shows, or may hide, that a delegate has signed on this machine after the header of the record. A
 * watermark that says that the delegate was exported does not count: the record can be that of this export.
 */
function isDoubtedBy(watermarks: WatermarkFiles | undefined, { delegates }: SigningRecord): boolean {
  return delegates.some(({ publicKey, last }) => {
    const watermark = watermarks?.read(publicKey);
    if (watermark === undefined || watermark.movedAtS !== undefined) return false;
    return watermark.isCopied === true || (watermark.last?.timestamp ?? -1) > (last?.timestamp ?? -1);
  });
}

/** Stores the entry of this import. Returns false if there is an entry, which another process has just stored. */
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

/**
 * Replaces the record in the file by the same record, marked as a copy (`isCopy`).
 *
 * @returns false when the record came from the standard input, a pipe or a device, or when the file cannot be written
 */
function markAsCopy(file: string, record: SigningRecord): boolean {
  try {
    if (file === '-' || !statSync(file).isFile()) return false;
    writeInstead(file, textOfRecord({ ...record, isCopy: true }));
  } catch {
    return false;
  }
  return true;
}

/** Replaces a file atomically. The new text is on the disk when the function returns. */
function writeInstead(file: string, text: string): void {
  const path = realpathSync(file);
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`;
  writeNew(draft, text);
  try {
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  flushNames(dirname(resolve(path)));
}

/** Returns undefined if the node stores no watermarks. */
function watermarksIn(network: Network, folder: string | undefined): WatermarkFiles | undefined {
  return folder === undefined ? undefined : new WatermarkFiles(folder, network.params.networkIdentifier, SILENT);
}

/**
 * Updates the existing watermarks of the record's delegates. The function makes no watermark for a delegate that has
 * none on this machine. A watermark also says whether the record of the delegate has left this machine, so an export or
 * an import changes the watermark. The function does not change a watermark whose header is newer than the delegate's
 * last header in the journal.
 *
 * @param movedAtS Unix time in whole seconds when the record left this machine; absent for an import
 */
function markAll(
  journal: JournalFile,
  { delegates }: SigningRecord,
  watermarks: WatermarkFiles | undefined,
  movedAtS?: number,
): void {
  for (const { publicKey } of delegates) {
    const existing = watermarks?.read(publicKey);
    const last = journal.last(publicKey);
    if (existing === undefined || (existing.last?.timestamp ?? 0) > (last?.timestamp ?? 0)) continue;
    const { movedAtS: _, ...before } = existing;
    watermarks?.write(publicKey, {
      ...before,
      ...(last === undefined ? {} : { last }),
      ...(movedAtS === undefined ? {} : { movedAtS }),
    });
  }
}

/**
 * Removes the watermarks that say that a delegate of an imported copy has left this machine. A watermark without this
 * mark would prove that the journal is complete, and a copy proves the opposite. A watermark with a newer header than
 * the journal stays.
 */
function forgetMoves(journal: JournalFile, { delegates }: SigningRecord, watermarks: WatermarkFiles | undefined): void {
  for (const { publicKey } of delegates) {
    const existing = watermarks?.read(publicKey);
    const isNewer = (existing?.last?.timestamp ?? 0) > (journal.last(publicKey)?.timestamp ?? 0);
    if (existing?.movedAtS !== undefined && !isNewer) watermarks?.forget(publicKey);
  }
}

/**
 * Returns the folder for watermarks of the node that is started with these flags; undefined if this node stores no
 * watermarks.
 */
function watermarkFolderFor(network: Network, { config: file }: ForgingImportFlags): string | undefined {
  const { forging } = loadConfig({ network, environment: process.env, ...(file === undefined ? {} : { file }) });
  return watermarkFolderOf(forging.watermarkFolder, process.env);
}

function withJournal<T>(file: string, work: (journal: JournalFile) => T): T {
  const journal = openJournal(file);
  try {
    return work(journal);
  } finally {
    journal.close();
  }
}

function countOf(delegates: number): string {
  return `signing record of ${delegates === 1 ? 'one delegate' : `${delegates} delegates`}`;
}

function readText(file: string, name: string): string {
  try {
    const bytes =
      file === '-' ? readStandardInput(BYTES_MAX) : readBounded(file, { bytesMax: BYTES_MAX, allowPipe: true });
    return bytes.toString('utf8');
  } catch (error) {
    const reason = whyUnreadable(error, 'correct the path of the file');
    throw new ProtocolError('SIGNING_RECORD_UNREADABLE', { file }, `${name}: cannot be read: ${reason}`, {
      cause: error,
    });
  }
}

/**
 * Writes a new file and returns when the file is on the disk.
 *
 * @throws ProtocolError `SIGNING_RECORD_EXISTS` for an existing file; `SIGNING_RECORD_UNWRITABLE`
 */
function writeNew(file: string, text: string): void {
  try {
    writeNewFile(file, text);
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = exists ? 'exists: choose another file' : `cannot be written: ${messageOf(error)}`;
    const code = exists ? 'SIGNING_RECORD_EXISTS' : 'SIGNING_RECORD_UNWRITABLE';
    throw new ProtocolError(code, { file }, `${file}: ${reason}`, { cause: error });
  }
}
