/** Injects faults into the nodes behind a balancer, one fault after another. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { LoopbackWires } from '../support/loopback-wires.ts';
import { waitFor, type TestNode } from '../support/devnet.ts';

/**
 * `freeze` lasts longer than the balancer waits for an answer. `cut` disconnects a node from its peers, while clients
 * can still reach the node.
 */
export type ReplicaFault = 'kill' | 'stop' | 'pause' | 'freeze' | 'cut';

export interface FaultyReplicas {
  readonly replicas: readonly TestNode[];
  /** The test compares the heights of the replicas with the height of this node. */
  readonly forger: TestNode;
  readonly wires: LoopbackWires;
  readonly chance: () => number;
  readonly log: (line: string) => void;
}

export interface FaultReport {
  readonly faults: Readonly<Record<ReplicaFault, number>>;
  /** Answers of `/readyz` that came too early: after a fault, the node reported readiness, but was too far behind. */
  readonly early: readonly string[];
}

const DOWN_MS_MAX = 12_000;
const PAUSE_MS_MAX = 4_000;
const FREEZE_MS = 18_000;
const CUT_MS = 25_000;
const REST_MS_MAX = 4_000;
const BACK_MS_MAX = 180_000;
const LOOK_MS_MAX = 10_000;
/** The lag that `/readyz` allows, plus one block that may arrive during the request. */
const LAG_BLOCKS_MAX = 3;

/**
 * Injects one fault after another, each into a randomly selected replica, until the run is over. When the promise
 * resolves, all nodes follow the chain again.
 *
 * @throws Error if a node does not recover
 */
export async function troubleReplicas(
  world: FaultyReplicas,
  kinds: readonly ReplicaFault[],
  isOver: () => boolean,
): Promise<FaultReport> {
  const faults = { kill: 0, stop: 0, pause: 0, freeze: 0, cut: 0 };
  const early: string[] = [];
  for (let turn = 0; !isOver(); turn += 1) {
    const victim = world.replicas[Math.floor(world.chance() * world.replicas.length)];
    const kind = kinds[turn % kinds.length];
    if (victim === undefined || kind === undefined) throw new Error('there is nothing to trouble');
    await FAULTS[kind](world, victim);
    faults[kind] += 1;
    const startedMs = performance.now();
    early.push(...(await untilReady(world, victim, kind)));
    world.log(`${kind} of replica ${victim.plan.index}: ready after ${Math.round(performance.now() - startedMs)} ms`);
    await sleep(world.chance() * REST_MS_MAX);
  }
  return { faults, early };
}

type InjectFault = (world: FaultyReplicas, victim: TestNode) => Promise<void>;

/** Each function injects a fault and then ends it. */
const FAULTS: Readonly<Record<ReplicaFault, InjectFault>> = {
  async kill({ chance }, victim) {
    await victim.kill();
    await sleep(chance() * DOWN_MS_MAX);
    victim.start();
  },
  async stop({ chance }, victim) {
    await victim.stop();
    await sleep(chance() * DOWN_MS_MAX);
    victim.start();
  },
  pause: ({ chance }, victim) => pauseFor(victim, chance() * PAUSE_MS_MAX),
  freeze: (_world, victim) => pauseFor(victim, FREEZE_MS),
  async cut({ wires }, victim) {
    wires.cut(victim.plan.wsPort);
    await sleep(CUT_MS);
    wires.mend(victim.plan.wsPort);
  },
};

async function pauseFor(victim: TestNode, ms: number): Promise<void> {
  victim.pause(true);
  await sleep(ms);
  victim.pause(false);
}

/**
 * Resolves when the node reports that it is ready and its tip is at most `LAG_BLOCKS_MAX` blocks below the tip of
 * `forger`. Returns the earlier wrong reports of readiness.
 */
async function untilReady(
  { forger }: FaultyReplicas,
  victim: TestNode,
  kind: ReplicaFault,
): Promise<readonly string[]> {
  const early: string[] = [];
  await waitFor(
    `readiness of replica ${victim.plan.index} after ${kind}`,
    async () => {
      const tip = (await forger.client.status()).height;
      const answer = await fetch(`${victim.url}/api/readyz`, { signal: AbortSignal.timeout(LOOK_MS_MAX) });
      const health = (await answer.json()) as Readonly<Record<'height' | 'networkHeight', number>> & { ready: boolean };
      const { ready, height, networkHeight } = health;
      const isBehind = tip - height > LAG_BLOCKS_MAX;
      if (ready && isBehind) {
        const where = `height ${height} of ${tip}, most frequent height of its peers ${networkHeight}`;
        early.push(`replica ${victim.plan.index} after ${kind}: ${where}`);
      }
      return ready && !isBehind;
    },
    BACK_MS_MAX,
  );
  return early;
}
