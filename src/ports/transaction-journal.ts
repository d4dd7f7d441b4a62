/**
 * The transaction journal. The journal keeps each transaction that this node accepted from a client. A transaction is on disk
 * before the client is answered, and stays until it is not needed any more.
 */

import type { JsonObject, MemberSignature, TransactionId } from '../protocol/types.ts';

/** An accepted transaction in the form in which it was accepted. */
export interface JournaledTransaction {
  readonly id: TransactionId;
  /** The transaction in the JSON of the codec, with the members' signatures that it had on arrival. */
  readonly json: JsonObject;
  /** Unix time in milliseconds. */
  readonly receivedAtMs: number;
  /** True if the transaction needs members' signatures; it may then wait longer. */
  readonly isOfGroup: boolean;
  /** Members' signatures that arrived later. */
  readonly signatures: readonly MemberSignature[];
}

/** A journal with a maximum number of entries and of bytes. An entry is on disk when the next `flush` has resolved. */
export interface TransactionJournal {
  /** All entries, oldest first. */
  entries(): Iterable<JournaledTransaction>;
  get(id: TransactionId): JournaledTransaction | undefined;
  hasRoomFor(entry: JournaledTransaction): boolean;
  /**
   * Adds an entry. If the journal has an entry with the same id, nothing happens. The caller must have checked that there is
   * room.
   */
  add(entry: JournaledTransaction): void;
  /** Adds a member's signature. Nothing happens if its transaction is not there, or if there is no room. */
  addSignature(signature: MemberSignature): void;
  remove(ids: readonly TransactionId[]): void;
  /**
   * Resolves when all entries so far are on disk. Calls during a write to the disk share the next write.
   *
   * @throws ProtocolError `TRANSACTION_JOURNAL_WRITE_FAILED`, `TRANSACTION_JOURNAL_TAKEN_OVER`; entries since the last flush
   *   may then be lost, unless a later flush succeeds
   */
  flush(): Promise<void>;
  close(): Promise<void>;
}
