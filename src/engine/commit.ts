/**
 * Changes the chain by one batch, in one transaction of the store. A batch first reverts blocks, then appends blocks.
 * It is possible that a batch has no blocks to revert, or no blocks to append. If the rules refuse a block, the store
 * writes nothing of the batch. If the transaction succeeds, the whole batch is on disk when the transaction returns
 * (except in a temporary store).
 */

import { FINALIZED_NOTE } from '../ports/notes.ts';
import type { ChainStore, ChainWriter } from '../ports/store.ts';
import type { ApplyContext, Rules } from '../protocol/rules.ts';
import type { Block } from '../protocol/types.ts';
import { BlockRejected } from '../protocol/verdict.ts';

/**
 * Number of newest blocks whose undo records the node keeps if no block of the chain is final. The number is ten rounds
 * of 101 delegates. Generation 2 has no final blocks. The number limits the disk space of undo records. The node cannot
 * switch to a branch that split from the node's chain more than this number of blocks below the tip.
 */
const UNDO_BLOCKS_WITHOUT_FINALITY = 1010;

/** The blocks to revert and the blocks to append in one transaction of the store. */
export interface BlockBatch {
  /** The batch first reverts all blocks above this height. If the height is absent, the batch reverts no block. */
  readonly revertAbove?: number;
  /** Blocks to append after the reverts, oldest first. */
  readonly blocks: readonly Block[];
}

/** Reports that the rules refused a block of a batch. The error contains the block and the rejection. */
export class BranchRejected extends Error {
  readonly block: Block;
  readonly rejection: BlockRejected;

  constructor(block: Block, rejection: BlockRejected) {
    super(`block ${block.id} at height ${block.height}: ${rejection.message}`, { cause: rejection });
    this.name = 'BranchRejected';
    this.block = block;
    this.rejection = rejection;
  }
}

/**
 * Returns the height of the highest block that the node must not revert. The result is the higher of two heights: the
 * finalized height in the state, and the height in the note `FINALIZED_NOTE`. This note is a record in the store, but
 * not a part of the state. The note is necessary because a revert can lower the finalized height in the state.
 */
export function finalizedHeightOf(store: ChainStore, rules: Rules): number {
  const note = store.note(FINALIZED_NOTE);
  const kept = note === undefined ? 0 : Buffer.from(note).readUInt32LE();
  return Math.max(kept, rules.finalizedHeight(store));
}

/**
 * Commits a batch in one transaction of the store.
 *
 * @param onBlock called for each block that is reverted or applied. These calls show that the commit makes progress,
 *   because a batch can have thousands of blocks (see `ChainDependencies.onProgress`)
 * @returns the reverted blocks, highest first
 * @throws BranchRejected for the first block that the rules refuse, or an error of `ChainStore.transact` or
 *   `ChainWriter.revert`. After each of these errors, the chain is unchanged
 */
export function commitBlocks(
  store: ChainStore,
  rules: Rules,
  { revertAbove, blocks }: BlockBatch,
  context: ApplyContext,
  onBlock: () => void = () => undefined,
): readonly Block[] {
  return store.transact((writer) => {
    const finalized = finalizedHeightOf(store, rules);
    const reverted = revertAbove === undefined ? [] : revertAll(writer, revertAbove, finalized, onBlock);
    if (blocks.length > 0) appendAll(writer, rules, blocks, context, onBlock);
    return reverted;
  });
}

/** @param finalized result of `finalizedHeightOf` before the first block is reverted */
function revertAll(writer: ChainWriter, height: number, finalized: number, onBlock: () => void): readonly Block[] {
  const reverted: Block[] = [];
  while ((writer.tip()?.height ?? 0) > height) {
    reverted.push(writer.revert());
    onBlock();
  }
  const note = Buffer.alloc(4);
  note.writeUInt32LE(finalized);
  writer.setNote(FINALIZED_NOTE, note);
  return reverted;
}

function appendAll(
  writer: ChainWriter,
  rules: Rules,
  blocks: readonly Block[],
  context: ApplyContext,
  onBlock: () => void,
): void {
  for (const block of blocks) {
    onBlock();
    try {
      writer.append(block, (state) => {
        rules.applyBlock(state, block, context);
      });
    } catch (error) {
      if (error instanceof BlockRejected) throw new BranchRejected(block, error);
      throw error;
    }
  }
  writer.forgetUndo(undoFloorAfter(writer, rules));
}

/**
 * Returns the height of the highest block whose undo record the node no longer needs. The node never reverts final
 * blocks. If no block is final, the node keeps the undo records of the newest `UNDO_BLOCKS_WITHOUT_FINALITY` blocks.
 */
function undoFloorAfter(writer: ChainWriter, rules: Rules): number {
  const finalized = rules.finalizedHeight(writer);
  return finalized > 0 ? finalized : (writer.tip()?.height ?? 0) - UNDO_BLOCKS_WITHOUT_FINALITY;
}
