/**
 * Implements `ChainSource`: reads the chain in a data folder, for a sink (a database or folder to which `bloomery sink`
 * copies the chain). A node can write to the folder at the same time.
 */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { finalizedHeightOf } from '../engine/commit.ts';
import { createRules } from '../protocol/generations.ts';
import type { Rules } from '../protocol/rules.ts';
import type { Block } from '../protocol/types.ts';
import type { ChainChange, ChainSource } from '../sinks/source.ts';
import type { StoredChain } from '../store/chain/stored-chain.ts';
import { readChainStore } from '../store/chain/open.ts';
import { openLmdbReader } from '../store/disk/lmdb.ts';
import { chainDirectory, type ChainLocation } from './chain-tool.ts';
import { systemClock } from './system.ts';

export interface StoreSourceOptions {
  /** Number of blocks below the tip at which a block counts as final, for a generation without finality. */
  readonly depth: number;
  /** Pause in milliseconds between a read that reaches the tip and the next read. */
  readonly pollMs: number;
}

/**
 * Maximum number of blocks in one read by `changes`. The number is small, because the node cannot reuse freed pages of
 * the store during a read.
 */
const BLOCKS_AT_ONCE = 200;
/**
 * Maximum number of blocks in one read by `blocks`. Between two reads, the event loop runs, so that the process can
 * write earlier blocks to the sink.
 */
const FINAL_BLOCKS_AT_ONCE = 25;

/**
 * Name of the data file of the store. When the operator restores a copy of the chain, a different file gets this name.
 */
const DATA_FILE = 'data.mdb';

/** Calls `work` with a snapshot of the chain. The snapshot must not be used after the call. */
export type LookAtStore = <T>(work: (store: StoredChain) => T) => Promise<T>;

/**
 * Makes a source from the chain in a data folder. Each function of the source rejects with the errors of
 * `readChainStore`. If the operator restores a copy of the chain, the source opens the store a second time. Then a
 * function can also reject with the errors of `openLmdbReader`.
 *
 * @throws ProtocolError in the same cases as `openLmdbReader`
 */
export function openStoreSource(location: ChainLocation, options: StoreSourceOptions): ChainSource {
  const rules = createRules(location.network.params);
  const directory = chainDirectory(location);
  const file = join(directory, DATA_FILE);
  let inode = inodeOf(file);
  let reader = openLmdbReader(directory, systemClock);
  const look: LookAtStore = async (work) => {
    const present = inodeOf(file);
    // If the operator has restored a copy of the chain, the folder contains another data file. `reader` still has the
    // earlier file open, but this file never changes again.
    if (present !== undefined && present !== inode) {
      await reader.close();
      inode = present;
      reader = openLmdbReader(directory, systemClock);
    }
    const keys = reader.snapshot();
    try {
      return work(readChainStore(keys, { codec: rules.codec, params: rules.params, directory }));
    } finally {
      await keys.close();
      rules.codec.forgetTransactions();
    }
  };
  return { ...storeSource(location.network.name, rules, look, options), close: () => reader.close() };
}

/** Inode number of a file; undefined while the file does not exist. */
function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

/** Makes a source for a sink. The parameter `look` gives access to the store of the chain. */
export function storeSource(
  networkName: string,
  rules: Rules,
  look: LookAtStore,
  { depth, pollMs }: StoreSourceOptions,
): Omit<ChainSource, 'close'> {
  return {
    rules,
    networkName,
    height: () => look(heightOf),
    finalHeight: () => look((store) => finalHeightOf(store, rules, depth)),
    async *blocks(fromHeight, toHeight) {
      for (let from = fromHeight; from <= toHeight; from += FINAL_BLOCKS_AT_ONCE) {
        yield* await look((store) => blocksOf(store, from, Math.min(toHeight, from + FINAL_BLOCKS_AT_ONCE - 1)));
        await immediate();
      }
    },
    async *changes(fromHeight, signal): AsyncIterable<ChainChange> {
      const view = new ChainView(fromHeight, rules, depth);
      let hasCaughtUp = false;
      while (!signal.aborted) {
        const { found, isAtTip } = await look((store) => view.look(store));
        yield* found;
        if (!isAtTip) continue;
        if (!hasCaughtUp) yield { kind: 'caughtUp' };
        hasCaughtUp = true;
        await sleep(pollMs, undefined, { signal }).catch(() => undefined);
      }
    },
  };
}

/**
 * Compares the store with the blocks that the source has reported. Each call of the method `look` returns the changes
 * since the previous call.
 */
class ChainView {
  readonly #rules: Rules;
  readonly #depth: number;
  /** Ids of the reported blocks by height, without the blocks below the newest final block. */
  readonly #reported = new Map<number, string>();
  #next: number;
  #finalHeight = 0;

  constructor(fromHeight: number, rules: Rules, depth: number) {
    this.#next = fromHeight;
    this.#rules = rules;
    this.#depth = depth;
  }

  look(store: StoredChain): { readonly found: readonly ChainChange[]; readonly isAtTip: boolean } {
    const found: ChainChange[] = [];
    for (let height = this.#next - 1; this.#reported.has(height); height -= 1) {
      const blockId = this.#reported.get(height) ?? '';
      if (store.header(height)?.id === blockId) break;
      found.push({ kind: 'reverted', height, blockId });
      this.#reported.delete(height);
      this.#next = height;
    }
    const tipHeight = heightOf(store);
    const last = Math.min(tipHeight, this.#next + BLOCKS_AT_ONCE - 1);
    for (const block of blocksOf(store, this.#next, last)) {
      found.push({ kind: 'applied', block });
      this.#reported.set(block.height, block.id);
    }
    this.#next = Math.max(this.#next, last + 1);
    const finalHeight = Math.min(finalHeightOf(store, this.#rules, this.#depth), this.#next - 1);
    if (finalHeight > this.#finalHeight) {
      this.#finalHeight = finalHeight;
      found.push({ kind: 'final', height: finalHeight });
      // Keeps the id of the newest final block, so that the source also notices a revert of this block.
      for (const height of this.#reported.keys()) if (height < finalHeight) this.#reported.delete(height);
    }
    return { found, isAtTip: last >= tipHeight };
  }
}

function finalHeightOf(store: StoredChain, rules: Rules, depth: number): number {
  if (rules.params.generation !== 2) return finalizedHeightOf(store, rules);
  return Math.max(0, heightOf(store) - depth);
}

function heightOf(store: StoredChain): number {
  return store.tip()?.height ?? 0;
}

function blocksOf(store: StoredChain, fromHeight: number, toHeight: number): readonly Block[] {
  const blocks: Block[] = [];
  for (let height = fromHeight; height <= toHeight; height += 1) {
    const block = store.block(height);
    // There is no block at this height if a node has reverted blocks after the caller read the height of the tip.
    if (block === undefined) break;
    blocks.push(block);
  }
  return blocks;
}
