/**
 * The units in which the chain changes. Each is one store transaction: after it everything of it is there, or, when a rule
 * refused a block, nothing.
 */

import type { ChainStore, ChainWriter } from '../ports/store.ts';
import type { ApplyContext, Rules } from '../protocol/rules.ts';
import type { Block } from '../protocol/types.ts';
import { BlockRejected } from '../protocol/verdict.ts';

/**
 * Blocks that can be reverted on a network without finality: ten rounds. Deeper forks are beyond what such a network
 * can heal, and the records cost disk.
 */
const UNDO_BLOCKS_WITHOUT_FINALITY = 1010;

/**
 * Note with the highest height that was final before a block was reverted. The state forgets it then, as equal chains have
 * equal states, but what was final once must stay so: 4 bytes, little endian.
 */
const FINALIZED_NOTE = 'chain/finalized';

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
 * Appends blocks to the tip in one transaction.
 *
 * @throws BranchRejected for the first block that the rules refuse; nothing is kept then
 */
export function appendBlocks(store: ChainStore, rules: Rules, blocks: readonly Block[], context: ApplyContext): void {
  store.transact((writer) => {
    appendAll(writer, rules, blocks, context);
  });
}

/**
 * Reverts everything above `commonHeight` and appends a branch, in one transaction: a branch that fails leaves the old
 * tip untouched.
 *
 * @returns the blocks reverted, highest first
 * @throws BranchRejected for the first block that the rules refuse
 */
export function switchBranch(
  store: ChainStore,
  rules: Rules,
  commonHeight: number,
  branch: readonly Block[],
  context: ApplyContext,
): readonly Block[] {
  const finalized = finalizedHeightOf(store, rules);
  return store.transact((writer) => {
    const reverted = revertAll(writer, commonHeight, finalized);
    appendAll(writer, rules, branch, context);
    return reverted;
  });
}

/** Reverts everything above `height`, in one transaction. @returns the blocks reverted, highest first */
export function revertTo(store: ChainStore, rules: Rules, height: number): readonly Block[] {
  const finalized = finalizedHeightOf(store, rules);
  return store.transact((writer) => revertAll(writer, height, finalized));
}

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

/** Everything finalized can never be reverted, so its undo records are of no use any more. */
function undoFloorAfter(writer: ChainWriter, rules: Rules): number {
  const finalized = rules.finalizedHeight(writer);
  return finalized > 0 ? finalized : (writer.tip()?.height ?? 0) - UNDO_BLOCKS_WITHOUT_FINALITY;
}
