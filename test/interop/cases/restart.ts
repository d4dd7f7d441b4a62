/**
 * (f) While the network forges, one node of each kind (of lisk-sdk and ours) is killed once and stopped once. After
 * each restart, the node must sync the blocks that the other nodes forged without it.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { statusOf } from '../http.ts';
import type { MixedNet } from '../mixed-net.ts';
import type { InteropNode } from '../nodes.ts';
import { untilCommonBlock } from '../waiting.ts';
import { Wallet } from '../wallet.ts';

const DOWN_MS = 12_000;
const BACK_MS_MAX = 120_000;
const LSK = 100_000_000n;

export async function restart(net: MixedNet): Promise<string> {
  const { nodes, world } = net;
  const [real] = net.real;
  const [ours] = net.ours;
  if (real === undefined || ours === undefined) throw new Error('a kind is missing');
  await net.pastFirstRounds();
  const words: string[] = [];
  for (const [node, how] of [
    [real, 'kill'],
    [ours, 'kill'],
    [real, 'stop'],
    [ours, 'stop'],
  ] as const) {
    words.push(
      `${node.name} was ${how === 'kill' ? 'killed' : 'stopped'}, and synced ${await cycle(net, node, how)} s after its start.`,
    );
    world.log(words.at(-1) ?? '');
    // A transaction that the restarted node receives must reach all nodes. The sender's account has no group and no
    // second passphrase, because case (d) has registered none for it. The transaction therefore needs only one
    // signature.
    const wallet = new Wallet(world, [node, ...nodes.filter((other) => other !== node)]);
    const [from, to] = [wallet.account('account_6'), wallet.account('account_8')];
    await wallet.include([wallet.transfer(from, to, LSK + BigInt(words.length))]);
  }
  return `${words.join(' ')} ${await net.compare()}`;
}

async function cycle(net: MixedNet, node: InteropNode, how: 'kill' | 'stop'): Promise<number> {
  await node[how]();
  await sleep(DOWN_MS);
  const startedMs = Date.now();
  await net.startNode(node);
  const heights = await Promise.all(net.nodes.map(({ url }) => statusOf(url).then(({ height }) => height)));
  await untilCommonBlock(net.nodes, Math.max(...heights) + 1, BACK_MS_MAX);
  return Math.round((Date.now() - startedMs) / 1000);
}
