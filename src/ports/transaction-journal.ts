/** The transaction journal: transactions that this node accepted, on disk before the answer, until they are not needed. */

import type { JsonObject, MemberSignature, TransactionId } from '../protocol/types.ts';

/** A transaction as it was accepted. */
export interface JournaledTransaction {
  readonly id: TransactionId;
  /** As the codec of the rules writes it, with the signatures of members that it came with. */
  readonly json: JsonObject;
  /** Unix time in milliseconds. */
  readonly receivedAtMs: number;
  /** Whether members of a group sign it: it may wait longer. */
  readonly isOfGroup: boolean;
  /** Signatures of members that came later. */
  readonly signatures: readonly MemberSignature[];
}

/** A journal that is bounded in number and bytes. Written entries are on the disk when the next `flush` has resolved. */
export interface TransactionJournal {
  /** All entries, oldest first. */
  entries(): Iterable<JournaledTransaction>;
  get(id: TransactionId): JournaledTransaction | undefined;
  hasRoomFor(entry: JournaledTransaction): boolean;
  /** Does nothing for an id that is there. The caller has asked whether there is room. */
  add(entry: JournaledTransaction): void;
  /** Does nothing for a transaction that is not there, or without room. */
  addSignature(signature: MemberSignature): void;
  remove(ids: readonly TransactionId[]): void;
  /**
   * Resolves when everything that was written so far is on the disk. Calls that come while the disk is busy share one write.
   *
   * @throws ProtocolError `TRANSACTION_JOURNAL_WRITE_FAILED`, `TRANSACTION_JOURNAL_TAKEN_OVER`; what was written since the last
   *   flush may be lost then, unless a later one succeeds
   */
  flush(): Promise<void>;
  close(): Promise<void>;
}
