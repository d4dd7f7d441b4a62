/**
 * Defines the interface `StoredChain`. This interface contains all members of `ChainStore`, through which the node
 * reads and changes its chain. `StoredChain` adds members for queries, for checks of the stored data, and for index
 * entries that the store writes later than their blocks.
 */

import type { ProtocolError } from '../../primitives/errors.ts';
import type { ChainStore, ChainWriter, DeferrableIndexes } from '../../ports/store.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Block } from '../../protocol/types.ts';
import type { KeyValueReader } from '../tables/key-value.ts';
import type { StateCheck } from './stored-checksum.ts';

/**
 * Records the changes of the chain. The record of a block is part of the database transaction that applies or reverts
 * the block.
 */
export interface ChangeRecorder {
  /**
   * Called when a database transaction begins.
   *
   * @returns a function that drops the records of this transaction. The store calls this function if the transaction
   *   fails
   */
  begin(): () => void;
  record(writer: ChainWriter, kind: 'applied' | 'reverted', block: Block): void;
}

/**
 * A chain store (`ChainStore`) with additional members, for example for reading its tables, for checking the stored
 * data, and for writing index entries later than their blocks (`DeferrableIndexes`).
 */
export interface StoredChain extends ChainStore, DeferrableIndexes {
  readonly tables: KeyValueReader;
  readonly codec: Codec;
  /**
   * Maximum number of transactions in a short list of a transaction type. For an address, the maximum applies to its
   * two lists (sent and received) together. The entries of a short list are stored only in the order of the chain, and
   * not in other sort orders (index/transaction-lists.ts).
   */
  readonly shortListMax: number;
  /**
   * Returns a read-only view of the store at this moment. The view is valid until the caller closes the view or this
   * store.
   */
  snapshot(): StoredChain;
  /**
   * Begins to compare the state with its checksum. Only one check of the state runs at a time. A new check of the state
   * cancels the previous check.
   */
  checkState(): StateCheck;
  /**
   * Checks undo records and the note of the finalized height against their checksums. With a damaged undo record, a
   * revert would be impossible or wrong. A damaged note could allow the revert of a final block.
   *
   * @param recordsMax maximum number of undo records to check, beginning with the highest block. By default, the method
   *   checks all undo records
   * @returns the damage as text; undefined if no damage was found
   */
  recordDamage(recordsMax?: number): string | undefined;
  /**
   * A promise that resolves with an error when the store finds damage during a read. The damage is in an undo record
   * that the store reads to revert a block, or in the note of the finalized height.
   */
  readonly damaged: Promise<ProtocolError>;
  /** Sets the recorder of changes. The new recorder replaces the earlier one. */
  recordWith(recorder: ChangeRecorder): void;
}
