/** `bloomery forging export` and `forging import`: move the signing record to another machine. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readBounded, readStandardInput, whyUnreadable } from '../../config/bounded-file.ts';
import { journalFileOf, openJournal, type JournalFile } from '../../node/journal-file.ts';
import { prepareExport, writeRecord } from '../../node/record-export.ts';
import { importRecord } from '../../node/record-import.ts';
import { checkNetwork, recordOfText, textOfRecord, type SigningRecord } from '../../node/signing-record.ts';
import { loadConfig } from '../../config/load.ts';
import type { Network } from '../../config/network.ts';
import { WatermarkFiles, watermarkFolderOf } from '../../node/watermark-files.ts';
import { SILENT } from '../../ports/observer.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { epochTimeS } from '../../protocol/slots.ts';
import { locationOfNetwork } from '../chain-location.ts';
import type { ForgingExportFlags, ForgingImportFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';
import { flushOutput, printStderr, printJson, printLine, printText, report } from '../output.ts';

/**
 * Maximum size of a signing record, in bytes. A record with the maximum number of delegates is several times smaller.
 */
const BYTES_MAX = 16 * 1024 * 1024;

/**
 * Exports the signing record of a node. Without `--keep`, the function also records in the journal that the node must
 * not sign any more. As long as this node can still sign, the exported record is marked as a copy. Another node that
 * imported a record without this mark would sign at once, and both nodes would sign for the same delegates.
 *
 * @throws ProtocolError `USAGE` if there is no journal, if the journal has no delegate, or if `--json` is given without
 *   a file; `JOURNAL_IN_USE` while the node runs; `JOURNAL_UNREADABLE`; `JOURNAL_WRITE_FAILED` if the end of signing
 *   cannot be recorded, and `SIGNING_RECORD_EXISTS` if the file exists already (after these two errors, nothing was
 *   exported); `SIGNING_RECORD_UNWRITABLE` if the record cannot be written to a file; `OUTPUT_UNWRITABLE` if the record
 *   cannot be written to the standard output; errors of `locationOfNetwork` and `loadConfig`
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
    const watermarks = watermarksIn(network, watermarkFolder);
    const { params } = network;
    const { record, doubt, endSigning } = prepareExport({ journal, params, watermarks, isKept, exportedAtS });
    if (record.delegates.length === 0)
      throw usageError(`${journalFile} contains no delegate: there is nothing to export`);
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
 * Calls `endSigning`, and then prints the record. If `isKept` is false and the output fails, the node still does not
 * sign any more: the program that reads the output has possibly received enough of the record to import the record.
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
 * Imports a signing record, which contains the last signed headers of delegates. After the first import of a record
 * that is not marked as a copy, this node can usually sign as soon as the node that exported the record could have
 * signed. Sometimes, however, the record possibly lacks signatures of some or all of the delegates. For these
 * delegates, the node signs only after it has made sure that no other node signs for them. For example, this is the
 * case if the watermark of a delegate on this machine contains a newer header than the record (`importRecord`). A
 * watermark is the newest header that a delegate has signed, stored outside of the data folder. If this process can
 * write to the file of the record, the first import marks the record in this file as a copy. The first import also
 * stores, on this machine, the path of the data folder into which it imported the record.
 *
 * After the import of a record that is marked as a copy, the node waits before it signs, to make sure that no other
 * node signs. A repeated import of the same record has the same effect, except if all the conditions below hold. If all
 * of them hold, the repeated import changes nothing in the journal, and therefore causes no new wait:
 *
 * - The record is not marked as a copy.
 * - The data folder is the same as at the first import.
 * - The record would add nothing to the journal in this folder (`knowsAllOf`).
 * - Neither the journal nor a watermark makes the record doubtful (`importRecord`).
 *
 * @throws ProtocolError `SIGNING_RECORD_UNREADABLE`, `SIGNING_RECORD_INVALID`, `SIGNING_RECORD_OTHER`,
 *   `JOURNAL_UNREADABLE`, `JOURNAL_IN_USE` while the node runs, or errors of `locationOfNetwork` and `loadConfig`;
 *   after these errors nothing was changed. `JOURNAL_WRITE_FAILED`; after this error, it is possible that the record
 *   counts as a copy
 */
export function forgingImport(file: string, flags: ForgingImportFlags): void {
  const { network, dataDirectory } = locationOfNetwork(flags);
  const watermarkFolder = watermarkFolderFor(network, flags);
  const name = file === '-' ? 'standard input' : file;
  const record = recordOfText(readText(file, name), name);
  checkNetwork(record, network.params);
  const into = resolve(dataDirectory);
  const nowMs = Date.now();
  const nowS = epochTimeS(nowMs, network.params);
  const watermarks = watermarksIn(network, watermarkFolder);
  const { kind, before, waiting, isMarked } = withJournal(journalFileOf(dataDirectory), (journal) =>
    importRecord({ journal, record, file, into, watermarkFolder, watermarks, nowS, unixS: Math.floor(nowMs / 1000) }),
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
      'the watermarks of this machine say that a delegate of it was exported later, so this node does not sign for that delegate, or waits if the delegate has no header',
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
      const isCopy = kind === 'copy';
      printJson({ folder: dataDirectory, network: network.name, delegates, isCopy, kind, waiting, isMarked });
    } else printLine(`${countOf(record.delegates.length)} imported into ${dataDirectory}; ${ending}${advice}`);
  });
}

/**
 * Returns the watermarks of the network's delegates; undefined if the node stores no watermarks. A watermark is the
 * newest signed header of a delegate, stored outside of the data folder (see `WatermarkFiles`).
 */
function watermarksIn(network: Network, folder: string | undefined): WatermarkFiles | undefined {
  return folder === undefined ? undefined : new WatermarkFiles(folder, network.params.networkIdentifier, SILENT);
}

/**
 * Returns the folder in which the node that these flags describe stores its watermarks. A watermark is the newest
 * signed header of a delegate (see `WatermarkFiles`). The result is undefined if this node stores no watermarks.
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
