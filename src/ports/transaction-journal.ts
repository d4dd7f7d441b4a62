/**
 * Defines the transaction journal. The journal receives each transaction that this node accepts from a client. If a
 * client sends a member's signature for a transaction that came from a peer, the journal also receives this
 * transaction. If the journal is a file, a transaction is on disk before the node answers the client. A transaction in
 * a block stays in the journal until the block is final, or at least one round below the tip. A transaction without a
 * block stays in the journal until the transaction expires or becomes invalid. If the journal is full, the node makes
 * room by removing confirmed transactions, in the order in which the node found them in blocks.
 */

import type { JsonObject, MemberSignature, TransactionId } from '../protocol/types.ts';

/** An entry of the journal: a transaction as the node accepted it, and the members' signatures that arrived later. */
export interface JournaledTransaction {
  readonly id: TransactionId;
  /** Result of `Codec.transactionToJson`, with the members' signatures that existed when this entry was created. */
  readonly json: JsonObject;
  /** Unix time in milliseconds at which the transaction arrived in the pool. */
  readonly receivedAtMs: number;
  /**
   * True if the transaction needs signatures from members of a multisignature account. Such a transaction can wait in
   * the pool for a longer time than other transactions.
   */
  readonly isOfGroup: boolean;
  /** Members' signatures that arrived after this entry was created. */
  readonly signatures: readonly MemberSignature[];
}

/**
 * A journal with a maximum number of entries and a maximum number of bytes. If the journal is a file, a new entry is on
 * disk when the next call of `flush` has resolved.
 */
export interface TransactionJournal {
  /** Returns all entries, oldest first. */
  entries(): Iterable<JournaledTransaction>;
  get(id: TransactionId): JournaledTransaction | undefined;
  hasRoomFor(added: JournaledTransaction | MemberSignature): boolean;
  /**
   * Adds an entry. If the journal has an entry with the same id, the method does nothing. The caller must have checked
   * with `hasRoomFor` that the journal has room.
   */
  add(entry: JournaledTransaction): void;
  /**
   * Adds a member's signature. The method does nothing if the journal does not have the transaction, already has the
   * signature, or has no room.
   */
  addSignature(signature: MemberSignature): void;
  remove(ids: readonly TransactionId[]): void;
  /**
   * Resolves when all entries and signatures that were added before this call are on disk. If `flush` is called several
   * times during one write of the file, the next write serves all these calls.
   *
   * @throws ProtocolError `TRANSACTION_JOURNAL_WRITE_FAILED` if the file cannot be written, or
   *   `TRANSACTION_JOURNAL_TAKEN_OVER` if this process has lost the lock of the journal. After an error, new entries
   *   can be missing on disk until a later call of `flush` succeeds
   */
  flush(): Promise<void>;
  close(): Promise<void>;
}
