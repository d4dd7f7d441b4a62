/**
 * A world: the production engine many times over in one process, on virtual time, one seed, simulated disks and an in-memory
 * wire. After every event the checks of `checks.ts` look at it. The same seed gives the same world, on any machine.
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

/** Signature answers that all nodes of a world share. */
const SHARED_ANSWERS_MAX = 200_000;
/** Lines kept for the log of a failure. */
const LINES_MAX = 400;
/** Chain time at which worlds begin. */
const START_S = 1000;

export interface WorldOptions {
  readonly seed: number;
  readonly nodes: number;
  /** Beside others: seconds of a slot, delegates, votes. */
  readonly network?: NetworkOptions;
  /** Which delegates a node forges with; by default they are dealt round. */
  readonly forgersOf?: (node: number, delegates: readonly KeyPair[]) => readonly KeyPair[];
  readonly misbehaviourOf?: (node: number) => Misbehaviour | undefined;
  /** Where a node keeps its chain; in memory by default. */
  readonly diskOf?: (node: number) => Disk;
  /** Whether a node signs by its journal alone; all do by default. */
  readonly riskDoubleForgingOf?: (node: number) => boolean;
  /** Time between announcements that a node is configured to; that of default nodes unless told. */
  readonly broadcastIntervalMsOf?: (node: number) => number;
  /** Whether a node keeps watermarks of what it signed outside of its folder; none does by default. */
  readonly hasWatermarksOf?: (node: number) => boolean;
  /** Peers that a node insists on, by their numbers; all honest others unless told. */
  readonly fixedPeersOf?: (node: number) => readonly number[];
  /** Connections that a node makes by itself; 20 unless told. */
  readonly outboundMax?: number;
  /** Made before, instead of `network`. */
  readonly made?: TestNetwork;
  /** Shared with other worlds. */
  readonly verifier?: Verifier;
  /** Chain time at which the world begins, in whole seconds. */
  readonly startS?: number;
}

/** What a node said, for the event log of a failure. */
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
  /** The newest of what the nodes said. */
  readonly lines: SimLine[] = [];
  /** The first error that a node spoke of. */
  error: SimLine | undefined;
  /** The first line in which an honest node was charged with an offence by another. */
  wronged: SimLine | undefined;
  /** How often each code was said. */
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
          // Dishonest ones are not insisted on, so that they can be banned.
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

  /** Honest nodes that run. */
  get honest(): readonly SimNode[] {
    return this.nodes.filter((node) => node.isRunning && node.isHonest);
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

  note(line: Omit<SimLine, 'atMs'>): void {
    if (line.level === 'error') this.error ??= { atMs: this.time.nowMs, ...line };
    if (this.#isWrong(line)) this.wronged ??= { atMs: this.time.nowMs, ...line };
    this.counts.set(line.code, (this.counts.get(line.code) ?? 0) + 1);
    if (line.level === 'trace' || line.level === 'debug') return;
    this.lines.push({ atMs: this.time.nowMs, ...line });
    if (this.lines.length > 2 * LINES_MAX) this.lines.splice(0, LINES_MAX);
  }

  /** A promise of a node that nobody waits for failed: in a real process that would be its end. */
  noteRejection(reason: unknown): void {
    // Of a dead process it may: nobody is there any more.
    if (reason instanceof ProcessDied) return;
    this.note({ node: -1, level: 'error', code: 'UNHANDLED_REJECTION', fields: { reason: String(reason) } });
  }

  #isWrong({ node, code, fields }: Omit<SimLine, 'atMs'>): boolean {
    if (code !== 'PEER_FORGIVEN' && code !== 'PEER_PENALISED') return false;
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

/** Rules whose reader of blocks knows the objects that it has read: gossip brings every node the same one. */
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
