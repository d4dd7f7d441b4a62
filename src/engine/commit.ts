/**
 * The unit in which the chain changes: one transaction of the store, which first reverts blocks, then appends blocks.
 * Either part of the transaction may be empty. If the rules refuse a block, nothing of the batch is written; otherwise
 * the whole batch is on disk when the transaction returns.
 */

import type { ChainStore, ChainWriter } from '../ports/store.ts';
import type { ApplyContext, Rules } from '../protocol/rules.ts';
import type { Block } from '../protocol/types.ts';
import { BlockRejected } from '../protocol/verdict.ts';

/**
 * Number of blocks that can be reverted on a network without finality: ten rounds. A network without finality cannot
 * heal deeper forks, and undo records take space on the disk.
 */
const UNDO_BLOCKS_WITHOUT_FINALITY = 1010;

/**
 * Name of a note that has the finalized height from before blocks were reverted: 4 bytes, little-endian. The revert
 * removes this height from the state, because the state may depend on nothing but the chain. Without this note, final
 * blocks could be reverted.
 */
const FINALIZED_NOTE = 'chain/finalized';

/** Blocks that are reverted and appended together. */
export interface BlockBatch {
  /** All blocks above this height are reverted first; if the height is absent, no block is reverted. */
  readonly revertAbove?: number;
  /** Blocks to append after the reverts, oldest first. */
  readonly blocks: readonly Block[];
}

/** A block of a batch was refused; the error has the block and its rejection. */
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
 * Height up to which no block may be reverted: the finalized height of the state, or a higher one that was noted when blocks
 * were reverted.
 */
export function finalizedHeightOf(store: ChainStore, rules: Rules): number {
  const note = store.note(FINALIZED_NOTE);
  const kept = note === undefined ? 0 : Buffer.from(note).readUInt32LE();
  return Math.max(kept, rules.finalizedHeight(store));
}

/**
 * Reverts and appends a batch in one transaction of the store.
 *
 * @returns the reverted blocks, highest first
 * @throws BranchRejected for the first block that the rules refuse; the chain is then unchanged
 */
export function commitBlocks(
  store: ChainStore,
  rules: Rules,
  { revertAbove, blocks }: BlockBatch,
  context: ApplyContext,
): readonly Block[] {
  return store.transact((writer) => {
    const reverted = revertAbove === undefined ? [] : revertAll(writer, revertAbove, finalizedHeightOf(store, rules));
    if (blocks.length > 0) appendAll(writer, rules, blocks, context);
    return reverted;
  });
}

/** @param finalized result of `finalizedHeightOf` before the first block is reverted */
function revertAll(writer: ChainWriter, height: number, finalized: number): readonly Block[] {
  const reverted: Block[] = [];
  while ((writer.tip()?.height ?? 0) > height) reverted.push(writer.revert());
  const note = Buffer.alloc(4);
  note.writeUInt32LE(finalized);
  writer.setNote(FINALIZED_NOTE, note);
  return reverted;
}

function appendAll(writer: ChainWriter, rules: Rules, blocks: readonly Block[], context: ApplyContext): void {
  for (const block of blocks) {
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

/** Highest height whose undo record is no longer needed, because final blocks are never reverted. */
function undoFloorAfter(writer: ChainWriter, rules: Rules): number {
  const finalized = rules.finalizedHeight(writer);
  return finalized > 0 ? finalized : (writer.tip()?.height ?? 0) - UNDO_BLOCKS_WITHOUT_FINALITY;
}
