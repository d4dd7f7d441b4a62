/**
 * Stores the transaction journal as a file of lines (`checked-lines.ts`). A line holds one of three things: a
 * transaction, a member's signature for a multisignature transaction, or the ids of transactions that are no longer
 * needed. All writes are asynchronous. Lines that arrive during a write go to the disk together in the next write. The
 * node does not trust the content of the file, so the engine checks all transactions of the file again at the start of
 * the node. If somebody removes or replaces the file while the node runs, the next append writes all needed lines to a
 * new file. Otherwise, the content of the removed file would be lost when the node closes this file.
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

/**
 * The node rewrites the file when the size of the outdated lines exceeds the size of the needed lines by more than this
 * number of bytes.
 */
const SPARE_BYTES = 1024 * 1024;
/**
 * Maximum size in bytes of a file that the node reads at its start. The needed lines of a file contain at most
 * `JOURNALED_BYTES_MAX` bytes of JSON. The node rewrites a file when its size exceeds the sum of two sizes: twice the
 * size of the needed lines, and `SPARE_BYTES`. The files that the node writes therefore stay below `FILE_BYTES_MAX`.
 */
const FILE_BYTES_MAX = 4 * JOURNALED_BYTES_MAX;
const FILE_MODE = 0o600;

/** Path of a node's transaction journal. @param dataDirectory folder of the node for one network */
export function transactionJournalOf(dataDirectory: string): string {
  return join(dataDirectory, 'transaction-journal');
}

/**
 * Opens the journal of a node, or creates an empty journal if the file does not exist. If lines are damaged, skips
 * these lines and logs a warning. If the whole file cannot be read, renames the file, logs a warning, and creates an
 * empty journal.
 *
 * @throws ProtocolError `TRANSACTION_JOURNAL_IN_USE` while another process uses the journal; errors of the system when
 *   the file cannot be created
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

/** Identity of a file on this machine. */
interface OpenFile {
  readonly ino: number;
  readonly dev: number;
}

/**
 * Reads the transactions in a journal. A node can use the journal at the same time. Damaged lines are skipped.
 *
 * @returns an empty list when there is no readable journal
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
  /** True when the file contains damaged lines, lines of an unknown form, or an incomplete last line. */
  readonly isDamaged: boolean;
}

class TransactionJournalFile implements TransactionJournal {
  readonly #file: string;
  readonly #lock: ProcessLock;
  readonly #entries: JournalEntries;
  readonly #observer: Observer;
  #handle: FileHandle;
  /** Identity of the open file. */
  #opened: OpenFile;
  #fileBytes: number;
  /** Lines for the next write. */
  #lines: Buffer[] = [];
  #isRewriteDue: boolean;
  /** The write that runs now. `#next` is the write that starts after it. */
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
    // If the file is damaged, the first write replaces the file. If this write appended lines to the damaged file, the
    // first new line could continue an incomplete line.
    this.#isRewriteDue = isDamaged;
  }

  entries(): Iterable<JournaledTransaction> {
    return this.#entries.all();
  }

  get(id: TransactionId): JournaledTransaction | undefined {
    return this.#entries.get(id);
  }

  hasRoomFor(added: JournaledTransaction | MemberSignature): boolean {
    return this.#entries.hasRoomFor(added);
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
      // If the running write (`#writing`) fails, the promises of earlier calls of `flush` reject. The promise of the
      // present call waits for the next write, so it ignores this failure.
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
      // The node has told clients that it keeps their transactions. If the file was removed or replaced, the node
      // therefore writes the transactions to a new file.
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
      // The failed write has possibly written a part of the lines, so the next write rewrites the whole file.
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

  /**
   * True if no file is at the path, or if the file at the path is not the open file. Also true if the size of the open
   * file shows that another process wrote to the file.
   */
  async #isReplaced(): Promise<boolean> {
    const found = await statIfPresent(this.#file);
    return found === undefined || !this.#isOpen(found) || found.size !== this.#fileBytes;
  }

  async #rewriteReplaced(): Promise<void> {
    const found = await statIfPresent(this.#file);
    // If a different file is at the path, the node keeps that file under a second name, because the operator possibly
    // needs that file.
    const isForeign = found !== undefined && !this.#isOpen(found);
    const aside = isForeign ? await keepAside(this.#file) : undefined;
    await this.#rewrite();
    const message =
      'the file of accepted transactions was removed or replaced while the node runs: the node writes it again';
    const fields = { file: this.#file, ...(aside === undefined ? {} : { aside }) };
    this.#observer.log('warn', 'TRANSACTION_JOURNAL_REPLACED', message, fields);
  }

  #isOpen({ ino, dev }: OpenFile): boolean {
    return ino === this.#opened.ino && dev === this.#opened.dev;
  }

  /** Writes all needed lines to a new file, which then replaces the old file. */
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
    const message = 'lines of accepted transactions are damaged and were skipped';
    observer.log('warn', 'TRANSACTION_JOURNAL_DAMAGED', message, { file, lines: damaged });
  }
  // A crash can leave the last line incomplete. No warning is necessary, because the node has not yet told the client
  // that it accepted the transaction of this line. The node answers the client only after the whole line is on the
  // disk.
  return { entries, bytes: content.length, isDamaged: damaged > 0 || rest !== '' };
}

/** Applies the content of a line to the entries. @returns false for a damaged line, or a line of an unknown form */
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
    `${file}: the lock of this process is gone, so no transaction may be accepted: another process took over the folder; stop ` +
      'this process, and start it again when no other process uses the folder',
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

/** Makes the hard link `<file>.replaced` to a file. @returns the path of the link; undefined if the call fails */
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

/** Flushes the folder of the file to the disk, so that the name of a new file survives a power cut. */
async function syncFolder(file: string): Promise<void> {
  const folder = await open(dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
