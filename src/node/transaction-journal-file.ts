/**
 * The transaction journal as a file of lines (`checked-lines.ts`): a transaction, a member's signature of one, or the id of one
 * that is of no use any more. Lines are appended beside the work of the node: those that come while the disk is busy go to it
 * together, as one write and one flush. Nothing of the file is believed: the engine checks all that it tells again. A file that
 * was removed or replaced while the node runs is written anew before anybody is answered: the open one would end with it.
 */

import { renameSync } from 'node:fs';
import { link, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readBounded } from '../config/bounded-file.ts';
import { JOURNALED_BYTES_MAX, JournalEntries } from '../engine/pool/journal-entries.ts';
import { memberSignatureFromJson } from '../engine/pool/member-signatures.ts';
import { isU64Decimal } from '../primitives/bytes.ts';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Observer } from '../ports/observer.ts';
import type { JournaledTransaction, TransactionJournal } from '../ports/transaction-journal.ts';
import type { JsonObject, MemberSignature, TransactionId } from '../protocol/types.ts';
import { makeFolder } from '../store/disk/folder.ts';
import { takeLock, type ProcessLock } from '../store/disk/process-lock.ts';
import { checkedLine, contentOf } from './checked-lines.ts';
import { systemClock } from './system.ts';

/** Lines of no use that a file may have beside as many of use. */
const SPARE_BYTES = 1024 * 1024;
/** Twice what is of use, what is spare, and what may come while the disk is busy. */
const FILE_BYTES_MAX = 4 * JOURNALED_BYTES_MAX;
const FILE_MODE = 0o600;

/** Where a node keeps it. @param dataDirectory folder of the node for one network */
export function transactionJournalOf(dataDirectory: string): string {
  return join(dataDirectory, 'transaction-journal');
}

/**
 * Opens the journal of a node, creating it where there is none. Damaged lines are passed over, and a file that cannot be read is
 * put aside; both are said.
 *
 * @throws ProtocolError `TRANSACTION_JOURNAL_IN_USE` while another process has it; what the system says of making the file
 */
export async function openTransactionJournal(file: string, observer: Observer): Promise<TransactionJournal> {
  makeFolder(dirname(file));
  const lock = lockOf(file);
  try {
    const { entries, bytes, isDamaged } = load(file, observer);
    const handle = await open(file, 'a', FILE_MODE);
    await syncFolder(file);
    const { ino, dev } = await handle.stat();
    return new TransactionJournalFile({
      file,
      lock,
      handle,
      opened: { ino, dev },
      entries,
      bytes,
      isDamaged,
      observer,
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Tells files of a machine apart. */
interface OpenFile {
  readonly ino: number;
  readonly dev: number;
}

/**
 * Transactions that a journal holds, also while a node has it. Damaged lines are passed over.
 *
 * @returns none where there is no journal that can be read
 */
export function readTransactionJournal(file: string): readonly JournaledTransaction[] {
  const entries = new JournalEntries();
  try {
    for (const line of readBounded(file, { bytesMax: FILE_BYTES_MAX }).toString('utf8').split('\n'))
      learn(entries, contentOf(line));
  } catch {
    return [];
  }
  return entries.all();
}

interface Opened {
  readonly file: string;
  readonly lock: ProcessLock;
  readonly handle: FileHandle;
  readonly opened: OpenFile;
  readonly observer: Observer;
  readonly entries: JournalEntries;
  readonly bytes: number;
  /** Whether the file holds something that is no line of ours. */
  readonly isDamaged: boolean;
}

class TransactionJournalFile implements TransactionJournal {
  readonly #file: string;
  readonly #lock: ProcessLock;
  readonly #entries: JournalEntries;
  readonly #observer: Observer;
  #handle: FileHandle;
  /** Of the handle. */
  #opened: OpenFile;
  #fileBytes: number;
  /** Not handed to the system yet. */
  #lines: Buffer[] = [];
  #isRewriteDue: boolean;
  /** The write under way, and the one after it. */
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #closed = false;

  constructor({ file, lock, handle, opened, entries, bytes, isDamaged, observer }: Opened) {
    this.#file = file;
    this.#lock = lock;
    this.#observer = observer;
    this.#handle = handle;
    this.#opened = opened;
    this.#entries = entries;
    this.#fileBytes = bytes;
    // Half a line must not stand in front of the next one.
    this.#isRewriteDue = isDamaged;
  }

  entries(): Iterable<JournaledTransaction> {
    return this.#entries.all();
  }

  get(id: TransactionId): JournaledTransaction | undefined {
    return this.#entries.get(id);
  }

  hasRoomFor(entry: JournaledTransaction): boolean {
    return this.#entries.hasRoomFor(entry);
  }

  add(entry: JournaledTransaction): void {
    if (this.#entries.add(entry)) this.#lines.push(lineOf(entry));
  }

  addSignature(signature: MemberSignature): void {
    if (this.#entries.addSignature(signature)) this.#lines.push(checkedLine({ signature }));
  }

  remove(ids: readonly TransactionId[]): void {
    const removed = ids.filter((id) => this.#entries.remove(id));
    if (removed.length > 0) this.#lines.push(checkedLine({ removed }));
  }

  flush(): Promise<void> {
    if (this.#lines.length === 0 && this.#writing === undefined && !this.#isRewriteDue) return Promise.resolve();
    this.#next ??= (this.#writing ?? Promise.resolve())
      // Whoever waited for that one was told.
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        this.#writing = this.#write().finally(() => {
          this.#writing = undefined;
        });
        return this.#writing;
      });
    return this.#next;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    try {
      await this.flush();
      // Transactions that were answered for long ago must be there at the next start, too.
      if (await this.#isReplaced()) await this.#rewriteReplaced();
    } finally {
      this.#closed = true;
      await this.#handle.close();
      this.#lock.release();
    }
  }

  async #write(): Promise<void> {
    if (this.#closed) throw writeFailed(this.#file, new Error('it was closed'));
    if (!this.#lock.isHeld()) throw takenOver(this.#file);
    const bytes = Buffer.concat(this.#lines);
    this.#lines = [];
    try {
      const isLong = this.#fileBytes + bytes.length > 2 * this.#entries.bytes + SPARE_BYTES;
      if (this.#isRewriteDue || isLong) await this.#rewrite();
      else await this.#append(bytes);
    } catch (error) {
      // What was written of it, and what was not, shows only when all is written anew.
      this.#isRewriteDue = true;
      throw writeFailed(this.#file, error);
    }
  }

  async #append(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    await this.#handle.appendFile(bytes);
    await this.#handle.datasync();
    this.#fileBytes += bytes.length;
    if (await this.#isReplaced()) await this.#rewriteReplaced();
  }

  /** Whether the path leads to another file than the open one, to none, or to one that somebody else wrote to. */
  async #isReplaced(): Promise<boolean> {
    const found = await statIfPresent(this.#file);
    return found === undefined || !this.#isOpen(found) || found.size !== this.#fileBytes;
  }

  async #rewriteReplaced(): Promise<void> {
    const found = await statIfPresent(this.#file);
    // The file that lies there instead may be of use to somebody.
    const isForeign = found !== undefined && !this.#isOpen(found);
    const aside = isForeign ? await keepAside(this.#file) : undefined;
    await this.#rewrite();
    const message = 'the file of accepted transactions was removed or replaced while the node runs: it is written anew';
    const fields = { file: this.#file, ...(aside === undefined ? {} : { aside }) };
    this.#observer.log('warn', 'TRANSACTION_JOURNAL_REPLACED', message, fields);
  }

  #isOpen({ ino, dev }: OpenFile): boolean {
    return ino === this.#opened.ino && dev === this.#opened.dev;
  }

  /** All that is of use, to a new file, which then takes the place of the old one. */
  async #rewrite(): Promise<void> {
    const content = Buffer.concat(this.#entries.all().map(lineOf));
    const draft = `${this.#file}.new`;
    await rm(draft, { force: true });
    const handle = await open(draft, 'ax', FILE_MODE);
    let opened: OpenFile;
    try {
      opened = await handle.stat();
      await handle.appendFile(content);
      await handle.datasync();
      await rename(draft, this.#file);
      await syncFolder(this.#file);
    } catch (error) {
      await handle.close();
      throw error;
    }
    const old = this.#handle;
    this.#handle = handle;
    this.#opened = opened;
    this.#fileBytes = content.length;
    this.#isRewriteDue = false;
    await old.close();
  }
}

function lineOf(entry: JournaledTransaction): Buffer {
  return checkedLine({ transaction: entry });
}

interface Loaded {
  readonly entries: JournalEntries;
  readonly bytes: number;
  readonly isDamaged: boolean;
}

function load(file: string, observer: Observer): Loaded {
  const entries = new JournalEntries();
  let content: Buffer;
  try {
    content = readBounded(file, { bytesMax: FILE_BYTES_MAX });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { entries, bytes: 0, isDamaged: false };
    const aside = `${file}.unreadable`;
    renameSync(file, aside);
    const message = 'accepted transactions of an earlier run cannot be read; the file is put aside';
    observer.log('warn', 'TRANSACTION_JOURNAL_UNREADABLE', message, { file: aside, reason: messageOf(error) });
    return { entries, bytes: 0, isDamaged: false };
  }
  const lines = content.toString('utf8').split('\n');
  const rest = lines.pop() ?? '';
  const damaged = lines.filter((line) => !learn(entries, contentOf(line))).length;
  if (damaged > 0) {
    const message = 'lines of accepted transactions are damaged and were passed over';
    observer.log('warn', 'TRANSACTION_JOURNAL_DAMAGED', message, { file, lines: damaged });
  }
  // A last line that a crash left half written was not answered for.
  return { entries, bytes: content.length, isDamaged: damaged > 0 || rest !== '' };
}

/** Takes in what a line tells. @returns false for what is no line of ours */
function learn(entries: JournalEntries, content: unknown): boolean {
  if (typeof content !== 'object' || content === null) return false;
  const { transaction, signature, removed } = content as Readonly<Record<string, unknown>>;
  if (Array.isArray(removed)) {
    for (const id of removed) entries.remove(String(id));
    return true;
  }
  if (signature !== undefined) {
    const read = signatureOf(signature);
    if (read !== undefined) entries.addSignature(read);
    return read !== undefined;
  }
  const entry = entryOf(transaction);
  if (entry !== undefined && entries.hasRoomFor(entry)) entries.add(entry);
  return entry !== undefined;
}

function entryOf(value: unknown): JournaledTransaction | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { id, json, receivedAtMs, isOfGroup, signatures } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== 'string' || !isU64Decimal(id) || typeof json !== 'object' || json === null) return undefined;
  if (!Number.isSafeInteger(receivedAtMs) || !Array.isArray(signatures)) return undefined;
  return {
    id,
    json: json as JsonObject,
    receivedAtMs: receivedAtMs as number,
    isOfGroup: isOfGroup === true,
    signatures: signatures.flatMap((each) => signatureOf(each) ?? []),
  };
}

function signatureOf(value: unknown): MemberSignature | undefined {
  try {
    return memberSignatureFromJson(value);
  } catch {
    return undefined;
  }
}

function lockOf(file: string): ProcessLock {
  try {
    return takeLock(dirname(file), `${basename(file)}.in-use`, systemClock);
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'LOCKED') throw error;
    throw new ProtocolError(
      'TRANSACTION_JOURNAL_IN_USE',
      { file, pid: error.data['pid'] },
      `${file}: in use by ${String(error.data['owner'])}: stop that process, or choose another folder with --data-dir`,
      { cause: error },
    );
  }
}

function takenOver(file: string): ProtocolError {
  return new ProtocolError(
    'TRANSACTION_JOURNAL_TAKEN_OVER',
    { file },
    `${file}: the claim of this process is gone, so no transaction may be accepted: another process took the folder over; stop ` +
      'this process, and start it again when no other has the folder',
  );
}

function writeFailed(file: string, cause: unknown): ProtocolError {
  return new ProtocolError(
    'TRANSACTION_JOURNAL_WRITE_FAILED',
    { file },
    `${file}: cannot be written: ${messageOf(cause)}; check the free space and the health of its disk`,
    { cause },
  );
}

/** @returns the other name that a file has then; undefined where it can have none */
async function keepAside(file: string): Promise<string | undefined> {
  const aside = `${file}.replaced`;
  try {
    await rm(aside, { force: true });
    await link(file, aside);
    return aside;
  } catch {
    return undefined;
  }
}

async function statIfPresent(file: string): Promise<(OpenFile & { readonly size: number }) | undefined> {
  try {
    return await stat(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A created or renamed file survives a power cut only once its folder is on the disk too. */
async function syncFolder(file: string): Promise<void> {
  const folder = await open(dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
