/** Gives the nodes of a devnet the chain that it is forked from. The source is read, and nothing in it written. */

import { constants, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Network } from '../../../config/network.ts';
import { restoreSnapshot } from '../../../node/backup.ts';
import { chainDirectory } from '../../../node/chain-tool.ts';
import { journalFileOf, openJournal } from '../../../node/journal-file.ts';
import { yieldToEventLoop, systemClock } from '../../../node/system.ts';
import { ProtocolError } from '../../../primitives/errors.ts';
import { createRules } from '../../../protocol/generations.ts';
import type { SignedHeader } from '../../../protocol/rules.ts';
import type { PublicKey } from '../../../protocol/types.ts';
import type { StoredChain } from '../../../store/chain/chain-store.ts';
import { copyStore } from '../../../store/disk/copy.ts';
import { DATA_FILE } from '../../../store/disk/data-file.ts';
import { storeOwner } from '../../../store/disk/environment.ts';
import { makeFolder } from '../../../store/disk/folder.ts';
import type { KeyValue } from '../../../store/tables/key-value.ts';
import { openLmdb } from '../../../store/disk/lmdb.ts';
import { chainStoreOver, refuseChangedState, writeMarks } from '../../../store/chain/open.ts';
import { createQueries } from '../../../store/query/queries.ts';
import type { ForkSource } from './source.ts';
import { nodeOfDelegate } from './stand-in.ts';

/** What is known of a forked devnet from its beginning. */
export interface ForkFacts {
  /** Path that it was forked from. */
  readonly source: string;
  readonly height: number;
  readonly blockId: string;
  /** Delegates of the next block's round. */
  readonly forgers: readonly PublicKey[];
  /** Accounts of which others are funded, richest first. */
  readonly funders: readonly PublicKey[];
}

export interface ForkRequest {
  readonly source: ForkSource;
  /** As the devnet runs it. */
  readonly network: Network;
  /** Folders of the nodes for that network, in the order of their numbers. */
  readonly dataDirectories: readonly string[];
}

/** As far back as headers must not contradict one another. */
const JOURNAL_ROUNDS = 3;
/** Of which those are taken that can be signed for with one key. */
const RICH_ACCOUNTS = 100;
const FUNDERS_MAX = 10;

/**
 * @throws ProtocolError `FORK_SOURCE_CHANGED` when somebody wrote to the source meanwhile, `STORE_NETWORK_MISMATCH` and the like when the
 *   chain is another network's, `SNAPSHOT_REFUSED`
 */
export async function prepareFork({ source, network, dataDirectories }: ForkRequest): Promise<ForkFacts> {
  const [first, ...others] = dataDirectories;
  if (first === undefined) throw new RangeError('a devnet has a node');
  await copyChain(source, first);
  const facts = await adopt(source, network, dataDirectories);
  const from = join(chainDirectory({ dataDirectory: first }), DATA_FILE);
  for (const dataDirectory of others) {
    makeFolder(chainDirectory({ dataDirectory }));
    await copyFile(from, join(chainDirectory({ dataDirectory }), DATA_FILE), constants.COPYFILE_FICLONE);
  }
  return facts;
}

async function copyChain({ chain, network }: ForkSource, dataDirectory: string): Promise<void> {
  if (chain.kind === 'snapshot') {
    // The worst that a wrong one can do here is to be a wrong devnet.
    await restoreSnapshot(chain.file, { network, dataDirectory }, { isTrusted: true });
    return;
  }
  const directory = chainDirectory(chain);
  const target = chainDirectory({ dataDirectory });
  // The file of a store that is written to has pages of several moments; LMDB copies those of one.
  if (storeOwner(directory, systemClock) !== undefined) {
    await copyStore(directory, target, systemClock);
    return;
  }
  makeFolder(target);
  const file = join(directory, DATA_FILE);
  const before = statSync(file, { throwIfNoEntry: false });
  if (before === undefined) {
    throw new ProtocolError('STORE_MISSING', { directory }, `There is no chain store in ${directory}.`);
  }
  await copyFile(file, join(target, DATA_FILE), constants.COPYFILE_FICLONE);
  const { mtimeMs, size } = statSync(file);
  if (before.mtimeMs === mtimeMs && before.size === size && storeOwner(directory, systemClock) === undefined) return;
  throw new ProtocolError(
    'FORK_SOURCE_CHANGED',
    { directory },
    `${directory}: a node began to write to it while it was copied: run the command again`,
  );
}

/** Marks the first node's chain as the devnet's, and gives the delegates of all nodes a record of what they signed last. */
async function adopt(
  { path, network: earlier }: ForkSource,
  network: Network,
  dataDirectories: readonly string[],
): Promise<ForkFacts> {
  const [dataDirectory = ''] = dataDirectories;
  const directory = chainDirectory({ dataDirectory });
  const keyValue: KeyValue = openLmdb(directory, false);
  try {
    const rules = createRules(earlier.params);
    const store = chainStoreOver(keyValue, { codec: rules.codec, params: earlier.params }, directory);
    // Once, for the copies of all nodes.
    refuseChangedState(store, directory);
    const tip = store.tip();
    if (tip === undefined) throw new ProtocolError('STORE_MISSING', { directory }, `${path}: holds no chain yet`);
    const forgers = rules.forgers(store, tip.height + 1);
    const depth = JOURNAL_ROUNDS * earlier.params.activeDelegates;
    const signed = lastSigned(store, tip.height, depth);
    for (const [index, each] of dataDirectories.entries()) {
      const journal = openJournal(journalFileOf(each));
      for (const [publicKey, header] of signed) {
        if (nodeOfDelegate(publicKey, dataDirectories.length) === index) journal.record(publicKey, header);
      }
      journal.close();
    }
    const queries = createQueries(store, earlier.params, { pause: yieldToEventLoop });
    const sort = { field: 'balance', direction: 'desc' } as const;
    const rich = queries.accounts({ limit: RICH_ACCOUNTS, offset: 0, sort }).items;
    const funders = rich.flatMap(({ account: { publicKey, secondPublicKey, group } }) =>
      publicKey === undefined || secondPublicKey !== undefined || group !== undefined ? [] : [publicKey],
    );
    writeMarks(keyValue, network.params);
    const { height, id } = tip;
    return { source: path, height, blockId: id, forgers, funders: funders.slice(0, FUNDERS_MAX) };
  } finally {
    await keyValue.close();
  }
}

/** The newest header of each delegate among the last blocks: its next one must name it. */
function lastSigned(store: StoredChain, height: number, depth: number): ReadonlyMap<PublicKey, SignedHeader> {
  const signed = new Map<PublicKey, SignedHeader>();
  // The genesis block is nobody's.
  for (let each = height; each > Math.max(1, height - depth); each -= 1) {
    const header = store.header(each);
    if (header === undefined || signed.has(header.generatorPublicKey)) continue;
    const { id: blockId, timestamp, maxHeightPrevoted, maxHeightPreviouslyForged } = header;
    signed.set(header.generatorPublicKey, {
      blockId,
      height: each,
      timestamp,
      maxHeightPrevoted,
      maxHeightPreviouslyForged,
    });
  }
  return signed;
}
