/**
 * (e) The network is cut into two sides, which both forge. During the cut, the side with more delegates forges at least
 * thirty blocks. The cut ends only when fork choice also prefers the branch of this side. The other side has the
 * shorter branch. It must revert the blocks that it forged during the cut.
 */

import { blockIdAt, statusOf, tipOf, type Tip } from '../http.ts';
import { blocksMs, type MixedNet } from '../mixed-net.ts';
import type { InteropNode } from '../nodes.ts';
import { eventually, namesOf, untilCommonBlock, untilHeight } from '../waiting.ts';

const BLOCKS_APART = 30;
/**
 * Before the cut ends, the case waits until fork choice prefers the longer branch. The time limit of this wait is
 * `blocksMs` of this number of blocks. One round is enough: in a round, every delegate of the side with the longer
 * branch forges once.
 */
const BETTER_BLOCKS_MAX = 101;
/**
 * The time in which both sides must agree on one chain after the cut ends. A real node (of lisk-sdk) takes up to ten
 * seconds to dial its peers again. A real node of release 3.0.2 syncs when a block of the better branch arrives. A real
 * node of release 2.3.8 checks every ten seconds whether it has received or forged a block in the last twenty seconds,
 * and syncs if it has done neither. In each such sync, this node reverts at most five blocks.
 */
const MEET_MS_MAX = 300_000;

/**
 * Cuts the network twice. At the first cut, the two real nodes have the shorter branch. At the second cut, two of our
 * nodes have it.
 */
export async function cut(net: MixedNet): Promise<string> {
  const [first, second, third, fourth, fifth] = net.nodes as [
    InteropNode,
    InteropNode,
    InteropNode,
    InteropNode,
    InteropNode,
  ];
  await net.pastFirstRounds();
  const words = [
    await cutOff(net, [first, second], [third, fourth, fifth]),
    await cutOff(net, [fourth, fifth], [first, second, third]),
  ];
  return `${words.join('; ')}; ${await net.compare()}`;
}

async function cutOff(net: MixedNet, shorter: readonly InteropNode[], longer: readonly InteropNode[]): Promise<string> {
  const [one] = shorter;
  const [other] = longer;
  if (one === undefined || other === undefined) throw new Error('a side without nodes');
  const { height } = await statusOf(other.url);
  net.cut(shorter, longer);
  net.world.log(`${namesOf(shorter)} are cut off at ${height}`);
  await untilHeight(other, height + BLOCKS_APART, blocksMs(BLOCKS_APART * 2));
  const [lost, kept] = await eventually('the longer branch is the better one', blocksMs(BETTER_BLOCKS_MAX), () =>
    inOrder(one, other),
  );
  const apart = lost.height;
  const [rival, winner] = await Promise.all([blockIdAt(one.url, apart), blockIdAt(other.url, apart)]);
  if (rival === winner) throw new Error(`no branch of ${one.name} at ${apart}`);
  net.heal();
  const startedMs = Date.now();
  net.world.log(`healed: ${lost.height} against ${kept.height}`);
  const met = await untilCommonBlock(net.nodes, kept.height + 3, MEET_MS_MAX);
  const seconds = Math.round((Date.now() - startedMs) / 1000);
  const survivor = await blockIdAt(one.url, apart);
  if (survivor !== winner) throw new Error(`at ${apart} the block of the shorter branch survived (${met})`);
  return `${namesOf(shorter)} replaced ${lost.height - height} blocks by ${kept.height - height} after ${seconds} s.`;
}

/**
 * Returns the tips of both nodes if fork choice prefers the tip of `other`, and throws otherwise. In generation 3, the
 * height that two thirds of the delegates have prevoted decides first, and the height of the tip decides second. The
 * side with more delegates may have the lower prevoted height for a while.
 */
async function inOrder(one: InteropNode, other: InteropNode): Promise<readonly [Tip, Tip]> {
  const [lost, kept] = await Promise.all([tipOf(one.url), tipOf(other.url)]);
  const [lostVotes, keptVotes] = [lost.maxHeightPrevoted ?? 0, kept.maxHeightPrevoted ?? 0];
  if (keptVotes > lostVotes || (keptVotes === lostVotes && kept.height > lost.height)) return [lost, kept];
  throw new Error(
    `${other.name} has ${keptVotes} prevoted at ${kept.height}, ${one.name} ${lostVotes} at ${lost.height}`,
  );
}
