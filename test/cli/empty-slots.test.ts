/** Tests that the clock of a devnet moves past the slots of stopped nodes when a transaction waits for a block. */

import test from 'ava';
import { slotAtMs } from '../../src/protocol/slots.ts';
import { LSK } from '../support/chain-maker.ts';
import { begunDevnet, type InProcessDevnet } from './timekeeper-devnet.ts';

const TO = '77L';

function isConfirmed({ nodes }: InProcessDevnet, id: string): boolean {
  return nodes.every(({ isRunning, store }) => !isRunning || store.transactionPlace(id) !== undefined);
}

function slotNow({ timekeeper, network }: InProcessDevnet): number {
  return slotAtMs(timekeeper.nowMs(), network.params);
}

async function restart({ nodes, timekeeper }: InProcessDevnet, index: number): Promise<void> {
  const { agent } = nodes[index]!;
  nodes[index]!.isRunning = true;
  await timekeeper.welcome({ ask: (request) => agent.handle(request) });
}

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: a block takes each funding, although a node is stopped`, async (t) => {
    const devnet = await begunDevnet(t, { generation });
    devnet.nodes[1]!.isRunning = false;
    for (let amount = 1n; amount <= 12n; amount += 1n) {
      const { transactionId } = await devnet.accounts.fund(TO, (amount * LSK).toString());
      t.true(isConfirmed(devnet, transactionId));
    }
    t.deepEqual(devnet.notes, []);
  });
}

test('repeated mining of one slot passes the slots of a stopped node, also with a frozen clock', async (t) => {
  const devnet = await begunDevnet(t);
  const { timekeeper, nodes } = devnet;
  await timekeeper.freeze();
  nodes[1]!.isRunning = false;
  const slot = slotNow(devnet);
  let emptySlots = 0;
  for (let count = 0; count < 10; count += 1) emptySlots += (await timekeeper.mine(1)).emptySlots;
  t.true(emptySlots > 0 && emptySlots < 10);
  t.is(nodes[0]!.store.tip()?.height, 11 - emptySlots);
  t.is(slotNow(devnet), slot + 9);
});

test('a funding that no running node can forge names the reason, and waits in the pool', async (t) => {
  const devnet = await begunDevnet(t, { delegates: 2, mode: 'instant' });
  const { nodes, accounts, network } = devnet;
  for (const index of [0, 1]) nodes[index]!.isRunning = false;
  const slot = slotNow(devnet);
  const error = await t.throwsAsync(accounts.fund(TO, LSK.toString()), { code: 'DEVNET_TRANSACTION_LEFT' });
  t.regex(error?.message ?? '', /no running delegate forged.*stays in the pool/);
  t.true(slotNow(devnet) <= slot + network.params.activeDelegates);
  t.is(nodes[2]!.agent.state().poolSize, 1);
  await restart(devnet, 0);
  t.is(nodes[2]!.store.account(TO)?.balance, LSK);
  t.is(nodes[2]!.agent.state().poolSize, 0);
});

test('in the mode instant a transaction does not wait for another one after an empty slot', async (t) => {
  const devnet = await begunDevnet(t, { mode: 'instant' });
  const { nodes, accounts, timekeeper } = devnet;
  nodes[1]!.isRunning = false;
  for (let amount = 1n; amount <= 12n; amount += 1n) {
    const { id } = await accounts.send({ from: 'genesis', address: TO, amount: amount.toString(), data: '' });
    await timekeeper.exclusively(() => Promise.resolve());
    t.true(isConfirmed(devnet, id));
  }
  t.is(nodes[0]!.store.tip()?.height, 13, 'no block is forged without a transaction');
  t.deepEqual(devnet.notes, []);
});

test('in the mode instant a transaction waits for the restart of a node, if no running node can forge', async (t) => {
  const devnet = await begunDevnet(t, { mode: 'instant', delegates: 2 });
  const { nodes, accounts, timekeeper, network } = devnet;
  for (const index of [0, 1]) nodes[index]!.isRunning = false;
  const slot = slotNow(devnet);
  const ids: string[] = [];
  for (const amount of ['1', '2']) {
    ids.push((await accounts.send({ from: 'genesis', address: TO, amount, data: '' })).id);
    await timekeeper.exclusively(() => Promise.resolve());
  }
  t.true(slotNow(devnet) <= slot + 2 * network.params.activeDelegates, 'at most one round of slots per transaction');
  t.is(nodes[2]!.agent.state().poolSize, 2);
  await restart(devnet, 1);
  for (const id of ids) t.true(isConfirmed(devnet, id));
  const height = nodes[2]!.store.tip()?.height;
  await restart(devnet, 0);
  t.is(nodes[2]!.store.tip()?.height, height, 'nothing waits any more');
});
