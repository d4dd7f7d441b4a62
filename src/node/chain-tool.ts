/**
 * Opens a chain for a command. A command can read the chain while a node runs, or change the chain while no node runs.
 */

import { mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Network } from '../config/network.ts';
import { Chain } from '../engine/chain.ts';
import { openGenesis } from '../engine/genesis.ts';
import type { Clock } from '../ports/clock.ts';
import { SILENT } from '../ports/observer.ts';
import type { Verifier } from '../ports/verifier.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { createRules } from '../protocol/generations.ts';
import type { ChainParams } from '../protocol/params.ts';
import type { Rules } from '../protocol/rules.ts';
import { momentMs } from '../protocol/slots.ts';
import type { Block } from '../protocol/types.ts';
import type { StoredChain } from '../store/chain/stored-chain.ts';
import { openChainSnapshot, openChainStore, type ChainStoreOptions } from '../store/chain/open.ts';
import type { OnUpgradeStep } from '../store/chain/upgrade.ts';
import { LAYOUT_VERSION } from '../store/tables/layout.ts';
import { createVerifierPool } from '../workers/verifier-pool.ts';
import { chainDirectory } from './chain-directory.ts';
import { registerTemporary } from './temporary-paths.ts';
import { systemClock } from './system.ts';

export { chainDirectory };

/**
 * Maximum number of results of signature checks in the signature cache. The cache usually has room for the results of
 * all blocks that `verifyChain` processes at the same time.
 */
const SIGNATURE_ANSWERS_MAX = 50_000;

/** Names the network to which a chain belongs, and the folder of this machine in which the chain is stored. */
export interface ChainLocation {
  readonly network: Pick<Network, 'name' | 'params' | 'genesisJson'>;
  /** Folder of a node for this network; the chain is in its subfolder `chain`. */
  readonly dataDirectory: string;
  /**
   * The store calls this function before it writes missing index entries. Entries are missing if an import or a sync
   * was killed. Writing the missing entries takes up to half a minute.
   */
  readonly onBackfill?: ChainStoreOptions['onBackfill'];
}

export interface OpenChain {
  readonly chain: Chain;
  readonly store: StoredChain;
  readonly rules: Rules;
  readonly genesis: Block;
  close(): Promise<void>;
}

/**
 * Opens a chain for changes.
 *
 * @param create true to begin a chain that does not exist yet
 * @throws ProtocolError in the same cases as `openChainStore` and `openGenesis`
 */
export async function openChain(location: ChainLocation, create: boolean): Promise<OpenChain> {
  const rules = rulesOf(location);
  const { codec, params } = rules;
  const { onBackfill } = location;
  const directory = chainDirectory(location);
  const store = await openChainStore({ directory, codec, params, create, clock: systemClock, onBackfill });
  return openOver(store, rules, location);
}

/**
 * Upgrades the chain store of a folder to the layout of this version, in one transaction of the database. If the
 * process ends during the upgrade, the store keeps its old layout.
 *
 * @returns the layout of the store before the upgrade
 * @throws ProtocolError in the same cases as `openChainStore`
 */
export async function upgradeChain(location: ChainLocation, onUpgradeStep: OnUpgradeStep): Promise<number> {
  const { codec, params } = rulesOf(location);
  let before = LAYOUT_VERSION;
  const store = await openChainStore({
    ...{ directory: chainDirectory(location), codec, params, create: false, clock: systemClock },
    ...{ onBackfill: location.onBackfill, onUpgradeStep },
    onUpgrade: (layout) => (before = Number(layout)),
  });
  await store.close();
  return before;
}

/**
 * Begins a new chain of the network in a temporary folder. `close` removes the folder.
 *
 * @param clock clock with which the chain detects and refuses blocks from the future
 */
export async function openScratchChain(
  { network }: Pick<ChainLocation, 'network'>,
  clock: Clock = systemClock,
): Promise<OpenChain> {
  const rules = rulesOf({ network });
  const { codec, params } = rules;
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-scratch-'));
  const removeDirectory = registerTemporary(directory);
  try {
    const store = await openChainStore({ directory, codec, params, durable: false });
    return await openOver(store, rules, { network }, { clock, afterwards: removeDirectory });
  } catch (error) {
    removeDirectory();
    throw error;
  }
}

/**
 * Opens a read-only view of a chain as it is at the time of the call.
 *
 * @throws ProtocolError in the same cases as `openChainSnapshot`
 */
export async function openSnapshot(
  location: ChainLocation,
): Promise<{ readonly store: StoredChain; readonly rules: Rules }> {
  const rules = rulesOf(location);
  const { codec, params } = rules;
  return {
    store: await openChainSnapshot({ directory: chainDirectory(location), codec, params, clock: systemClock }),
    rules,
  };
}

/**
 * Opens a read-only view of a chain with complete indexes. If a killed import or sync left the indexes incomplete, the
 * function first writes the missing entries.
 *
 * @throws ProtocolError in the same cases as `openChainSnapshot`; `STORE_BEHIND` if the indexes are incomplete because
 *   another process imports or downloads blocks; errors of `openChainStore` while the missing entries are written
 */
export async function openIndexedSnapshot(location: ChainLocation): ReturnType<typeof openSnapshot> {
  const opened = await openSnapshot(location);
  let isBehind = true;
  try {
    isBehind = opened.store.indexLag > 0;
  } finally {
    if (isBehind) await opened.store.close();
  }
  if (!isBehind) return opened;
  const directory = chainDirectory(location);
  const { codec, params } = opened.rules;
  try {
    const { onBackfill } = location;
    const store = await openChainStore({ directory, codec, params, create: false, clock: systemClock, onBackfill });
    await store.close();
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'STORE_IN_USE') throw error;
    const { pid, owner } = error.data;
    throw new ProtocolError(
      'STORE_BEHIND',
      { directory, pid, owner },
      `The chain store in ${directory} can be examined when ${String(owner)} has ended: it imports or downloads blocks, and ` +
        'their indexes come later. A node that downloads blocks answers over HTTP.',
      { cause: error },
    );
  }
  return openSnapshot(location);
}

/**
 * Returns a clock that never shows a time before the timestamp of the tip of a stored chain. Without this clock, a
 * command could refuse stored blocks as blocks from the future. Stored blocks can seem to be from the future if the
 * node that stored them had a clock ahead of this machine's clock, for example in a devnet.
 */
export function clockOfChain(store: Pick<StoredChain, 'tip'>, params: ChainParams, clock = systemClock): Clock {
  const tipMs = momentMs(store.tip()?.timestamp ?? 0, params);
  return { ...clock, nowMs: () => Math.max(clock.nowMs(), tipMs) };
}

function rulesOf({ network }: Pick<ChainLocation, 'network'>): Rules {
  return createRules(network.params);
}

async function openOver(
  store: StoredChain,
  rules: Rules,
  { network }: Pick<ChainLocation, 'network'>,
  { clock = systemClock, afterwards }: { readonly clock?: Clock; readonly afterwards?: () => void } = {},
): Promise<OpenChain> {
  let verifier: Verifier | undefined;
  const close = async (): Promise<void> => {
    await verifier?.close();
    await store.close();
    afterwards?.();
  };
  try {
    const genesis = rules.codec.genesisFromJson(network.genesisJson);
    openGenesis(store, rules, genesis);
    verifier = createVerifierPool({ threads: availableParallelism(), cacheEntriesMax: SIGNATURE_ANSWERS_MAX });
    const chain = new Chain({ store, rules, verifier, clock, observer: SILENT });
    return { chain, store, rules, genesis, close };
  } catch (error) {
    await close();
    throw error;
  }
}
