/**
 * Reads the lines of a signing journal (`journal-file.ts`). If the last line is damaged, removes the last line. If any
 * other line is damaged, throws an error.
 */

import { closeSync, fsyncSync, ftruncateSync, lstatSync, openSync, writeFileSync } from 'node:fs';
import { readBounded } from '../config/bounded-file.ts';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { PublicKey } from '../protocol/types.ts';
import { checksumOfLine } from './checked-lines.ts';
import { entryOf, isFileIdentity, learn, type FileIdentity, type Known } from './journal-lines.ts';

/**
 * Maximum size of a journal file in bytes. This maximum is several times the size at which the node rewrites the
 * journal (`SPARE_LINES_MAX`).
 */
const BYTES_MAX = 64 * 1024 * 1024;
/** Access rights of a new journal: only the system user that runs the node is allowed to read and write the file. */
export const JOURNAL_MODE = 0o600;

/** Content of the lines of a journal. */
export interface JournalContent {
  readonly known: Map<PublicKey, Known>;
  /**
   * The file identity (`file-identity.ts`) in the newest line that holds a file identity; undefined when the journal
   * has no such line.
   */
  readonly identity: FileIdentity | undefined;
  /** Checksum of the newest line about a delegate; undefined when the journal has no such line. */
  readonly newest: string | undefined;
  /**
   * True when the journal has the line whose checksum is in the fingerprint (`journal-fingerprint.ts`). Also true when
   * there is no fingerprint, or when the fingerprint contains no checksum of a line.
   */
  readonly hasNamedLine: boolean;
  readonly lines: number;
  /** Size of all intact lines in bytes. */
  readonly bytes: number;
}

/**
 * Reads all lines of a journal. If the file does not exist, the function creates it. If the last line is damaged, the
 * node had not finished the write of this line, so the function removes the line. The removal is safe: the node sends a
 * block only after it has written the line of the block, so it never sent the block of the damaged line.
 *
 * @param fingerprint checksum of a line, from the fingerprint file; undefined if no such file or checksum exists
 * @throws ProtocolError `JOURNAL_UNREADABLE` for a damaged line before the last line, or if the file cannot be read;
 *   errors of the system if the file cannot be created or shortened
 */
export function loadJournal(file: string, fingerprint: string | undefined): JournalContent {
  const content = readOrCreate(file);
  const whole = wholeLines(file, content, fingerprint);
  if (whole.bytes < content.length) writeTruncated(file, whole.bytes);
  return whole;
}

/**
 * Reads an existing journal without changing it.
 *
 * @throws ProtocolError `JOURNAL_UNREADABLE` for a damaged line before the last line; errors of `readBounded`
 */
export function checkJournal(file: string): void {
  wholeLines(file, readBounded(file, { bytesMax: BYTES_MAX }));
}

function wholeLines(file: string, content: Buffer, fingerprint?: string): JournalContent {
  const known = new Map<PublicKey, Known>();
  let identity: FileIdentity | undefined;
  let newest: string | undefined;
  let hasNamedLine = fingerprint === undefined;
  let lines = 0;
  let start = 0;
  while (start < content.length) {
    const newline = content.indexOf(0x0a, start);
    const end = newline === -1 ? content.length : newline;
    const entry = newline === -1 ? undefined : entryOf(content.subarray(start, end).toString('utf8'));
    if (entry === undefined) {
      if (end + 1 < content.length) throw unreadable(file, lines + 1);
      break;
    }
    if (isFileIdentity(entry)) identity = entry;
    else {
      learn(known, entry);
      newest = checksumOfLine(content.subarray(start, end));
      hasNamedLine ||= newest === fingerprint;
    }
    lines += 1;
    start = end + 1;
  }
  return { known, identity, newest, hasNamedLine, lines, bytes: start };
}

/**
 * The remedy for a damaged journal is never a backup of the journal. A backup could lack the newest signatures, so
 * delegates could sign contradicting headers. A start without a journal is safe while `forging.riskDoubleForging` is
 * off, because the delegates then wait before they sign.
 */
const REMEDY =
  'move the file away, then import the newest file of `bloomery forging export`, or start without a record: the ' +
  'delegates then wait before they sign, unless forging.riskDoubleForging is on';

function unreadable(file: string, line: number): ProtocolError {
  return new ProtocolError('JOURNAL_UNREADABLE', { file, line }, `${file}: line ${line} is damaged; ${REMEDY}`);
}

function readOrCreate(file: string): Buffer {
  try {
    // The lock of the journal is in the folder of the path `file`. If two folders contained links to one journal, the
    // journal would have two locks, and two nodes could write to it.
    if (lstatSync(file).isSymbolicLink()) throw new Error('it is a symbolic link: link or move the whole data folder');
    return readBounded(file, { bytesMax: BYTES_MAX });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      const reason = messageOf(error);
      throw new ProtocolError(
        'JOURNAL_UNREADABLE',
        { file, reason },
        `${file}: the record of the signatures of this node cannot be read: ${reason}; ${REMEDY}`,
        { cause: error },
      );
    }
    writeFileSync(file, '', { mode: JOURNAL_MODE });
    return Buffer.alloc(0);
  }
}

function writeTruncated(file: string, bytes: number): void {
  const descriptor = openSync(file, 'r+');
  ftruncateSync(descriptor, bytes);
  fsyncSync(descriptor);
  closeSync(descriptor);
}
