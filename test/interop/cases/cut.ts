/**
 * (e) One side is cut off and returns when the other side is thirty blocks ahead. The shorter branch must be reverted.
 */

import { blockIdAt, statusOf, tipOf, type Tip } from '../http.ts';
import { blocksMs, type MixedNet } from '../mixed-net.ts';
import type { InteropNode } from '../nodes.ts';
import { eventually, namesOf, untilCommonBlock, untilHeight } from '../waiting.ts';

const BLOCKS_APART = 30;
/** After a round all delegates of a side have voted, so that votes from before the cut do not decide. */
const BETTER_BLOCKS_MAX = 101;
/**
 * Time for both sides to agree. The reference takes up to ten seconds to dial again. Release 3.0.2 acts when a block
 * arrives. Release 2.3.8 checks every ten seconds after twenty seconds without a block, and reverts at most five blocks
 * each time.
 */
const MEET_MS_MAX = 300_000;

/** Runs both roles: first the real nodes have the shorter branch, then two of ours. */
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
 * Returns the tips of both sides if the rules prefer the second one. In generation 3 the height that two thirds of the
 * delegates have prevoted decides first, then the height of the tip. The side with more delegates may be behind in
 * prevotes for a while.
 */
async function inOrder(one: InteropNode, other: InteropNode): Promise<readonly [Tip, Tip]> {
  const [lost, kept] = await Promise.all([tipOf(one.url), tipOf(other.url)]);
  const [lostVotes, keptVotes] = [lost.maxHeightPrevoted ?? 0, kept.maxHeightPrevoted ?? 0];
  if (keptVotes > lostVotes || (keptVotes === lostVotes && kept.height > lost.height)) return [lost, kept];
  throw new Error(
    `${other.name} has ${keptVotes} prevoted at ${kept.height}, ${one.name} ${lostVotes} at ${lost.height}`,
  );
}
