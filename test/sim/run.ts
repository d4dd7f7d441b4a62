/**
 * Simulates the world of one seed. In the first 80 % of the time, the world has faults. After the end of the faults,
 * the honest nodes must agree on one chain again.
 */

import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Generation } from '../../src/protocol/params.ts';
import { openLmdb } from '../../src/store/disk/lmdb.ts';
import { LSK } from '../support/chain-maker.ts';
import { checkTables, disagreement, PromiseBroken, Watch } from './checks.ts';
import { Disk } from './disk.ts';
import { drawPlan, Faults, forgersOf, misbehaviourOf, type FaultPlan } from './faults.ts';
import { SeededRandom } from './seeded-random.ts';
import { World, type SimLine } from './world.ts';

/**
 * Maximum number of slots (of ten seconds) from the end of the faults until the chains of all honest nodes are equal
 * except for the newest block. The number is a sum. Two slots are for new connections, because a node dials its fixed
 * peers at least every ten seconds. Eight slots are for the backoff (at most 80 seconds) after a failed sync from a
 * peer. If fork choice prefers neither of two different chains, the next block decides between them: one slot is for
 * this block, and one slot is for its download. The remaining eight slots are for dishonest delegates, which can send
 * different blocks to different nodes and so delay the agreement.
 */
export const MEET_SLOTS_MAX = 20;
/**
 * After the honest nodes have agreed on one chain, their chains may again differ by at most this number of blocks. A
 * difference is possible, because dishonest delegates still send two blocks for a slot, or late blocks.
 */
export const DISAGREEMENT_BLOCKS_MAX = 8;
/** In this share of the time, at the end of the run, the world has no faults. */
const HEALED_SHARE = 0.2;

export interface RunOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly hours: number;
  readonly store: 'memory' | 'lmdb';
  /** Protocol generation; default: 3. */
  readonly generation?: Generation;
  /** A plan that replaces the plan of the seed. */
  readonly plan?: FaultPlan;
}

export interface RunResult {
  readonly seed: number;
  readonly plan: FaultPlan;
  /**
   * A digest of the number of simulated events, and of the tip and the state of each node that runs at the end. Two
   * runs with equal options have equal digests.
   */
  readonly digest: string;
  readonly height: number;
  readonly finalized: number;
  readonly events: number;
  readonly counts: ReadonlyMap<string, number>;
  /** Processor time of the run in milliseconds. */
  readonly cpuMs: number;
  /**
   * Number of slots from the end of the faults until the chains of all honest nodes were equal except for the newest
   * block; -1 if the run failed.
   */
  readonly metAfterSlots: number;
  readonly failure?: { readonly message: string; readonly lines: readonly SimLine[] };
}

export async function runSeed(options: RunOptions): Promise<RunResult> {
  const { seed, nodes, hours } = options;
  const cpuAtStart = process.cpuUsage();
  const plan = options.plan ?? drawPlan(new SeededRandom(`plan ${seed}`), nodes);
  const folder = options.store === 'lmdb' ? mkdtempSync(join(tmpdir(), 'bloomery-sim-')) : undefined;
  const world = new World({
    seed,
    nodes,
    network: { ...NETWORK, ...(options.generation === 2 ? { generation: 2, delegateListRoundOffset: 0 } : {}) },
    forgersOf: forgersOf(plan, nodes),
    misbehaviourOf: misbehaviourOf(plan, nodes),
    ...(folder === undefined ? {} : { diskOf: (node) => new Disk(openLmdb(join(folder, String(node)), true)) }),
  });
  let metAfterSlots = -1;
  let failure: RunResult['failure'];
  const onRejection = (reason: unknown): void => world.noteRejection(reason);
  process.on('unhandledRejection', onRejection);
  try {
    metAfterSlots = await live(world, plan, hours * 3600);
  } catch (error) {
    const message = error instanceof PromiseBroken ? error.message : String((error as Error).stack ?? error);
    failure = { message, lines: [...world.lines] };
  } finally {
    process.off('unhandledRejection', onRejection);
  }
  const result: RunResult = {
    seed,
    plan,
    digest: digestOf(world),
    height: Math.max(0, ...world.honest.map((node) => node.tip.height)),
    finalized: Math.max(0, ...world.honest.map((node) => node.engine.chain.finalizedHeight)),
    events: world.time.eventCount,
    counts: world.counts,
    cpuMs: milliseconds(process.cpuUsage(cpuAtStart)),
    metAfterSlots,
    ...(failure === undefined ? {} : { failure }),
  };
  await world.close();
  if (folder !== undefined) rmSync(folder, { recursive: true });
  return result;
}

/**
 * The network has 104 delegates, but only 101 of them forge in a round. Votes can therefore change which delegates
 * forge. Rewards start in the second round.
 */
const NETWORK = {
  blockTimeS: 10,
  delegates: 104,
  accountBalance: 20_000n * LSK,
  rewards: { milestones: [5n * LSK, 4n * LSK, 3n * LSK], offset: 103, distance: 200 },
};

async function live(world: World, plan: FaultPlan, seconds: number): Promise<number> {
  const watch = new Watch(world);
  const look = (): void => watch.look();
  const faults = new Faults(world, plan);
  await world.startAll();
  faults.start();
  await world.run(Math.floor(seconds * (1 - HEALED_SHARE)), look);
  await faults.heal();
  const slotS = world.params.blockTimeS;
  const slots = Math.floor((seconds * HEALED_SHARE) / slotS);
  let metAfter = -1;
  for (let slot = 1; slot <= Math.max(slots, MEET_SLOTS_MAX); slot += 1) {
    await world.run(slotS, look);
    const apart = disagreement(world.honest);
    if (metAfter < 0 && apart <= 1) metAfter = slot;
    if (metAfter < 0 && slot >= MEET_SLOTS_MAX) {
      throw new PromiseBroken('healed nodes meet', { slots: slot, tips: tipsOf(world) });
    }
    if (metAfter >= 0 && apart > DISAGREEMENT_BLOCKS_MAX) {
      throw new PromiseBroken('nodes that met stay together', { slot, apart, tips: tipsOf(world) });
    }
  }
  checkTables(world.honest);
  return metAfter;
}

function tipsOf(world: World) {
  return world.honest.map((node) => ({
    node: node.index,
    height: node.tip.height,
    prevoted: node.tip.maxHeightPrevoted,
    finalized: node.engine.chain.finalizedHeight,
    id: node.tip.id,
  }));
}

function milliseconds({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

function digestOf(world: World): string {
  const hash = createHash('sha256').update(String(world.time.eventCount));
  for (const node of world.nodes) {
    if (node.isRunning) hash.update(`/${node.index} ${node.tip.id} ${node.store.stateDigest()}`);
  }
  return hash.digest('hex').slice(0, 16);
}
