/**
 * Chooses the faults of a simulated world at random, from a seed. One world may get only bad links, and another world
 * may get faults of all kinds. The worlds get different faults, because faults of one kind can hide defects of the node
 * that faults of another kind would show.
 */

import type { KeyPair } from '../../src/protocol/types.ts';
import type { Misbehaviour } from './dishonest.ts';
import { Load } from './load.ts';
import type { SeededRandom } from './seeded-random.ts';
import { Stranger } from './stranger.ts';
import { GOOD_LINK, type LinkQuality } from './wire.ts';
import type { World } from './world.ts';

/**
 * Maximum number of delegates that may break the protocol in a world. This is fewer than a third of the delegates, as
 * finality requires.
 */
const DISHONEST_DELEGATES_MAX = 33;
/**
 * Number of delegates whose keys the strangers have. A stranger is a simulated hostile peer (`stranger.ts`). Strangers
 * sign blocks with these keys, but none of the blocks is valid.
 */
const STRANGERS_DELEGATES = 3;
/** Number of delegates that forge on two honest nodes at the same time. */
const SHARED_DELEGATES = 4;
/**
 * A world has a dishonest node only if it has at least this number of nodes. Finality needs the votes of 68 active
 * delegates. In a world with fewer nodes, perhaps fewer than 68 active delegates belong to the honest nodes.
 */
const NODES_WITH_DISHONEST_MIN = 4;

export interface FaultPlan {
  readonly links: LinkQuality;
  readonly hasPartitions: boolean;
  readonly hasCrashes: boolean;
  /** For each crash, the probability that it happens during a write to the disk instead of at a random time. */
  readonly crashesAtWrite: number;
  readonly hasBlackout: boolean;
  readonly hasSkewedClocks: boolean;
  readonly hasStrangers: boolean;
  readonly hasLoad: boolean;
  readonly sharesDelegates: boolean;
  readonly misbehaviour: Misbehaviour | undefined;
}

/**
 * @param random generator that depends only on the seed. The generator of the world cannot be used, because the plan is
 *   drawn before the world exists.
 */
export function drawPlan(random: SeededRandom, nodes: number): FaultPlan {
  const dishonestNode = nodes >= NODES_WITH_DISHONEST_MIN && random.chance(0.5);
  return {
    links: random.chance(0.3)
      ? GOOD_LINK
      : {
          delayMinMs: 5,
          delayMaxMs: random.pick([100, 500, 1500, 2500]),
          loss: random.pick([0, 0.02, 0.1, 0.3]),
          duplication: random.pick([0, 0.1, 0.5]),
          lateness: random.pick([0, 0, 0.05, 0.3]),
        },
    hasPartitions: random.chance(0.5),
    hasCrashes: random.chance(0.5),
    crashesAtWrite: random.pick([0, 0.5, 1]),
    hasBlackout: random.chance(0.25),
    hasSkewedClocks: random.chance(0.4),
    hasStrangers: random.chance(0.5),
    hasLoad: random.chance(0.7),
    sharesDelegates: random.chance(0.3),
    misbehaviour: dishonestNode ? random.pick(['doubleForger', 'withholder'] as const) : undefined,
  };
}

/**
 * Returns a function that gives the misbehaviour of a node by its index. The last node is the dishonest node, if the
 * plan has a misbehaviour.
 */
export function misbehaviourOf(plan: FaultPlan, nodes: number): (node: number) => Misbehaviour | undefined {
  return (node) => (node === nodes - 1 ? plan.misbehaviour : undefined);
}

/**
 * Distributes the delegates among the nodes. If the plan has strangers (simulated hostile peers that are not nodes,
 * `stranger.ts`), no node gets the three delegates whose keys the strangers have. If the plan shares delegates, four
 * other delegates forge on two nodes. The delegates of the strangers, the shared delegates and the delegates of the
 * dishonest node are together at most `DISHONEST_DELEGATES_MAX` (33). This leaves 26 delegates for the dishonest node.
 * The dishonest node gets at most 26 delegates, even if the plan has no strangers and shares no delegates.
 */
export function forgersOf(plan: FaultPlan, nodes: number): (node: number, delegates: readonly KeyPair[]) => KeyPair[] {
  const strangers = plan.hasStrangers ? STRANGERS_DELEGATES : 0;
  const shared = plan.sharesDelegates ? SHARED_DELEGATES : 0;
  const dishonestMax = DISHONEST_DELEGATES_MAX - STRANGERS_DELEGATES - SHARED_DELEGATES;
  return (node, delegates) => {
    const dealt = delegates.filter((_, index) => index >= strangers && index % nodes === node);
    if (misbehaviourOf(plan, nodes)(node) !== undefined) return dealt.slice(0, dishonestMax);
    // These delegates forge on node 1, and also on node 0.
    const second = delegates.filter((_, index) => index >= strangers && index % nodes === 1).slice(0, shared);
    return node === 0 && nodes > 1 ? [...dealt, ...second] : dealt;
  };
}

/** Causes the faults of a plan in a world, at random times, until `heal` is called. */
export class Faults {
  readonly #world: World;
  readonly #plan: FaultPlan;
  readonly #random: SeededRandom;
  #isStopped = false;
  #strangers = 0;

  constructor(world: World, plan: FaultPlan) {
    this.#world = world;
    this.#plan = plan;
    this.#random = world.random.fork('faults');
  }

  start(): void {
    const { wire } = this.#world;
    const plan = this.#plan;
    const minuteMs = 60_000;
    wire.quality = plan.links;
    if (plan.hasLoad) new Load(this.#world).start(20_000);
    if (plan.hasPartitions) this.#nowAndThen(15 * minuteMs, () => this.#partition());
    if (plan.hasCrashes) this.#nowAndThen(8 * minuteMs, () => this.#crash());
    if (plan.hasBlackout) this.#nowAndThen(60 * minuteMs, () => this.#blackout());
    if (plan.hasSkewedClocks) this.#nowAndThen(10 * minuteMs, () => this.#skew());
    if (plan.hasStrangers) this.#nowAndThen(5 * minuteMs, () => this.#stranger());
  }

  /**
   * Ends all faults, with three exceptions. The dishonest node remains dishonest. Two nodes that forge with the same
   * keys continue to do so. Strangers (simulated hostile peers that are not nodes, `stranger.ts`) leave within ten
   * minutes if they are connected, and no new strangers connect. After the call, all connections work, all clocks are
   * right, and all nodes run.
   */
  async heal(): Promise<void> {
    this.#isStopped = true;
    const { wire, nodes } = this.#world;
    wire.quality = GOOD_LINK;
    wire.heal();
    for (const node of nodes) {
      node.skewMs = 0;
      node.disk.dieAtWrite(Number.POSITIVE_INFINITY, () => undefined);
      await node.start();
    }
  }

  #nowAndThen(meanMs: number, work: () => void | Promise<void>): void {
    this.#world.time.schedule(this.#random.below(2 * meanMs), async () => {
      if (this.#isStopped) return;
      await work();
      this.#nowAndThen(meanMs, work);
    });
  }

  #partition(): void {
    const { nodes, wire, time } = this.#world;
    const groups: number[][] = [[], [], []];
    const parts = this.#random.between(2, 3);
    for (const { index } of nodes) groups[this.#random.below(parts)]!.push(index);
    this.#world.partition(groups);
    time.schedule(this.#random.between(10, 1800) * 1000, () => wire.heal());
  }

  #crash(): void {
    const node = this.#random.pick(this.#world.nodes);
    if (!node.isRunning) return;
    const downMs = this.#random.pick([0, 1000, 20_000, 300_000, 1_200_000]);
    if (this.#random.chance(this.#plan.crashesAtWrite)) {
      node.crashAtWrite(this.#random.between(1, 60), () => this.#restart(node.index, downMs));
      return;
    }
    node.crash(this.#random.chance(0.5) ? 0 : this.#random.below(20_000));
    this.#restart(node.index, downMs);
  }

  #blackout(): void {
    for (const node of this.#world.nodes) {
      node.crash();
      this.#restart(node.index, this.#random.below(30_000));
    }
  }

  #restart(index: number, afterMs: number): void {
    this.#world.time.schedule(afterMs, () => this.#world.node(index).start());
  }

  /**
   * Chooses a random node and changes its clock. If the clock is wrong, the method makes it right. If the clock is
   * right, the method makes it wrong, unless too many nodes already have a wrong clock. At most a third of the nodes
   * may have a wrong clock at the same time. In a world of one or two nodes, one node may have it.
   */
  #skew(): void {
    const { nodes } = this.#world;
    const node = this.#random.pick(nodes);
    const wrong = nodes.filter((each) => each.skewMs !== 0);
    if (node.skewMs !== 0 || wrong.length + 1 > Math.max(1, Math.floor(nodes.length / 3))) node.skewMs = 0;
    else node.skewMs = this.#random.between(-40_000, 40_000);
  }

  async #stranger(): Promise<void> {
    const { honest, network, time } = this.#world;
    if (honest.length === 0) return;
    this.#strangers += 1;
    const keys = network.delegates.slice(0, STRANGERS_DELEGATES);
    const stranger = new Stranger(this.#world, this.#random.fork('stranger'), this.#strangers, keys);
    time.schedule(this.#random.between(10, 600) * 1000, () => stranger.leave());
    await stranger.visit(honest.filter(() => this.#random.chance(0.7)).concat(honest[0]!));
  }
}
