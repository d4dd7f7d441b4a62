/** A chain opened by a command that is no node: to be read beside a running node, or to be changed while none runs. */

import { mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Network } from '../config/network.ts';
import { Chain } from '../engine/chain.ts';
import { openGenesis } from '../engine/genesis.ts';
import { SILENT } from '../ports/observer.ts';
import type { Verifier } from '../ports/verifier.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { createRules } from '../protocol/generations.ts';
import type { Rules } from '../protocol/rules.ts';
import type { Block } from '../protocol/types.ts';
import type { StoredChain } from '../store/chain/chain-store.ts';
import { openChainSnapshot, openChainStore } from '../store/chain/open.ts';
import type { OnUpgradeStep } from '../store/chain/upgrade.ts';
import { LAYOUT_VERSION } from '../store/tables/layout.ts';
import { createVerifierPool } from '../workers/verifier-pool.ts';
import { chainDirectory } from './chain-directory.ts';
import { beginDraft } from './drafts.ts';
import { systemClock } from './system.ts';

export { chainDirectory };

/** Signature answers remembered: those of all blocks that are under way. */
const SIGNATURE_ANSWERS_MAX = 50_000;

/** The chain of one network on this disk. */
export interface ChainPlace {
  readonly network: Pick<Network, 'name' | 'params' | 'genesisJson'>;
  /** Folder that a node of this network would use: the chain lies in `chain` in it. */
  readonly dataDirectory: string;
}

export interface OpenChain {
  readonly chain: Chain;
  readonly store: StoredChain;
  readonly rules: Rules;
  readonly genesis: Block;
  close(): Promise<void>;
}

/**
 * Opens a chain for changing it.
 *
 * @param create whether a chain that is not there yet is begun
 * @throws ProtocolError as `openChainStore` and `openGenesis`
 */
export async function openChain(place: ChainPlace, create: boolean): Promise<OpenChain> {
  const rules = rulesOf(place);
  const { codec, params } = rules;
  const store = await openChainStore({ directory: chainDirectory(place), codec, params, create, clock: systemClock });
  return openOver(store, rules, place);
}

/**
 * Brings the chain store of a folder up to the layout of this version. One transaction of the disk: a process that is ended
 * meanwhile leaves it as it was.
 *
 * @returns the layout that it had
 * @throws ProtocolError as `openChainStore`
 */
export async function upgradeChain(place: ChainPlace, onUpgradeStep: OnUpgradeStep): Promise<number> {
  const { codec, params } = rulesOf(place);
  let before = LAYOUT_VERSION;
  const store = await openChainStore({
    ...{ directory: chainDirectory(place), codec, params, create: false, clock: systemClock, onUpgradeStep },
    onUpgrade: (layout) => (before = Number(layout)),
  });
  await store.close();
  return before;
}

/** Begins the network's chain anew in a folder that goes when it is closed. */
export async function openScratchChain({ network }: Pick<ChainPlace, 'network'>): Promise<OpenChain> {
  const rules = rulesOf({ network });
  const { codec, params } = rules;
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-scratch-'));
  const removeDirectory = beginDraft(directory);
  try {
    const store = await openChainStore({ directory, codec, params, durable: false });
    return await openOver(store, rules, { network }, removeDirectory);
  } catch (error) {
    removeDirectory();
    throw error;
  }
}

/**
 * Opens a chain for reading, as of this moment.
 *
 * @throws ProtocolError as `openChainSnapshot`
 */
export async function openSnapshot(place: ChainPlace): Promise<{ readonly store: StoredChain; readonly rules: Rules }> {
  const rules = rulesOf(place);
  const { codec, params } = rules;
  return {
    store: await openChainSnapshot({ directory: chainDirectory(place), codec, params, clock: systemClock }),
    rules,
  };
}

/**
 * Opens a chain for reading, with indexes that lack nothing: where an import was killed they are written first.
 *
 * @throws ProtocolError as `openChainSnapshot`; `STORE_BEHIND` while an import is under way
 */
export async function openIndexedSnapshot(place: ChainPlace): ReturnType<typeof openSnapshot> {
  const opened = await openSnapshot(place);
  let isBehind = true;
  try {
    isBehind = opened.store.indexLag > 0;
  } finally {
    if (isBehind) await opened.store.close();
  }
  if (!isBehind) return opened;
  const directory = chainDirectory(place);
  const { codec, params } = opened.rules;
  try {
    const store = await openChainStore({ directory, codec, params, create: false, clock: systemClock });
    await store.close();
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'STORE_IN_USE') throw error;
    const { pid, owner } = error.data;
    throw new ProtocolError(
      'STORE_BEHIND',
      { directory, pid, owner },
      `The chain store in ${directory} can be examined when ${String(owner)} has ended: it imports blocks, and their ` +
        'indexes come later.',
      { cause: error },
    );
  }
  return openSnapshot(place);
}

function rulesOf({ network }: Pick<ChainPlace, 'network'>): Rules {
  return createRules(network.params);
}

async function openOver(
  store: StoredChain,
  rules: Rules,
  { network }: Pick<ChainPlace, 'network'>,
  afterwards: () => void = () => undefined,
): Promise<OpenChain> {
  let verifier: Verifier | undefined;
  const close = async (): Promise<void> => {
    await verifier?.close();
    await store.close();
    afterwards();
  };
  try {
    const genesis = rules.codec.genesisFromJson(network.genesisJson);
    openGenesis(store, rules, genesis);
    verifier = createVerifierPool({ threads: availableParallelism(), cacheEntriesMax: SIGNATURE_ANSWERS_MAX });
    const chain = new Chain({ store, rules, verifier, clock: systemClock, observer: SILENT });
    return { chain, store, rules, genesis, close };
  } catch (error) {
    await close();
    throw error;
  }
}
