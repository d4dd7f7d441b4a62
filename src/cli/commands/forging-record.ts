/** `bloomery forging export` and `forging import`: the signing record on its way to another machine. */

import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { readBounded, readStandardInput, whyUnreadable } from '../../config/bounded-file.ts';
import { journalFileOf, openJournal, type JournalFile } from '../../node/journal-file.ts';
import { checkNetwork, moveRecord, recordOf, recordOfText, takeOver, textOfRecord } from '../../node/signing-record.ts';
import type { Network } from '../../config/network.ts';
import { WatermarkFiles, watermarkFolderOf } from '../../node/watermark-files.ts';
import type { Watermark } from '../../ports/journal.ts';
import { SILENT } from '../../ports/observer.ts';
import { ProtocolError, messageOf } from '../../primitives/errors.ts';
import { epochTimeS } from '../../protocol/slots.ts';
import type { PublicKey } from '../../protocol/types.ts';
import { placeOfNetwork } from '../chain-place.ts';
import type { ForgingExportFlags, ForgingImportFlags } from '../flags.ts';
import { usageError } from '../problems.ts';
import { flushOutput, note, printLine, printText, report } from '../output.ts';

/** Several times a record of as many delegates as one may have. */
const BYTES_MAX = 16 * 1024 * 1024;

/**
 * Writes the record and ends signing where it came from, in this order: what fails on the way leaves the node able to sign,
 * or the record in both places with the node not signing.
 *
 * @throws ProtocolError `JOURNAL_IN_USE` while the node runs
 */
export function forgingExport(file: string, flags: ForgingExportFlags): void {
  const { network, dataDirectory } = placeOfNetwork(flags);
  const journalFile = journalFileOf(dataDirectory);
  if (!existsSync(journalFile)) throw usageError(`there is no signing record in ${dataDirectory}: correct --data-dir`);
  withJournal(journalFile, (journal) => {
    const exportedAtS = Math.floor(Date.now() / 1000);
    const record = recordOf(journal, network.params, { exportedAtS, isCopy: flags.keep === true });
    if (record.delegates.length === 0) throw usageError(`${journalFile}: tells of no delegate: nothing to export`);
    const text = textOfRecord(record);
    if (file === '-') {
      printText(text);
      flushOutput();
    } else {
      writeNew(file, text);
    }
    if (!record.isCopy) {
      moveRecord(journal, record);
      markAll(journal, network, (publicKey) => ({ ...lastOf(journal, publicKey), movedAtS: exportedAtS }));
    }
    const ending = record.isCopy
      ? 'this node goes on signing'
      : 'this node signs for none of them any more, until the record is imported here again';
    note(`${countOf(record.delegates.length)} exported from ${dataDirectory}; ${ending}`);
  });
}

/** @throws ProtocolError `SIGNING_RECORD_INVALID` or `SIGNING_RECORD_OTHER`; then nothing was changed */
export function forgingImport(file: string, flags: ForgingImportFlags): void {
  const { network, dataDirectory } = placeOfNetwork(flags);
  const name = file === '-' ? 'standard input' : file;
  const record = recordOfText(readText(file, name), name);
  checkNetwork(record, network.params);
  withJournal(journalFileOf(dataDirectory), (journal) => {
    takeOver(journal, record, network.params, epochTimeS(Date.now(), network.params));
    markAll(journal, network, (publicKey) => lastOf(journal, publicKey));
  });
  const ending = record.isCopy
    ? '; it is a copy, so the node first makes sure that nobody else signs'
    : '; this node may sign for them now';
  report('the record was taken over', () =>
    printLine(`${countOf(record.delegates.length)} imported into ${dataDirectory}${ending}`),
  );
}

/**
 * Tells the watermarks of this machine, where a node left some: without it they would say that the record is elsewhere, or is
 * here, when it is not so any more. A node with a folder of its own for them finds out by itself.
 */
function markAll(
  journal: JournalFile,
  { params }: Pick<Network, 'params'>,
  watermarkOf: (publicKey: PublicKey) => Watermark,
): void {
  const folder = watermarkFolderOf(process.env['BLOOMERY_FORGING_WATERMARK_FOLDER'] ?? '', process.env);
  if (folder === undefined) return;
  const watermarks = new WatermarkFiles(folder, params.networkIdentifier, SILENT);
  for (const publicKey of journal.delegates())
    if (watermarks.read(publicKey) !== undefined) watermarks.write(publicKey, watermarkOf(publicKey));
}

function lastOf(journal: JournalFile, publicKey: PublicKey): Watermark {
  const last = journal.last(publicKey);
  return last === undefined ? {} : { last };
}

function withJournal(file: string, work: (journal: JournalFile) => void): void {
  const journal = openJournal(file);
  try {
    work(journal);
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

/** On the disk before the node that it came from stops signing. */
function writeNew(file: string, text: string): void {
  try {
    const descriptor = openSync(file, 'wx', 0o600);
    try {
      // Writes all of it, or throws.
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } catch (error) {
      // Part of a record is none.
      rmSync(file, { force: true });
      throw error;
    } finally {
      closeSync(descriptor);
    }
    fsyncFolderOf(file);
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = exists ? 'exists: choose another file' : `cannot be written: ${messageOf(error)}`;
    throw new ProtocolError('SIGNING_RECORD_UNWRITABLE', { file }, `${file}: ${reason}`, { cause: error });
  }
}

/** A new file survives a power cut only once its folder is on the disk too. */
function fsyncFolderOf(file: string): void {
  const descriptor = openSync(dirname(resolve(file)), 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
