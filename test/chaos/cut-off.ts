/**
 * Cuts one of five forging nodes off from the others. Both sides continue to forge, but the branch of the lone node
 * cannot win. After the cut ends, the lone node must change to the chain of the other nodes by itself.
 */

import { messageOf } from '../../src/primitives/errors.ts';
import {
  contradictions,
  highestHeight,
  lastWords,
  startTestDevnet,
  waitFor,
  waitForCommonBlock,
  waitForCommonDigest,
  type TestDevnet,
} from '../support/devnet.ts';

export interface CutOffOptions {
  /** Minimum number of blocks that the other nodes forge during the cut. */
  readonly blocks: number;
  readonly log: (line: string) => void;
}

export interface CutOffReport {
  /** Number of blocks that the lone node forged above the last common block, before the test ended the cut. */
  readonly deadBlocks: number;
  /** Number of blocks that the other nodes forged above the last common block, before the test ended the cut. */
  readonly missedBlocks: number;
  /** Time from the end of the cut until the lone node has the tip that the other nodes had at the end of the cut. */
  readonly backMs: number;
  readonly digest: string;
  readonly contradictions: readonly string[];
}

const NODES = 5;
const START_MS_MAX = 120_000;
/**
 * Time limit for the lone node to get the chain of the other nodes after the cut. The limit includes the time to close
 * stalled connections and to dial again.
 */
const BACK_MS_MAX = 120_000;

/** @throws Error with the first failed check and the last lines of the nodes' logs */
export async function runCutOff(options: CutOffOptions): Promise<CutOffReport> {
  const devnet = await startTestDevnet({ nodes: NODES, hasWires: true });
  try {
    return await cutOffIn(devnet, options);
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${lastWords(devnet)}`, { cause: error });
  } finally {
    await devnet.close();
  }
}

async function cutOffIn(devnet: TestDevnet, { blocks, log }: CutOffOptions): Promise<CutOffReport> {
  const { nodes, wires } = devnet;
  const lone = nodes[NODES - 1];
  if (lone === undefined || wires === undefined) throw new Error('the devnet has no node or no wires to cut');
  const others = nodes.filter((node) => node !== lone);
  await waitForCommonBlock(nodes, 5, START_MS_MAX);

  wires.cut(lone.plan.wsPort);
  const common = (await lone.client.status()).height;
  log(`node ${lone.plan.index} is cut off at height ${common}`);
  // Allow three times the block time for each block: the slots of the lone node (one in five) are empty for the others,
  // and a busy machine misses more slots.
  const cutMsMax = (blocks * devnet.network.params.blockTimeS * 3 + 60) * 1000;
  await waitFor('blocks without the lone node', async () => (await highestHeight(others)) >= common + blocks, cutMsMax);
  // Wait until the lone node forges too. The slot order is random: in one run of seventy, the lone node owned no slot
  // while the other nodes forged 15 blocks. Compare the block ids, because the lone node has perhaps received a block
  // of another node just before the cut.
  const ownTip = async (): Promise<number | undefined> => {
    const { height } = await lone.client.status();
    const ids = await Promise.all([lone, ...others].map((node) => node.client.blockId(height)));
    return height > common && ids.indexOf(ids[0]!, 1) === -1 ? height : undefined;
  };
  const deadTip = await waitFor('a block that the lone node alone has', ownTip, cutMsMax);
  const target = await highestHeight(others);
  log(`it has height ${deadTip} alone, the others have ${target}`);

  wires.mend(lone.plan.wsPort);
  const startedMs = Date.now();
  await waitForCommonBlock(nodes, target, BACK_MS_MAX);
  const backMs = Date.now() - startedMs;
  log(`it had block ${target} after ${backMs} ms`);
  return {
    deadBlocks: deadTip - common,
    missedBlocks: target - common,
    backMs,
    digest: await waitForCommonDigest(nodes, BACK_MS_MAX),
    contradictions: contradictions(devnet),
  };
}
