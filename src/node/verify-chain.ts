/**
 * Verifies a store. The verification applies all blocks of the store to a new store that has only the genesis block.
 * After this replay, both stores must have the same content. Some differences are no fault, for example different notes
 * (`NoteStore`). The comment of `compareStores` lists these differences.
 */

import type { Chain } from '../engine/chain.ts';
import { BranchRejected, finalizedHeightOf } from '../engine/commit.ts';
import { messageOf } from '../primitives/errors.ts';
import type { Block, BlockHeader } from '../protocol/types.ts';
import type { StoredChain } from '../store/chain/stored-chain.ts';
import { compareStores, type Difference } from '../store/chain/compare.ts';
import { backfill, backfillWhenLagging } from './index-backfill.ts';

/**
 * Number of blocks in one commit. The number is large, because the process has no other work that a long commit would
 * delay.
 */
const GROUP_BLOCKS = 340;

/** The part of `Chain` that the verification uses to apply the blocks to the new store. */
type ScratchChain = Pick<Chain, 'rules' | 'append'> & {
  readonly validator: Pick<Chain['validator'], 'precheckSignatures'>;
};

export interface VerifyOptions {
  /**
   * The chain to verify. During the verification, the chain must not change, and the indexes of the chain must not lag.
   */
  readonly examined: StoredChain;
  /** A chain of the same network that has only the genesis block. */
  readonly scratch: { readonly chain: ScratchChain; readonly store: StoredChain };
  readonly onProgress?: (height: number) => void;
}

export interface VerifyResult {
  readonly height: number;
  readonly blockId: string;
  /** SHA-256 of the consensus state of the examined store, as hexadecimal text. */
  readonly digest: string;
  /** Number of keys that `compareStores` has compared; 0 if the replay found a fault. */
  readonly keys: number;
  /**
   * Description of the first fault; undefined if there is none. A fault is a block that is invalid, missing or
   * unreadable, a difference between the stores, a damaged undo record, or a damaged `FINALIZED_NOTE`.
   */
  readonly deviation: string | undefined;
}

/** Verifies a store that holds at least the genesis block. */
export async function verifyChain(options: VerifyOptions): Promise<VerifyResult> {
  const { examined, scratch } = options;
  const tip = examined.tip();
  const found = { height: tip?.height ?? 0, blockId: tip?.id ?? '', digest: examined.stateDigest() };
  scratch.store.deferIndexing();
  const refused = await replay(options, found.height);
  if (refused !== undefined) return { ...found, keys: 0, deviation: refused };
  await backfill(scratch.store);
  const { difference, keys } = compareStores(examined.tables, scratch.store.tables, () =>
    finalizedHeightOf(examined, scratch.chain.rules),
  );
  return { ...found, keys, deviation: difference === undefined ? examined.recordDamage() : sentenceOf(difference) };
}

/**
 * Applies all blocks of the examined store above the genesis block to the chain `scratch`, which begins with only the
 * genesis block.
 *
 * @returns the fault of the first block that is refused or cannot be read; undefined when there is none
 */
async function replay(
  { examined, scratch, onProgress }: VerifyOptions,
  tipHeight: number,
): Promise<string | undefined> {
  const { chain } = scratch;
  const first = readBlock(examined, 1);
  const genesis = scratch.store.block(1);
  if ('fault' in first) return first.fault;
  if (genesis?.id !== first.block.id) return `block ${first.block.id} at height 1 is not the network's genesis block`;
  let group = readGroup(examined, first.block, tipHeight);
  let prechecked = chain.validator.precheckSignatures(group.blocks);
  while (group.blocks.length > 0 || group.fault !== undefined) {
    await prechecked;
    // While the blocks of a group are applied, other threads check the signatures of the following blocks.
    const next = group.fault === undefined ? readGroup(examined, group.end, tipHeight) : { ...group, blocks: [] };
    prechecked = chain.validator.precheckSignatures(next.blocks);
    // The next iteration awaits `prechecked`. Until then, the empty handler prevents Node.js from ending the process
    // because of an unhandled rejection.
    prechecked.catch(() => undefined);
    try {
      await chain.append(group.blocks, GROUP_BLOCKS);
      await backfillWhenLagging(scratch.store);
    } catch (error) {
      // The caller can close the chain as soon as the caller has the result, so the checks of signatures must end
      // first.
      await prechecked.catch(() => undefined);
      if (error instanceof BranchRejected) return `${error.message} (${error.rejection.code})`;
      throw error;
    }
    if (group.fault !== undefined) return group.fault;
    onProgress?.(group.end.height);
    group = next;
  }
  return undefined;
}

interface Group {
  readonly blocks: readonly Block[];
  /** The last block of the group; if the group is empty, the block before the group. */
  readonly end: BlockHeader;
  /** Fault of the block after the group: the block is missing or unreadable, or its height or parent is wrong. */
  readonly fault?: string;
}

function readGroup(examined: StoredChain, parent: BlockHeader, tipHeight: number): Group {
  const blocks: Block[] = [];
  let end = parent;
  while (end.height < tipHeight && blocks.length < GROUP_BLOCKS) {
    const height = end.height + 1;
    const read = readBlock(examined, height);
    if ('fault' in read) return { blocks, end, fault: read.fault };
    const { block } = read;
    if (block.previousBlockId !== end.id) {
      return { blocks, end, fault: `block ${block.id} at height ${height} does not follow block ${end.id}` };
    }
    blocks.push(block);
    end = block;
  }
  return { blocks, end };
}

function readBlock(examined: StoredChain, height: number): { readonly block: Block } | { readonly fault: string } {
  try {
    const block = examined.block(height);
    if (block === undefined) return { fault: `there is no block at height ${height}` };
    if (block.height !== height)
      return { fault: `the block stored at height ${height} has the height ${block.height}` };
    return { block };
  } catch (error) {
    // Decoders throw many kinds of errors for damaged bytes, so all errors are caught.
    return { fault: `the block at height ${height} cannot be read: ${messageOf(error)}` };
  }
}

const KINDS: Readonly<Record<Difference['kind'], string>> = {
  missing: 'lacks the key',
  surplus: 'has the surplus key',
  wrong: 'holds a wrong value under the key',
};

function sentenceOf({ table, key, kind }: Difference): string {
  return `table ${table} ${KINDS[kind]} ${key === '' ? '(empty)' : key}`;
}
