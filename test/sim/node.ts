/**
 * A node of a simulated world (`world.ts`). The node has the same engine as a node started by `bloomery start`, but the
 * time, the network (`wire.ts`) and the disk are simulated. Tests can kill and restart the node.
 */

import { Engine } from '../../src/engine/engine.ts';
import { MemoryTransactionJournal } from '../../src/engine/pool/journal-entries.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { FolderJournal, SigningWatermarks, Watermark } from '../../src/ports/journal.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import type { PeerAddress, PeerId } from '../../src/ports/transport.ts';
import type { SignedHeader } from '../../src/protocol/rules.ts';
import type { KeyPair, PublicKey } from '../../src/protocol/types.ts';
import type { StoredChain } from '../../src/store/chain/stored-chain.ts';
import { partsOf } from '../../src/node/generations.ts';
import { chainStoreOver } from '../../src/store/chain/open.ts';
import type { Disk } from './disk.ts';
import { type Process, ProcessDied } from './disk.ts';
import { type Misbehaviour, tampered } from './dishonest.ts';
import type { WireTransport } from './wire.ts';
import type { World } from './world.ts';

/**
 * A node of generation 2 forges only if at least this percentage of its peers have the same tip as the node. Generation
 * 3 has no such condition.
 */
const CONSENSUS_MIN = 51;

export interface SimNodeOptions {
  readonly index: number;
  readonly address: PeerAddress;
  /** Peers to which the node always tries to connect. */
  readonly fixedPeers: readonly PeerAddress[];
  /** Maximum number of outbound connections; default: 20. */
  readonly outboundMax?: number | undefined;
  readonly keys: readonly KeyPair[];
  readonly disk: Disk;
  readonly misbehaviour?: Misbehaviour | undefined;
  /**
   * If true (the default), the node does not wait in order to find out whether its delegates sign on other nodes. The
   * node then compares a new header of a delegate with only two earlier headers: the delegate's last header in the
   * signing journal, and the header of the delegate's newest block on the chain.
   */
  readonly riskDoubleForging?: boolean | undefined;
  /** Interval in milliseconds at which the engine calls `TransactionPool.step`; default: 5,000. */
  readonly broadcastIntervalMs?: number | undefined;
  /** Whether the node keeps watermarks of its signatures outside its data folder. */
  readonly hasWatermarks?: boolean | undefined;
}

/** A backup of a node's data folder: its disk and its signing journal. */
export interface FolderCopy {
  readonly disk: Disk;
  readonly journal: MemoryJournal;
}

interface Running {
  readonly process: Process;
  readonly transport: WireTransport;
  readonly store: StoredChain;
  readonly engine: Engine;
}

export class SimNode {
  readonly index: number;
  readonly peerId: PeerId;
  /** The contents of the disk and of the signing journal (`journal`) survive a crash of the process. */
  #disk: Disk;
  readonly journal = new MemoryJournal();
  /**
   * Watermarks of the signatures. They are outside the data folder, so a restore of this folder from a backup does not
   * change them.
   */
  readonly watermarks = new MemoryWatermarks();
  /**
   * The transaction journal survives crashes, like the file of a node on a machine. Such a file may lose entries that
   * were not yet flushed to the disk, but this journal loses no entries.
   */
  readonly transactionJournal = new MemoryTransactionJournal();
  readonly keys: readonly KeyPair[];
  /** Offset of the node's clock from the time of the world, in milliseconds. */
  skewMs = 0;
  readonly #world: World;
  readonly #options: SimNodeOptions;
  #running: Running | undefined;
  /**
   * Number of times that the node was started. The seed of the node's random numbers depends on this number, so they
   * are different after each start.
   */
  #starts = 0;

  constructor(world: World, options: SimNodeOptions) {
    this.#world = world;
    this.#options = options;
    this.index = options.index;
    this.#disk = options.disk;
    this.keys = options.keys;
    this.peerId = `${options.address.ip}:${options.address.wsPort}`;
  }

  /** Whether the node follows the protocol. `checks.ts` checks only the guarantees of honest nodes. */
  get isHonest(): boolean {
    return this.#options.misbehaviour === undefined;
  }

  get isRunning(): boolean {
    return this.#running?.process.isAlive === true;
  }

  get disk(): Disk {
    return this.#disk;
  }

  /** Makes a backup of the data folder (disk and signing journal) in its current state. */
  copyFolder(): FolderCopy {
    const journal = new MemoryJournal();
    journal.takeFrom(this.journal);
    return { disk: this.#disk.copy(false), journal };
  }

  /**
   * Replaces the data folder of a stopped node with a backup.
   *
   * @param isNoticed whether the node can detect from the file of the signing journal that this file is a copy
   */
  restore({ disk, journal }: Partial<FolderCopy>, isNoticed: boolean): void {
    if (disk !== undefined) this.#disk = disk.copy(false);
    if (journal === undefined) return;
    this.journal.takeFrom(journal);
    this.journal.isCopied ||= isNoticed;
  }

  get engine(): Engine {
    return this.#process().engine;
  }

  get store(): StoredChain {
    return this.#process().store;
  }

  get tip() {
    const header = this.store.tip();
    if (header === undefined) throw new Error(`node ${this.index} has no genesis block`);
    return header;
  }

  /** Starts the process of the node, unless it already runs, and enables forging for all delegates of the node. */
  async start(): Promise<void> {
    if (this.isRunning) return;
    const world = this.#world;
    const { address, misbehaviour, fixedPeers } = this.#options;
    this.#starts += 1;
    const random = world.random.fork(`node ${this.index} start ${this.#starts}`);
    const owner: Process = { isAlive: true };
    const clock = this.#clock(owner);
    const transport = world.wire.transport(address);
    const { params, rules } = world;
    const store = chainStoreOver(this.disk.mount(owner), { codec: rules.codec, params }, 'simulated disk');
    const engine = new Engine(
      {
        store,
        rules,
        genesis: world.network.genesis,
        verifier: world.verifier,
        transport:
          misbehaviour === undefined
            ? transport
            : tampered(transport, misbehaviour, {
                time: world.time,
                random: random.fork('misbehaviour'),
                codec: rules.codec,
                keys: this.keys,
                slotMs: params.blockTimeS * 1000,
              }),
        clock,
        random,
        journal: this.journal,
        transactionJournal: this.transactionJournal,
        watermarks: this.#options.hasWatermarks === true ? this.watermarks : undefined,
        observer: this.#observer(owner),
      },
      {
        identity: {
          networkName: 'sim',
          version: '3.0.2',
          protocolVersion: '2.0',
          build: '',
          commit: '',
          nonce: `sim${String(this.index).padStart(13, '0')}`,
        },
        os: 'sim',
        waitThresholdMs: Math.min(2000, params.blockTimeS * 200),
        broadcastIntervalMs: this.#options.broadcastIntervalMs ?? 5000,
        transactionsPerQueueMax: 1000,
        riskDoubleForging: this.#options.riskDoubleForging ?? true,
        profile: { ...partsOf(params).profile, forgingConsensusMin: params.generation === 2 ? CONSENSUS_MIN : 0 },
        peers: {
          own: address,
          outboundMax: this.#options.outboundMax ?? 20,
          gossipPeersMax: partsOf(params).gossipPeersMax,
          fixedPeers,
          seedPeers: [],
          whitelistedPeers: [],
          blacklistedIps: [],
        },
      },
    );
    this.#running = { process: owner, transport, store, engine };
    await engine.start({ wsPort: address.wsPort, httpPort: 0 });
    for (const keyPair of this.keys) engine.forging.enable(keyPair);
  }

  /**
   * Ends the process immediately. Data that is not on the disk is lost, and the node sends nothing to its peers.
   *
   * @param noticedAfterMs time until peers notice the crash; 0 if only the process dies and its machine keeps running
   */
  crash(noticedAfterMs = 0): void {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    running.process.isAlive = false;
    running.transport.die(noticedAfterMs);
  }

  /**
   * Lets the node crash at a future write to its disk. `number` counts the writes from now on; the next write has the
   * number 1. After the crash, the node calls `crashed`.
   */
  crashAtWrite(number: number, crashed: () => void): void {
    this.disk.dieAtWrite(number, () => {
      this.crash();
      crashed();
    });
  }

  #process(): Running {
    if (this.#running === undefined) throw new Error(`node ${this.index} is down`);
    return this.#running;
  }

  /**
   * Returns a clock whose time has the present offset `skewMs`. If a test changes the offset later, the clock uses the
   * new offset. The timers of the clock do nothing after the process has died.
   */
  #clock(owner: Process): Clock {
    const { time } = this.#world;
    return {
      nowMs: () => Math.floor(time.nowMs + this.skewMs),
      after: (delayMs, work) =>
        time.schedule(delayMs, () => {
          if (!owner.isAlive) return;
          try {
            work();
          } catch (error) {
            if (!(error instanceof ProcessDied)) throw error;
          }
        }),
    };
  }

  #observer(owner: Process): Observer {
    const observer: Observer = {
      ...SILENT,
      module: () => observer,
      log: (level, code, _message, fields = {}) => {
        if (owner.isAlive) this.#world.log({ node: this.index, level, code, fields });
      },
    };
    return observer;
  }
}

/** A signing journal that keeps all headers. The checks in `checks.ts` search these headers for contradictions. */
export class MemoryJournal implements FolderJournal {
  readonly entries = new Map<PublicKey, SignedHeader[]>();
  readonly held = new Map<PublicKey, number>();
  /**
   * The delegates for which the entries of this journal come from a copy of a signing record
   * (`SigningJournal.isCopyFor`).
   */
  readonly copies = new Set<PublicKey>();
  /**
   * Whether the node can detect that the content of this journal comes from a backup. `recordFileIdentity` makes the
   * value false again.
   */
  isCopied = false;
  readonly moved = new Map<PublicKey, number>();
  readonly foreign = new Map<PublicKey, number>();
  /**
   * All headers that the node has signed, in the order of signing. A restore from a backup does not change this list.
   */
  readonly signed: { readonly publicKey: PublicKey; readonly header: SignedHeader }[] = [];

  last(publicKey: PublicKey): SignedHeader | undefined {
    return this.entries.get(publicKey)?.at(-1);
  }

  heldSinceS(publicKey: PublicKey): number | undefined {
    return this.held.get(publicKey);
  }

  isCopyFor(publicKey: PublicKey): boolean {
    return this.copies.has(publicKey);
  }

  movedAtS(publicKey: PublicKey): number | undefined {
    return this.moved.get(publicKey);
  }

  move(publicKey: PublicKey, atS: number): void {
    this.moved.set(publicKey, atS);
  }

  /** Replaces the content of this journal with the content of another journal. */
  takeFrom({ entries, held, copies, moved, foreign }: MemoryJournal): void {
    this.entries.clear();
    for (const [publicKey, list] of entries) this.entries.set(publicKey, [...list]);
    this.held.clear();
    for (const [publicKey, sinceS] of held) this.held.set(publicKey, sinceS);
    this.copies.clear();
    for (const publicKey of copies) this.copies.add(publicKey);
    this.moved.clear();
    for (const [publicKey, atS] of moved) this.moved.set(publicKey, atS);
    this.foreign.clear();
    for (const [publicKey, timestamp] of foreign) this.foreign.set(publicKey, timestamp);
  }

  foreignS(publicKey: PublicKey): number | undefined {
    const timestamp = this.foreign.get(publicKey);
    return timestamp !== undefined && timestamp > (this.last(publicKey)?.timestamp ?? 0) ? timestamp : undefined;
  }

  outside(): 'unknown' {
    return 'unknown';
  }

  delegates(): readonly PublicKey[] {
    return [...new Set([...this.entries.keys(), ...this.held.keys(), ...this.moved.keys()])];
  }

  recordFileIdentity(): void {
    this.isCopied = false;
  }

  hold(publicKey: PublicKey, sinceS: number, isCopy = false, foreignS = this.foreign.get(publicKey)): void {
    this.held.set(publicKey, sinceS);
    if (foreignS !== undefined) this.foreign.set(publicKey, foreignS);
    if (isCopy) this.copies.add(publicKey);
    else this.copies.delete(publicKey);
  }

  own(publicKey: PublicKey): Pick<Watermark, 'last' | 'movedAtS'> {
    const [last, movedAtS] = [this.last(publicKey), this.moved.get(publicKey)];
    return { ...(last === undefined ? {} : { last }), ...(movedAtS === undefined ? {} : { movedAtS }) };
  }

  copyFrom(publicKey: PublicKey, { last, movedAtS }: Pick<Watermark, 'last' | 'movedAtS'>): void {
    if (last !== undefined) this.#add(publicKey, last);
    if (movedAtS !== undefined) this.moved.set(publicKey, movedAtS);
  }

  recalled(): undefined {
    return undefined;
  }

  adopt(publicKey: PublicKey, header: SignedHeader): void {
    this.#add(publicKey, header);
    this.hold(publicKey, 0);
  }

  record(publicKey: PublicKey, header: SignedHeader): void {
    this.#add(publicKey, header);
    this.signed.push({ publicKey, header });
  }

  close(): void {
    // A journal in memory has no file to close.
  }

  #add(publicKey: PublicKey, header: SignedHeader): void {
    this.entries.set(publicKey, [...(this.entries.get(publicKey) ?? []), header]);
    this.moved.delete(publicKey);
  }
}

/** Stores watermarks of signatures in memory. */
export class MemoryWatermarks implements SigningWatermarks {
  readonly #all = new Map<PublicKey, Watermark>();

  read(publicKey: PublicKey): Watermark | undefined {
    return this.#all.get(publicKey);
  }

  write(publicKey: PublicKey, watermark: Watermark): void {
    this.#all.set(publicKey, watermark);
  }

  remove(publicKey: PublicKey): void {
    this.#all.delete(publicKey);
  }
}
