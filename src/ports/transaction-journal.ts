/**
 * The transaction journal. The journal has each transaction that this node accepted from a client. A transaction is on
 * disk before the client gets its answer. The transaction stays in the journal until it is no longer needed.
 */

import type { JsonObject, MemberSignature, TransactionId } from '../protocol/types.ts';

/** An accepted transaction in the form in which it was accepted. */
export interface JournaledTransaction {
  readonly id: TransactionId;
  /** The transaction as JSON of the codec, with the members' signatures that it had on arrival. */
  readonly json: JsonObject;
  /** Unix time in milliseconds. */
  readonly receivedAtMs: number;
  /** True if the transaction needs members' signatures, so that it may wait longer. */
  readonly isOfGroup: boolean;
  /** Members' signatures that arrived after the transaction. */
  readonly signatures: readonly MemberSignature[];
}

/**
 * A journal that limits the number and the bytes of its entries. An entry is on disk when the next `flush` has
 * resolved.
 */
export interface TransactionJournal {
  /** All entries, oldest first. */
  entries(): Iterable<JournaledTransaction>;
  get(id: TransactionId): JournaledTransaction | undefined;
  hasRoomFor(entry: JournaledTransaction): boolean;
  /**
   * Adds an entry. If the journal has an entry with the same id, the method does nothing. The caller must have checked
   * that the journal has room.
   */
  add(entry: JournaledTransaction): void;
  /**
   * Adds a member's signature. The method does nothing if the journal does not have the transaction, or has no room.
   */
  addSignature(signature: MemberSignature): void;
  remove(ids: readonly TransactionId[]): void;
  /**
   * Resolves when all present entries are on disk. Calls during a write share the next write.
   *
   * @throws ProtocolError `TRANSACTION_JOURNAL_WRITE_FAILED` or `TRANSACTION_JOURNAL_TAKEN_OVER`; entries since the
   *   last flush may then be lost, unless a later flush succeeds
   */
  flush(): Promise<void>;
  close(): Promise<void>;
}
