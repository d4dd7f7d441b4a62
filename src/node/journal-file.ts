/**
 * Stores the signing journal in a file. Each line contains a checksum, a space and JSON. A line is on the disk before
 * `record` returns, so after a restart the node knows the newest header that each delegate signed. There are three
 * kinds of lines for a delegate. The first kind holds a signed header. The second kind holds a time: before this time,
 * the delegate has possibly signed headers that are not in the journal. The third kind records that the delegate moved
 * to another node. A line of the third kind is valid until a newer line of the journal ends the move. Either this newer
 * line contains a signed header of the delegate, or it says that the delegate has returned. If the header or the move
 * in a line came from a watermark, the line has the mark `isOutside`. A header with this mark ends only a move with
 * this mark. A fourth kind of line holds the identity of the journal file (`file-identity.ts`). The identity is the
 * inode number and the birth time of the file. A copy of the file contains the same line, but the copy itself has a
 * different inode number or birth time. The node therefore recognises the copy. If a backup is written into the
 * existing journal file, the identity of the file does not change. The fingerprint (`journal-fingerprint.ts`) reveals
 * such a backup.
 */

import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ProtocolError } from '../primitives/errors.ts';
import type { FolderJournal, OutsideEvidence, Watermark } from '../ports/journal.ts';
import type { SignedHeader } from '../protocol/rules.ts';
import type { PublicKey } from '../protocol/types.ts';
import { flush } from '../store/disk/flush.ts';
import { makeFolder } from '../store/disk/folder.ts';
import { checksumOfLine } from './checked-lines.ts';
import { isSameFile, identityOf, renewTimeOfChange } from './file-identity.ts';
import { checkJournal, JOURNAL_MODE, loadJournal, type JournalContent } from './journal-content.ts';
import {
  adoptedEntries,
  entriesOf,
  entryWith,
  holdEntry,
  isCopyOf,
  isFileIdentity,
  lastOf,
  learn,
  lineOf,
  NOT_MOVED,
  outsideEntriesOf,
  ownOf,
  signedEntries,
  type Entry,
  type FileIdentity,
  type Known,
} from './journal-lines.ts';
import { readFingerprint, renewFingerprint, type JournalFingerprint } from './journal-fingerprint.ts';
import type { ProcessLock } from '../store/disk/process-lock.ts';
import { journalOwner, lockJournal, takenOver } from './journal-lock.ts';

export interface JournalOptions {
  /**
   * Maximum number of lines in the file in addition to one line for each delegate. When the file has more lines, the
   * next write first replaces the file. The new file contains only the newest values of each delegate. The default is
   * 20,000.
   */
  readonly spareLinesMax?: number;
}

export interface JournalFile extends FolderJournal {
  /**
   * Records that delegates moved to another node, so that this node no longer signs for them. When `move` returns, the
   * lines about the move are on the disk. After an error, no delegate has moved.
   *
   * @param atS time of the move: Unix time in whole seconds
   */
  move(publicKeys: readonly PublicKey[], atS: number): void;
  /**
   * Adds the values of an imported record about delegates, and ends earlier moves of these delegates. All lines are
   * written together, and are on the disk when `take` returns. After an error, the journal is unchanged. A power cut
   * during the write can leave only some of the lines. Even with such an incomplete set of lines, no delegate signs
   * earlier than with all lines.
   *
   * @param isComplete true if the journal has the newest header of each of its delegates after this call. A journal
   *   that was a copy then counts as an original.
   */
  take(delegates: readonly TakenDelegate[], isComplete?: boolean): void;
}

/** The values of a delegate that an import writes to the journal. */
export interface TakenDelegate {
  readonly publicKey: PublicKey;
  readonly last?: SignedHeader;
  readonly heldSinceS: number;
  /**
   * True if it is possible that another node has the original of the record and signs the delegate's next header
   * (`SigningJournal.isCopyFor`).
   */
  readonly isCopy: boolean;
  /**
   * Timestamp of a block that another node signed for the delegate (`Known.foreignS`). If this member is absent, the
   * journal keeps the timestamp that it already has. There is one exception: a timestamp that is not later than the
   * timestamp of `last` is no longer needed, and the journal removes it in some cases.
   */
  readonly foreignS?: number;
}

const SPARE_LINES_MAX = 20_000;

/**
 * Returns the path of a node's journal.
 *
 * @param dataDirectory folder of the node for one network
 */
export function journalFileOf(dataDirectory: string): string {
  return join(dataDirectory, 'forging-journal');
}

/**
 * Opens the journal of a node; creates the file if the file does not exist.
 *
 * @throws ProtocolError `JOURNAL_IN_USE` while another process uses the journal; `JOURNAL_UNREADABLE` when the file
 *   cannot be read or a line before the last line is damaged; `JOURNAL_WRITE_FAILED` when a file with a second hard
 *   link cannot be replaced by a copy; errors of the system when the file cannot be created or opened for writing
 */
export function openJournal(file: string, options: JournalOptions = {}): JournalFile {
  makeFolder(dirname(file));
  const lock = lockJournal(file);
  try {
    const fingerprint = readFingerprint(file);
    return new FileJournal(file, loadJournal(file, fingerprint?.newest), { ...options, lock, fingerprint });
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * Checks the lines of a journal, if no process uses the journal. The function does not take the lock of the journal. If
 * the function took the lock, it could displace the lock of a node in a paused container. After the pause, that node
 * could not sign any more.
 *
 * @param file existing journal
 * @returns text that names the process that uses the journal; undefined when no process uses the journal
 * @throws ProtocolError `JOURNAL_UNREADABLE` when no process uses the journal and a line before the last line is
 *   damaged; errors of `readBounded`
 */
export function examineJournal(file: string): string | undefined {
  const owner = journalOwner(file);
  if (owner === undefined) checkJournal(file);
  return owner;
}

interface FileJournalOptions extends JournalOptions {
  readonly lock: ProcessLock;
  readonly fingerprint: JournalFingerprint | undefined;
}

class FileJournal implements JournalFile {
  readonly #file: string;
  readonly #known: Map<PublicKey, Known>;
  readonly #spareLinesMax: number;
  readonly #lock: ProcessLock;
  #descriptor: number;
  #bytes: number;
  #lines: number;
  /** True when a failed write has possibly left bytes after the last complete line. */
  #torn = false;
  #folderSynced = false;
  #closed = false;
  /** The identity in the newest line of the fourth kind (file identity); undefined if the journal has no such line. */
  #identity: FileIdentity | undefined;
  /** Checksum of the newest line about a delegate. `#renewFingerprint` writes this checksum to the fingerprint. */
  #newest: string | undefined;
  /**
   * True after `recordFileIdentity` or `take` has recorded the identity of the journal file (the inode number and the
   * birth time of the file, with which the node recognises a copy of the file). Also true if two conditions hold: the
   * opened journal already had a line with a file identity, and the journal was not a copy (`isCopied`). While this
   * value is false, a new line does not renew the fingerprint (a small file beside the journal with which the node
   * recognises a restored backup).
   */
  #isIdentityRecorded: boolean;
  /**
   * True after `#renewFingerprint`. Also true if two conditions hold: the opened journal had a fingerprint
   * (`journal-fingerprint.ts`), and the constructor set `#isIdentityRecorded` to true.
   */
  #hasFingerprint: boolean;
  readonly isCopied: boolean;

  constructor(file: string, content: JournalContent, options: FileJournalOptions) {
    const { known, identity, newest, hasNamedLine } = content;
    const { lock, fingerprint, spareLinesMax = SPARE_LINES_MAX } = options;
    this.#file = file;
    this.#known = known;
    this.#lines = content.lines;
    this.#spareLinesMax = spareLinesMax;
    this.#lock = lock;
    this.#descriptor = openSync(file, 'a');
    const { size, nlink } = fstatSync(this.#descriptor);
    this.#bytes = size;
    renewTimeOfChange(this.#descriptor);
    this.#identity = identity;
    this.#newest = newest;
    // If the file has a second hard link in another folder, two nodes could write to the file, because each folder has
    // its own lock. The file is therefore replaced by a copy with a single link.
    const isShared = nlink > 1;
    const isOld = fingerprint !== undefined && (!fingerprint.isSameFile || !hasNamedLine);
    this.isCopied = isOld || isShared || (identity !== undefined && !isSameFile(this.#descriptor, identity));
    this.#isIdentityRecorded = identity !== undefined && !this.isCopied;
    this.#hasFingerprint = this.#isIdentityRecorded && fingerprint !== undefined;
    if (isShared) this.#writing(() => this.#compact());
  }

  last(publicKey: PublicKey): SignedHeader | undefined {
    return lastOf(this.#knownOf(publicKey));
  }

  heldSinceS(publicKey: PublicKey): number | undefined {
    return this.#known.get(publicKey)?.heldSinceS;
  }

  isCopyFor(publicKey: PublicKey): boolean {
    return isCopyOf(this.#knownOf(publicKey));
  }

  movedAtS(publicKey: PublicKey): number | undefined {
    const { movedAtS, outside } = this.#known.get(publicKey) ?? {};
    return movedAtS ?? outside?.movedAtS;
  }

  own(publicKey: PublicKey): Pick<Watermark, 'last' | 'movedAtS'> {
    return ownOf(this.#knownOf(publicKey));
  }

  delegates(): readonly PublicKey[] {
    return [...this.#known.keys()];
  }

  outside(): OutsideEvidence {
    return 'unknown';
  }

  recalled(): undefined {
    return undefined;
  }

  adopt(publicKey: PublicKey, header: SignedHeader): void {
    this.#write(...adoptedEntries(publicKey, header));
  }

  record(publicKey: PublicKey, header: SignedHeader): void {
    this.#write(...signedEntries(publicKey, header, this.#knownOf(publicKey)));
  }

  hold(publicKey: PublicKey, sinceS: number, isCopy = false, foreignS?: number): void {
    this.#write(holdEntry(publicKey, sinceS, isCopy, foreignS));
  }

  foreignS(publicKey: PublicKey): number | undefined {
    return this.#known.get(publicKey)?.foreignS;
  }

  copyFrom(publicKey: PublicKey, watermark: Pick<Watermark, 'last' | 'movedAtS'>): void {
    this.#write(...outsideEntriesOf(publicKey, watermark));
  }

  move(publicKeys: readonly PublicKey[], atS: number): void {
    this.#write(...publicKeys.map((delegate) => ({ delegate, movedAtS: atS })));
  }

  take(delegates: readonly TakenDelegate[], isComplete = false): void {
    const lines = delegates.flatMap(({ publicKey, last, heldSinceS, isCopy, foreignS }): readonly Entry[] => {
      const hold = holdEntry(publicKey, heldSinceS, isCopy, foreignS ?? this.foreignS(publicKey));
      if (last === undefined) {
        const isMoved = this.movedAtS(publicKey) !== undefined;
        // Earlier versions of the node read `NOT_MOVED` (0) as the time of a move, and end a move at the next line of
        // the delegate. For these versions, the list contains the line `hold` a second time.
        return isMoved ? [hold, { delegate: publicKey, movedAtS: NOT_MOVED }, hold] : [hold];
      }
      const header = entryWith(publicKey, last);
      return heldSinceS > last.timestamp ? [hold, header] : [header, hold];
    });
    const isIdentityKept = this.#isIdentityRecorded || (this.isCopied && !isComplete);
    this.#write(...lines, ...(isIdentityKept ? [] : [this.#ownIdentity()]));
    if (isIdentityKept) return;
    this.#isIdentityRecorded = true;
    this.#renewFingerprint();
  }

  recordFileIdentity(): void {
    if (this.#hasFingerprint) return;
    if (!this.#isIdentityRecorded) this.#write(this.#ownIdentity());
    this.#isIdentityRecorded = true;
    this.#renewFingerprint();
  }

  #knownOf(publicKey: PublicKey): Known {
    return this.#known.get(publicKey) ?? {};
  }

  /**
   * The identity of the file to which the next `#write` appends. If the file must be rewritten, this method rewrites
   * the file first, because the new file has a different identity.
   */
  #ownIdentity(): FileIdentity {
    this.#checkOwned();
    this.#writing(() => this.#compactIfLong());
    return identityOf(this.#descriptor);
  }

  #checkOwned(): void {
    if (this.#closed) throw new ProtocolError('JOURNAL_CLOSED', { file: this.#file });
    if (!this.#lock.isHeld()) throw takenOver(this.#file);
  }

  #write(...entries: readonly Entry[]): void {
    this.#checkOwned();
    const lines = entries.map(lineOf);
    const bytes = Buffer.concat(lines);
    this.#writing(() => {
      // If the file has too many lines, the journal rewrites the file before it writes the new line. In the reverse
      // order, the rewriting could fail after the new line is on the disk. The file would then contain a line that
      // `#known` lacks.
      this.#compactIfLong();
      if (!this.#folderSynced) this.#syncFolder();
      this.#append(bytes);
    });
    this.#bytes += bytes.length;
    this.#lines += lines.length;
    for (const [index, entry] of entries.entries()) {
      if (isFileIdentity(entry)) this.#identity = entry;
      else {
        learn(this.#known, entry);
        this.#newest = checksumOfLine(lines[index] ?? bytes);
      }
    }
    // The fingerprint is renewed before the node sends the block whose header is in the new line. The fingerprint is
    // therefore usually at least as new as the line of the last sent block. The fingerprint is older in two cases: its
    // write failed, or a power cut came before the fingerprint was on the disk.
    if (this.#isIdentityRecorded) this.#renewFingerprint();
  }

  #renewFingerprint(): void {
    renewFingerprint(this.#file, this.#newest);
    this.#hasFingerprint = true;
  }

  #writing(write: () => void): void {
    try {
      write();
    } catch (error) {
      throw new ProtocolError(
        'JOURNAL_WRITE_FAILED',
        { file: this.#file },
        `${this.#file}: cannot be written, so nothing may be signed`,
        { cause: error },
      );
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      closeSync(this.#descriptor);
    } finally {
      this.#lock.release();
    }
  }

  #append(lines: Buffer): void {
    // Removes the incomplete line that an earlier failed write left, so that the next line does not continue the
    // incomplete line.
    if (this.#torn) this.#undoLine();
    try {
      writeAll(this.#descriptor, lines);
      fsyncSync(this.#descriptor);
    } catch (error) {
      this.#torn = true;
      // The next append would remove the lines of this failed write. But the process can end before the next append, so
      // the lines are removed now.
      try {
        this.#undoLine();
      } catch {
        // The next append makes a second attempt to remove the lines of the failed write.
      }
      throw error;
    }
  }

  #undoLine(): void {
    ftruncateSync(this.#descriptor, this.#bytes);
    this.#torn = false;
  }

  #compactIfLong(): void {
    if (this.#lines > this.#known.size + this.#spareLinesMax) this.#compact();
  }

  /**
   * Writes the newest values of each delegate (`Known`) to a new file, which then replaces the old file. The old file
   * is complete and in use until the rename. After the rename, the new file is in use, even if a later step fails.
   */
  #compact(): void {
    const draft = `${this.#file}.new`;
    rmSync(draft, { force: true });
    // In append mode, each line is written at the end of the file, even after `#undoLine` has shortened the file.
    const descriptor = openSync(draft, 'ax', JOURNAL_MODE);
    const newIdentity = this.#isIdentityRecorded ? identityOf(descriptor) : this.#identity;
    const identity = newIdentity === undefined ? [] : [newIdentity];
    const kept = [...this.#known].flatMap(([publicKey, known]) => entriesOf(publicKey, known));
    const entries: readonly Entry[] = [...kept, ...identity];
    const content = Buffer.concat(entries.map(lineOf));
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
    this.#lines = entries.length;
    this.#identity = newIdentity;
    this.#torn = false;
    this.#folderSynced = false;
    closeSync(old);
  }

  /** Flushes the folder. Without the flush, a power cut could bring back the old file, which lacks the newest lines. */
  #syncFolder(): void {
    flush(dirname(this.#file));
    this.#folderSynced = true;
  }
}

function writeAll(descriptor: number, bytes: Buffer): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
}
