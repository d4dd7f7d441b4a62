/**
 * The signing journal as a file of lines: checksum, space, JSON. A line is on the disk before `record` returns, so no block
 * leaves whose header a restart would not know of.
 */

import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { sha256 } from '../crypto/hash.ts';
import { isCanonicalHex, utf8 } from '../primitives/bytes.ts';
import { ProtocolError } from '../primitives/errors.ts';
import type { SigningJournal } from '../ports/journal.ts';
import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';
import { makeFolder } from '../store/folder.ts';
import { takeLock, type ProcessLock } from '../store/process-lock.ts';

export interface JournalOptions {
  /** Lines beyond the number of delegates after which the file is rewritten with the last line of each. */
  readonly spareLinesMax?: number;
}

type Entry = SignedHeader & { readonly delegate: PublicKey };

const SPARE_LINES_MAX = 20_000;
const CHECKSUM_DIGITS = 16;

/**
 * Opens the journal of a node, creating it where there is none.
 *
 * @throws ProtocolError `JOURNAL_IN_USE` while another process has it, `JOURNAL_UNREADABLE` when a line other than the last
 *   is damaged
 */
export function openJournal(file: string, options: JournalOptions = {}): SigningJournal {
  makeFolder(dirname(file));
  const lock = lockOf(file);
  try {
    const { last, lines } = load(file);
    return new FileJournal(file, last, lines, options.spareLinesMax ?? SPARE_LINES_MAX, () => lock.release());
  } catch (error) {
    lock.release();
    throw error;
  }
}

class FileJournal implements SigningJournal {
  readonly #file: string;
  readonly #last: Map<PublicKey, SignedHeader>;
  readonly #spareLinesMax: number;
  readonly #release: () => void;
  #descriptor: number;
  #bytes: number;
  #lines: number;
  /** Whether something may stand behind the last whole line. */
  #torn = false;
  #folderSynced = false;
  #closed = false;

  constructor(
    file: string,
    last: Map<PublicKey, SignedHeader>,
    lines: number,
    spareLinesMax: number,
    release: () => void,
  ) {
    this.#file = file;
    this.#last = last;
    this.#lines = lines;
    this.#spareLinesMax = spareLinesMax;
    this.#release = release;
    this.#descriptor = openSync(file, 'a');
    this.#bytes = fstatSync(this.#descriptor).size;
  }

  last(publicKey: PublicKey): SignedHeader | undefined {
    return this.#last.get(publicKey);
  }

  record(publicKey: PublicKey, header: SignedHeader): void {
    if (this.#closed) throw new ProtocolError('JOURNAL_CLOSED', { file: this.#file });
    const line = lineOf(publicKey, header);
    try {
      // Before the line: once that is on the disk nothing more may fail.
      if (this.#lines > this.#last.size + this.#spareLinesMax) this.#compact();
      if (!this.#folderSynced) this.#syncFolder();
      this.#append(line);
    } catch (error) {
      throw new ProtocolError(
        'JOURNAL_WRITE_FAILED',
        { file: this.#file },
        `${this.#file}: cannot be written, so nothing may be signed`,
        { cause: error },
      );
    }
    this.#bytes += line.length;
    this.#lines += 1;
    this.#last.set(publicKey, { ...header });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      closeSync(this.#descriptor);
    } finally {
      this.#release();
    }
  }

  #append(line: Buffer): void {
    // What an earlier failure left: half a line must not stand in front of the next one.
    if (this.#torn) this.#takeBack();
    try {
      writeAll(this.#descriptor, line);
      fsyncSync(this.#descriptor);
    } catch (error) {
      this.#torn = true;
      throw error;
    }
  }

  #takeBack(): void {
    ftruncateSync(this.#descriptor, this.#bytes);
    this.#torn = false;
  }

  /**
   * Writes the last line of each delegate to a new file, which then takes the place of the old one. Until it has, the old one
   * is whole and in use; from then on the new one is, whatever fails.
   */
  #compact(): void {
    const content = Buffer.concat([...this.#last].map(([publicKey, header]) => lineOf(publicKey, header)));
    const draft = `${this.#file}.new`;
    rmSync(draft, { force: true });
    // Appending, as a line that is taken back must not leave a hole.
    const descriptor = openSync(draft, 'ax', 0o600);
    try {
      writeAll(descriptor, content);
      fsyncSync(descriptor);
      renameSync(draft, this.#file);
    } catch (error) {
      closeSync(descriptor);
      rmSync(draft, { force: true });
      throw error;
    }
    const old = this.#descriptor;
    this.#descriptor = descriptor;
    this.#bytes = content.length;
    this.#lines = this.#last.size;
    this.#torn = false;
    this.#folderSynced = false;
    closeSync(old);
  }

  /** Until the folder is on the disk a power cut may bring the old file back, without the lines written since. */
  #syncFolder(): void {
    fsyncFolder(this.#file);
    this.#folderSynced = true;
  }
}

function lockOf(file: string): ProcessLock {
  try {
    return takeLock(dirname(file), `${basename(file)}.in-use`);
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'LOCKED') throw error;
    throw new ProtocolError(
      'JOURNAL_IN_USE',
      { file, pid: error.data['pid'] },
      `${file}: in use by process ${String(error.data['pid'])}, and two nodes must not forge from one data directory: ` +
        'stop that process, or choose another folder with --data-dir',
      { cause: error },
    );
  }
}

/** Reads all lines; cuts off a last one that a crash left half written: its block never left. */
function load(file: string): { last: Map<PublicKey, SignedHeader>; lines: number } {
  const content = readFileIfPresent(file);
  const last = new Map<PublicKey, SignedHeader>();
  let lines = 0;
  let start = 0;
  while (start < content.length) {
    const newline = content.indexOf(0x0a, start);
    const end = newline === -1 ? content.length : newline;
    const entry = newline === -1 ? undefined : entryOf(content.subarray(start, end).toString('utf8'));
    if (entry === undefined) {
      if (end + 1 < content.length) throw unreadable(file, lines + 1);
      writeTruncated(file, start);
      break;
    }
    const { delegate, ...header } = entry;
    last.set(delegate, header);
    lines += 1;
    start = end + 1;
  }
  return { last, lines };
}

function lineOf(publicKey: PublicKey, header: SignedHeader): Buffer {
  const json = JSON.stringify({
    delegate: publicKey,
    blockId: header.blockId,
    height: header.height,
    timestamp: header.timestamp,
    maxHeightPrevoted: header.maxHeightPrevoted,
    maxHeightPreviouslyForged: header.maxHeightPreviouslyForged,
  } satisfies Entry);
  return utf8(`${checksumOf(json)} ${json}\n`);
}

function entryOf(line: string): Entry | undefined {
  const json = line.slice(CHECKSUM_DIGITS + 1);
  if (line[CHECKSUM_DIGITS] !== ' ' || line.slice(0, CHECKSUM_DIGITS) !== checksumOf(json)) return undefined;
  try {
    const entry = JSON.parse(json) as Partial<Entry>;
    const numbers = [entry.height, entry.timestamp, entry.maxHeightPrevoted, entry.maxHeightPreviouslyForged];
    const complete =
      typeof entry.delegate === 'string' &&
      isCanonicalHex(entry.delegate, 32) &&
      typeof entry.blockId === 'string' &&
      numbers.every((value) => Number.isSafeInteger(value));
    return complete ? (entry as Entry) : undefined;
  } catch {
    return undefined;
  }
}

function checksumOf(json: string): string {
  return sha256(utf8(json)).toString('hex').slice(0, CHECKSUM_DIGITS);
}

function unreadable(file: string, line: number): ProtocolError {
  return new ProtocolError(
    'JOURNAL_UNREADABLE',
    { file, line },
    `${file}: line ${line} is damaged; restore the file from a backup, or remove it only if no delegate of this node has ` +
      'forged within the last three rounds',
  );
}

function readFileIfPresent(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    writeFileSync(file, '', { mode: 0o600 });
    return Buffer.alloc(0);
  }
}

function writeTruncated(file: string, bytes: number): void {
  const descriptor = openSync(file, 'r+');
  ftruncateSync(descriptor, bytes);
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function writeAll(descriptor: number, bytes: Buffer): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
}

/** A created or renamed file survives a power cut only once its folder is on the disk too. */
function fsyncFolder(file: string): void {
  const descriptor = openSync(dirname(file), 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
