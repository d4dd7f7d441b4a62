/**
 * Checks a store against the rules: its blocks are verified and applied to an empty one from the genesis block on, and then
 * both must hold the same.
 */

import type { Chain } from '../engine/chain.ts';
import { BranchRejected, finalizedHeightOf } from '../engine/commit.ts';
import { messageOf } from '../primitives/errors.ts';
import type { Block, BlockHeader } from '../protocol/types.ts';
import type { StoredChain } from '../store/chain/chain-store.ts';
import { compareStores, type Difference } from '../store/chain/compare.ts';
import { backfill, backfillWhenLagging } from './index-backfill.ts';

/** Blocks that are committed together: many, as nothing else waits here. */
const GROUP_BLOCKS = 340;

/** What the examination asks of the chain that it builds. */
type ScratchChain = Pick<Chain, 'rules' | 'append'> & {
  readonly validator: Pick<Chain['validator'], 'precheckSignatures'>;
};

export interface VerifyOptions {
  /** The examined chain. Must not change meanwhile, and its indexes must not lag. */
  readonly examined: StoredChain;
  /** A chain of the same network that holds the genesis block alone. */
  readonly scratch: { readonly chain: ScratchChain; readonly store: StoredChain };
  readonly onProgress?: (height: number) => void;
}

export interface VerifyResult {
  readonly height: number;
  readonly blockId: string;
  /** SHA-256 over the consensus state of the examined store, hexadecimal. */
  readonly digest: string;
  /** Keys compared. */
  readonly keys: number;
  /** The first thing that is wrong, in one sentence; undefined when nothing is. */
  readonly deviation: string | undefined;
}

/** Examines a store that holds at least the genesis block. */
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

/** Applies all blocks above genesis to the scratch chain. @returns what is wrong with the first that it refuses */
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
    // Signatures of the next blocks are checked on other threads while these are applied.
    const next = group.fault === undefined ? readGroup(examined, group.end, tipHeight) : { ...group, blocks: [] };
    prechecked = chain.validator.precheckSignatures(next.blocks);
    // Heard when its turn comes; what goes wrong with it before that must not end the process.
    prechecked.catch(() => undefined);
    try {
      await chain.append(group.blocks, GROUP_BLOCKS);
      await backfillWhenLagging(scratch.store);
    } catch (error) {
      // The chain may be closed as soon as this is told.
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
  /** The last block, or the one before them when there are none. */
  readonly end: BlockHeader;
  /** Why the block after the last cannot be taken. */
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
    if (block.height !== height) return { fault: `the block stored at height ${height} says height ${block.height}` };
    return { block };
  } catch (error) {
    // Damaged bytes make every kind of error in those who decode them.
    return { fault: `the block at height ${height} cannot be read: ${messageOf(error)}` };
  }
}

const KINDS: Readonly<Record<Difference['kind'], string>> = {
  missing: 'lacks the key',
  surplus: 'has a key too much:',
  wrong: 'holds a wrong value under the key',
};

function sentenceOf({ table, key, kind }: Difference): string {
  return `table ${table} ${KINDS[kind]} ${key === '' ? '(empty)' : key}`;
}
