/**
 * Opens a chain store. This module refuses a database that is not a chain store. It also refuses a store in three
 * cases: the state is damaged, the layout is unknown, or the network, the generation or the consensus parameters differ
 * from the `params` of the caller.
 */

import type { Clock } from '../../ports/clock.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { ChainParams } from '../../protocol/params.ts';
import type { Codec } from '../../protocol/rules.ts';
import { KeyValueChainStore } from './chain-store.ts';
import { CountedKeySets } from '../index/counted-key-sets.ts';
import type { KeyValue, KeyValueWriter } from '../tables/key-value.ts';
import {
  LAYOUT_VERSION,
  META_ACCOUNTS,
  META_GENERATION,
  META_LAYOUT,
  META_NETWORK,
  META_PARAMS,
  TABLES,
} from '../tables/layout.ts';
import { storeDamaged } from '../disk/store-refusals.ts';
import { openLmdb, openLmdbSnapshot } from '../disk/lmdb.ts';
import { SHORT_LIST_ITEMS_MAX } from '../index/transaction-lists.ts';
import { MemoryKeyValue } from '../disk/memory.ts';
import { paramsPin, pinDifferences } from './params-pin.ts';
import type { StoredChain } from './stored-chain.ts';
import { FIRST_LAYOUT_READ, isLayoutRead, isOlder, layoutOf, upgradeStore, type OnUpgradeStep } from './upgrade.ts';
import { upgradedView } from './upgraded-view.ts';

export interface MemoryChainStoreOptions {
  readonly codec: Codec;
  readonly params: ChainParams;
  /**
   * Maximum number of transactions in a short list. For each transaction type, the store has a list of its
   * transactions. For each address, the store has two lists (sent and received), and the maximum applies to both lists
   * together. The entries of a short list are stored only in the order of the chain, and not in other sort orders. All
   * processes that open a store must use the same maximum. Tests use small numbers.
   */
  readonly shortListMax?: number;
}

export interface ChainStoreOptions extends MemoryChainStoreOptions {
  /** Folder of the store; the folder contains nothing else. */
  readonly directory: string;
  /**
   * Decides what happens if the folder contains no store. If true, `openChainStore` creates a store. If false,
   * `openChainStore` throws `STORE_MISSING`. True by default.
   */
  readonly create?: boolean;
  /**
   * If true, each write returns only after the data are on the disk; true by default. If false, a write can return
   * before the data are on the disk, so a power failure can lose the data or damage the store. Set false only for a
   * temporary store.
   */
  readonly durable?: boolean;
  /**
   * Clock for the lock on the folder. A clock is necessary if processes of several containers can reach the folder (see
   * `takeLock`).
   */
  readonly clock?: Clock;
  /**
   * True if this program has checked the pages and the state of the store, and no process has written to the store
   * since the check. If true, `openChainStore` skips these checks, which saves two seconds for a million accounts.
   * False by default.
   */
  readonly isChecked?: boolean;
  /**
   * Called before a store of an earlier layout is upgraded. The argument is the number of this earlier layout. The
   * upgrade takes seconds, or a minute for tens of millions of transactions.
   */
  readonly onUpgrade?: (layout: string) => void;
  readonly onUpgradeStep?: OnUpgradeStep;
  /**
   * Called before the store writes missing index entries. Index entries are missing if an import or a sync was killed
   * before it had written them.
   *
   * @param lag the number of blocks whose transactions are not in the indexes yet, plus the number of these
   *   transactions
   */
  readonly onBackfill?: ((lag: number) => void) | undefined;
}

/**
 * Opens the store of a folder, and holds the lock on the folder until the store is closed (`close`). If the store has
 * an earlier layout, this function upgrades the store. If a process was killed while the indexes lagged behind the
 * chain, this function writes the missing index entries, which takes up to half a minute.
 *
 * @throws ProtocolError `STORE_MISSING`, `STORE_IN_USE`, `STORE_TAKEN_OVER`, `STORE_SHARED`, `STORE_NOT_ALLOWED`,
 *   `STORE_WRITE_FAILED`, `STORE_UNREADABLE`, `STORE_LAYOUT_MISMATCH`, `STORE_DAMAGED`, `STORE_GENERATION_MISMATCH`,
 *   `STORE_NETWORK_MISMATCH`, `STORE_PARAMS_MISMATCH` or `FOLDER_IMPOSSIBLE`
 */
export async function openChainStore({
  codec,
  params,
  directory,
  create,
  durable,
  clock,
  isChecked = false,
  onUpgrade,
  onUpgradeStep,
  onBackfill,
  ...options
}: ChainStoreOptions): Promise<StoredChain> {
  const keyValue = openLmdb(directory, create ?? true, durable, clock, isChecked);
  try {
    const store = chainStoreOver(keyValue, { codec, params, ...options }, directory, onUpgrade, onUpgradeStep);
    if (!isChecked) refuseChangedState(store, directory);
    const lag = store.indexLag;
    if (lag > 0) onBackfill?.(lag);
    for (const _ of store.backfill()) continue;
    return store;
  } catch (error) {
    await keyValue.close();
    throw error;
  }
}

/**
 * Opens a read-only view of a store. The view shows the store at the moment of this call. A running node is allowed to
 * use the store at the same time.
 *
 * @throws ProtocolError in the same cases as `openLmdbSnapshot` and `readChainStore`
 */
export async function openChainSnapshot(
  options: MemoryChainStoreOptions & Pick<ChainStoreOptions, 'directory' | 'clock'>,
): Promise<StoredChain> {
  const { directory, clock } = options;
  const keyValue = openLmdbSnapshot(directory, clock);
  try {
    return readChainStore(keyValue, options);
  } catch (error) {
    await keyValue.close();
    throw error;
  }
}

/**
 * Creates a chain store that reads its keys from `keyValue`, a read-only view of a database.
 *
 * @param options `directory` is the folder that error messages name
 * @throws ProtocolError `STORE_MISSING` if the database is empty; `STORE_UNREADABLE` if the database is not a chain
 *   store; `STORE_LAYOUT_MISMATCH` if its layout is unknown; `STORE_GENERATION_MISMATCH`, `STORE_NETWORK_MISMATCH` or
 *   `STORE_PARAMS_MISMATCH` if its generation, network or consensus parameters differ from `options.params`
 */
export function readChainStore(
  keyValue: KeyValue,
  { directory, ...options }: MemoryChainStoreOptions & Pick<ChainStoreOptions, 'directory'>,
): StoredChain {
  const [first] = keyValue.keys({ gte: Buffer.from([0]), lt: Buffer.from([255]), limit: 1 });
  if (first === undefined) {
    throw new ProtocolError('STORE_MISSING', { directory }, `The chain store in ${directory} holds no chain yet.`);
  }
  checkIdentity(keyValue, options.params, directory);
  return openedStore(isOlder(keyValue) ? upgradedView(keyValue) : keyValue, options, directory);
}

/**
 * Compares the whole state with the checksum of the state. Then compares each undo record, and the note of the
 * finalized height, with the checksum at the end of the record or note. The comparison takes a second for a million
 * accounts.
 *
 * @param directory folder that the error message names
 * @throws ProtocolError `STORE_DAMAGED` if the state, an undo record or the note of the finalized height does not match
 *   its checksum
 */
export function refuseChangedState(store: StoredChain, directory: string): void {
  const damage = store.checkState().finish() ? store.recordDamage() : STATE_CHANGED;
  if (damage !== undefined) throw storeDamaged(directory, damage);
}

/** Text of the error for a state that does not match its checksum. */
export const STATE_CHANGED =
  'its state does not match its checksum: bytes of an account, a delegate, a round or of finality were changed ' +
  'on the disk (`bloomery verify` names the first)';

/** Creates a store that exists only in memory. */
export function openMemoryChainStore(options: MemoryChainStoreOptions): StoredChain {
  return chainStoreOver(new MemoryKeyValue(), options, 'memory');
}

/**
 * Creates a chain store over an open database, and upgrades the database to the current layout. An empty database
 * becomes a store of the network of `params`.
 *
 * @param directory folder that error messages name
 * @throws ProtocolError in the same cases as `openChainStore` if the database is not a chain store, belongs to another
 *   network or generation, has other consensus parameters, or has an unknown layout
 */
export function chainStoreOver(
  keyValue: KeyValue,
  options: MemoryChainStoreOptions,
  directory: string,
  onUpgrade?: (layout: string) => void,
  onUpgradeStep?: OnUpgradeStep,
): StoredChain {
  checkIdentity(keyValue, options.params, directory);
  if (isOlder(keyValue)) {
    onUpgrade?.(layoutOf(metaOf(keyValue, META_LAYOUT) ?? '').layout);
    upgradeStore(keyValue, onUpgradeStep);
  }
  return openedStore(keyValue, options, directory);
}

/**
 * Creates a chain store over a database, without checks. The caller must have checked the network and the layout of the
 * database.
 */
export function openedStore(
  keyValue: KeyValue,
  { codec, shortListMax = SHORT_LIST_ITEMS_MAX }: MemoryChainStoreOptions,
  directory: string,
): StoredChain {
  return new KeyValueChainStore(new CountedKeySets(keyValue), codec, shortListMax, directory);
}

/**
 * If the database is empty, writes the layout version and the identity of the store (generation, network and
 * parameters) from `params`. If the database is not empty, the function throws an error in three cases: the database is
 * not a chain store, its layout is unknown, or its identity differs from `params`.
 */
function checkIdentity(keyValue: KeyValue, params: ChainParams, directory: string): void {
  const text = metaOf(keyValue, META_LAYOUT);
  if (text === undefined) {
    const isForeign = keyValue.count({ gte: Buffer.from([0]), lt: Buffer.from([255]) }) > 0;
    if (isForeign) {
      throw new ProtocolError(
        'STORE_UNREADABLE',
        { directory },
        `${directory} holds a database that is not a chain store. Give this node another data folder.`,
      );
    }
    keyValue.transact((writer) => {
      const zero = Buffer.alloc(8);
      writer.put(TABLES.meta.key(META_LAYOUT), Buffer.from(String(LAYOUT_VERSION)));
      putIdentity(writer, params);
      writer.put(TABLES.meta.key(META_ACCOUNTS), zero);
    });
    return;
  }
  const { layout } = layoutOf(text);
  if (!isLayoutRead(Number(layout))) {
    throw new ProtocolError(
      'STORE_LAYOUT_MISMATCH',
      { directory, found: layout, expected: LAYOUT_VERSION },
      `The chain store in ${directory} has layout ${layout}, and this version of the node reads layouts ${FIRST_LAYOUT_READ} to ${LAYOUT_VERSION}; ` +
        `nothing was changed. ${adviceOn(Number(layout))}`,
    );
  }
  const generation = metaOf(keyValue, META_GENERATION);
  if (generation !== String(params.generation)) {
    throw new ProtocolError(
      'STORE_GENERATION_MISMATCH',
      { directory, found: generation, expected: params.generation },
      `The chain store in ${directory} belongs to generation ${generation ?? 'unknown'}, and this network is generation ` +
        `${params.generation}. Name the network of this chain, or another data folder.`,
    );
  }
  const network = metaOf(keyValue, META_NETWORK);
  if (network !== networkOf(params)) {
    throw new ProtocolError(
      'STORE_NETWORK_MISMATCH',
      { directory, found: network, expected: networkOf(params) },
      `The chain store in ${directory} belongs to another network (genesis block, nethash and network identifier ` +
        `${network ?? 'unknown'} instead of ${networkOf(params)}). Name the network of this chain, or another data folder.`,
    );
  }
  refuseOtherParams(metaOf(keyValue, META_PARAMS) ?? '', params, directory);
}

/**
 * Overwrites the identity of a store (generation, network and parameters) with the identity of a network. Use this
 * function only for a copy of a chain that continues as the chain of a forked devnet. Never use this function on the
 * store of a running network, because the store would then state the identity of another network.
 */
export function writeIdentity(keyValue: KeyValue, params: ChainParams): void {
  keyValue.transact((writer) => putIdentity(writer, params));
}

function putIdentity(writer: KeyValueWriter, params: ChainParams): void {
  writer.put(TABLES.meta.key(META_GENERATION), Buffer.from(String(params.generation)));
  writer.put(TABLES.meta.key(META_NETWORK), Buffer.from(networkOf(params)));
  writer.put(TABLES.meta.key(META_PARAMS), Buffer.from(paramsPin(params)));
}

function adviceOn(layout: number): string {
  if (layout > LAYOUT_VERSION) return 'A newer version of the node has written it: run that version.';
  return (
    'To keep the chain, export it with the version that wrote it (bloomery export FILE), move the folder away, and import ' +
    'the file with this version (bloomery import FILE). Otherwise, move the folder away and restore a snapshot of this ' +
    'version, or let the node download the chain again. The record of signatures beside the folder stays as it is.'
  );
}

/**
 * Refuses a store that was written with other consensus parameters, because with different parameters, the same blocks
 * lead to a different state.
 */
function refuseOtherParams(found: string, params: ChainParams, directory: string): void {
  const expected = paramsPin(params);
  if (found === expected) return;
  const differences = pinDifferences(found, expected);
  throw new ProtocolError(
    'STORE_PARAMS_MISMATCH',
    { directory, differences },
    `The chain store in ${directory} was written under other parameters of this network (${differences.join('; ')}). ` +
      'Start it with the network folder that it was written with, give this node another data folder, or remove the ' +
      'folder to start again.',
  );
}

function networkOf(params: ChainParams): string {
  return `${params.genesisBlockId} ${params.nethash} ${params.networkIdentifier}`;
}

function metaOf(keyValue: KeyValue, name: string): string | undefined {
  return keyValue.get(TABLES.meta.key(name))?.toString('utf8');
}
