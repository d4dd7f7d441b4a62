/** Creates the interface through which the HTTP server uses the running node. */

import { addressOf } from '../crypto/keys.ts';
import type { Engine } from '../engine/engine.ts';
import { SlotOwners } from '../engine/slot-owners.ts';
import type { Payer } from '../engine/pool/verification-budget.ts';
import type { ForgingDelegates } from '../engine/forge/delegates.ts';
import type { Clock } from '../ports/clock.ts';
import type { LocalNodeApi, NodeIdentity, NodeListener, ReadersStatus } from '../ports/node-api.ts';
import type { SlotForger } from '../ports/slot-report.ts';
import type { ChainLog } from '../ports/chain-log.ts';
import type { ChainQueries } from '../ports/queries.ts';
import type { ChainStore } from '../ports/store.ts';
import { addressPrefixOf } from '../primitives/ip.ts';
import { ipScope } from '../primitives/ip-scopes.ts';
import type { Block, PublicKey, Transaction } from '../protocol/types.ts';
import { epochTimeS } from '../protocol/slots.ts';
import { createGroupSigners } from './group-signers.ts';
import { forgingOrder, nextForgers } from './next-forgers.ts';
import { secondSignatureJson } from './second-signature.ts';
import { submittedInTime, type StoppableTime } from './submitted-in-time.ts';
import { ChartHistory } from './chart-history.ts';
import { yieldToEventLoop } from './system.ts';

/**
 * The peers that the configuration asks for. `none`: P2P is switched off. `named`: the configuration names at least one
 * fixed or seed peer other than this node. `any`: the configuration names no such peer, but other nodes can connect.
 */
export type WantedPeers = 'none' | 'named' | 'any';

export interface NodeApiDependencies {
  readonly engine: Engine;
  readonly store: ChainStore;
  readonly queries: ChainQueries;
  readonly log: ChainLog;
  readonly delegates: ForgingDelegates;
  readonly identity: NodeIdentity;
  readonly clock: Clock;
  /** Present if the chain clock can stand still for a short time, as in a devnet. */
  readonly stoppableTime?: StoppableTime | undefined;
  /** See `Verifier.spentMs`. */
  readonly spentMs: () => number;
  /** The peers that the configuration asks for; default: `any`. */
  readonly wantedPeers?: WantedPeers;
  readonly metrics?: { text(): Promise<string> } | undefined;
  /** Returns the state of the readers (processes that answer HTTP for the node); undefined if there are no readers. */
  readonly readers?: () => ReadersStatus | undefined;
}

export function createNodeApi(dependencies: NodeApiDependencies): LocalNodeApi {
  const { engine, store, queries, log, delegates, identity, clock, wantedPeers = 'any', metrics } = dependencies;
  const { rules } = engine.chain;

  const groupSigners = createGroupSigners({
    rules,
    state: () => engine.chain.state,
    verify: engine.chain.verify,
    spentMs: dependencies.spentMs,
    pause: yieldToEventLoop,
  });

  const listeners = new Set<NodeListener>();
  const chainChanged = (applied: readonly Block[]) => {
    for (const listener of listeners) listener.chainChanged?.(applied);
  };
  engine.chain.listen({ reverted: () => chainChanged([]), applied: chainChanged });
  const history = new ChartHistory({
    clock,
    params: rules.params,
    now: () => {
      const { ready, verified, pending } = engine.pool.sizes();
      const peers = engine.peers.knownPeers().filter(({ state }) => state === 'connected').length;
      return { pool: ready + verified + pending, peers };
    },
  });
  engine.chain.listen({
    reverted: () => history.reverted(),
    applied: (blocks, origin) => history.applied(blocks, origin),
  });
  engine.listenToTransactions((transaction) => {
    for (const listener of listeners) listener.transactionReceived?.(transaction);
  });

  return {
    params: rules.params,
    identity,
    chain: queries,
    log,
    listen: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    status() {
      const currentTimeMs = clock.nowMs();
      const sync = engine.synchronizer.progress;
      const clockOffsetMs = engine.clockOffset.estimateMs();
      const clocks = engine.clockOffset.verdict();
      const readers = dependencies.readers?.();
      return {
        height: engine.chain.tip.header.height,
        finalizedHeight: engine.chain.finalizedHeight,
        syncing: engine.synchronizer.syncing,
        currentTimeMs,
        secondsSinceEpoch: epochTimeS(currentTimeMs, rules.params),
        broadhash: engine.networkView.broadhash(),
        consensusPercent: engine.networkView.consensusPercent(),
        networkHeight: engine.networkView.networkHeight(),
        pool: engine.pool.sizes(),
        reorgs: { count: engine.reorgs.count, latest: [...engine.reorgs.latest] },
        ...(clockOffsetMs === undefined ? {} : { clockOffsetMs }),
        ...(clocks?.kind === 'unclear' ? { clocksDiffer: { peer: clocks.peerId, offsetMs: clocks.offsetMs } } : {}),
        ...(sync === undefined ? {} : { sync }),
        ...(isAlone() ? { isAlone: true } : {}),
        ...(readers === undefined ? {} : { readers }),
      };
    },
    transactionJson: (transaction) => rules.codec.transactionToJson(transaction),
    poolEntries: (state) => engine.pool.entries(state),
    signersOf: (id, client) => {
      const transaction = engine.pool.get(id);
      return transaction && groupSigners(transaction, payerOf(client));
    },
    readyOf,
    receivedAtOf: (id) => engine.pool.receivedAtMs(id),
    confirmedTimes: () => engine.pool.confirmedTimes(),
    peers: () => engine.networkView.withBroadhashes(engine.peers.knownPeers()),
    peerVerdicts: () => engine.peers.verdicts(),
    history: (span) => history.of(span),
    forgers: (limit, offset) => nextForgers({ store, rules, clock }, limit, offset),
    submitTransaction: (json, client) =>
      submittedInTime(() => engine.accepted.submit(json, payerOf(client)), dependencies.stoppableTime),
    submitSignature: (json, client) => engine.accepted.submitSignature(json, payerOf(client)),
    registerSecondSignature: (keyPair, secondPublicKey, client) => {
      const timestamp = epochTimeS(clock.nowMs(), rules.params);
      const json = secondSignatureJson(rules, keyPair, secondPublicKey, timestamp);
      return engine.accepted.submit(json, payerOf(client));
    },
    forgingDelegates: () => delegates.list(),
    setForging: (publicKey, password, forging) => delegates.set(publicKey, password, forging),
    metricsText: () => metrics?.text(),
    diagnostics: (limit) => engine.diagnostics.latest(limit),
    slotReport(firstSlot, count) {
      const report = engine.slotHistory.report(firstSlot, count);
      const owners = new SlotOwners(rules, store);
      return { ...report, slots: report.slots.map((each) => ({ ...each, ...forgerOf(each.slot, owners) })) };
    },
    stateDigest() {
      const { header } = engine.chain.tip;
      return { height: header.height, blockId: header.id, digest: store.stateDigest() };
    },
  };

  function payerOf(client = ''): Payer {
    const group = ipScope(client) === 'loopback' ? 'localClients' : 'clients';
    return engine.verificationBudget.payer(`http ${addressPrefixOf(client)}`, group);
  }

  /**
   * True when the node has no peers and needs no peers. If `wantedPeers` is `none`, the node needs no peers. If
   * `wantedPeers` is `named`, the node needs peers. If `wantedPeers` is `any`, the node needs no peers while the
   * delegates that forge on it own all slots of the round to which the next block belongs.
   */
  function isAlone(): boolean {
    if (wantedPeers === 'none') return true;
    if (wantedPeers === 'named' || engine.peers.knownPeers().some(({ state }) => state === 'connected')) return false;
    const forging = new Set(delegates.list().flatMap((delegate) => (delegate.forging ? [delegate.publicKey] : [])));
    return forgingOrder({ store, rules }).every((publicKey) => forging.has(publicKey));
  }

  function forgerOf(slot: number, owners: SlotOwners): { readonly forger?: SlotForger } {
    const owner = owners.of(slot);
    if (owner === undefined) return {};
    const { delegate, height, isCertain } = owner;
    return { forger: { publicKey: delegate, username: usernameOf(delegate), height, isCertain } };
  }

  function usernameOf(publicKey: PublicKey): string {
    return store.account(addressOf(publicKey))?.username ?? '';
  }
}

/** Implements `NodeApi.readyOf`. */
export function readyOf({ payload, signatures }: Transaction): boolean | undefined {
  return payload.kind === 'multisignature' || signatures.length > 0 ? true : undefined;
}
