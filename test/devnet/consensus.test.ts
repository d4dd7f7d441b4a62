import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import {
  closeAfter,
  startTestDevnet,
  waitFor,
  waitForAnswer,
  waitForCommonBlock,
  waitForCommonDigest,
  type TestNode,
} from '../support/devnet.ts';

const LATE_MS = 120_000;

test('nodes of generation 2 agree, forge only with consensus, and catch up by asking for blocks', async (t) => {
  t.timeout(600_000);
  const devnet = await startTestDevnet({ nodes: 4, spectators: 1, network: 'devnet-gen2' });
  closeAfter(t, devnet);
  const forgers = devnet.nodes.slice(0, 4);
  const [first, second, third, fourth, spectator] = devnet.nodes as [TestNode, TestNode, TestNode, TestNode, TestNode];
  await waitForCommonBlock(forgers, 6, LATE_MS);
  for (const { client } of forgers) {
    await waitFor('full consensus', async () => (await client.status()).consensus === 100, LATE_MS);
  }

  await Promise.all([second.kill(), third.kill(), fourth.kill()]);
  await waitFor('no consensus', async () => (await first.client.status()).consensus === 0, LATE_MS);
  const reason = "0 % of the peers share this node's tip, and forging requires 51 %";
  await waitFor('a stated reason', async () => readFileSync(first.plan.logFile, 'utf8').includes(reason), LATE_MS);
  const { height } = await first.client.status();
  await sleep(3 * devnet.network.params.blockTimeS * 1000);
  t.is((await first.client.status()).height, height);

  // The spectator starts for the first time, so it must download the whole chain.
  for (const node of [second, third, fourth, spectator]) node.start();
  for (const node of [second, third, fourth, spectator]) await waitForAnswer(node, LATE_MS);
  await waitForCommonBlock(devnet.nodes, height + 4, LATE_MS);
  t.regex(await waitForCommonDigest(devnet.nodes, LATE_MS), /^[0-9a-f]{64}$/);
});
