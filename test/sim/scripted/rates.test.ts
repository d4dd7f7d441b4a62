/**
 * Tests networks of honest nodes that receive many transactions. The tests use several slot times, and several
 * intervals between two calls of `TransactionPool.step` in a node. In every test, no node may send messages above the
 * rate limits of another node.
 */

import test from 'ava';

import type { Generation } from '../../../src/protocol/params.ts';
import { Load } from '../load.ts';
import { ScriptedWorld } from '../scripted-world.ts';

const NODES = 7;
const SECONDS = Number(process.env['RATES_SECONDS'] ?? 30);

/**
 * Slot times, and intervals in milliseconds between two calls of `TransactionPool.step` in a node. The entries are the
 * timing of `bloomery devnet`, the default timing of public networks, and a timing with different intervals for
 * different nodes.
 */
const TIMINGS = [
  { name: 'devnet timing', blockTimeS: 2, intervalMsOf: () => 1_000 },
  { name: 'default timing', blockTimeS: 10, intervalMsOf: () => 5_000 },
  { name: 'mixed timing', blockTimeS: 2, intervalMsOf: (node: number) => [100, 1_000, 5_000][node % 3] ?? 5_000 },
] as const;

for (const generation of [2, 3] as const) {
  for (const { name, blockTimeS, intervalMsOf } of TIMINGS) {
    for (const perSecond of [1, 10, 25]) {
      test(`generation ${generation}, ${name}, ${perSecond} transactions per s: no call is dropped or penalised`, async (t) => {
        const scripted = await ScriptedWorld.begin({
          nodes: NODES,
          network: { blockTimeS, accounts: 50, ...networkOf(generation) },
          broadcastIntervalMsOf: intervalMsOf,
        });
        const { world } = scripted;
        const load = new Load(world);
        load.startTransfers(perSecond);
        await scripted.slots(SECONDS / blockTimeS);
        const { rates } = world.wire;
        t.log(Object.fromEntries(rates.uses));
        t.deepEqual(Object.fromEntries(rates.dropped), {}, 'dropped by nodes of ours');
        t.deepEqual(Object.fromEntries(rates.charged), {}, 'charged by nodes of the reference');
        t.is(world.wronged, undefined);
        const confirmed = load.sent.filter((id) => world.node(0).store.hasTransaction(id)).length;
        t.log(`${confirmed} of ${load.sent.length} transactions in blocks`);
        t.true(confirmed > 0);
        await world.close();
      });
    }
  }
}

function networkOf(generation: Generation) {
  return generation === 2 ? { generation, delegateListRoundOffset: 0 } : {};
}
