/**
 * The unit in which the chain changes: one transaction of the store, which reverts blocks, appends blocks, or first the one and
 * then the other. After it either the whole batch is on disk or, when a rule refused a block, nothing of it.
 */

import type { ChainStore, ChainWriter } from '../ports/store.ts';
import type { ApplyContext, Rules } from '../protocol/rules.ts';
import type { Block } from '../protocol/types.ts';
import { BlockRejected } from '../protocol/verdict.ts';

/**
 * Blocks that can be reverted on a network without finality: ten rounds. Deeper forks are beyond what such a network can heal,
 * and the undo records cost disk.
 */
const UNDO_BLOCKS_WITHOUT_FINALITY = 1010;

/**
 * Note with the highest height that was final before a block was reverted. The state forgets it then, as equal chains have equal
 * states, but what was final once must stay so: 4 bytes, little endian.
 */
const FINALIZED_NOTE = 'chain/finalized';

/** Blocks that come and go together. */
export interface BlockBatch {
  /** All blocks above this height are reverted first; none are unless given. */
  readonly revertAbove?: number;
  /** Appended after that, oldest first. */
  readonly blocks: readonly Block[];
}

/** A refusal and the block that it is about. */
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

/** Height that is never reverted: what the chain says now, or said before blocks were reverted. */
export function finalizedHeightOf(store: ChainStore, rules: Rules): number {
  const note = store.note(FINALIZED_NOTE);
  const kept = note === undefined ? 0 : Buffer.from(note).readUInt32LE();
  return Math.max(kept, rules.finalizedHeight(store));
}

/**
 * Reverts and appends a batch in one transaction of the store.
 *
 * @returns the reverted blocks, highest first
 * @throws BranchRejected for the first block that the rules refuse; the chain is as before then
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

/** @param finalized as `finalizedHeightOf` has it before the first block is reverted */
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

/** Final blocks are never reverted, so their undo records are of no use any more. */
function undoFloorAfter(writer: ChainWriter, rules: Rules): number {
  const finalized = rules.finalizedHeight(writer);
  return finalized > 0 ? finalized : (writer.tip()?.height ?? 0) - UNDO_BLOCKS_WITHOUT_FINALITY;
}
