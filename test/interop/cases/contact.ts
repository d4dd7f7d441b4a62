/**
 * (a) A real node (of lisk-sdk) and one of ours connect to each other. First our node dials. Then the case starts two
 * new nodes, and the real node dials. Each node must list the other node as a peer, and must apply the blocks that the
 * other node forges.
 */

import { ask, statusOf } from '../http.ts';
import { makeNode, type InteropNode } from '../nodes.ts';
import { eventually, untilHeight } from '../waiting.ts';
import type { World } from '../world.ts';

/**
 * The maximum time until two nodes are connected. A node of lisk-sdk dials peers every ten seconds while it has fewer
 * connections than it wants.
 */
const CONNECT_MS_MAX = 45_000;
const BLOCKS_FOLLOWED = 4;
const FOLLOW_MS_MAX = 60_000;

export async function contact(world: World): Promise<string> {
  const words: string[] = [];
  for (const dialler of ['ours', 'real'] as const) {
    const real = await makeNode(world, 'real');
    const ours = await makeNode(world, 'ours');
    const [acceptor, other] = dialler === 'ours' ? [real, ours] : [ours, real];
    // Each node has half of the delegates, so both forge blocks.
    const half = Math.ceil(world.delegates.length / 2);
    await acceptor.start({ delegates: world.delegates.slice(0, half) });
    await other.start({ delegates: world.delegates.slice(half), peers: [acceptor.address] });
    const startedMs = Date.now();
    await Promise.all([listed(world, real, ours), listed(world, ours, real)]);
    words.push(
      `When ${dialler} dials, each node lists the other after ${Math.round((Date.now() - startedMs) / 100) / 10} s.`,
    );
    const { height } = await statusOf(ours.url);
    for (let ahead = 1; ahead <= BLOCKS_FOLLOWED; ahead++) {
      await Promise.all([real, ours].map((node) => untilHeight(node, height + ahead, FOLLOW_MS_MAX)));
      await Promise.all([tracked(world, real, ours), tracked(world, ours, real)]);
    }
    words.push(`Each node shows the other's height after each of ${BLOCKS_FOLLOWED} blocks.`);
    await ours.stop();
    await real.stop();
  }
  return words.join(' ');
}

/** Resolves when `node` lists `other` as connected. */
async function listed(world: World, node: InteropNode, other: InteropNode): Promise<void> {
  await eventually(`${node.name} lists ${other.name} as connected`, CONNECT_MS_MAX, async () => {
    const { data } = await ask(node.url, `peers?state=${world.generation === 2 ? 2 : 'connected'}&limit=100`);
    const entry = data.find((peer: { wsPort: number }) => peer.wsPort === other.wsPort);
    if (entry === undefined) throw new Error(`its list: ${JSON.stringify(data)}`);
    return true;
  });
}

/**
 * Resolves when `node` lists `other` with the height that `other` itself reports. In generation 2, the list of `node`
 * must also contain the broadhash that `other` itself reports.
 */
async function tracked(world: World, node: InteropNode, other: InteropNode): Promise<void> {
  await eventually(`${node.name} knows where ${other.name} is`, FOLLOW_MS_MAX, async () => {
    const [{ data }, own] = await Promise.all([
      ask(node.url, `peers?state=${world.generation === 2 ? 2 : 'connected'}&limit=100`),
      statusOf(other.url),
    ]);
    const entry = data.find((peer: { wsPort: number }) => peer.wsPort === other.wsPort);
    if (entry?.height === own.height && (world.generation === 3 || entry.broadhash === own.broadhash)) return true;
    throw new Error(`the list says ${JSON.stringify(entry)}, the node ${JSON.stringify(own)}`);
  });
}
