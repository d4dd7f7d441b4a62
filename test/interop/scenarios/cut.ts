/** (e) One side is cut off until the other is thirty blocks further, and returns: the shorter branch gives way. */

import { blockIdAt, statusOf } from '../http.ts';
import { blocksMs, type MixedNet } from '../mixed-net.ts';
import type { InteropNode } from '../nodes.ts';
import { namesOf, untilCommonBlock, untilHeight } from '../waiting.ts';

const BLOCKS_APART = 30;
/**
 * The reference takes up to ten seconds to dial again. Release 3.0.2 acts when a block comes; 2.3.8 looks around every ten
 * seconds when no block came for twenty, and takes back five of its own at most each time.
 */
const MEET_MS_MAX = 300_000;

/**
 * Both roles: first real nodes have the shorter branch, then two of ours.
 *
 * Of generation 2 only one real node is cut off. Two of them would take each other's blocks for proof that all is well: their
 * release leaves a branch when no block fitted for twenty seconds, and while forging is forced nothing else makes it.
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
    net.world.generation === 3
      ? await cutOff(net, [first, second], [third, fourth, fifth])
      : await cutOff(net, [first], [second, third, fourth, fifth]),
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
  net.world.say(`${namesOf(shorter)} are cut off at ${height}`);
  await untilHeight(other, height + BLOCKS_APART, blocksMs(BLOCKS_APART * 2));
  // Two of its own at least: the first may have been on its way when the cut was made.
  await untilHeight(one, height + 2, blocksMs(BLOCKS_APART * 2));
  const [lost, kept] = await Promise.all([statusOf(one.url), statusOf(other.url)]);
  const apart = lost.height;
  const [rival, winner] = await Promise.all([blockIdAt(one.url, apart), blockIdAt(other.url, apart)]);
  if (rival === undefined || rival === winner) throw new Error(`no branch of ${one.name} at ${apart}`);
  if (lost.height >= kept.height) throw new Error(`${one.name} is not the shorter one`);
  net.heal();
  const startedMs = Date.now();
  net.world.say(`healed: ${lost.height} against ${kept.height}`);
  const met = await untilCommonBlock(net.nodes, kept.height + 3, MEET_MS_MAX);
  const seconds = Math.round((Date.now() - startedMs) / 1000);
  const survivor = await blockIdAt(one.url, apart);
  if (survivor !== winner) throw new Error(`at ${apart} the block of the shorter branch survived (${met})`);
  return `${namesOf(shorter)} gave way, ${lost.height - height} blocks for ${kept.height - height}, after ${seconds} s`;
}
