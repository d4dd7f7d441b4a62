/** Copies the chain of the source (`source.ts`) to the nodes of a forked devnet. The source stays unchanged. */

import { constants, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Network } from '../../../config/network.ts';
import { restoreSnapshot } from '../../../node/backup.ts';
import { chainDirectory } from '../../../node/chain-tool.ts';
import { journalFileOf, openJournal } from '../../../node/journal-file.ts';
import { yieldToEventLoop, systemClock } from '../../../node/system.ts';
import { PEER_BOOK_NOTE } from '../../../ports/notes.ts';
import { ProtocolError } from '../../../primitives/errors.ts';
import { createRules } from '../../../protocol/generations.ts';
import type { SignedHeader } from '../../../protocol/rules.ts';
import type { PublicKey } from '../../../protocol/types.ts';
import type { StoredChain } from '../../../store/chain/stored-chain.ts';
import { copyStore } from '../../../store/disk/copy.ts';
import { DATA_FILE } from '../../../store/disk/data-file.ts';
import { storeOwner } from '../../../store/disk/environment.ts';
import { makeFolder } from '../../../store/disk/folder.ts';
import type { KeyValue } from '../../../store/tables/key-value.ts';
import { openLmdb } from '../../../store/disk/lmdb.ts';
import { chainStoreOver, refuseChangedState, writeIdentity } from '../../../store/chain/open.ts';
import { createQueries } from '../../../store/query/queries.ts';
import type { ForkSource } from './source.ts';
import { nodeOfDelegate } from './substitute-key.ts';

/** Facts about the chain that a forked devnet copied, and the accounts for which the devnet signs. */
export interface ForkFacts {
  /** Path of the source. */
  readonly source: string;
  readonly height: number;
  readonly blockId: string;
  /** Delegates of the round to which the first block after the copied chain belongs. */
  readonly forgers: readonly PublicKey[];
  /** Accounts that `DevnetAccounts.fund` uses as senders, richest first. */
  readonly funders: readonly PublicKey[];
}

export interface ForkRequest {
  readonly source: ForkSource;
  /** The network that the devnet runs. Its network identifier can differ from the network identifier of the source. */
  readonly network: Network;
  /** Data folder of each node. The index in this list is the number of the node. */
  readonly dataDirectories: readonly string[];
}

/**
 * `prepareFork` searches this number of newest rounds for the last header of each delegate, and records these headers
 * in the signing journals. The next header of a delegate must not contradict a header that the delegate signed in these
 * rounds.
 */
const JOURNAL_ROUNDS = 3;
/**
 * `prepareFork` chooses the accounts `funders` from this number of the richest accounts. A single key must be enough to
 * sign for a funder, so multisignature accounts and accounts with a second key are excluded. Accounts whose public key
 * is not in the chain are excluded, too.
 */
const RICH_ACCOUNTS = 100;
const FUNDERS_MAX = 10;

/**
 * @throws ProtocolError `FORK_SOURCE_CHANGED` when another process began to write to the source during the copy;
 *   `STORE_MISSING` when the source has no chain; errors of `refuseChangedState`, `chainStoreOver` (for example
 *   `STORE_NETWORK_MISMATCH`), `restoreSnapshot` (for example `SNAPSHOT_REFUSED`), `copyStore` and `openLmdb`
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
    // The devnet does not verify the blocks of the snapshot (`isTrusted`), because a wrong snapshot harms only this
    // devnet.
    await restoreSnapshot(chain.file, { network, dataDirectory }, { isTrusted: true });
    return;
  }
  const directory = chainDirectory(chain);
  const target = chainDirectory({ dataDirectory });
  // While a process uses the store, pages of the file can change during a plain copy. A copy that LMDB makes is
  // consistent.
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

/**
 * Prepares the chain of the first node: compares the state with its checksum, stores the identity of the devnet's
 * network, and deletes the stored peer book. Creates the signing journals of all nodes. For each delegate that forged
 * in the newest `JOURNAL_ROUNDS` rounds, records the delegate's last header in the signing journal of the node that
 * forges for this delegate. `prepareFork` copies the prepared chain to the other nodes afterwards.
 */
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
    // The other nodes later get copies of this chain, so one check of the state is enough for all nodes.
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
    writeIdentity(keyValue, network.params);
    // Removes the stored peer book. With this peer book, the nodes would dial peers of the original network, and send
    // blocks of the fork to these peers.
    store.transact((writer) => {
      writer.setNote(PEER_BOOK_NOTE, undefined);
    });
    const { height, id } = tip;
    return { source: path, height, blockId: id, forgers, funders: funders.slice(0, FUNDERS_MAX) };
  } finally {
    await keyValue.close();
  }
}

/**
 * Returns the newest header of each delegate that forged at least one of the last `depth` blocks. The delegate's next
 * header must not contradict this header.
 */
function lastSigned(store: StoredChain, height: number, depth: number): ReadonlyMap<PublicKey, SignedHeader> {
  const signed = new Map<PublicKey, SignedHeader>();
  // Skips block 1, the genesis block, because no delegate forged this block.
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
