/**
 * One of five nodes is cut off while all of them forge: the others go on without it, and it goes on without them, on a branch
 * that is dead from its first block. When its wires are mended it must come back by itself.
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
  /** Blocks that the others forge meanwhile. */
  readonly blocks: number;
  readonly say: (line: string) => void;
}

export interface CutOffReport {
  /** Blocks above the last common one that the node had forged alone. */
  readonly deadBlocks: number;
  /** Blocks above it that the others had. */
  readonly missedBlocks: number;
  /** From the mended wires to the tip that the others had then. */
  readonly backMs: number;
  readonly digest: string;
  readonly contradictions: readonly string[];
}

const NODES = 5;
const START_MS_MAX = 120_000;
/** Connections that stand still are given up and dialled again meanwhile. */
const BACK_MS_MAX = 120_000;

/** @throws Error naming the first promise that was broken */
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

async function cutOffIn(devnet: TestDevnet, { blocks, say }: CutOffOptions): Promise<CutOffReport> {
  const { nodes, wires } = devnet;
  const lone = nodes[NODES - 1];
  if (lone === undefined || wires === undefined) throw new Error('the devnet has no node or no wires to cut');
  const others = nodes.filter((node) => node !== lone);
  await waitForCommonBlock(nodes, 5, START_MS_MAX);

  wires.cut(lone.plan.wsPort);
  const common = (await lone.client.status()).height;
  say(`node ${lone.plan.index} is cut off at height ${common}`);
  // One slot in five passes unused, and busy machines miss more.
  const cutMsMax = (blocks * devnet.network.params.blockTimeS * 3 + 60) * 1000;
  await waitFor('blocks without the lone node', async () => (await highestHeight(others)) >= common + blocks, cutMsMax);
  // Its slots are drawn: in one world of seventy none of its own falls into the time that the others need for 15 blocks.
  // A block above the common height may be one of theirs, which was on its way when the wires were cut.
  const ownTip = async (): Promise<number | undefined> => {
    const { height } = await lone.client.status();
    const ids = await Promise.all([lone, ...others].map((node) => node.client.blockId(height)));
    return height > common && ids.indexOf(ids[0]!, 1) === -1 ? height : undefined;
  };
  const deadTip = await waitFor('a block that the lone node alone has', ownTip, cutMsMax);
  const target = await highestHeight(others);
  say(`it has height ${deadTip} alone, the others have ${target}`);

  wires.mend(lone.plan.wsPort);
  const startedMs = Date.now();
  await waitForCommonBlock(nodes, target, BACK_MS_MAX);
  const backMs = Date.now() - startedMs;
  say(`it had block ${target} after ${backMs} ms`);
  return {
    deadBlocks: deadTip - common,
    missedBlocks: target - common,
    backMs,
    digest: await waitForCommonDigest(nodes, BACK_MS_MAX),
    contradictions: contradictions(devnet),
  };
}
