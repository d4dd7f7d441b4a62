/** The two backends of the store, and functions for tests that run on one or both of them. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { ChainParams } from '../../src/protocol/params.ts';
import type { Codec } from '../../src/protocol/rules.ts';
import { TABLES } from '../../src/store/tables/layout.ts';
import { openChainStore, openMemoryChainStore } from '../../src/store/chain/open.ts';
import type { StoredChain } from '../../src/store/chain/stored-chain.ts';
import { FAKE_CODEC } from '../support/fake-codec.ts';
import { paramsWith } from '../support/fixtures.ts';

export type Backend = 'memory' | 'lmdb';
export const BACKENDS: readonly Backend[] = ['memory', 'lmdb'];

export interface OpenOptions {
  readonly codec?: Codec;
  readonly params?: ChainParams;
  /** The default is low, so that the tests also use long lists. */
  readonly shortListMax?: number;
}

/** Opens an empty store, runs `work` with the store, and removes the store. */
export async function withStore<T>(
  backend: Backend,
  work: (store: StoredChain) => T | Promise<T>,
  { codec = FAKE_CODEC, params = paramsWith(), shortListMax = 4 }: OpenOptions = {},
): Promise<T> {
  if (backend === 'memory') return work(openMemoryChainStore({ codec, params, shortListMax }));
  const directory = temporaryFolder();
  const store = await openChainStore({ directory, codec, params, shortListMax });
  try {
    return await work(store);
  } finally {
    await store.close();
    rmSync(directory, { recursive: true });
  }
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'bloomery-store.'));
}

/**
 * Returns all content of the store, key by key, for comparisons with an earlier state. The result excludes the table
 * `innerBlocks`, because two stores with the same keys may divide them differently into leaf blocks.
 */
export function dump(store: StoredChain): readonly string[] {
  const range = { gte: Buffer.from([0]), lt: Buffer.from([255]) };
  const entries = Array.from(store.tables.entries(range)).filter(({ key }) => key[0] !== TABLES.innerBlocks.number);
  return entries.map(({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`);
}
