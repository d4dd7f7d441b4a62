/**
 * Tests a ClickHouse sink that follows the first of the two nodes of a devnet. The test disconnects the first node from
 * the second node again and again. If the first node has forged a branch meanwhile, it reverts the branch after the
 * reconnection. During the run, the test kills the sink, the first node and a ClickHouse server at random moments. At
 * the end, the tables must contain each row of the first node's chain exactly once.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { chooseNetwork } from '../../src/cli/devnet/network.ts';
import { bloomeryHome } from '../../src/config/network.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStoreSource } from '../../src/node/sink-source.ts';
import { messageOf } from '../../src/primitives/errors.ts';
import type { Block } from '../../src/protocol/types.ts';
import { runSink } from '../../src/sinks/run.ts';
import type { ChainSource } from '../../src/sinks/source.ts';
import { postTransaction, transfer } from '../chaos/transfers.ts';
import { expireLease } from '../sinks/expire-lease.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import {
  highestHeight,
  lastWords,
  startTestDevnet,
  waitForAnswer,
  waitForCommonBlock,
  type TestDevnet,
  type TestNode,
} from '../support/devnet.ts';
import { clickHouseEngine } from './engines.ts';
import { sameTables } from './same-tables.ts';
import type { TestServer } from './servers.ts';

export interface LiveKillsOptions {
  /**
   * The test kills the sink this number of times, the first node the same number of times, and the servers together the
   * same number of times.
   */
  readonly kills: number;
  /**
   * Planned time from the start of the run to the last kill. If more than 1.5 times this planned time has passed since
   * the start of the run, the run fails and begins no further kill.
   */
  readonly minutes: number;
  /**
   * ClickHouse servers. The sink sends its requests to the first server. Each kill of a server hits a randomly chosen
   * server of this list.
   */
  readonly servers: readonly TestServer[];
  readonly cluster: string | undefined;
  readonly say: (line: string) => void;
}

export interface LiveKillsReport {
  readonly sinkKills: number;
  readonly nodeKills: number;
  readonly serverKills: number;
  /** Number of times that the first node reverted a branch that it had forged while it was disconnected. */
  readonly reorganisations: number;
  /** Number of blocks in the reverted branches. */
  readonly revertedBlocks: number;
  readonly blocks: number;
  readonly finalHeight: number;
  /** A sentence for each table that differs from the rows of the node's chain. */
  readonly differences: readonly string[];
}

/**
 * Number of delegates of each node. The first node, which the test disconnects, has less than two thirds of all
 * delegates, so no block of its branch becomes final.
 */
const SHARES = [3, 8];
const DELEGATES = 11;
const RANGE_BLOCKS = 10;
const DATABASE = `bloomery_live_${process.pid}`;
const START_MS_MAX = 150_000;
const CUT_MS_MAX = 14_000;
const MENDED_MS_MAX = 8_000;
const DOWN_MS_MAX = 800;
const SEND_MS = 500;
const LATE_FACTOR = 1.5;

export async function runLiveKills(options: LiveKillsOptions): Promise<LiveKillsReport> {
  // With few delegates, blocks become final soon. The sink therefore writes ranges of final blocks during the kills.
  const { network, dispose } = await chooseNetwork({ generation: 3, delegates: DELEGATES }, bloomeryHome(process.env));
  const devnet = await startTestDevnet({ networkFolder: network.directory, nodes: 2, shares: SHARES, hasWires: true });
  try {
    return await killsIn(devnet, options);
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${lastWords(devnet)}`, { cause: error });
  } finally {
    await devnet.close();
    dispose();
  }
}

async function killsIn(devnet: TestDevnet, options: LiveKillsOptions): Promise<LiveKillsReport> {
  const { kills, minutes, servers, cluster, say } = options;
  const [node, other] = devnet.nodes;
  const [first] = servers;
  if (node === undefined || other === undefined || first === undefined) throw new Error('a node or a server lacks');
  const engine = clickHouseEngine(first.url, DATABASE, cluster);
  const sink = new KeptSink(devnet, node, first.url, cluster);
  const latestMs = Date.now() + LATE_FACTOR * minutes * 60_000;
  let hasFailed = false;
  let isKilled = false;
  const isStopped = (): boolean => hasFailed;
  const isOver = (): boolean => hasFailed || isKilled;
  const counts = { sink: 0, node: 0, server: 0 };
  const meanMs = (minutes * 60_000) / kills;
  const killing = async (name: keyof typeof counts, kill: () => Promise<void>): Promise<void> => {
    while (counts[name] < kills && !isStopped()) {
      const startedMs = Date.now();
      if (startedMs > latestMs) throw new Error(`only ${counts[name]} of ${kills} kills of the ${name} in time`);
      await kill();
      counts[name] += 1;
      if (counts[name] % 20 === 0) say(`killed so far: ${JSON.stringify(counts)}, ${reverted.length} reorganisations`);
      // The random interval begins with the start of this kill, not with its end. The interval therefore includes the
      // time for the kill and the restart.
      await sleep(Math.max(0, Math.random() * 1.9 * meanMs - (Date.now() - startedMs)));
    }
  };
  const reverted: number[] = [];
  try {
    const killed = Promise.all([
      killing('sink', () => sink.kill()),
      killing('node', () => killNode(node)),
      killing('server', () => killServer(servers)),
    ]);
    const work = [
      killed.then(() => void (isKilled = true)),
      cutting(devnet, node, other, { isOver, onReverted: (blocks) => reverted.push(blocks) }),
      sending(devnet, other, isOver),
    ];
    for (const each of work) each.catch(() => (hasFailed = true));
    // If one job of `work` fails, wait until the other jobs end, because a killed server must run again before
    // `engine.remove` below. While the server is down, `engine.remove` would fail too, and its error would hide the
    // first failure.
    await Promise.allSettled(work);
    await Promise.all(work);
    await waitForCommonBlock(devnet.nodes, await highestHeight(devnet.nodes), START_MS_MAX);
    await sink.end();
    await Promise.all(devnet.nodes.map((each) => each.stop()));
    await expireLease(first.url, DATABASE);
    const dataDirectory = join(node.plan.directory, devnet.network.name);
    const source = openStoreSource({ network: devnet.network, dataDirectory }, { depth: 202, pollMs: 10 });
    const last = engine.open();
    await runSink({
      source,
      sink: last,
      rangeBlocks: RANGE_BLOCKS,
      signal: new AbortController().signal,
      follows: false,
    });
    await last.end();
    const blocks = await blocksOf(source);
    const finalHeight = await source.finalHeight();
    const differences = await sameTables(engine, source.rules, blocks);
    await source.close();
    return {
      sinkKills: counts.sink,
      nodeKills: counts.node,
      serverKills: counts.server,
      reorganisations: reverted.length,
      revertedBlocks: reverted.reduce((sum, count) => sum + count, 0),
      blocks: blocks.length,
      finalHeight,
      differences,
    };
  } finally {
    await sink.end();
    await engine.remove();
  }
}

/** Runs `bloomery sink clickhouse`. Starts the command again whenever its process ends, as a service manager does. */
class KeptSink {
  readonly #args: readonly string[];
  readonly #url: string;
  #child: ChildProcess | undefined;
  #isEnding = false;
  readonly #kept: Promise<void>;

  constructor({ network }: TestDevnet, node: TestNode, url: string, cluster: string | undefined) {
    const spread = cluster === undefined ? [] : ['--cluster', cluster];
    const place = ['--url', url, '--database', DATABASE, ...spread, '--range-blocks', `${RANGE_BLOCKS}`];
    this.#args = ['sink', 'clickhouse', ...place, '--node', node.url, '--network', network.directory];
    this.#url = url;
    this.#kept = this.#keep();
  }

  /** Kills the process of the sink with SIGKILL. If no process runs, the function first waits for the next process. */
  async kill(): Promise<void> {
    while (this.#child === undefined) await sleep(20);
    const child = this.#child;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.#child?.kill('SIGTERM');
    await this.#kept;
  }

  async #keep(): Promise<void> {
    while (!this.#isEnding) {
      // End the lease of the killed process. Otherwise the lease would last for up to 30 s, and each new process would
      // fail during this time.
      await expireLease(this.#url, DATABASE).catch(() => undefined);
      const child = spawn(process.execPath, [CLI_ENTRY, ...this.#args], { stdio: 'ignore' });
      const ended = once(child, 'exit');
      this.#child = child;
      await ended;
      this.#child = undefined;
      await sleep(50);
    }
  }
}

async function killNode(node: TestNode): Promise<void> {
  await node.kill();
  await sleep(Math.random() * DOWN_MS_MAX);
  node.start();
  await waitForAnswer(node, START_MS_MAX);
}

async function killServer(servers: readonly TestServer[]): Promise<void> {
  const server = servers[Math.floor(Math.random() * servers.length)];
  if (server === undefined) return;
  await server.kill();
  await sleep(Math.random() * DOWN_MS_MAX);
  await server.start();
}

interface Cutting {
  isOver(): boolean;
  /** Called when the first node has reverted its branch. The argument is the number of blocks of the branch. */
  onReverted(blocks: number): void;
}

async function cutting(
  devnet: TestDevnet,
  node: TestNode,
  other: TestNode,
  { isOver, onReverted }: Cutting,
): Promise<void> {
  const port = node.plan.wsPort;
  while (!isOver()) {
    devnet.wires?.cut(port);
    await sleep((0.5 + Math.random() / 2) * CUT_MS_MAX);
    const branch = await ownBlocks(node, other);
    devnet.wires?.mend(port);
    const endMs = Date.now() + MENDED_MS_MAX * (1 + Math.random());
    while (Date.now() < endMs) {
      await sleep(250);
      const left = await Promise.all(branch.map(async ({ height, id }) => (await idAt(node, height)) === id));
      if (branch.length === 0 || left.includes(true)) continue;
      onReverted(branch.length);
      break;
    }
  }
  devnet.wires?.mend(port);
}

/**
 * Returns the blocks of `node` above its last common block with `other`, but only at heights at which `other` also has
 * a block.
 */
async function ownBlocks(node: TestNode, other: TestNode): Promise<{ readonly height: number; readonly id: string }[]> {
  const own: { height: number; id: string }[] = [];
  const tip = await node.client.status().then(
    (status) => status.height,
    () => 0,
  );
  for (let height = tip; height > 0; height -= 1) {
    const [id, theirs] = await Promise.all([idAt(node, height), idAt(other, height)]);
    // A height at which `other` has no block is skipped, because it is possible that `other` gets the block of `node`
    // later.
    if (id === undefined || id === theirs) return own;
    if (theirs !== undefined) own.push({ height, id });
  }
  return own;
}

function idAt(node: TestNode, height: number): Promise<string | undefined> {
  return node.client.blockId(height).catch(() => undefined);
}

async function sending({ network }: TestDevnet, node: TestNode, isOver: () => boolean): Promise<void> {
  for (let number = 0; !isOver(); number += 1) {
    // Ignores a failed request (for example while the pool is full), because the next transaction follows soon.
    await postTransaction(node.url, network, transfer(network, number, 50)).catch(() => undefined);
    await sleep(SEND_MS);
  }
}

/** Reads all blocks of a chain, up to its tip at the time of the call. */
async function blocksOf(source: ChainSource): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  for await (const change of source.changes(1, new AbortController().signal)) {
    if (change.kind === 'applied') blocks.push(change.block);
    if (change.kind === 'caughtUp') break;
  }
  return blocks;
}
