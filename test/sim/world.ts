/**
 * A world: the production engine many times over in one process, on virtual time, one seed, memory stores and an in-memory
 * wire. After every event the checks of `checks.ts` look at it. The same seed gives the same world, on any machine.
 */

import { createInlineVerifier } from '../../src/workers/verifier-pool.ts';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { SigningJournal } from '../../src/ports/journal.ts';
import { SILENT, type LogFields, type LogLevel, type Observer } from '../../src/ports/observer.ts';
import type { PeerAddress, PeerId } from '../../src/ports/transport.ts';
import type { Verifier } from '../../src/ports/verifier.ts';
import { createGen3Rules } from '../../src/protocol/gen3/rules.ts';
import type { ChainParams } from '../../src/protocol/params.ts';
import type { Rules, SignedHeader } from '../../src/protocol/rules.ts';
import type { Block, KeyPair, PublicKey } from '../../src/protocol/types.ts';
import type { StoredChain } from '../../src/store/chain-store.ts';
import { prefixRange } from '../../src/store/key-value.ts';
import { tablePrefix } from '../../src/store/layout.ts';
import { openMemoryChainStore } from '../../src/store/open.ts';
import { decodeAccount } from '../../src/store/records.ts';
import { makeNetwork, type TestNetwork } from '../support/chain-maker.ts';
import { SeededRandom } from './seeded-random.ts';
import { VirtualTime } from './virtual-clock.ts';
import { Wire, type WireTransport } from './wire.ts';

/** Signature answers that all nodes of a world share. */
const SHARED_ANSWERS_MAX = 200_000;

export interface WorldOptions {
  readonly seed: number;
  readonly nodes: number;
  /** Seconds of a slot. */
  readonly blockTimeS?: number;
  /** Which delegates a node forges with; by default they are dealt round. */
  readonly forgersOf?: (node: number, delegates: readonly KeyPair[]) => readonly KeyPair[];
}

/** What a node said, for the event log of a failure. */
export interface SimLine {
  readonly atMs: number;
  readonly node: number;
  readonly level: LogLevel;
  readonly code: string;
  readonly fields: LogFields;
}

/** Lines kept for the log of a failure. */
const LINES_MAX = 400;

export class World {
  readonly options: WorldOptions;
  readonly random: SeededRandom;
  readonly time: VirtualTime;
  readonly wire: Wire;
  readonly network: TestNetwork;
  readonly rules: Rules;
  readonly verifier: Verifier;
  readonly nodes: readonly SimNode[];
  readonly lines: SimLine[] = [];

  constructor(options: WorldOptions) {
    this.options = options;
    this.random = new SeededRandom(options.seed);
    this.network = makeNetwork({ blockTimeS: options.blockTimeS ?? 10 });
    this.time = new VirtualTime(this.network.params.epochMs + 1000 * 1000);
    this.wire = new Wire(this.time, this.random.fork('wire'));
    this.rules = createGen3Rules(this.network.params);
    this.verifier = createInlineVerifier(selectEd25519(), SHARED_ANSWERS_MAX);
    const addresses = Array.from({ length: options.nodes }, (_, index) => addressOfNode(index));
    this.nodes = addresses.map((address, index) => new SimNode(this, index, address, addresses));
  }

  get params(): ChainParams {
    return this.network.params;
  }

  async startAll(): Promise<void> {
    for (const node of this.nodes) await node.start();
  }

  /** Lets virtual time pass. */
  run(seconds: number, afterEvent?: () => void): Promise<void> {
    return this.time.runUntil(this.time.nowMs + seconds * 1000, afterEvent);
  }

  /** Cuts the network into groups of node numbers. */
  partition(groups: readonly (readonly number[])[]): void {
    this.wire.partition(groups.map((group) => group.map((index) => this.node(index).peerId)));
  }

  node(index: number): SimNode {
    const node = this.nodes[index];
    if (node === undefined) throw new Error(`no node ${index}`);
    return node;
  }

  note(line: SimLine): void {
    this.lines.push(line);
    if (this.lines.length > LINES_MAX) this.lines.shift();
  }
}

/** A node of a world. Its store and journal outlive crashes, as disks do. */
export class SimNode {
  readonly index: number;
  readonly peerId: PeerId;
  readonly store: StoredChain;
  /** Promises are asked of honest nodes only. */
  readonly isHonest: boolean = true;
  readonly journal: MemoryJournal;
  readonly keys: readonly KeyPair[];
  /** Milliseconds by which its clock is off. */
  skewMs = 0;
  readonly #world: World;
  readonly #address: PeerAddress;
  readonly #others: readonly PeerAddress[];
  #transport: WireTransport | undefined;
  #engine: Engine | undefined;
  /** Counts starts: each draws from its own stream of chance. */
  #starts = 0;

  constructor(world: World, index: number, address: PeerAddress, all: readonly PeerAddress[]) {
    this.#world = world;
    this.index = index;
    this.#address = address;
    this.#others = all.filter((other) => other !== address);
    this.peerId = `${address.ip}:${address.wsPort}`;
    this.store = openMemoryChainStore({ codec: world.rules.codec, params: world.params });
    this.journal = new MemoryJournal();
    const { delegates } = world.network;
    this.keys = world.options.forgersOf
      ? world.options.forgersOf(index, delegates)
      : delegates.filter((_, delegate) => delegate % world.options.nodes === index);
  }

  /** Sum of all balances in beddows. */
  balancesTotal(): bigint {
    let total = 0n;
    for (const { key, value } of this.store.tables.entries(prefixRange(tablePrefix('accounts')))) {
      total += decodeAccount(key.toString('utf8', 1), value, () => []).balance;
    }
    return total;
  }

  get isRunning(): boolean {
    return this.#engine !== undefined;
  }

  get engine(): Engine {
    if (this.#engine === undefined) throw new Error(`node ${this.index} is down`);
    return this.#engine;
  }

  get tip() {
    const header = this.store.tip();
    if (header === undefined) throw new Error(`node ${this.index} never started`);
    return header;
  }

  async start(): Promise<void> {
    const world = this.#world;
    this.#starts += 1;
    this.#transport = world.wire.transport(this.#address);
    this.#engine = new Engine(
      {
        store: this.store,
        rules: world.rules,
        genesis: world.network.genesis,
        verifier: world.verifier,
        transport: this.#transport,
        clock: world.time.clock(() => this.skewMs),
        random: world.random.fork(`node ${this.index} start ${this.#starts}`),
        journal: this.journal,
        observer: this.#observer(),
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
        waitThresholdMs: 2000,
        broadcastIntervalMs: 5000,
        transactionsPerQueueMax: 1000,
        peers: {
          own: this.#address,
          outboundMax: 20,
          gossipPeersMax: 16,
          fixedPeers: this.#others,
          seedPeers: [],
          whitelistedPeers: [],
          blacklistedIps: [],
        },
      },
    );
    await this.#engine.start({ wsPort: this.#address.wsPort, httpPort: 0 });
    for (const keyPair of this.keys) this.#engine.forging.enable(keyPair);
  }

  /** Ends at once: what is not on disk is lost, nothing is said to anybody. */
  async crash(): Promise<void> {
    const engine = this.#engine;
    this.#engine = undefined;
    await this.#transport?.close();
    this.#transport = undefined;
    await engine?.stop();
  }

  #observer(): Observer {
    const observer: Observer = {
      ...SILENT,
      room: () => observer,
      log: (level, code, _message, fields = {}) => {
        if (level === 'trace' || level === 'debug') return;
        this.#world.note({ atMs: this.#world.time.nowMs, node: this.index, level, code, fields });
      },
    };
    return observer;
  }
}

/** A journal that keeps everything, so that checks can look for contradictions. */
export class MemoryJournal implements SigningJournal {
  readonly entries = new Map<PublicKey, SignedHeader[]>();

  last(publicKey: PublicKey): SignedHeader | undefined {
    return this.entries.get(publicKey)?.at(-1);
  }

  record(publicKey: PublicKey, header: SignedHeader): void {
    const list = this.entries.get(publicKey) ?? [];
    list.push(header);
    this.entries.set(publicKey, list);
  }

  close(): void {
    // Nothing to release.
  }
}

function addressOfNode(index: number): PeerAddress {
  return { ip: `10.${(index >> 8) & 255}.${index & 255}.1`, wsPort: 5000 };
}

/** Blocks and addresses of a world's delegates, for scenarios. */
export function delegateAddress(keyPair: KeyPair): string {
  return addressOf(Buffer.from(keyPair.publicKey).toString('hex'));
}

export type { Block };
