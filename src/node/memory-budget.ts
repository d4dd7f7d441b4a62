/**
 * Computes the maximum memory that a node needs. Each queue, cache and buffer that peers or clients can fill has a
 * bound. The budget of a queue, cache or buffer is its maximum size in bytes, which is computed from this bound. With
 * the default options, the sum of all budgets and `BASE_BYTES` is below the smallest value of `memory.limitMb` that the
 * schema allows. The default of `memory.limitMb` is higher than this sum, to leave room for objects that V8 has not
 * collected yet.
 *
 * To add a budget: export the bound from the file that defines it, and add an item to `budgetsOf`. If the bound limits
 * the number of entries, the item multiplies the bound by the largest size of an entry.
 */

import type { Config } from '../config/schema.ts';
import * as announcements from '../engine/announcements.ts';
import { DIAGNOSED_MODULES, ENTRIES_PER_MODULE_MAX } from '../engine/diagnostics.ts';
import { REPUTATIONS_MAX } from '../engine/peers/peer-scoring.ts';
import { REMEMBERED_MAX } from '../engine/peers/dial-plan.ts';
import { batchBytesMax } from '../engine/sync/arrived-batches.ts';
import { BRANCH_BYTES_MAX } from '../engine/sync/sync-from-peer.ts';
import { REMEMBERED_BYTES_MAX } from '../engine/transaction-fetcher.ts';
import { CACHED_BYTES_MAX } from '../http/response-cache.ts';
import { HTTP_BUFFER_BYTES_MAX } from '../http/admission/limits.ts';
import { TRANSACTIONS_CACHED_MAX } from '../http/events/log-feed.ts';
import { CLIENTS_MAX } from '../http/rate-limit.ts';
import { UNSENT_BYTES_TOTAL_MAX } from '../p2p/link.ts';
import { FRAME_BYTES_MAX } from '../p2p/frame-validation.ts';
import { LAG_MAX } from '../engine/index-deferral.ts';
import { readAtOnceBytesMax } from '../p2p/unsolicited-bytes.ts';
import { unfinishedBytesMax } from '../p2p/unfinished-messages.ts';
import { ACCOUNTS_CACHED_MAX, VOTERS_CACHED_MAX } from '../store/chain/account-cache.ts';
import { HEADERS_CACHED_MAX } from '../store/chain/chain-store.ts';
import { INNER_BLOCKS_CACHED_MAX, LEAVES_CHANGED_MAX, LEAVES_CACHED_MAX } from '../store/index/counted-key-sets.ts';
import { ITEMS_KEPT_MAX } from '../store/query/background-queries.ts';
import { INNER_BYTES_MAX, LEAF_BYTES_MAX } from '../store/index/leaf-blocks.ts';
import { DELEGATES_CACHED_MAX } from '../store/chain/state-tables.ts';
import { ADDRESSES_CACHED_MAX } from '../store/index/transaction-lists.ts';
import { THREAD_CHECKS_MAX } from '../workers/verifier-pool.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { EVENT_BYTES_MAX, EVENTS_MAX } from './notify/outbox.ts';
import { SIGNATURE_ANSWERS_MAX } from './node.ts';
import { THREAD_BYTES_MAX as WATCHDOG_BYTES_MAX } from './watchdog/watchdog.ts';

export interface Budget {
  readonly name: string;
  /** File below `src/` that defines the bound. */
  readonly file: string;
  readonly bytesMax: number;
  /** Explanation, in words, of how `bytesMax` follows from the bound. */
  readonly reckoning: string;
}

const KB = 1000;
const MB = 1_000_000;

/**
 * Memory, in bytes, of a node that holds no data: V8, compiled code, threads. After its start, a devnet node has 59 MB
 * of own memory (`ownMemoryBytes`), measured with Node 20 on Linux. The rest of `BASE_BYTES` is for code that is
 * compiled later and for the pages that LMDB keeps during a transaction.
 */
const BASE_BYTES = 150 * MB;

/**
 * Memory, in bytes, of a transaction object with its strings and with the signatures of fifteen members of a
 * multisignature group.
 */
const TRANSACTION_BYTES = 12 * KB;
/** Bytes of memory that decoded blocks take for each byte of the stored blocks (docs/decisions/0005). */
const VALUES_PER_STORED_BYTE = 20;
/**
 * Memory of block objects, as a multiple of the size of their JSON. The factor includes the data that the node keeps
 * with each transaction after a signature check. Blocks that the nodes of a network have forged take 3.4 times the size
 * of their JSON. The worst blocks that a peer can send take less than 6 times the size of their JSON.
 */
const OBJECTS_PER_JSON = 6;
const QUEUES = 5;
const ANNOUNCED_KINDS = 2;
/** Maximum number of connected peers with the default options: 100 inbound and 20 outbound peers. */
const CONNECTED_PEERS = 120;
/**
 * Maximum number of accepted connections with the default options: 100 connections of inbound peers, and 64 connections
 * that have not finished their handshake.
 */
const ACCEPTED_CONNECTIONS = 164;
const DIALLED_PEERS = 20;
const NOTIFY_CHANNELS = 2;

/**
 * @param config the sections of the configuration that contain bounds
 */
export function budgetsOf({ http, pool, verifier }: Pick<Config, 'http' | 'pool' | 'verifier'>): readonly Budget[] {
  return [
    {
      name: 'accounts',
      file: 'store/chain/account-cache.ts',
      bytesMax: VOTERS_CACHED_MAX * 8 * KB + ACCOUNTS_CACHED_MAX * 700,
      reckoning: 'a voter has up to 101 keys of 66 bytes, any other account a few texts',
    },
    { name: 'headers', file: 'store/chain/chain-store.ts', bytesMax: HEADERS_CACHED_MAX * KB, reckoning: '1 kB each' },
    {
      name: 'delegates',
      file: 'store/chain/state-tables.ts',
      bytesMax: DELEGATES_CACHED_MAX * 500,
      reckoning: '500 bytes each',
    },
    {
      name: 'lengths of transaction lists',
      file: 'store/index/transaction-lists.ts',
      bytesMax: ADDRESSES_CACHED_MAX * 150,
      reckoning: '150 bytes for each address',
    },
    {
      name: 'leaf blocks of indexes',
      file: 'store/index/counted-key-sets.ts',
      bytesMax: (LEAVES_CHANGED_MAX + LEAVES_CACHED_MAX) * 3 * LEAF_BYTES_MAX,
      reckoning: 'keys of a leaf block in their own buffers take three times its bytes',
    },
    {
      name: 'inner blocks of indexes',
      file: 'store/index/counted-key-sets.ts',
      bytesMax: (LEAVES_CHANGED_MAX + INNER_BLOCKS_CACHED_MAX) * 3 * INNER_BYTES_MAX,
      reckoning: 'like leaf blocks; a commit changes at most as many inner blocks as leaf blocks',
    },
    { name: 'ids seen', file: 'store/index/id-bloom-filter.ts', bytesMax: 4 * 2 ** 20, reckoning: 'a fixed array' },
    {
      name: 'pending index entries',
      file: 'engine/index-deferral.ts',
      bytesMax: LAG_MAX * 100,
      reckoning: '100 bytes for each transaction of a lag',
    },
    {
      name: 'lists for pages',
      file: 'store/query/background-queries.ts',
      bytesMax: ITEMS_KEPT_MAX * 10,
      reckoning: 'ten bytes for an item',
    },
    {
      name: 'results of signature checks',
      file: 'node/node.ts',
      bytesMax: SIGNATURE_ANSWERS_MAX * 260,
      reckoning: '260 bytes each',
    },
    { name: 'addresses of keys', file: 'crypto/keys.ts', bytesMax: 20_000 * 200, reckoning: '200 bytes each' },
    {
      name: 'checks on threads',
      file: 'workers/verifier-pool.ts',
      bytesMax: verifier.threads * (THREAD_CHECKS_MAX * KB + 20 * MB),
      reckoning: '1 kB for a check that waits, 20 MB for the thread itself',
    },
    {
      name: 'transaction pool',
      file: 'engine/pool/queues.ts',
      bytesMax: QUEUES * pool.transactionsPerQueueMax * TRANSACTION_BYTES,
      reckoning: 'pool.transactionsPerQueueMax in five queues, 12 kB each',
    },
    {
      name: 'announcements',
      file: 'engine/announcements.ts',
      bytesMax:
        ANNOUNCED_KINDS *
        (3 * announcements.ITEMS_MAX * 200 +
          announcements.PEERS_MAX * 200 +
          CONNECTED_PEERS * announcements.KNOWN_PER_PEER_MAX * 100),
      reckoning:
        'of transactions and signatures: 200 bytes for an item and for a peer, 100 for an item that a peer has',
    },
    {
      name: 'transactions asked for',
      file: 'engine/transaction-fetcher.ts',
      bytesMax: REMEMBERED_BYTES_MAX,
      reckoning: '100 bytes for an id that was asked for, 500 for one that was refused',
    },
    {
      name: 'downloaded blocks',
      file: 'engine/sync/arrived-batches.ts',
      bytesMax: batchBytesMax(FRAME_BYTES_MAX) * OBJECTS_PER_JSON,
      reckoning: 'the size at which the download pauses, and one more answer of a peer, as objects',
    },
    {
      name: 'rival branch',
      file: 'engine/sync/sync-from-peer.ts',
      bytesMax: BRANCH_BYTES_MAX * VALUES_PER_STORED_BYTE,
      reckoning: 'its stored bytes, as values',
    },
    {
      name: 'data about peers',
      file: 'engine/peers/dial-plan.ts',
      bytesMax: (REMEMBERED_MAX + REPUTATIONS_MAX) * 300,
      reckoning: '300 bytes for an address',
    },
    {
      name: 'diagnostics',
      file: 'engine/diagnostics.ts',
      bytesMax: DIAGNOSED_MODULES * ENTRIES_PER_MODULE_MAX * 3 * KB,
      reckoning: 'ten fields of 300 characters',
    },
    {
      name: 'events for the operator',
      file: 'node/notify/outbox.ts',
      bytesMax: NOTIFY_CHANNELS * EVENTS_MAX * EVENT_BYTES_MAX,
      reckoning: 'ten fields of 300 characters, for a webhook and for a command',
    },
    { name: 'unsent to peers', file: 'p2p/link.ts', bytesMax: UNSENT_BYTES_TOTAL_MAX, reckoning: 'all peers together' },
    {
      name: 'unfinished messages',
      file: 'p2p/unfinished-messages.ts',
      bytesMax: unfinishedBytesMax(ACCEPTED_CONNECTIONS),
      reckoning: 'eight large ones, two that wait, and for each accepted connection the bytes that need no turn',
    },
    {
      name: 'unread messages',
      file: 'p2p/unsolicited-bytes.ts',
      bytesMax: readAtOnceBytesMax(ACCEPTED_CONNECTIONS + DIALLED_PEERS),
      reckoning: 'all peers together, and the reserve of each connection',
    },
    {
      name: 'cached HTTP responses',
      file: 'http/response-cache.ts',
      bytesMax: CACHED_BYTES_MAX,
      reckoning: 'all together, plain and compressed',
    },
    {
      name: 'HTTP connections',
      file: 'config/schema.ts',
      bytesMax: http.connectionsMax * 20 * KB,
      reckoning: 'http.connectionsMax sockets, each with its parser',
    },
    {
      name: 'HTTP buffers',
      file: 'http/admission/limits.ts',
      bytesMax: HTTP_BUFFER_BYTES_MAX,
      reckoning: 'requests and answers of all connections together',
    },
    {
      name: 'written events',
      file: 'http/events/log-feed.ts',
      bytesMax: TRANSACTIONS_CACHED_MAX * TRANSACTION_BYTES,
      reckoning: 'blocks full of the largest transactions',
    },
    { name: 'HTTP clients', file: 'http/rate-limit.ts', bytesMax: CLIENTS_MAX * 150, reckoning: '150 bytes each' },
    {
      name: 'watchdog',
      file: 'node/watchdog/watchdog.ts',
      bytesMax: WATCHDOG_BYTES_MAX,
      reckoning: 'limits of the thread',
    },
  ];
}

/** Returns the memory in bytes that the node needs when all budgets are used up. */
export function neededBytes(config: Pick<Config, 'http' | 'pool' | 'verifier'>): number {
  return budgetsOf(config).reduce((sum, { bytesMax }) => sum + bytesMax, BASE_BYTES);
}

/**
 * @throws ProtocolError `CONFIG_INVALID` if `memory.limitMb` is lower than the memory that `neededBytes` returns
 */
export function checkMemoryLimit(config: Pick<Config, 'http' | 'memory' | 'pool' | 'verifier'>): void {
  const leastMb = Math.ceil(neededBytes(config) / MB);
  if (config.memory.limitMb >= leastMb) return;
  throw new ProtocolError(
    'CONFIG_INVALID',
    { key: 'memory.limitMb', leastMb },
    `memory.limitMb must be at least ${leastMb} with this http.connectionsMax, pool.transactionsPerQueueMax and verifier.threads`,
  );
}
