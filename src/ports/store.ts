/**
 * Defines the interface through which the engine uses the store of a chain. Reads and transactions of the store are
 * synchronous, so the store cannot change between a check and a write unless the caller awaits something between the
 * check and the write.
 */

import type { NoteName } from './notes.ts';
import type { StateReader, StateWriter } from '../protocol/state.ts';
import type { Block, BlockHeader, BlockId, Transaction, TransactionId } from '../protocol/types.ts';

/** The position of a transaction in the chain. */
export interface TransactionPlace {
  readonly height: number;
  /** Index of the transaction in the list of transactions of its block. The first transaction has the index 0. */
  readonly index: number;
}

/** Read access to the chain and its state. */
export interface ChainReader extends StateReader {
  /** The tip of the chain; undefined while the store is empty. */
  tip(): BlockHeader | undefined;
  block(height: number): Block | undefined;
  heightOf(id: BlockId): number | undefined;
  transactionPlace(id: TransactionId): TransactionPlace | undefined;
  transaction(place: TransactionPlace): Transaction | undefined;
}

export interface ChainWriter extends ChainReader, StateWriter {
  /**
   * Appends a block to the chain. The method runs `apply`, which writes the state. The method then stores the block,
   * the index entries of its header, the new number of transactions in the chain, and an undo record of all overwritten
   * values. The genesis block gets no undo record. The store writes the index entries of the block's transactions at
   * the end of the store transaction, or later if indexing is deferred (`DeferrableIndexes`). If this method throws,
   * the store transaction can contain a part of these writes. The caller must not catch the error inside the store
   * transaction, because the store would then commit this part.
   */
  append(block: Block, apply: (state: StateWriter) => void): void;
  /**
   * Reverts the tip by writing back the values of its undo record. After the revert, the state, the blocks and the
   * indexes have the values that they had before the block.
   *
   * @returns the reverted block
   * @throws ProtocolError `UNDO_RECORD_MISSING` if the undo record is no longer stored; `STORE_DAMAGED` if the undo
   *   record does not match its checksum; `GENESIS_NOT_REVERTIBLE` if the tip is the genesis block
   */
  revert(): Block;
  /**
   * Deletes the undo records up to this height. After this call, the caller must never revert a block at or below this
   * height.
   */
  forgetUndo(upToHeight: number): void;
  /**
   * Stores a note of the node, such as the peer book. If `value` is undefined, the method removes the note. Notes are
   * never part of the consensus state.
   */
  setNote(key: NoteName, value: Uint8Array | undefined): void;
}

/** The notes of a store, for modules that use no other part of the store. */
export interface NoteStore {
  /** Runs `work` in one transaction of the store, as `ChainStore.transact` does. */
  transact<T>(work: (writer: Pick<ChainWriter, 'setNote'>) => T): T;
  /**
   * Returns the value of the note with the name `key`. The result is undefined if the store has no note with this name.
   *
   * @throws ProtocolError `STORE_DAMAGED` if the note `FINALIZED_NOTE` does not match its checksum
   */
  note(key: NoteName): Uint8Array | undefined;
}

export interface ChainStore extends ChainReader, NoteStore {
  /**
   * Runs `work` in one transaction of the store. When this method returns, all writes of `work` are on disk, unless the
   * store exists only in memory or was opened with `durable: false`. `work` must not be asynchronous.
   *
   * @throws the error of `work`, or ProtocolError `STORE_WRITE_FAILED` or `STORE_TAKEN_OVER` if the store cannot be
   *   written. After each of these errors, the store is unchanged
   */
  transact<T>(work: (writer: ChainWriter) => T): T;
  /** Returns all names of notes that begin with `prefix`, in ascending order. */
  noteKeys(prefix: string): readonly string[];
  /**
   * Returns the SHA-256 hash over all entries of the consensus state, in the order of their keys. The result is
   * hexadecimal. Nodes with the same tip must have the same digest.
   */
  stateDigest(): string;
  /**
   * Returns the height of the lowest block that the store can revert with the undo records that it still has. The
   * result is undefined if the store can revert no block.
   */
  undoFloor(): number | undefined;
  close(): Promise<void>;
}

/** Limits of a backfill (`DeferrableIndexes.backfill`). */
export interface BackfillLimits {
  /** A step of the backfill ends as soon as the step has changed about this number of database pages. */
  readonly pagesMax?: number;
  /**
   * If the missing index entries are not in memory, the backfill computes these entries from the stored blocks, in
   * parts. A part ends with the block in which the part reaches this number of transactions.
   */
  readonly transactionsMax?: number;
}

/** The indexes of the transactions in a store. While indexing is deferred, the indexes can lag behind the chain. */
export interface DeferrableIndexes {
  /**
   * Number of blocks whose transactions are not in the indexes of transactions yet, plus the number of these
   * transactions. While the lag is above 0, lookups by id find all transactions, but queries through the other indexes
   * can miss transactions.
   */
  readonly indexLag: number;
  /**
   * After this call, appending a block adds no entries to the indexes of transactions. A call of `backfill` writes the
   * missing entries of all blocks that were appended before the call of `backfill`. Indexing stays deferred after the
   * backfill, until `resumeIndexing`.
   */
  deferIndexing(): void;
  /** Ends the deferral. From now on, each call of `ChainStore.transact` writes all missing index entries. */
  resumeIndexing(): void;
  /**
   * Writes the missing entries into the indexes of transactions, in steps. Each step is one short transaction of the
   * store. The caller must not append a block between two steps. If the caller stops before the last step, the next
   * call of `backfill` or the next opening of the store completes the backfill.
   *
   * @param limits limits of the steps; the default limits bound the memory that the backfill takes
   */
  backfill(limits?: BackfillLimits): Iterable<void>;
}

/**
 * The reading processes, which query the indexes of a store. While the indexes lag behind the chain, these processes
 * show the latest state of the store in which the indexes were complete.
 */
export interface IndexUsers {
  /**
   * True if three conditions hold: at least one reading process (a separate process that answers HTTP requests) exists,
   * no reading process is starting, and each ready reading process shows the chain as of the last call of `completed`,
   * or a newer chain. The node calls `completed` when the indexes are complete. A draining process (which ends soon) is
   * neither starting nor ready. The node begins to defer indexing only if the result is true.
   */
  canWait(): boolean;
  /**
   * True if a reading process (a separate process that answers HTTP requests) is starting. A reading process cannot
   * start before the indexes are complete. The result is also true if no reading process exists, because the next
   * reading process will need complete indexes. If the result is true while indexing is deferred, the node completes
   * the indexes.
   */
  isAwaited(): boolean;
  /** Tells the reading processes (separate processes that answer HTTP requests) that the indexes are complete. */
  completed(): void;
}
