/**
 * Kills nodes of a devnet at random moments while they forge, and starts another node late. At the end, all nodes must
 * have the same tip and the same state. The test fails if a delegate has signed two contradicting headers.
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
  /** Minimum number of blocks that the late node lacks when it starts. */
  readonly lateBlocks: number;
  /** Returns a random number, uniform in [0, 1). The numbers determine the times and the victims of the kills. */
  readonly chance: () => number;
  readonly log: (line: string) => void;
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
/** Time limit from the restart of a killed node to its first answer. */
export const RESTART_MS_MAX = 3000;
const CATCH_UP_MS_MAX = 150_000;
/** Maximum time from the kill of a node to its restart. */
const DOWN_MS_MAX = 3000;
/** Maximum time from the recovery of a killed node to the next kill. */
const BETWEEN_MS_MAX = 6000;

/** @throws Error with the first failed check and the last lines of the nodes' logs */
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

async function chaosIn(devnet: TestDevnet, { kills, lateBlocks, chance, log }: ChaosOptions): Promise<ChaosReport> {
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
    log(`kill ${kill} of ${kills}: node ${index} answered after ${answerMs} ms, had block ${height} after ${tipMs} ms`);
  }

  const late = devnet.nodes[NODES];
  if (late === undefined) throw new Error('there is no late node');
  await waitForCommonBlock(forgers, lateBlocks + 1, (lateBlocks + 30) * devnet.network.params.blockTimeS * 2000);
  const startedMs = Date.now();
  late.start();
  const lateHeight = await highestHeight(forgers);
  await waitForCommonBlock(devnet.nodes, lateHeight, CATCH_UP_MS_MAX);
  const lateTipMs = Date.now() - startedMs;
  log(`the late node had block ${lateHeight} after ${lateTipMs} ms`);
  const digest = await waitForCommonDigest(devnet.nodes, CATCH_UP_MS_MAX);
  log(`all nodes have the state ${digest}`);
  return {
    restarts,
    lateHeight,
    lateTipMs,
    digest,
    signedHeaders: signedHeaderCount(devnet),
    contradictions: contradictions(devnet),
  };
}

/** Returns a source of random numbers in [0, 1). The seed determines the sequence of the numbers. */
export function chanceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
