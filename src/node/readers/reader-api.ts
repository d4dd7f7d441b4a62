/**
 * Implements `NodeApi` in a reader, a process that answers HTTP beside the node. The reader reads chain data from its
 * own snapshot of the store. All other data come from the node over the channel between the two processes.
 */

import { chainBroadhash } from '../../engine/chain-broadhash.ts';
import { finalizedHeightOf } from '../../engine/commit.ts';
import { CONFIRMED_TIMES_MAX } from '../../engine/pool/pool.ts';
import { LruMap } from '../../primitives/bounded.ts';
import type { ChainLog } from '../../ports/chain-log.ts';
import type {
  Diagnostic,
  Forger,
  ForgingDelegate,
  NodeApi,
  NodeIdentity,
  NodeListener,
  NodeStatus,
  PeerEntry,
  PeerVerdict,
  GroupSigners,
  PoolEntry,
  SubmitResult,
} from '../../ports/node-api.ts';
import type { NodeHistory } from '../../ports/node-history.ts';
import type { ChainQueries, Page } from '../../ports/queries.ts';
import type { SlotReport } from '../../ports/slot-report.ts';
import type { Rules } from '../../protocol/rules.ts';
import { createChainLog } from '../../store/chain/chain-log.ts';
import type { StoredChain } from '../../store/chain/stored-chain.ts';
import type { ChainReader, ReaderSnapshot } from '../../store/chain/reader.ts';
import { createQueries } from '../../store/query/queries.ts';
import { readyOf } from '../node-api.ts';
import { yieldToEventLoop } from '../system.ts';
import { CLIENT_CHARS_MAX, type NodeUpdate } from './messages.ts';
import type { NodeRpcClient } from './node-rpc-client.ts';

export interface ReaderApiParts {
  readonly rules: Rules;
  readonly identity: NodeIdentity;
  readonly reader: ChainReader;
  readonly channel: NodeRpcClient;
}

export interface ReaderApi {
  readonly api: NodeApi;
  /** Handles an update from the node. */
  applyUpdate(update: NodeUpdate): void;
}

/** A snapshot of the store, with the queries and the log (`ChainLog`) of its chain. */
interface View {
  readonly snapshot: ReaderSnapshot;
  readonly chain: ChainQueries;
  readonly log: ChainLog;
}

export function createReaderApi({ rules, identity, reader, channel }: ReaderApiParts): ReaderApi {
  const listeners = new Set<NodeListener>();
  // The arrival times of confirmed transactions, by the id of the transaction. A transaction has an arrival time if it
  // was in the pool of the node before a block contained it. A reader needs no times of other transactions, because its
  // chain data contain only confirmed transactions.
  const receivedAtMs = new LruMap<string, number>(CONFIRMED_TIMES_MAX);
  const logOf = (store: StoredChain): ChainLog =>
    createChainLog(store, { finalizedHeight: (state) => rules.finalizedHeight(state) });
  const viewOf = (snapshot: ReaderSnapshot): View => ({
    snapshot,
    chain: heldQueries(createQueries(snapshot.store, rules.params, { pause: yieldToEventLoop }), snapshot),
    log: logOf(snapshot.store),
  });
  let view = viewOf(reader.current);

  const move = (isWanted?: (store: StoredChain) => boolean): void => {
    if (!reader.move(isWanted)) return;
    view = viewOf(reader.current);
    for (const listener of listeners) listener.chainChanged?.();
  };
  /** Returns the members of a `NodeStatus` that describe the chain, with the values of the given store. */
  const ofView = (store: StoredChain): Pick<NodeStatus, 'height' | 'finalizedHeight' | 'broadhash'> => ({
    height: store.tip()?.height ?? 0,
    finalizedHeight: finalizedHeightOf(store, rules),
    broadhash: chainBroadhash(store, rules.params),
  });
  const read = async <T>(...call: Parameters<NodeRpcClient['read']>): Promise<T> => (await channel.read(...call)) as T;
  const write = async <T>(...call: Parameters<NodeRpcClient['write']>): Promise<T> =>
    (await channel.write(...call)) as T;
  const api: NodeApi = {
    params: rules.params,
    identity,
    get chain() {
      return view.chain;
    },
    get log() {
      return view.log;
    },
    listen: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    transactionJson: (transaction) => rules.codec.transactionToJson(transaction),
    readyOf,
    receivedAtOf: (id) => receivedAtMs.get(id),
    stateDigest() {
      const { store } = view.snapshot;
      const tip = store.tip();
      return { height: tip?.height ?? 0, blockId: tip?.id ?? '', digest: store.stateDigest() };
    },
    // Any HTTP request can cause a call of `refresh`. A call moves to a new view (`ChainReader.move`) only if the chain
    // has changed, so requests cannot cause many moves.
    refresh: () => move((store) => store.tip()?.id !== view.chain.tip()?.id || logOf(store).last() !== view.log.last()),
    async status() {
      const status = await read<NodeStatus>('status');
      // It is possible that the node has committed a block about which this reader has no message yet.
      const height = (): number => view.chain.tip()?.height ?? 0;
      if (status.height > height()) move();
      // While the indexes of the store lag behind the chain, this reader cannot open a newer view, so it answers from
      // an older view of the chain. The height in the status must then be the height of this older view.
      return status.height > height() ? { ...status, ...ofView(view.snapshot.store) } : status;
    },
    poolEntries: (state) => read<readonly PoolEntry[]>('poolEntries', state),
    signersOf: (id, client) => read<GroupSigners | undefined>('signersOf', id, cut(client)),
    peers: () => read<readonly PeerEntry[]>('peers'),
    peerVerdicts: () => read<readonly PeerVerdict[]>('peerVerdicts'),
    forgers: (limit, offset) => read<Page<Forger>>('forgers', limit, offset),
    forgingDelegates: () => read<readonly ForgingDelegate[]>('forgingDelegates'),
    history: (span) => read<NodeHistory>('history', span),
    diagnostics: (limit) => read<readonly Diagnostic[]>('diagnostics', limit),
    slotReport: (firstSlot, count) => read<SlotReport>('slotReport', firstSlot, count),
    metricsText: () => read<string>('metricsText'),
    submitTransaction: (json, client) => write<SubmitResult>('submitTransaction', json, cut(client)),
    submitSignature: (json, client) => write<SubmitResult>('submitSignature', json, cut(client)),
    registerSecondSignature: (keyPair, secondPublicKey, client) =>
      write<SubmitResult>('registerSecondSignature', keyPair, secondPublicKey, cut(client)),
    setForging: (...args) => write<ForgingDelegate>('setForging', ...args),
  };
  return {
    api,
    applyUpdate({ chain, times, received }) {
      // The arrival times are stored before the move to the new view. Otherwise, the times of the new view's
      // transactions would be missing for a moment.
      for (const [id, timeMs] of times) receivedAtMs.set(id, timeMs);
      for (const transaction of received) {
        for (const listener of listeners) listener.transactionReceived?.(transaction);
      }
      if (chain) move();
    },
  };
}

/**
 * Wraps the queries that can take more than one iteration of the event loop. Each such query keeps its snapshot open as
 * `ReaderSnapshot.hold` describes.
 */
function heldQueries(queries: ChainQueries, snapshot: ReaderSnapshot): ChainQueries {
  return {
    ...queries,
    blocks: (query) => snapshot.hold(() => queries.blocks(query)),
    transactions: (query) => snapshot.hold(() => queries.transactions(query)),
    voters: (publicKey, query) => snapshot.hold(() => queries.voters(publicKey, query)),
    roundForgingStatistics: (...args) => snapshot.hold(() => queries.roundForgingStatistics(...args)),
  };
}

/** Cuts the text that a client wrote into `X-Forwarded-For`, because the node refuses a longer text. */
function cut(client: string | undefined): string | undefined {
  return client?.slice(0, CLIENT_CHARS_MAX);
}
