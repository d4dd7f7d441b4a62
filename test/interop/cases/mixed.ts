/**
 * (d) Two real nodes (of lisk-sdk) and three of ours share the delegates for more than three rounds. A client posts
 * transactions of every type. It posts each transaction to one node, and takes the five nodes in turn. All nodes must
 * have one chain and give equal answers. No node may ban or penalise a peer. After the nodes have found each other, no
 * node may revert a block.
 */

import { blocksMs, type MixedNet } from '../mixed-net.ts';
import { untilCommonBlock, untilHeight } from '../waiting.ts';
import { reorgsOf } from '../watch.ts';
import { Wallet } from '../wallet.ts';

const ROUND = 101;
const FULL_ROUNDS = 3;
const MET_HEIGHT = 8;
const MEET_MS_MAX = 60_000;

export async function mixed(net: MixedNet): Promise<string> {
  const { nodes, world } = net;
  // The nodes that start first forge alone until they have found the other nodes.
  await untilHeight(nodes[0], MET_HEIGHT, blocksMs(MET_HEIGHT));
  await untilCommonBlock(nodes, MET_HEIGHT, MEET_MS_MAX);
  const before = new Map(nodes.map((node) => [node, reorgsOf(node).length]));
  const wallet = new Wallet(world, nodes);
  await wallet.everyType(1);
  world.log(`${wallet.sent.length} transactions of every type are in blocks of all nodes`);
  await untilHeight(nodes[0], ROUND + 10, blocksMs(ROUND));
  await wallet.everyType(6);
  world.log(`${wallet.sent.length} transactions are in blocks of all nodes`);
  const goal = FULL_ROUNDS * ROUND + 2;
  await untilHeight(nodes[0], goal, blocksMs(goal));
  await untilCommonBlock(nodes, goal, 30_000);
  const switches = nodes.flatMap((node) =>
    reorgsOf(node)
      .slice(before.get(node))
      .map((line) => `${node.name}: ${line.slice(0, 200)}`),
  );
  if (switches.length > 0) throw new Error(`blocks were reverted:\n${switches.slice(0, 5).join('\n')}`);
  return `In ${FULL_ROUNDS} rounds with ${wallet.sent.length} transactions, no block was reverted. ${await net.compare()}`;
}
