/** Answers queries about a stopped node from its files. */

import type { Network } from '../config/network.ts';
import { buildIdentity } from '../config/build.ts';
import { chainBroadhash } from '../engine/chain-broadhash.ts';
import { finalizedHeightOf } from '../engine/commit.ts';
import type { Clock } from '../ports/clock.ts';
import type { NodeApi, PoolEntry, PoolState } from '../ports/node-api.ts';
import type { ChainReader } from '../ports/store.ts';
import type { JournaledTransaction } from '../ports/transaction-journal.ts';
import { ProtocolError } from '../primitives/errors.ts';
import type { Rules } from '../protocol/rules.ts';
import { epochTimeS } from '../protocol/slots.ts';
import { createChainLog } from '../store/chain/chain-log.ts';
import { createQueries } from '../store/query/queries.ts';
import { openIndexedSnapshot, type ChainLocation } from './chain-tool.ts';
import { nextForgers } from './next-forgers.ts';
import { yieldToEventLoop, systemClock } from './system.ts';
import { readTransactionJournal, transactionJournalOf } from './transaction-journal-file.ts';

export interface StoppedNode {
  readonly api: NodeApi;
  close(): Promise<void>;
}

/**
 * Opens a read-only view of a node's data folder. The view shows the folder as it is at the time of the call. Queries
 * of the chain get the same answers as from a running node. The pool contains the transactions of the transaction
 * journal that are readable and not confirmed, all in the state `received`. A stopped node has no peers, no diagnostics
 * and no forging delegates.
 *
 * @throws ProtocolError in the same cases as `openIndexedSnapshot`
 */
export async function openStoppedNode(
  location: ChainLocation & { readonly network: Pick<Network, 'appVersion' | 'protocolVersion'> },
  clock: Pick<Clock, 'nowMs'> = systemClock,
): Promise<StoppedNode> {
  const { store, rules } = await openIndexedSnapshot(location);
  const { params } = rules;
  const log = createChainLog(store, { finalizedHeight: (state) => rules.finalizedHeight(state) });
  const { name, appVersion, protocolVersion } = location.network;
  const waiting = poolEntriesOf(transactionJournalOf(location.dataDirectory), store, rules);
  const api: NodeApi = {
    params,
    identity: { networkName: name, version: appVersion, protocolVersion, ...buildIdentity(), nonce: NO_NONCE },
    chain: createQueries(store, params, { pause: yieldToEventLoop }),
    log,
    listen: () => () => undefined,
    status: () => ({
      height: store.tip()?.height ?? 0,
      finalizedHeight: finalizedHeightOf(store, rules),
      syncing: false,
      currentTimeMs: clock.nowMs(),
      secondsSinceEpoch: epochTimeS(clock.nowMs(), params),
      broadhash: chainBroadhash(store, params),
      consensusPercent: 0,
      networkHeight: 0,
      pool: { received: waiting.length, validated: 0, verified: 0, pending: 0, ready: 0 },
      reorgs: { count: 0, latest: [] },
    }),
    transactionJson: (transaction) => rules.codec.transactionToJson(transaction),
    poolEntries: (state: PoolState) => (state === 'received' ? waiting : []),
    readyOf: ({ payload, signatures }) =>
      payload.kind === 'multisignature' || signatures.length > 0 ? true : undefined,
    receivedAtOf: () => undefined,
    peers: () => [],
    peerVerdicts: () => [],
    forgers: (limit, offset) => nextForgers({ store, rules, clock }, limit, offset),
    submitTransaction: () => Promise.reject(stopped()),
    submitSignature: () => Promise.reject(stopped()),
    registerSecondSignature: () => Promise.reject(stopped()),
    forgingDelegates: () => [],
    setForging: () => Promise.reject(stopped()),
    metricsText: () => undefined,
    history: () => ({ intervalMs: 0, points: [] }),
    diagnostics: () => [],
    signersOf: () => undefined,
    slotReport: () => ({ sinceMs: clock.nowMs(), slots: [], switches: [], branches: [], looks: [], oldOrders: [] }),
    stateDigest() {
      const tip = store.tip();
      return { height: tip?.height ?? 0, blockId: tip?.id ?? '', digest: store.stateDigest() };
    },
  };
  return { api, close: () => store.close() };
}

/**
 * Nonce of the stopped node. A running node makes a new nonce at each start, so a stopped node has no nonce. This
 * constant stands in its place.
 */
const NO_NONCE = '0'.repeat(16);

/**
 * Transactions in the journal that are readable and not confirmed. At its start, the node tries to restore these
 * transactions.
 */
function poolEntriesOf(file: string, store: ChainReader, { codec }: Rules): readonly PoolEntry[] {
  return readTransactionJournal(file).flatMap((entry) => {
    const transaction = transactionOf(entry, codec);
    if (transaction === undefined || store.transactionPlace(transaction.id) !== undefined) return [];
    return [{ transaction, receivedAtMs: entry.receivedAtMs }];
  });
}

function transactionOf({ json, signatures }: JournaledTransaction, codec: Rules['codec']) {
  try {
    const transaction = codec.transactionFromJson(json);
    const added = signatures.map(({ signature }) => signature);
    return added.length === 0
      ? transaction
      : { ...transaction, signatures: [...new Set([...transaction.signatures, ...added])] };
  } catch {
    return undefined;
  }
}

function stopped(): ProtocolError {
  return new ProtocolError(
    'NODE_STOPPED',
    {},
    'the node is stopped, so it accepts no transactions and no other changes',
  );
}
