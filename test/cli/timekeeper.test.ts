/** Tests how a timekeeper controls the time and the blocks of a devnet, with its nodes in this process. */

import test, { type ExecutionContext } from 'ava';
import { epochTimeS, slotAt, slotAtMs, slotStartMs } from '../../src/protocol/slots.ts';
import { inProcessDevnet, type InProcessDevnet, type InProcessOptions } from './timekeeper-devnet.ts';
import { createRules } from '../../src/protocol/generations.ts';
import { addressOfPair, makeTransaction, type TestNetwork } from '../support/chain-maker.ts';

const YEAR_MS = 365 * 24 * 3600 * 1000;

async function devnetOf(t: ExecutionContext, options?: InProcessOptions): Promise<InProcessDevnet> {
  const devnet = await inProcessDevnet(options);
  t.teardown(() => devnet.close());
  return devnet;
}

function tips({ nodes }: InProcessDevnet) {
  return nodes.filter(({ isRunning }) => isRunning).map(({ engine }) => engine.chain.tip.header);
}

/** Whether all running nodes have the same tip and the same state. */
function isOne({ nodes }: InProcessDevnet): boolean {
  const running = nodes.filter(({ isRunning }) => isRunning);
  return new Set(running.map(({ store }) => `${store.tip()?.id} ${store.stateDigest()}`)).size === 1;
}

function transferOf({ params, accounts }: TestNetwork, amount: bigint, nowMs: number) {
  const [sender, recipient] = accounts;
  const payload = { kind: 'transfer', amount, recipientId: addressOfPair(recipient!) } as const;
  const transaction = makeTransaction(params, sender!, payload, { timestamp: epochTimeS(nowMs, params) });
  return createRules(params).codec.transactionToJson(transaction);
}

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: the next slots are mined by their owners, on all nodes, without waiting`, async (t) => {
    const devnet = await devnetOf(t, { generation });
    const { timekeeper, network, nodes } = devnet;
    await timekeeper.begin();
    t.is(tips(devnet)[0]?.height, 1, 'nothing is mined that nobody asked for');
    const mined = await timekeeper.mine(12);
    t.is(mined.slots, 12);
    t.is(mined.emptySlots, 0);
    t.is(mined.height, 13);
    t.true(isOne(devnet));
    const { state, rules } = nodes[0]!.engine.chain;
    const slots = Array.from({ length: 12 }, (_, index) => slotAt(state.header(index + 2)!.timestamp, network.params));
    t.deepEqual(
      slots,
      slots.map((_, index) => slots[0]! + index),
      'one slot after the other',
    );
    t.true(rules.finalizedHeight(state) > 1 || generation === 2);
    t.deepEqual(devnet.notes, []);
    for (const { codes } of nodes) t.false(codes.includes('FORGING_SLOT_SLEPT'));
  });
}

test("a block mined later gets the slot of the machine's clock", async (t) => {
  const devnet = await devnetOf(t);
  const { timekeeper, machine, network } = devnet;
  await timekeeper.begin();
  await timekeeper.mine(1);
  machine.nowMs += 60_000;
  await timekeeper.mine(1);
  t.is(slotAt(tips(devnet)[0]!.timestamp, network.params), slotAtMs(machine.nowMs, network.params));
});

test('a slot that ends while the nodes are asked to forge is not left empty', async (t) => {
  const devnet = await devnetOf(t);
  const { timekeeper, network, machine, nodes } = devnet;
  await timekeeper.begin();
  await timekeeper.mine(1);
  // The nodes forge one after another. After `requestsBefore` nodes have been asked, the machine's clock enters the
  // next slot.
  let requestsBefore = Infinity;
  let previous: Promise<unknown> = Promise.resolve();
  for (const { agent } of nodes) {
    const handle = agent.handle.bind(agent);
    agent.handle = (request) => {
      if (request.op !== 'forge') return handle(request);
      const answer = previous.then(() => {
        if (requestsBefore === 0) machine.nowMs += 1;
        requestsBefore -= 1;
        return handle(request);
      });
      previous = answer;
      return answer;
    };
  }
  let height = 2;
  for (let owner = 0; owner < network.delegates.length; owner += 1) {
    for (const [index] of nodes.entries()) {
      const atMs = timekeeper.nowMs();
      const slot = slotAtMs(atMs, network.params) + 2;
      machine.nowMs += slotStartMs(slot, network.params) - 1 - atMs;
      requestsBefore = index;
      height += 2;
      t.like(await timekeeper.mine(2), { emptySlots: 0, height }, `after ${index} requests, at height ${height}`);
    }
  }
  t.true(isOne(devnet));
});

test('the clock does not follow a node whose clock is ahead', async (t) => {
  const devnet = await devnetOf(t);
  const { timekeeper, network, nodes } = devnet;
  await timekeeper.begin();
  await nodes[0]!.agent.handle({ op: 'faults', faults: { links: [], skewMs: 3_600_000 } });
  const startMs = timekeeper.nowMs();
  await timekeeper.mine(5);
  await timekeeper.mine(5);
  t.true(timekeeper.nowMs() - startMs <= 11 * network.params.blockTimeS * 1000);
});

test('slots of a stopped node stay empty and are counted, and the node catches up after its start', async (t) => {
  const devnet = await devnetOf(t);
  const { timekeeper, nodes } = devnet;
  await timekeeper.begin();
  nodes[2]!.isRunning = false;
  const mined = await timekeeper.mine(10);
  t.true(mined.emptySlots > 0);
  t.is(mined.height, 11 - mined.emptySlots);
  t.true(isOne(devnet));
  await timekeeper.mine(150);
  nodes[2]!.isRunning = true;
  t.false(isOne(devnet));
  const { agent } = nodes[2]!;
  await timekeeper.welcome({ ask: (request) => agent.handle(request) });
  t.true(isOne(devnet));
});

test('a year of empty slots passes at once, and blocks follow', async (t) => {
  const devnet = await devnetOf(t);
  const { timekeeper, nodes } = devnet;
  await timekeeper.begin();
  await timekeeper.mine(3);
  const before = tips(devnet)[0]!;
  const { time } = await timekeeper.warp(timekeeper.nowMs() + YEAR_MS);
  t.is(Date.parse(time), timekeeper.nowMs());
  t.is(tips(devnet)[0]!.id, before.id);
  const mined = await timekeeper.mine(7);
  t.is(mined.emptySlots, 0);
  const after = tips(devnet)[0]!;
  t.is(after.height, before.height + 7);
  t.true(after.timestamp - before.timestamp >= YEAR_MS / 1000);
  t.true(isOne(devnet));
  for (const { agent } of nodes) t.is(agent.chainClock.nowMs(), timekeeper.nowMs());
});

test('the clock cannot be set back, and the refusal suggests a revert to a snapshot', async (t) => {
  const { timekeeper } = await devnetOf(t);
  await timekeeper.begin();
  const error = await t.throwsAsync(timekeeper.warp(timekeeper.nowMs() - 1000), { code: 'DEVNET_TIME_BACKWARDS' });
  t.regex(error?.message ?? '', /snapshot/);
});

test('an invalid time is refused and leaves the clock unchanged', async (t) => {
  const { timekeeper, nodes } = await devnetOf(t);
  await timekeeper.begin();
  const { setting } = timekeeper;
  await t.throwsAsync(timekeeper.warp(Number.NaN), { instanceOf: RangeError, message: /is not a time/ });
  t.deepEqual(timekeeper.setting, setting);
  const { chainClock } = nodes[0]!.agent;
  t.throws(() => chainClock.set({ kind: 'running', aheadMs: Number.NaN }), { instanceOf: RangeError });
  t.throws(() => chainClock.set({ kind: 'frozen', atMs: Number.POSITIVE_INFINITY }), { instanceOf: RangeError });
  t.deepEqual(chainClock.setting, setting);
});

test('a frozen clock stops on all nodes until it is resumed, and mining moves it by slots', async (t) => {
  const { timekeeper, machine, nodes, network } = await devnetOf(t);
  await timekeeper.begin();
  await timekeeper.freeze();
  const frozenMs = timekeeper.nowMs();
  machine.nowMs += 100_000;
  t.is(timekeeper.nowMs(), frozenMs);
  for (const { agent } of nodes) t.is(agent.chainClock.nowMs(), frozenMs);
  await timekeeper.mine(3);
  t.is(timekeeper.nowMs(), slotStartMs(slotAtMs(frozenMs, network.params) + 2, network.params));
  const beforeMs = timekeeper.nowMs();
  await timekeeper.resume();
  t.is(timekeeper.nowMs(), beforeMs);
  machine.nowMs += 5000;
  t.is(timekeeper.nowMs(), beforeMs + 5000);
});

test('in the mode instant a transaction is at once in a block of all nodes, and nothing else is mined', async (t) => {
  const devnet = await devnetOf(t, { mode: 'instant' });
  const { timekeeper, nodes, network } = devnet;
  await timekeeper.begin();
  t.is(tips(devnet)[0]!.height, 1);
  for (let sent = 1; sent <= 3; sent += 1) {
    const json = transferOf(network, BigInt(sent), timekeeper.nowMs());
    t.true(nodes[sent % 3]!.engine.pool.submit(json).accepted);
    await timekeeper.exclusively(() => Promise.resolve());
    t.deepEqual(
      tips(devnet).map(({ height }) => height),
      [1 + sent, 1 + sent, 1 + sent],
    );
    t.is(tips(devnet)[0]!.numberOfTransactions, 1);
  }
  t.true(isOne(devnet));
  t.deepEqual(devnet.notes, []);
});

test('in the mode on-demand, mining takes a transaction that any one node accepted before', async (t) => {
  const devnet = await devnetOf(t);
  const { timekeeper, nodes, network } = devnet;
  await timekeeper.begin();
  for (let sent = 1; sent <= 5; sent += 1) {
    const json = transferOf(network, BigInt(sent), timekeeper.nowMs());
    // Nodes other than node 0 forge most of the five blocks. Without gossip, these nodes can get the transaction only
    // from the timekeeper.
    t.true(nodes[0]!.engine.pool.submit(json).accepted);
    t.is(tips(devnet)[0]!.height, sent);
    await timekeeper.mine(1);
    t.is(tips(devnet)[0]!.numberOfTransactions, 1);
  }
  t.deepEqual(devnet.notes, []);
});

test('a transaction that a block took meanwhile does not keep the others from the next block', async (t) => {
  const devnet = await devnetOf(t);
  const { timekeeper, nodes, network } = devnet;
  await timekeeper.begin();
  const [early, late] = [1n, 2n].map((amount) => transferOf(network, amount, timekeeper.nowMs()));
  const { accepted } = nodes[0]!.engine.pool.submit(early!);
  t.true(accepted);
  await timekeeper.mine(1);
  const mining = timekeeper.mine(1);
  // While `mine` runs, the timekeeper gets the transaction `early` again, with another id. Then a node gets the new
  // transaction `late`.
  timekeeper.transactionArrived('another id', early!);
  t.true(nodes[1]!.engine.pool.submit(late!).accepted);
  await mining;
  await timekeeper.mine(1);
  t.is(nodes[2]!.engine.pool.sizes().ready, 0);
  t.is(nodes.filter(({ store }) => store.transactionPlace(String(late!['id'])) !== undefined).length, 3);
  t.deepEqual(devnet.notes, []);
});

test('a block time below the slot length mines at its own pace, and stops when it is frozen', async (t) => {
  const devnet = await devnetOf(t, { mode: 'interval', intervalMs: 20 });
  const { timekeeper } = devnet;
  await timekeeper.begin();
  t.true(timekeeper.isHeld);
  while (tips(devnet)[0]!.height < 6) await new Promise((resolve) => setTimeout(resolve, 10));
  await timekeeper.freeze();
  const { height } = tips(devnet)[0]!;
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.is(tips(devnet)[0]!.height, height);
  await timekeeper.resume();
  while (tips(devnet)[0]!.height < height + 2) await new Promise((resolve) => setTimeout(resolve, 10));
  await timekeeper.setMode('on-demand');
  t.true(isOne(devnet));
});

test('in the mode interval the first block comes at once and nodes fill their slots themselves', async (t) => {
  const devnet = await devnetOf(t, { mode: 'interval' });
  await devnet.timekeeper.begin();
  t.false(devnet.timekeeper.isHeld);
  t.is(tips(devnet)[0]!.height, 2);
  for (const { agent } of devnet.nodes) t.false(agent.isForgingSuspended());
  await devnet.timekeeper.setMode('on-demand');
  for (const { agent } of devnet.nodes) t.true(agent.isForgingSuspended());
});

test('a resumed devnet continues with its last clock, and never before its newest block', async (t) => {
  const { timekeeper, machine, nodes } = await devnetOf(t, { earlier: { kind: 'running', aheadMs: 3_600_000 } });
  for (const { agent } of nodes) t.is(agent.chainClock.nowMs(), machine.nowMs + 3_600_000, 'before the devnet begins');
  await timekeeper.begin();
  t.is(timekeeper.nowMs(), machine.nowMs + 3_600_000);

  const behind = await devnetOf(t, { earlier: { kind: 'running', aheadMs: -2_000_000_000 } });
  const { params } = behind.network;
  t.true(behind.timekeeper.nowMs() < params.epochMs);
  await behind.timekeeper.begin();
  t.is(behind.timekeeper.nowMs(), slotStartMs(slotAt(tips(behind)[0]!.timestamp, params), params));
});

test('when no node answers, mining fails with that reason', async (t) => {
  const devnet = await devnetOf(t);
  await devnet.timekeeper.begin();
  for (const node of devnet.nodes) node.isRunning = false;
  await t.throwsAsync(devnet.timekeeper.mine(1), { code: 'DEVNET_NODE_SILENT' });
});

test('after mining has failed, the clocks of the nodes run again', async (t) => {
  const devnet = await devnetOf(t, { mode: 'interval' });
  const { timekeeper, nodes, machine } = devnet;
  await timekeeper.begin();
  const transaction = transferOf(devnet.network, 1n, timekeeper.nowMs());
  const attempts = [
    ['forge', () => timekeeper.mine(1)],
    ['forge', () => timekeeper.confirm(String(transaction['id']), transaction)],
    ['confirmed', () => timekeeper.confirm(String(transaction['id']), transaction)],
  ] as const;
  for (const [op, attempt] of attempts) {
    for (const { refused } of nodes) refused.add(op);
    await t.throwsAsync(attempt(), undefined, op);
    for (const { refused } of nodes) refused.clear();
    machine.nowMs += 10_000;
    for (const { agent } of nodes) t.is(agent.chainClock.nowMs(), timekeeper.nowMs(), op);
  }
});
