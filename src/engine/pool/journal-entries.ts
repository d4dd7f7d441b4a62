/**
 * Stores the entries of a transaction journal in memory, and decides whether the journal has room for another
 * transaction or member's signature. `node/transaction-journal-file.ts` stores the same entries on disk. A node without
 * a data folder has only the entries in memory.
 */

import type { JournaledTransaction, TransactionJournal } from '../../ports/transaction-journal.ts';
import type { MemberSignature, TransactionId } from '../../protocol/types.ts';

/**
 * Maximum number of transactions in the journal. The pool has room for the same number of transactions if the option
 * `pool.transactionsPerQueueMax` has its largest value. If the journal is full, confirmed transactions leave the
 * journal to make room.
 */
const JOURNALED_MAX = 25_000;
/**
 * Maximum size of the JSON of all entries, in bytes. The limit allows `JOURNALED_MAX` transactions of the usual size,
 * or a few thousand of the largest size.
 */
export const JOURNALED_BYTES_MAX = 32 * 1024 * 1024;

interface Held {
  readonly entry: JournaledTransaction;
  readonly bytes: number;
}

export class JournalEntries {
  readonly #held = new Map<TransactionId, Held>();
  #bytes = 0;

  get size(): number {
    return this.#held.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** All entries, oldest first. */
  all(): readonly JournaledTransaction[] {
    return [...this.#held.values()].map(({ entry }) => entry);
  }

  get(id: TransactionId): JournaledTransaction | undefined {
    return this.#held.get(id)?.entry;
  }

  hasRoomFor(added: JournaledTransaction | MemberSignature): boolean {
    const isTransaction = 'json' in added;
    if (isTransaction && this.#held.size >= JOURNALED_MAX) return false;
    return this.#bytes + bytesOf(added) <= JOURNALED_BYTES_MAX;
  }

  /** @returns false if the journal already has the transaction; in this case, the journal does not change */
  add(entry: JournaledTransaction): boolean {
    if (this.#held.has(entry.id)) return false;
    this.#set(entry);
    return true;
  }

  /**
   * @returns false if the journal already has the signature, does not have the transaction, or has no room; in these
   *   cases, the journal does not change
   */
  addSignature(added: MemberSignature): boolean {
    const entry = this.get(added.transactionId);
    if (entry === undefined || hasSignature(entry, added) || !this.hasRoomFor(added)) return false;
    this.#set({ ...entry, signatures: [...entry.signatures, added] });
    return true;
  }

  /** @returns false if the journal has no transaction with this id */
  remove(id: TransactionId): boolean {
    const held = this.#held.get(id);
    if (held === undefined) return false;
    this.#bytes -= held.bytes;
    return this.#held.delete(id);
  }

  #set(entry: JournaledTransaction): void {
    const bytes = bytesOf(entry);
    this.#bytes += bytes - (this.#held.get(entry.id)?.bytes ?? 0);
    this.#held.set(entry.id, { entry, bytes });
  }
}

/** A journal in memory only. The entries are lost when the process ends. */
export class MemoryTransactionJournal implements TransactionJournal {
  readonly #entries = new JournalEntries();

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
    this.#entries.add(entry);
  }

  addSignature(signature: MemberSignature): void {
    this.#entries.addSignature(signature);
  }

  remove(ids: readonly TransactionId[]): void {
    for (const id of ids) this.#entries.remove(id);
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/**
 * Returns true if the entry has the member's signature, either in the JSON of its transaction or as an added signature.
 */
export function hasSignature({ json, signatures }: JournaledTransaction, { signature }: MemberSignature): boolean {
  const before: unknown = json['signatures'];
  return (
    signatures.some((each) => each.signature === signature) || (Array.isArray(before) && before.includes(signature))
  );
}

function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}
