/** The store of a chain as the engine uses it. Reads and transactions are synchronous: nothing runs between check and write. */

import type { NoteName } from './notes.ts';
import type { StateReader, StateWriter } from '../protocol/state.ts';
import type { Block, BlockHeader, BlockId, Transaction, TransactionId } from '../protocol/types.ts';

/** The place of a transaction in the chain. */
export interface TransactionPlace {
  readonly height: number;
  /** Position in its block, from 0. */
  readonly index: number;
}

/** The chain and its state, at one moment. */
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
   * Appends a block at the tip: runs `apply` (state writes), then keeps the block, every index and counter, and an undo
   * record of all that was overwritten. A throw inside leaves a partial write, which only the end of the transaction removes.
   * So do not catch it inside the transaction.
   */
  append(block: Block, apply: (state: StateWriter) => void): void;
  /**
   * Reverts the tip by playing its undo record; every key is as it was before the block.
   *
   * @throws ProtocolError `UNDO_RECORD_MISSING` below the kept depth
   */
  revert(): Block;
  /** Forgets undo records of this height and below: they can never be needed again. */
  forgetUndo(upToHeight: number): void;
  /** Keeps a small engine record (peer book, temporary blocks); `undefined` removes it. Never consensus state. */
  setNote(key: NoteName, value: Uint8Array | undefined): void;
}

/** The engine records of a store, for modules that keep some and nothing else. */
export interface NoteStore {
  /** As `ChainStore.transact`. */
  transact<T>(work: (writer: Pick<ChainWriter, 'setNote'>) => T): T;
  /** An engine record kept with `setNote`. */
  note(key: NoteName): Uint8Array | undefined;
}

export interface ChainStore extends ChainReader, NoteStore {
  /**
   * Runs `work` as one unit. When this returns, all of it is on the disk; when this throws, nothing has changed. `work` is
   * never asynchronous.
   */
  transact<T>(work: (writer: ChainWriter) => T): T;
  /** Keys of notes that start with the prefix, ascending. */
  noteKeys(prefix: string): readonly string[];
  /** SHA-256 over all consensus state in key order, hexadecimal: equal tips must mean equal digests. */
  stateDigest(): string;
  /** Height of the lowest block that can be reverted; undefined if no block can. */
  undoFloor(): number | undefined;
  close(): Promise<void>;
}
