/**
 * A world runs many nodes in one process. Each node runs the engine of `src/engine`. Time, disks and the network (the
 * wire) are simulated. `runSeed` and `ScriptedWorld.slots` run the checks of `checks.ts` after every event. All random
 * values come from one seed, so that the same seed gives the same events on any machine.
 */

import { createInlineVerifier } from '../../src/workers/inline-verifier.ts';
import { selectEd25519 } from '../../src/crypto/ed25519.ts';
import type { LogFields, LogLevel } from '../../src/ports/observer.ts';
import type { PeerAddress } from '../../src/ports/transport.ts';
import type { Verifier } from '../../src/ports/verifier.ts';
import { createRules } from '../../src/protocol/generations.ts';
import type { ChainParams } from '../../src/protocol/params.ts';
import type { Rules } from '../../src/protocol/rules.ts';
import type { Block, KeyPair } from '../../src/protocol/types.ts';
import { makeNetwork, type NetworkOptions, type TestNetwork } from '../support/chain-maker.ts';
import { Disk, ProcessDied } from './disk.ts';
import type { Misbehaviour } from './dishonest.ts';
import { SimNode } from './node.ts';
import { SeededRandom } from './seeded-random.ts';
import { VirtualTime } from './virtual-clock.ts';
import { Wire } from './wire.ts';

/**
 * All nodes of a world share one cache for the results of signature checks. This is the maximum number of results in
 * the cache.
 */
const SHARED_ANSWERS_MAX = 200_000;
/** A world keeps at least this number of its newest log lines, and at most twice this number. */
const LINES_MAX = 400;
/** Default chain time at which a world starts, in seconds since the epoch of the network. */
const START_S = 1000;

export interface WorldOptions {
  readonly seed: number;
  readonly nodes: number;
  /** Options of the network, such as the slot time, the delegates and the votes. */
  readonly network?: NetworkOptions;
  /** The delegates with which a node forges; by default, the delegates are distributed evenly over all nodes. */
  readonly forgersOf?: (node: number, delegates: readonly KeyPair[]) => readonly KeyPair[];
  readonly misbehaviourOf?: (node: number) => Misbehaviour | undefined;
  /** The disk on which a node stores its chain; default: memory. */
  readonly diskOf?: (node: number) => Disk;
  /**
   * If true (the default), a node does not look for signatures that its delegates made on other nodes. Only the signing
   * journal of the node then prevents double forging.
   */
  readonly riskDoubleForgingOf?: (node: number) => boolean;
  /** Interval between two calls of `TransactionPool.step` in a node; default: 5 s. */
  readonly broadcastIntervalMsOf?: (node: number) => number;
  /** Whether a node keeps watermarks of its signatures outside its data folder; default: no node does. */
  readonly hasWatermarksOf?: (node: number) => boolean;
  /** Indexes of the nodes to which a node always tries to connect; default: all other honest nodes. */
  readonly fixedPeersOf?: (node: number) => readonly number[];
  /** Maximum number of outbound connections of a node; default: 20. */
  readonly outboundMax?: number;
  /** A network that the caller has already made. If this option is given, the world ignores the option `network`. */
  readonly made?: TestNetwork;
  /** A verifier that several worlds share. */
  readonly verifier?: Verifier;
  /** Chain time at which the world starts, in whole seconds since the epoch of the network. */
  readonly startS?: number;
}

/** A log line of a node, for the report of a failure. */
export interface SimLine {
  readonly atMs: number;
  readonly node: number;
  readonly level: LogLevel;
  readonly code: string;
  readonly fields: LogFields;
}

export class World {
  readonly options: WorldOptions;
  readonly random: SeededRandom;
  readonly time: VirtualTime;
  readonly wire: Wire;
  readonly network: TestNetwork;
  readonly rules: Rules;
  readonly verifier: Verifier;
  readonly nodes: readonly SimNode[];
  /** The newest log lines of all nodes, without the levels `trace` and `debug`. */
  readonly lines: SimLine[] = [];
  /** The first log line of the level `error`: an error of a node, or an unhandled rejection (`noteRejection`). */
  error: SimLine | undefined;
  /** The first log line in which an honest node reports an offence of another honest node. */
  wronged: SimLine | undefined;
  /** Number of log lines by code. */
  readonly counts = new Map<string, number>();

  constructor(options: WorldOptions) {
    this.options = options;
    this.random = new SeededRandom(options.seed);
    this.network = options.made ?? makeNetwork(options.network);
    this.time = new VirtualTime(this.network.params.epochMs + (options.startS ?? START_S) * 1000);
    this.wire = new Wire(this.time, this.random.fork('wire'), this.network.params.generation);
    this.rules = withSharedDecoding(createRules(this.network.params));
    this.verifier = options.verifier ?? createInlineVerifier(selectEd25519(), SHARED_ANSWERS_MAX);
    const { delegates } = this.network;
    const indexes = Array.from({ length: options.nodes }, (_, index) => index);
    const misbehaviourOf = options.misbehaviourOf ?? (() => undefined);
    const honest = indexes.filter((index) => misbehaviourOf(index) === undefined);
    this.nodes = indexes.map(
      (index) =>
        new SimNode(this, {
          index,
          address: addressOfNode(index),
          // By default, dishonest nodes are not fixed peers, so that honest nodes can ban them.
          fixedPeers: (options.fixedPeersOf?.(index) ?? honest.filter((other) => other !== index)).map(addressOfNode),
          outboundMax: options.outboundMax,
          keys:
            options.forgersOf?.(index, delegates) ??
            delegates.filter((_, delegate) => delegate % options.nodes === index),
          disk: options.diskOf?.(index) ?? new Disk(),
          misbehaviour: misbehaviourOf(index),
          hasWatermarks: options.hasWatermarksOf?.(index),
          riskDoubleForging: options.riskDoubleForgingOf?.(index),
          broadcastIntervalMs: options.broadcastIntervalMsOf?.(index),
        }),
    );
  }

  get params(): ChainParams {
    return this.network.params;
  }

  get slotMs(): number {
    return this.params.blockTimeS * 1000;
  }

  /** The honest nodes that are running. */
  get honest(): readonly SimNode[] {
    return this.nodes.filter((node) => node.isRunning && node.isHonest);
  }

  async startAll(): Promise<void> {
    for (const node of this.nodes) await node.start();
  }

  /** Advances virtual time. */
  run(seconds: number, afterEvent?: () => void): Promise<void> {
    return this.time.runUntil(this.time.nowMs + seconds * 1000, afterEvent);
  }

  /** Splits the network. Each group of `groups` lists the indexes of its nodes. */
  partition(groups: readonly (readonly number[])[]): void {
    this.wire.partition(groups.map((group) => group.map((index) => this.node(index).peerId)));
  }

  node(index: number): SimNode {
    const node = this.nodes[index];
    if (node === undefined) throw new Error(`no node ${index}`);
    return node;
  }

  log(line: Omit<SimLine, 'atMs'>): void {
    if (line.level === 'error') this.error ??= { atMs: this.time.nowMs, ...line };
    if (this.#isWrong(line)) this.wronged ??= { atMs: this.time.nowMs, ...line };
    this.counts.set(line.code, (this.counts.get(line.code) ?? 0) + 1);
    if (line.level === 'trace' || line.level === 'debug') return;
    this.lines.push({ atMs: this.time.nowMs, ...line });
    if (this.lines.length > 2 * LINES_MAX) this.lines.splice(0, LINES_MAX);
  }

  /** Logs an unhandled promise rejection as an error. Such a rejection would end a real process. */
  noteRejection(reason: unknown): void {
    // A process that has died in the simulation may still reject promises. These rejections are not logged.
    if (reason instanceof ProcessDied) return;
    this.log({ node: -1, level: 'error', code: 'UNHANDLED_REJECTION', fields: { reason: String(reason) } });
  }

  #isWrong({ node, code, fields }: Omit<SimLine, 'atMs'>): boolean {
    if (code !== 'PEER_OFFENCE_EXEMPT' && code !== 'PEER_PENALISED') return false;
    const charged = this.nodes.find((each) => each.peerId === fields['peer']);
    return charged?.isHonest === true && this.node(node).isHonest;
  }

  async close(): Promise<void> {
    for (const node of this.nodes) {
      node.crash();
      await node.disk.close();
    }
  }
}

/** Rules whose decoder caches the block of each JSON object, because gossip delivers the same object to every node. */
function withSharedDecoding(rules: Rules): Rules {
  const known = new WeakMap<object, Block>();
  const blockFromJson = (json: unknown): Block => {
    if (typeof json !== 'object' || json === null) return rules.codec.blockFromJson(json);
    const block = known.get(json) ?? rules.codec.blockFromJson(json);
    known.set(json, block);
    return block;
  };
  return { ...rules, codec: { ...rules.codec, blockFromJson } };
}

function addressOfNode(index: number): PeerAddress {
  return { ip: `10.${(index >> 8) & 255}.${index & 255}.1`, wsPort: 5000 };
}
