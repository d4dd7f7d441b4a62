/**
 * (b) and (c): a node forges with all delegates. It is a node of lisk-sdk in case (b), and one of ours in case (c).
 * First it is alone, its clock starts in the past, and it forges the blocks of slots whose time has already passed
 * (past slots). Then a node of the other kind connects to it and downloads its blocks. A client posts transactions of
 * every type. It posts each transaction to one of the two nodes, and takes these nodes in turn. Finally, a new node of
 * the other kind downloads the whole chain from the forging node only.
 */

import { compareNodes } from '../compare.ts';
import { statusOf } from '../http.ts';
import { makeNode, setForging, type Kind } from '../nodes.ts';
import { restTogether } from '../rest.ts';
import { untilHeight } from '../waiting.ts';
import { Wallet } from '../wallet.ts';
import type { World } from '../world.ts';

/**
 * The number is greater than the 303 slots of three rounds. In generation 3, some blocks are therefore final before a
 * second node connects.
 */
const PAST_SLOTS = 330;
/**
 * The time limit for the blocks of the past slots. The node forges in past slots faster than in real time, so the limit
 * is long enough even if the node misses some slots.
 */
const PAST_MS_MAX = 600_000;
const LIVE_BLOCKS = 20;
const SYNC_MS_MAX = 180_000;

export async function follow(world: World, forgerKind: Kind): Promise<string> {
  const followerKind = forgerKind === 'real' ? 'ours' : 'real';
  const { delegates, password } = world;
  const forger = await makeNode(world, forgerKind);
  await forger.start({ delegates, pastSlots: PAST_SLOTS });
  await untilHeight(forger, PAST_SLOTS - 10, PAST_MS_MAX);
  await forger.stop();
  await forger.start({ delegates });

  const follower = await makeNode(world, followerKind);
  await follower.start({ peers: [forger.address] });
  const { height } = await statusOf(forger.url);
  await untilHeight(follower, height, SYNC_MS_MAX);
  world.log(`${follower.name} has caught up with ${forger.name} at ${height}`);
  await new Wallet(world, [forger, follower]).everyType(1);
  await untilHeight(follower, height + LIVE_BLOCKS, LIVE_BLOCKS * 10_000);

  const late = await makeNode(world, followerKind);
  await late.start({ peers: [forger.address] });
  const startedMs = Date.now();
  const goal = (await statusOf(forger.url)).height;
  await untilHeight(late, goal, SYNC_MS_MAX);
  const syncS = (Date.now() - startedMs) / 1000;
  world.log(`${late.name} has taken ${goal} blocks in ${syncS.toFixed(1)} s`);

  const tip = await restTogether([forger, follower, late], (forging) =>
    setForging(forger, delegates, password, forging),
  );
  const [real, ...ours] = forgerKind === 'real' ? [forger, follower, late] : [follower, forger];
  if (real === undefined) throw new Error('no real node');
  let figures = '';
  for (const other of ours) {
    const { answers, fields } = await compareNodes(real, other);
    figures = `All ${fields} fields of ${answers} answers are equal.`;
    world.log(`${real.name} and ${other.name}: ${figures}`);
  }
  return `The chain has ${tip.height} blocks. A new node synced ${goal} blocks in ${syncS.toFixed(1)} s. ${figures}`;
}
