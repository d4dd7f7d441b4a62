/** Functions for the benchmarks. They make a chain, apply it to a store in a temporary folder, and print tables. */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Chain } from '../../src/engine/chain.ts';
import { openGenesis } from '../../src/engine/genesis.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { SILENT } from '../../src/ports/observer.ts';
import type { Verifier } from '../../src/ports/verifier.ts';
import type { Block } from '../../src/protocol/types.ts';
import { openChainStore } from '../../src/store/chain/open.ts';
import { ChainMaker, makeNetwork, type TestNetwork } from '../support/chain-maker.ts';

export const TRANSFERS_PER_BLOCK = 25;

export interface MadeChain {
  readonly network: TestNetwork;
  readonly rules: ChainMaker['rules'];
  /** All blocks except the genesis block, in ascending order. */
  readonly blocks: readonly Block[];
}

/** Makes a chain. Each block contains `transfersPerBlock` transfers between funded accounts. */
export function makeChain(blockCount: number, transfersPerBlock: number): MadeChain {
  const network = makeNetwork({ accounts: 200 });
  const maker = new ChainMaker(network);
  const blocks: Block[] = [];
  let next = 0;
  for (let made = 0; made < blockCount; made += 1) {
    const transactions = Array.from({ length: transfersPerBlock }, () => {
      const sender = network.accounts[next % network.accounts.length]!;
      const recipient = network.accounts[(next * 7 + 3) % network.accounts.length]!;
      next += 1;
      return maker.transfer(sender, recipient, 1000n + BigInt(next));
    });
    blocks.push(maker.forge({ transactions }));
  }
  return { network, rules: maker.rules, blocks };
}

export interface ApplyFigures {
  readonly seconds: number;
  readonly storeBytes: number;
}

/** Applies a chain to a new store on disk, with the code that also applies downloaded blocks. */
export async function applyChain(chain: MadeChain, verifier: Verifier): Promise<ApplyFigures> {
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-bench-'));
  try {
    const { network, rules, blocks } = chain;
    const store = await openChainStore({ directory, codec: rules.codec, params: network.params });
    openGenesis(store, rules, network.genesis);
    // The clock shows a time after the last block, because the chain refuses a block of a future slot.
    const endMs = network.params.epochMs + ((blocks.at(-1)?.timestamp ?? 0) + 1) * 1000;
    const clock: Clock = {
      nowMs: () => endMs,
      after: (_, work) => {
        const turn = setImmediate(work);
        return { cancel: () => clearImmediate(turn) };
      },
    };
    const node = new Chain({ store, rules, verifier, clock, observer: SILENT });
    const startedMs = performance.now();
    const batches = batchesOf(blocks, 34);
    let prechecked = node.validator.precheckSignatures(batches[0] ?? []);
    for (const [index, batch] of batches.entries()) {
      await prechecked;
      prechecked = node.validator.precheckSignatures(batches[index + 1] ?? []);
      await node.append(batch);
    }
    const seconds = (performance.now() - startedMs) / 1000;
    await store.close();
    return { seconds, storeBytes: allocatedBytes(join(directory, 'data.mdb')) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Prints a table under a title. The first column is left-aligned, all other columns are right-aligned. */
export function printTable(title: string, rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  console.log(`\n${title}`);
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(`  ${cells.join('  ')}`);
  }
}

export function figure(value: number, digits = 0): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function batchesOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += size) batches.push(items.slice(at, at + size));
  return batches;
}

function allocatedBytes(file: string): number {
  // The file of the store may have holes, so its length can be more than its size on the disk.
  return statSync(file).blocks * 512;
}

/**
 * Returns the median of sorted numbers. If their count is even, the result is the upper of the two middle numbers. For
 * an empty list, the result is 0.
 */
export function middle(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
