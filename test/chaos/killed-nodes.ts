/**
 * Nodes of a devnet are killed at random moments while blocks are forged, and a further node joins late: all of them must
 * meet on one tip with one state, and no delegate may have signed two headers that contradict each other.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../src/primitives/errors.ts';
import {
  contradictions,
  highestHeight,
  lastWords,
  signedHeaderCount,
  startTestDevnet,
  waitForAnswer,
  waitForCommonBlock,
  waitForCommonDigest,
  type TestDevnet,
} from '../support/devnet.ts';

export interface ChaosOptions {
  readonly kills: number;
  /** Blocks that the late node has missed when it starts. */
  readonly lateBlocks: number;
  /** Uniform in [0, 1): when and which node. */
  readonly chance: () => number;
  readonly say: (line: string) => void;
}

export interface ChaosReport {
  readonly restarts: readonly { readonly node: number; readonly answerMs: number; readonly tipMs: number }[];
  readonly lateHeight: number;
  readonly lateTipMs: number;
  readonly digest: string;
  readonly signedHeaders: number;
  readonly contradictions: readonly string[];
}

const NODES = 4;
/** Longest that a killed node may take to answer again. */
export const RESTART_MS_MAX = 3000;
const CATCH_UP_MS_MAX = 150_000;
/** A slot passes whole while a node is down at most this long. */
const DOWN_MS_MAX = 3000;
/** Some blocks between kills, so that the killed one is at work again. */
const BETWEEN_MS_MAX = 6000;

/** @throws Error naming the first promise that was broken */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const devnet = await startTestDevnet({ nodes: NODES, spectators: 1 });
  try {
    return await chaosIn(devnet, options);
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${lastWords(devnet)}`, { cause: error });
  } finally {
    await devnet.close();
  }
}

async function chaosIn(devnet: TestDevnet, { kills, lateBlocks, chance, say }: ChaosOptions): Promise<ChaosReport> {
  const forgers = devnet.nodes.slice(0, NODES);
  const restarts: { node: number; answerMs: number; tipMs: number }[] = [];
  await waitForCommonBlock(forgers, 3, CATCH_UP_MS_MAX);
  for (let kill = 1; kill <= kills; kill++) {
    await sleep(chance() * BETWEEN_MS_MAX);
    const index = Math.floor(chance() * NODES);
    const victim = forgers[index];
    if (victim === undefined) throw new Error('there is no such node');
    await victim.kill();
    await sleep(chance() * DOWN_MS_MAX);
    const startedMs = Date.now();
    victim.start();
    await waitForAnswer(victim, CATCH_UP_MS_MAX);
    const answerMs = Date.now() - startedMs;
    const others = forgers.filter((node) => node !== victim);
    const height = await highestHeight(others);
    await waitForCommonBlock(forgers, height, CATCH_UP_MS_MAX);
    const tipMs = Date.now() - startedMs;
    restarts.push({ node: index, answerMs, tipMs });
    say(`kill ${kill} of ${kills}: node ${index} answered after ${answerMs} ms, had block ${height} after ${tipMs} ms`);
  }

  const late = devnet.nodes[NODES];
  if (late === undefined) throw new Error('there is no late node');
  await waitForCommonBlock(forgers, lateBlocks + 1, (lateBlocks + 30) * devnet.network.params.blockTimeS * 2000);
  const startedMs = Date.now();
  late.start();
  const lateHeight = await highestHeight(forgers);
  await waitForCommonBlock(devnet.nodes, lateHeight, CATCH_UP_MS_MAX);
  const lateTipMs = Date.now() - startedMs;
  say(`the late node had block ${lateHeight} after ${lateTipMs} ms`);
  const digest = await waitForCommonDigest(devnet.nodes, CATCH_UP_MS_MAX);
  say(`all nodes have the state ${digest}`);
  return {
    restarts,
    lateHeight,
    lateTipMs,
    digest,
    signedHeaders: signedHeaderCount(devnet),
    contradictions: contradictions(devnet),
  };
}

/** A stream of chance that its seed repeats. */
export function chanceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
