/**
 * The engine put together: chain, pool, peers, gossip, synchronisation and forging over the ports. It has no socket, no disk
 * and no clock of its own, so a node runs it once and a simulation many times.
 */

import { Closers } from './closers.ts';
import type { Rules } from '../protocol/rules.ts';
import { epochTimeS, momentMs, slotAt } from '../protocol/slots.ts';
import type { Block, Transaction, TransactionId, PublicKey } from '../protocol/types.ts';
import type { WorkShare } from '../primitives/work-share.ts';
import type { Clock, ProcessTimes, Random, Timer } from '../ports/clock.ts';
import type { FolderJournal, SigningJournal, SigningWatermarks } from '../ports/journal.ts';
import type { NodeIdentity } from '../ports/node-api.ts';
import type { Observer } from '../ports/observer.ts';
import type { ChainStore } from '../ports/store.ts';
import type { NodeInfo, Transport } from '../ports/transport.ts';
import type { TransactionJournal } from '../ports/transaction-journal.ts';
import type { Verifier } from '../ports/verifier.ts';
import { BranchChanges } from './branch-changes.ts';
import { Chain } from './chain.ts';
import type { Obstacle } from './disk-watch.ts';
import { openGenesis } from './genesis.ts';
import { Decisions } from './decisions.ts';
import { DEFAULT_CUSTOMS, type Customs } from './customs.ts';
import { OwnSlots } from './forge/own-slots.ts';
import { ForgingScheduler } from './forge/scheduler.ts';
import { journalOfFolderAlone } from './forge/folder-alone-journal.ts';
import { WatermarkedJournal } from './forge/watermarked-journal.ts';
import { Gossip } from './gossip.ts';
import { sourceOf } from './peers/addresses.ts';
import { ClockOffset } from './peers/clock-offset.ts';
import { type PeerHandlers, PeerManager, type PeerManagerOptions } from './peers/manager.ts';
import { AcceptedTransactions } from './pool/accepted.ts';
import { MemoryTransactionJournal } from './pool/journal-entries.ts';
import { TransactionPool } from './pool/pool.ts';
import { VerificationBudget } from './pool/verification-budget.ts';
import { createServer } from './serve.ts';
import { SlotRecords } from './slot-records.ts';
import { Standing } from './standing.ts';
import { Synchronizer } from './sync/synchronizer.ts';

/** After a start, time that the first peer is given before a node forges by itself. */
const FIRST_PEER_WAIT_MS = 5000;

const FIRST_FORGED_HEIGHT = 2;

/** A tip that is at most so many slots old counts as the present one for transactions. */
const PRESENT_SLOTS = 10;
/** Peers asked for their pool after a start: several, as one may have little or nothing. */
const POOL_FETCHES = 3;

export interface EngineOptions {
  readonly identity: NodeIdentity;
  /** Platform and kernel release, as peers are told. */
  readonly os: string;
  /** After a missed slot, time that its late block is given; below the block time. */
  readonly waitThresholdMs: number;
  readonly broadcastIntervalMs: number;
  readonly transactionsPerQueueMax: number;
  /** Whether delegates sign by the journal alone, whatever they may have signed elsewhere. */
  readonly riskDoubleForging: boolean;
  /** Whether peers may tell others of this node: they may unless this is false. */
  readonly advertiseAddress?: boolean;
  readonly peers: PeerManagerOptions;
  /** Public keys of delegates whose slots are told of, whether they are switched on here or not. */
  readonly ownDelegates?: Iterable<PublicKey>;
  /** Whether the operator named peers, if only by a host name: true when an address is given unless told. */
  readonly expectsPeers?: boolean;
  /** What differs from `DEFAULT_CUSTOMS`. */
  readonly customs?: Partial<Customs>;
}

/** Where the node can be reached, as peers are told. */
export interface ListeningPorts {
  readonly wsPort: number;
  /** 0 when HTTP is off. */
  readonly httpPort: number;
}

export interface EngineDependencies {
  /** May be empty: the genesis block is applied then. */
  readonly store: ChainStore;
  readonly rules: Rules;
  readonly genesis: Block;
  readonly verifier: Verifier;
  readonly transport: Transport;
  /** What waits and rates are measured by. */
  readonly clock: Clock;
  /** What a clock that was set and a machine that slept show by; nothing is told of them unless given. */
  readonly times?: ProcessTimes;
  /** What slots and timestamps are compared with; `clock` unless given. */
  readonly chainClock?: Clock | undefined;
  /** Whether delegates leave their slots empty until `forgeNow` is called; they fill them unless given. */
  readonly isForgingHeld?: (() => boolean) | undefined;
  /** Time of the main thread that answers to peers may take, shared with other parts of the node; one of its own unless told. */
  readonly workShare?: WorkShare;
  readonly random: Random;
  readonly journal: FolderJournal;
  /** Where they are kept, if anywhere. Asked only where delegates do not sign by the journal alone. */
  readonly watermarks?: SigningWatermarks | undefined;
  /** Where transactions are kept that were accepted; in memory unless given. */
  readonly transactionJournal?: TransactionJournal;
  readonly observer: Observer;
}

export class Engine {
  readonly chain: Chain;
  readonly pool: TransactionPool;
  /** Takes what clients hand in. */
  readonly accepted: AcceptedTransactions;
  readonly peers: PeerManager;
  readonly synchronizer: Synchronizer;
  readonly forging: ForgingScheduler;
  readonly ownSlots: OwnSlots;
  readonly decisions: Decisions;
  readonly slotRecords: SlotRecords;
  readonly clockOffset: ClockOffset;
  readonly standing: Standing;
  readonly branchChanges: BranchChanges;
  readonly verificationBudget: VerificationBudget;
  readonly #gossip: Gossip;
  readonly #transactionListeners: ((transaction: Transaction) => void)[] = [];
  readonly #completionListeners: ((transaction: Transaction) => void)[] = [];
  #poolTimer: Timer | undefined;
  /** Unix time in milliseconds. */
  #startedMs = 0;
  #ports: ListeningPorts = { wsPort: 0, httpPort: 0 };
  readonly #options: EngineOptions;
  readonly #customs: Customs;
  readonly #dependencies: EngineDependencies;
  readonly #chainClock: Clock;

  constructor(dependencies: EngineDependencies, options: EngineOptions) {
    this.#options = options;
    this.#customs = { ...DEFAULT_CUSTOMS, ...options.customs };
    this.#dependencies = dependencies;
    const { store, rules, genesis, verifier, transport, clock, random } = dependencies;
    const chainClock = dependencies.chainClock ?? clock;
    this.#chainClock = chainClock;
    this.decisions = new Decisions(clock);
    this.slotRecords = new SlotRecords(clock);
    const observer = this.slotRecords.listenIn(this.decisions.listenIn(dependencies.observer));
    openGenesis(store, rules, genesis);
    const chainObserver = observer.room('chain');
    this.chain = new Chain({ store, rules, verifier, clock: chainClock, diskClock: clock, observer: chainObserver });
    this.clockOffset = new ClockOffset(chainClock, observer.room('peers'));
    this.branchChanges = new BranchChanges(clock);
    this.peers = new PeerManager(
      { transport, store, clock, random, observer: observer.room('peers'), workShare: dependencies.workShare },
      options.peers,
    );
    this.verificationBudget = new VerificationBudget({ clock, spentMs: () => verifier.spentMs });
    this.standing = new Standing({
      store,
      params: rules.params,
      transport,
      isNamed: (peerId) => this.peers.isNamed(peerId),
      fixedPeers: () => this.peers.fixedPeers(),
      arePeersExpected: () => this.#expectsPeers || this.peers.knownPeers().length > 0,
    });
    this.pool = new TransactionPool({
      rules,
      state: () => store,
      tip: () => this.chain.tip.header,
      clock: chainClock,
      verify: this.chain.verify,
      limits: { perQueueMax: options.transactionsPerQueueMax },
      observer: observer.room('pool'),
      events: {
        verified: (transaction) => {
          const delayMs = chainClock.nowMs() - momentMs(transaction.timestamp, rules.params);
          observer.observe('transaction_delay_seconds', Math.max(0, delayMs) / 1000);
          this.#gossip.announceTransaction(transaction.id);
          for (const listener of this.#transactionListeners) listener(transaction);
        },
        signatureAdded: (signature) => {
          this.accepted.signatureAdded(signature);
          this.#gossip.announceSignature(signature);
          this.#tellCompleted(signature.transactionId);
        },
        dropped: (transaction, reason) => this.accepted.dropped(transaction, reason),
      },
    });
    this.accepted = new AcceptedTransactions({
      journal: dependencies.transactionJournal ?? new MemoryTransactionJournal(),
      pool: this.pool,
      store,
      rules,
      clock,
      observer: observer.room('pool'),
      finalizedHeight: () => this.chain.finalizedHeight,
      isCaughtUp: () => this.#isCaughtUp(),
      announceAgain: (id) => this.#gossip.announceAgain(id),
    });
    const penalise = (peerId: string, code: string, detail: string) => {
      this.peers.penalise(peerId, code, detail);
    };
    this.synchronizer = new Synchronizer({
      chain: this.chain,
      transport,
      clock,
      chainClock,
      random,
      observer: observer.room('sync'),
      customs: this.#customs,
      broadhash: () => this.standing.broadhash(),
      netgroupOf: (peerId) => this.peers.netgroupOf(peerId),
      ended: () => {
        this.#announceTip();
        this.forging.look();
      },
      penalise,
    });
    this.#gossip = new Gossip({
      chain: this.chain,
      pool: this.pool,
      transport,
      clock,
      observer: observer.room('gossip'),
      generation: rules.params.generation,
      gossipPeersMax: options.peers.gossipPeersMax,
      transactionGossip: this.#customs.transactionGossip,
      gossipTargets: () => this.peers.gossipTargets(),
      penalise,
      payerOf: (peerId) => {
        const crowd = this.peers.isNamed(peerId) ? 'namedPeers' : 'peers';
        return this.verificationBudget.payer(sourceOf(peerId), crowd);
      },
      cutWasteful: (peerId) => {
        if (this.verificationBudget.isWasteful(sourceOf(peerId))) this.peers.cutWasteful(peerId);
      },
      noteBlockTime: (peerId, { timestamp }, receivedMs) => {
        const aheadMs = chainClock.nowMs() - clock.nowMs();
        this.clockOffset.note(peerId, rules.params.epochMs + timestamp * 1000, receivedMs + aheadMs);
      },
      synchronizer: this.synchronizer,
    });
    const forgeObserver = observer.room('forge');
    this.forging = new ForgingScheduler({
      chain: this.chain,
      pool: this.pool,
      journal: this.#journal(forgeObserver),
      clock: chainClock,
      processClock: clock,
      times: dependencies.times,
      isHeld: dependencies.isForgingHeld ?? (() => false),
      clockSet: (byMs) => this.clockOffset.wasSet(byMs),
      looked: (slot) => this.slotRecords.looked(slot),
      observer: forgeObserver,
      waitThresholdMs: options.waitThresholdMs,
      riskDoubleForging: options.riskDoubleForging,
      witnesses: (sinceMs) => this.standing.witnesses(sinceMs),
      obstacle: () => this.#forgingObstacle(),
      waitUntilMs: () => this.synchronizer.forgingWaitUntilMs,
    });
    const ownDelegates = new Set(options.ownDelegates);
    this.ownSlots = new OwnSlots({
      rules,
      state: () => store,
      isOwn: (publicKey) => ownDelegates.has(publicKey) || this.forging.isEnabled(publicKey),
      isHeld: dependencies.isForgingHeld ?? (() => false),
      observer: forgeObserver,
    });
    this.chain.listen(this.ownSlots);
    this.chain.listen({
      reverted: (blocks) => {
        this.branchChanges.note(blocks);
        this.pool.blocksReverted(blocks);
        this.accepted.blocksReverted(blocks);
        // Nodes of the branch that stays may never have heard of them.
        for (const { id } of blocks.flatMap(({ transactions }) => transactions)) this.#gossip.announceTransaction(id);
      },
      applied: (blocks) => {
        this.pool.blocksApplied(blocks);
        this.accepted.blocksApplied(blocks);
        this.#announceTip();
      },
    });
  }

  /** Tells of transactions that passed verification for the first time, or lack nothing but members' signatures. */
  listenToTransactions(listener: (transaction: Transaction) => void): void {
    this.#transactionListeners.push(listener);
  }

  /** Tells of transactions of a group whose last member has signed. */
  listenToCompleted(listener: (transaction: Transaction) => void): void {
    this.#completionListeners.push(listener);
  }

  #tellCompleted(id: TransactionId): void {
    const transaction = this.pool.get(id);
    if (transaction === undefined || this.pool.lacksSignatures(id)) return;
    for (const listener of this.#completionListeners) listener(transaction);
  }

  /** Connects to the network and begins to follow it; forging begins with the first enabled delegate. */
  async start(ports: ListeningPorts): Promise<void> {
    this.#ports = ports;
    const { transport, clock } = this.#dependencies;
    this.#startedMs = clock.nowMs();
    let poolFetches = 0;
    transport.announce(this.#nodeInfo());
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
      disconnected: (peerId) => this.#gossip.disconnected(peerId),
    });
    this.#armPool();
    this.#gossip.start();
    this.accepted.start();
    this.synchronizer.start();
    this.forging.start();
  }

  /**
   * Stops forging first, then everything else; resolves when nothing is under way any more.
   *
   * @throws AggregateError with what went wrong, when all else is stopped
   */
  async stop(): Promise<void> {
    const closers = new Closers();
    // What is added last goes first.
    closers.add(() => this.chain.idle());
    closers.add(() => this.synchronizer.stop());
    closers.add(() => this.peers.stop());
    closers.add(() => this.#poolTimer?.cancel());
    closers.add(() => this.#gossip.stop());
    closers.add(() => this.accepted.stop());
    closers.add(() => this.forging.stop());
    await closers.close();
  }

  /** Looks at what waits in the pool again, now and then: what comes in is looked at as it comes. */
  #armPool(): void {
    this.#poolTimer = this.#dependencies.clock.after(this.#options.broadcastIntervalMs, () => {
      this.pool.step();
      this.#armPool();
    });
  }

  #isCaughtUp(): boolean {
    const tipSlot = slotAt(this.chain.tip.header.timestamp, this.chain.rules.params);
    return !this.synchronizer.syncing && this.chain.currentSlot() - tipSlot <= PRESENT_SLOTS;
  }

  #journal(observer: Observer): SigningJournal {
    const { journal, watermarks, rules } = this.#dependencies;
    const firstBlockId = (): string | undefined => this.chain.state.header(FIRST_FORGED_HEIGHT)?.id;
    if (this.#options.riskDoubleForging) return journalOfFolderAlone(journal, watermarks, firstBlockId);
    const nowS = epochTimeS(this.#chainClock.nowMs(), rules.params);
    return new WatermarkedJournal({ journal, watermarks, observer, nowS, firstBlockId });
  }

  get #expectsPeers(): boolean {
    const { fixedPeers, seedPeers } = this.#options.peers;
    return this.#options.expectsPeers ?? fixedPeers.length + seedPeers.length > 0;
  }

  #forgingObstacle(): Obstacle | undefined {
    const { transport, clock } = this.#dependencies;
    if (this.synchronizer.syncing) return { reason: 'synchronising with the network' };
    const diskObstacle = this.chain.disk.obstacle();
    if (diskObstacle !== undefined) return diskObstacle;
    const clockObstacle = this.#clockObstacle();
    if (clockObstacle !== undefined) return clockObstacle;
    const isFresh = clock.nowMs() < this.#startedMs + FIRST_PEER_WAIT_MS;
    // A block on a tip that the network has left behind would only be a fork.
    if (this.#expectsPeers && isFresh && transport.connections().length === 0)
      return { reason: 'no peer has said yet where the network is' };
    const reason = this.standing.consensusObstacle(this.#customs.forgingConsensusMin);
    return reason === undefined ? undefined : { reason };
  }

  /** A block that is forged by a wrong clock is refused by all others, or is late for them. */
  #clockObstacle(): Obstacle | undefined {
    const { transport, rules } = this.#dependencies;
    const chosen = transport.connections().filter((connection) => this.standing.isChosen(connection));
    const slotMs = rules.params.blockTimeS * 1000;
    const peers = chosen.map(({ peerId }) => peerId);
    const offsetMs = this.clockOffset.agreedMs(peers, slotMs);
    if (offsetMs === undefined) return undefined;
    const seconds = Math.round(Math.abs(offsetMs) / 1000);
    const reason = `peers agree that this clock is ${seconds} s ${offsetMs > 0 ? 'slow' : 'fast'}: correct it`;
    return { reason, cause: 'CLOCK_OFFSET' };
  }

  #server(): PeerHandlers['answer'] {
    return createServer({
      store: this.#dependencies.store,
      rules: this.chain.rules,
      pool: this.pool,
      limits: {
        blocksMax: this.#customs.blocksPerAnswerMax,
        blocksBytesMax: this.#customs.blocksAnswerBytesMax,
        sharedMax: this.#customs.sharedPerAnswerMax,
      },
    });
  }

  #announceTip(): void {
    if (!this.synchronizer.syncing) this.#dependencies.transport.announce(this.#nodeInfo());
  }

  #nodeInfo(): NodeInfo {
    const { identity, os, advertiseAddress = true } = this.#options;
    const { header } = this.chain.tip;
    return {
      os,
      version: identity.version,
      ...this.#ports,
      protocolVersion: identity.protocolVersion,
      nonce: identity.nonce,
      height: header.height,
      broadhash: this.standing.broadhash(),
      blockVersion: header.version,
      maxHeightPrevoted: header.maxHeightPrevoted,
      lastBlockId: header.id,
      advertiseAddress,
    };
  }
}
