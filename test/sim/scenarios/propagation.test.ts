/** How soon a transaction that one node took in is in the pools of the others. */

import test from 'ava';

import type { Generation } from '../../../src/protocol/params.ts';
import { Load } from '../load.ts';
import { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

const NODES = 10;
const LOOK_MS = 100;

interface Spread {
  /** From the first pool that has it to the last; seconds, ascending. */
  readonly seconds: readonly number[];
  readonly lacking: number;
}

/** Sends transfers to random nodes, and looks when the last node has each. */
async function spread(world: World, perSecond: number, seconds: number): Promise<Spread> {
  const load = new Load(world);
  load.startTransfers(perSecond);
  const seenMs = new Map<string, number>();
  const delays: number[] = [];
  let sent = 0;
  const waiting = new Set<string>();
  for (let looks = 0; looks < (seconds * 1000) / LOOK_MS; looks += 1) {
    await world.run(LOOK_MS / 1000);
    for (; sent < load.sent.length; sent += 1) {
      const id = load.sent[sent] ?? '';
      waiting.add(id);
      seenMs.set(id, world.time.nowMs - LOOK_MS);
    }
    for (const id of waiting) {
      const isEverywhere = world.nodes.every(({ engine, store }) => engine.pool.has(id) || store.hasTransaction(id));
      if (!isEverywhere) continue;
      waiting.delete(id);
      delays.push((world.time.nowMs - (seenMs.get(id) ?? 0)) / 1000);
    }
  }
  const lacking = [...waiting].filter((id) => world.time.nowMs - (seenMs.get(id) ?? 0) > 10_000).length;
  return { seconds: delays.sort((a, b) => a - b), lacking };
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;
}

function networkOf(generation: Generation) {
  return generation === 2 ? { generation, delegateListRoundOffset: 0 } : {};
}

const SHAPES = [
  { name: 'each knows all others', fixedPeersOf: (node: number) => numbers().filter((other) => other !== node) },
  { name: 'each knows three', fixedPeersOf: (node: number) => [1, 3, 5].map((step) => (node + step) % NODES) },
] as const;

for (const generation of [2, 3] as const) {
  for (const { name, fixedPeersOf } of SHAPES) {
    for (const perSecond of [1, 3, 25]) {
      test(`generation ${generation}, ten nodes, ${name}, ${perSecond}: a transaction is in all pools within seconds`, async (t) => {
        const { world } = await Scenario.begin({
          nodes: NODES,
          network: { accounts: 50, ...networkOf(generation) },
          fixedPeersOf,
          outboundMax: 3,
        });
        world.wire.quality = { ...world.wire.quality, delayMinMs: 20, delayMaxMs: 150 };
        await world.run(20);
        const { seconds, lacking } = await spread(world, perSecond, 60);
        t.log({
          half: quantile(seconds, 0.5),
          most: quantile(seconds, 0.95),
          slowest: seconds.at(-1),
          lacking,
          count: seconds.length,
        });
        t.log(
          Object.fromEntries(world.wire.rates.uses),
          Object.fromEntries(world.wire.rates.charged),
          world.nodes.map((n) => n.engine.pool.sizes().received).join(),
        );
        t.is(lacking, 0);
        t.true(quantile(seconds, 0.5) <= 2.5);
        t.true(quantile(seconds, 0.95) <= 5);
        await world.close();
      });
    }
  }
}

function numbers(): readonly number[] {
  return Array.from({ length: NODES }, (_, index) => index);
}
