/**
 * Builds the parts of the engine (chain, pool, peers, gossip, synchronisation and forging), and connects them. The
 * engine uses sockets, disk and clock only through the interfaces in `src/ports`, so a simulation can run many engines
 * in one process.
 */

import { epochTimeS, momentMs, slotAt } from '../protocol/slots.ts';
import type { PublicKey, Transaction, TransactionId } from '../protocol/types.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { PeerId } from '../ports/transport.ts';
import { BlockImporter } from './block-importer.ts';
import { Chain } from './chain.ts';
import { Closers } from './closers.ts';
import { Diagnostics } from './diagnostics.ts';
import type { EngineDependencies, EngineOptions, ListeningPorts } from './engine-options.ts';
import { OwnSlotOutcomes } from './forge/own-slot-outcomes.ts';
import { ForgingReadiness } from './forge/readiness.ts';
import { ForgingScheduler } from './forge/scheduler.ts';
import { createSigningJournal } from './forge/signing-journal.ts';
import { UnappliedBlocks } from './forge/unapplied-blocks.ts';
import { DEFAULT_PROFILE, type GenerationProfile } from './generation-profile.ts';
import { openGenesis } from './genesis.ts';
import { Gossip } from './gossip.ts';
import { NetworkView } from './network-view.ts';
import { sourceOf } from './peers/addresses.ts';
import { ClockOffset } from './peers/clock-offset.ts';
import { type PeerHandlers, PeerManager } from './peers/manager.ts';
import { AcceptedTransactions } from './pool/accepted-transactions.ts';
import { MemoryTransactionJournal } from './pool/journal-entries.ts';
import { TransactionPool } from './pool/pool.ts';
import { VerificationBudget } from './pool/verification-budget.ts';
import { createRequestAnswerer } from './answer-requests.ts';
import { Reorgs } from './reorgs.ts';
import { SlotHistory } from './slot-history.ts';
import { Synchronizer } from './sync/synchronizer.ts';
import { TipAnnouncer } from './tip-announcer.ts';

/**
 * Height of the block after the genesis block. The id of this block distinguishes chains with the same genesis
 * block.
 */
const FIRST_FORGED_HEIGHT = 2;

/** If the tip is older than this number of slots, the node does not count as caught up with the network. */
const CAUGHT_UP_SLOTS_MAX = 10;
/**
 * Number of peers that the node asks, after its start, for the transactions in the pools of these peers. The node asks
 * more than one peer, because the pool of a single peer can contain few transactions.
 */
const POOL_FETCHES = 3;

export class Engine {
  readonly chain: Chain;
  readonly importer: BlockImporter;
  readonly pool: TransactionPool;
  /** Accepts the transactions of clients. */
  readonly accepted: AcceptedTransactions;
  readonly peers: PeerManager;
  readonly synchronizer: Synchronizer;
  readonly forging: ForgingScheduler;
  readonly ownSlotOutcomes: OwnSlotOutcomes;
  readonly diagnostics: Diagnostics;
  readonly slotHistory: SlotHistory;
  readonly clockOffset: ClockOffset;
  readonly networkView: NetworkView;
  readonly reorgs: Reorgs;
  readonly verificationBudget: VerificationBudget;
  readonly #gossip: Gossip;
  readonly #readiness: ForgingReadiness;
  readonly #tipAnnouncer: TipAnnouncer;
  readonly #transactionListeners: ((transaction: Transaction) => void)[] = [];
  readonly #completionListeners: ((transaction: Transaction) => void)[] = [];
  #poolTimer: Timer | undefined;
  readonly #options: EngineOptions;
  readonly #profile: GenerationProfile;
  readonly #dependencies: EngineDependencies;
  readonly #observer: Observer;
  readonly #chainClock: Clock;

  readonly #penalise = (peerId: PeerId, code: string, detail: string): void => {
    this.peers.penalise(peerId, code, detail);
  };

  constructor(dependencies: EngineDependencies, options: EngineOptions) {
    this.#options = options;
    this.#profile = { ...DEFAULT_PROFILE, ...options.profile };
    this.#dependencies = dependencies;
    const { store, rules, genesis, verifier, transport, clock, random, workShare } = dependencies;
    this.#chainClock = dependencies.chainClock ?? clock;
    const chainClock = this.#chainClock;
    this.diagnostics = dependencies.diagnostics ?? new Diagnostics(clock);
    this.slotHistory = new SlotHistory(clock);
    this.#observer = this.slotHistory.listenIn(this.diagnostics.listenIn(dependencies.observer));
    openGenesis(store, rules, genesis);
    const observer = this.#observer.module('chain');
    const { deferral, onProgress } = dependencies;
    const diskClock = clock;
    this.chain = new Chain({ store, rules, verifier, clock: chainClock, diskClock, observer, deferral, onProgress });
    const unapplied = new UnappliedBlocks({
      chain: this.chain,
      isOwn: (publicKey) => this.forging.isOwn(publicKey),
      onFound: (block) => this.forging.noteUnapplied(block),
    });
    this.importer = new BlockImporter({ chain: this.chain, clock: chainClock, observer, unapplied });
    const peersObserver = this.#observer.module('peers');
    this.clockOffset = new ClockOffset(chainClock, peersObserver);
    this.reorgs = new Reorgs(clock);
    this.peers = new PeerManager(
      { transport, store, clock, random, observer: peersObserver, workShare },
      options.peers,
    );
    this.verificationBudget = new VerificationBudget({ clock, spentMs: () => verifier.spentMs });
    this.networkView = new NetworkView({
      store,
      params: rules.params,
      transport,
      isNamed: (peerId) => this.peers.isNamed(peerId),
      fixedPeers: () => this.peers.fixedPeers(),
      arePeersExpected: () => this.#expectsPeers || this.peers.knownPeers().length > 0,
      areDialsExpected: () => this.#expectsDials(),
    });
    this.pool = this.#createPool();
    this.accepted = this.#createAccepted();
    this.synchronizer = this.#createSynchronizer();
    this.#gossip = this.#createGossip();
    this.#tipAnnouncer = new TipAnnouncer(
      {
        chain: this.chain,
        networkView: this.networkView,
        transport,
        isSyncing: () => this.synchronizer.syncing,
        clock,
      },
      options,
    );
    this.#readiness = new ForgingReadiness({
      chain: this.chain,
      synchronizer: this.synchronizer,
      networkView: this.networkView,
      clockOffset: this.clockOffset,
      transport,
      clock,
      consensusMin: this.#profile.forgingConsensusMin,
      expectsPeers: this.#expectsPeers,
    });
    this.forging = this.#createScheduler();
    this.ownSlotOutcomes = this.#createOwnSlots();
    this.#followChain(unapplied);
  }

  #createPool(): TransactionPool {
    const { rules, store } = this.#dependencies;
    return new TransactionPool({
      rules,
      state: () => store,
      tip: () => this.chain.tip.header,
      clock: this.#chainClock,
      verify: this.chain.verify,
      limits: { perQueueMax: this.#options.transactionsPerQueueMax },
      observer: this.#observer.module('pool'),
      events: {
        verified: (transaction) => {
          const delayMs = this.#chainClock.nowMs() - momentMs(transaction.timestamp, rules.params);
          this.#observer.observe('transaction_delay_seconds', Math.max(0, delayMs) / 1000);
          this.#gossip.announceTransaction(transaction.id);
          for (const listener of this.#transactionListeners) listener(transaction);
        },
        signatureAdded: (signature) => {
          this.accepted.signatureAdded(signature);
          this.#gossip.announceSignature(signature);
          this.#notifyCompleted(signature.transactionId);
        },
        dropped: (transaction, reason) => this.accepted.dropped(transaction, reason),
      },
    });
  }

  #createAccepted(): AcceptedTransactions {
    const { transactionJournal, store, rules, clock } = this.#dependencies;
    return new AcceptedTransactions({
      journal: transactionJournal ?? new MemoryTransactionJournal(),
      pool: this.pool,
      store,
      rules,
      clock,
      chainClock: this.#chainClock,
      observer: this.#observer.module('pool'),
      finalizedHeight: () => this.chain.finalizedHeight,
      isCaughtUp: () => this.#isCaughtUp(),
      announceAgain: (id) => this.#gossip.announceAgain(id),
    });
  }

  #createSynchronizer(): Synchronizer {
    const { transport, clock, random } = this.#dependencies;
    return new Synchronizer({
      chain: this.chain,
      transport,
      clock,
      chainClock: this.#chainClock,
      random,
      observer: this.#observer.module('sync'),
      profile: this.#profile,
      broadhash: () => this.networkView.broadhash(),
      netgroupOf: (peerId) => this.peers.netgroupOf(peerId),
      onSyncEnd: () => {
        this.#tipAnnouncer.announce();
        this.forging.check();
      },
      penalise: this.#penalise,
    });
  }

  #createGossip(): Gossip {
    const { transport, clock, rules } = this.#dependencies;
    return new Gossip({
      chain: this.chain,
      importer: this.importer,
      pool: this.pool,
      transport,
      clock,
      observer: this.#observer.module('gossip'),
      generation: rules.params.generation,
      gossipPeersMax: this.#options.peers.gossipPeersMax,
      transactionGossip: this.#profile.transactionGossip,
      gossipTargets: () => this.peers.gossipTargets(),
      penalise: this.#penalise,
      payerOf: (peerId) => {
        const group = this.peers.isNamed(peerId) ? 'namedPeers' : 'peers';
        return this.verificationBudget.payer(sourceOf(peerId), group);
      },
      cutWasteful: (peerId) => {
        if (this.verificationBudget.isWasteful(sourceOf(peerId))) this.peers.cutWasteful(peerId);
      },
      noteBlockTime: (peerId, { id: blockId, timestamp }, receivedMs, kind) => {
        // The chain clock (`#chainClock`) is ahead of the process clock (`clock`) by this time.
        const aheadMs = this.#chainClock.nowMs() - clock.nowMs();
        const slotStartMs = rules.params.epochMs + timestamp * 1000;
        this.clockOffset.addSample(peerId, { blockId, slotStartMs, receivedMs: receivedMs + aheadMs, kind });
      },
      synchronizer: this.synchronizer,
    });
  }

  #createScheduler(): ForgingScheduler {
    const { clock, times, journal, watermarks, rules } = this.#dependencies;
    const { riskDoubleForging, waitThresholdMs } = this.#options;
    const observer = this.#observer.module('forge');
    const nowS = epochTimeS(this.#chainClock.nowMs(), rules.params);
    const firstBlockId = (): string | undefined => this.chain.state.header(FIRST_FORGED_HEIGHT)?.id;
    return new ForgingScheduler({
      chain: this.chain,
      pool: this.pool,
      journal: createSigningJournal(riskDoubleForging, { journal, watermarks, observer, nowS, firstBlockId }),
      clock: this.#chainClock,
      processClock: clock,
      times,
      isForgingSuspended: () => this.#isForgingSuspended(),
      onClockSet: (byMs) => this.clockOffset.wasSet(byMs),
      onSlotChecked: (slot) => this.slotHistory.slotChecked(slot),
      observer,
      waitThresholdMs,
      riskDoubleForging,
      peerTips: (sinceMs) => this.networkView.peerTips(sinceMs),
      notReady: () => this.#readiness.check(),
      waitUntilMs: () => this.synchronizer.forgingWaitUntilMs,
    });
  }

  #createOwnSlots(): OwnSlotOutcomes {
    const { rules, store } = this.#dependencies;
    const ownDelegates = new Set<PublicKey>(this.#options.ownDelegates);
    return new OwnSlotOutcomes({
      rules,
      state: () => store,
      isOwn: (publicKey) => ownDelegates.has(publicKey) || this.forging.isEnabled(publicKey),
      isForgingSuspended: () => this.#isForgingSuspended(),
      observer: this.#observer.module('forge'),
    });
  }

  /**
   * Registers the engine's listeners for changes of the chain. Gossip, sync and forging register their own listeners.
   */
  #followChain(unapplied: UnappliedBlocks): void {
    this.chain.listen(this.ownSlotOutcomes);
    this.chain.listen({ reverted: (blocks) => unapplied.reverted(blocks) });
    this.chain.listen({
      reverted: (blocks) => {
        this.reorgs.record(blocks);
        this.pool.blocksReverted(blocks);
        this.accepted.blocksReverted(blocks);
        // It is possible that nodes on the new branch do not have the transactions of the reverted blocks.
        for (const { id } of blocks.flatMap(({ transactions }) => transactions)) this.#gossip.announceTransaction(id);
      },
      applied: (blocks) => {
        this.pool.blocksApplied(blocks);
        this.accepted.blocksApplied(blocks);
        this.#tipAnnouncer.announce();
      },
    });
  }

  /**
   * Calls the listener when a peer's transaction first passes verification, and when `TransactionPool.announce`
   * announces a client's transaction. A transaction of a multisignature account also counts as verified if only
   * members' signatures are missing.
   */
  listenToTransactions(listener: (transaction: Transaction) => void): void {
    this.#transactionListeners.push(listener);
  }

  /**
   * Calls the listener when a member's signature completes a multisignature transaction: with this signature, the
   * transaction has enough members' signatures. If further members' signatures for the same transaction arrive, each of
   * them causes another call.
   */
  listenToCompleted(listener: (transaction: Transaction) => void): void {
    this.#completionListeners.push(listener);
  }

  #notifyCompleted(id: TransactionId): void {
    const transaction = this.pool.get(id);
    if (transaction === undefined || this.pool.lacksSignatures(id)) return;
    for (const listener of this.#completionListeners) listener(transaction);
  }

  /**
   * Connects to the network and follows the network's chain. From then on, each delegate whose forging is enabled on
   * this node forges in its slots.
   */
  async start(ports: ListeningPorts): Promise<void> {
    this.#readiness.started();
    let poolFetches = 0;
    this.#tipAnnouncer.start(ports);
    const serve = this.#server();
    await this.peers.start({
      answer: async (peerId, request) => {
        const answer = await serve(peerId, request);
        if (request.kind === 'transactions') this.#gossip.gave(peerId, answer);
        return answer;
      },
      message: (peerId, message) => {
        this.#gossip.receive(peerId, message);
      },
      connected: ({ peerId, info }) => {
        this.#gossip.connected();
        const { height, maxHeightPrevoted = 0 } = info;
        const isAhead =
          height !== undefined && this.chain.rules.prefersTip({ height, maxHeightPrevoted }, this.chain.tip.header);
        if (isAhead) this.synchronizer.trigger(peerId);
        if (poolFetches >= POOL_FETCHES) return;
        poolFetches += 1;
        this.#gossip.fetchPool(peerId).catch(() => {
          poolFetches -= 1;
        });
      },
      disconnected: (peerId) => {
        this.#gossip.disconnected(peerId);
        this.clockOffset.disconnected(peerId);
      },
    });
    this.#armPool();
    this.#gossip.start();
    this.accepted.start();
    this.synchronizer.start();
    this.forging.start();
  }

  /**
   * Stops forging first, then the other parts of the engine. The promise resolves when no work of the engine is running
   * any more.
   *
   * @throws AggregateError with the errors of the failed steps, after all steps have run
   */
  async stop(): Promise<void> {
    const closers = new Closers();
    // `close` runs the steps in reverse order, so forging stops first.
    closers.add(() => this.importer.idle());
    closers.add(() => this.chain.stop());
    closers.add(() => this.synchronizer.stop());
    closers.add(() => this.peers.stop());
    closers.add(() => this.#poolTimer?.cancel());
    closers.add(() => this.#tipAnnouncer.stop());
    closers.add(() => this.#gossip.stop());
    closers.add(() => this.accepted.stop());
    closers.add(() => this.forging.stop());
    await closers.close();
  }

  /**
   * Starts the timer that runs the steps of the pool. A step fills the pool's queue `ready`, and verifies the
   * transactions that the pool did not verify on arrival.
   */
  #armPool(): void {
    this.#poolTimer = this.#dependencies.clock.after(this.#options.broadcastIntervalMs, () => {
      this.pool.step();
      this.#armPool();
    });
  }

  #isCaughtUp(): boolean {
    const tipSlot = slotAt(this.chain.tip.header.timestamp, this.chain.rules.params);
    return !this.synchronizer.syncing && this.chain.currentSlot() - tipSlot <= CAUGHT_UP_SLOTS_MAX;
  }

  #isForgingSuspended(): boolean {
    return this.#dependencies.isForgingSuspended?.() ?? false;
  }

  get #expectsPeers(): boolean {
    const { fixedPeers, seedPeers } = this.#options.peers;
    return this.#options.expectsPeers ?? fixedPeers.length + seedPeers.length > 0;
  }

  /**
   * Returns the value of `PeerTips.areDialsExpected` (`forge/tip-check.ts`): whether this node dials peers (opens
   * connections to peers). If the option `dialsPeers` is false, the node dials no peers. Otherwise, the result is true,
   * among other cases, if the node knows a disconnected peer, because the node dials each known peer until the peer is
   * connected.
   */
  #expectsDials(): boolean {
    if (this.#options.dialsPeers === false) return false;
    const isDialled = this.#dependencies.transport.connections().some((each) => this.networkView.isChosen(each));
    return this.#expectsPeers || isDialled || this.peers.knownPeers().some(({ state }) => state === 'disconnected');
  }

  #server(): PeerHandlers['answer'] {
    return createRequestAnswerer({
      store: this.#dependencies.store,
      rules: this.chain.rules,
      pool: this.pool,
      limits: {
        blocksMax: this.#profile.blocksPerAnswerMax,
        blocksBytesMax: this.#profile.blocksAnswerBytesMax,
        sharedMax: this.#profile.sharedPerAnswerMax,
      },
    });
  }
}
