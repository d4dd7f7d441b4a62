/**
 * The store of a chain, as the engine uses it. Reads and transactions are synchronous, so nothing can change between a check
 * and a write.
 */

import type { NoteName } from './notes.ts';
import type { StateReader, StateWriter } from '../protocol/state.ts';
import type { Block, BlockHeader, BlockId, Transaction, TransactionId } from '../protocol/types.ts';

/** The place of a transaction in the chain. */
export interface TransactionPlace {
  readonly height: number;
  /** Position in its block, from 0. */
  readonly index: number;
}

/** The chain and its state at one moment. */
export interface ChainReader extends StateReader {
  /** Undefined while the store is empty. */
  tip(): BlockHeader | undefined;
  block(height: number): Block | undefined;
  heightOf(id: BlockId): number | undefined;
  transactionPlace(id: TransactionId): TransactionPlace | undefined;
  transaction(place: TransactionPlace): Transaction | undefined;
}

export interface ChainWriter extends ChainReader, StateWriter {
  /**
   * Appends a block to the tip. The function runs `apply`, which writes the state, and then stores the block, all indexes and
   * counters, and an undo record of all overwritten values. After an error, some of these values have been written, and only
   * the end of the transaction removes them. So the caller must not catch the error inside the transaction.
   */
  append(block: Block, apply: (state: StateWriter) => void): void;
  /**
   * Reverts the tip by playing back its undo record. All keys are then as before the block.
   *
   * @throws ProtocolError `UNDO_RECORD_MISSING` if the undo record is not kept any more
   */
  revert(): Block;
  /** Deletes the undo records up to this height, because they will never be needed again. */
  forgetUndo(upToHeight: number): void;
  /** Stores a note of the node, such as the peer book; `undefined` removes it. Notes are never consensus state. */
  setNote(key: NoteName, value: Uint8Array | undefined): void;
}

export interface ChainStore extends ChainReader {
  /**
   * Runs `work` as one unit. If this returns, all its writes are on disk; if it throws, nothing has changed. `work` must not be
   * asynchronous.
   */
  transact<T>(work: (writer: ChainWriter) => T): T;
  /** A note that was stored with `setNote`. */
  note(key: NoteName): Uint8Array | undefined;
  /** Names of notes that begin with the prefix, ascending. */
  noteKeys(prefix: string): readonly string[];
  /** SHA-256 of all consensus state in the order of keys, hexadecimal. Nodes with the same tip must have the same digest. */
  stateDigest(): string;
  /** Height of the lowest block that can be reverted; undefined if no block can. */
  undoFloor(): number | undefined;
  close(): Promise<void>;
}
