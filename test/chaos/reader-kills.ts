/**
 * Tests a forging node whose two reading processes answer many HTTP requests. The test first kills the readers
 * repeatedly, and then the node. The test fails if a request to a living process is lost. In the reader table of the
 * store (LMDB), each process that reads the store has a slot. The slot of a dead process must not stay in the table,
 * and the slot of a living process must not pin old pages. After each restart, the node must continue from its last
 * block.
 */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from 'lmdb';
import { messageOf } from '../../src/primitives/errors.ts';
import {
  lastWords,
  startTestDevnet,
  waitFor,
  waitForAnswer,
  type TestDevnet,
  type TestNode,
} from '../support/devnet.ts';
import { readerPidsOf } from '../support/reader-pids.ts';
import { ReaderLoad, type LoadReport } from './reader-load.ts';

export interface ReaderKillsOptions {
  /** Number of kills of readers. */
  readonly kills: number;
  readonly nodeKills: number;
  /** Returns a random number, uniform in [0, 1). The numbers determine the victims and the times of the kills. */
  readonly chance: () => number;
  readonly log: (line: string) => void;
}

export interface ReaderKillsReport {
  readonly load: LoadReport;
  /** Times in milliseconds from the kill of a reader until two readers are up again. */
  readonly replacedMs: readonly number[];
  /** Times in milliseconds from the restart of a killed node to its first answer. */
  readonly answeredMs: readonly number[];
  /**
   * Faulty slots in the reader table of the store, 15 s after the kills. A slot is faulty if its owner is dead, or if
   * the slot pins an old LMDB transaction.
   */
  readonly stale: readonly string[];
  readonly wrong: readonly string[];
  /** Lines of the node's log about its readers. The lines help to explain a lost request. */
  readonly readerLog: readonly string[];
  /** The number of bytes by which the store file grew, and the number of blocks by which the chain grew. */
  readonly grown: { readonly bytes: number; readonly blocks: number };
}

const READERS = 2;
const CLIENTS = 8;
const LIFE_MS_MAX = 300;
const NODE_LIFE_MS_MAX = 2_000;
const START_MS_MAX = 150_000;
/**
 * Maximum number of LMDB transactions by which a reader is allowed to be behind the store. Even without a new block,
 * the store commits a few transactions, so a small difference is no fault.
 */
const BEHIND_MAX = 50;

export async function runReaderKills(options: ReaderKillsOptions): Promise<ReaderKillsReport> {
  const devnet = await startTestDevnet({ network: 'devnet', nodes: 1, http: { processes: READERS } });
  try {
    return await killsOf(devnet, options);
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${lastWords(devnet)}`, { cause: error });
  } finally {
    await devnet.close();
  }
}

async function killsOf(
  devnet: TestDevnet,
  { kills, nodeKills, chance, log }: ReaderKillsOptions,
): Promise<ReaderKillsReport> {
  const [node] = devnet.nodes;
  if (node === undefined) throw new Error('the devnet has no node');
  const folder = join(node.plan.directory, devnet.network.name, 'chain');
  const wrong: string[] = [];
  await bothUp(node);
  const before = { bytes: sizeOf(folder), height: (await node.client.status()).height };

  const replacedMs: number[] = [];
  const load = new ReaderLoad(node.plan.httpPort, CLIENTS, () => readersOf(node));
  for (let kill = 1; kill <= kills; kill += 1) {
    await sleep(chance() * LIFE_MS_MAX);
    const readers = readersOf(node);
    const victim = readers[Math.floor(chance() * readers.length)];
    if (victim === undefined) throw new Error('there is no reader');
    const killedMs = performance.now();
    load.killing(victim);
    process.kill(victim, 'SIGKILL');
    await waitFor('its end', () => allGone([victim]), START_MS_MAX);
    load.gone();
    await bothUp(node, victim);
    replacedMs.push(performance.now() - killedMs);
    if (kill % 20 === 0) log(`${kill} kills of readers`);
  }
  const report = await load.end();
  const stale = [...(await staleOf(node, folder))];

  const answeredMs: number[] = [];
  let height = (await node.client.status()).height;
  for (let kill = 1; kill <= nodeKills; kill += 1) {
    const under = new ReaderLoad(node.plan.httpPort, CLIENTS, () => []);
    await sleep(chance() * NODE_LIFE_MS_MAX);
    const readers = readersOf(node);
    height = (await node.client.status()).height;
    await node.kill();
    await under.end();
    await waitFor('the end of the readers', () => allGone(readers), START_MS_MAX);
    const startedMs = performance.now();
    node.start();
    await waitForAnswer(node, START_MS_MAX);
    answeredMs.push(performance.now() - startedMs);
    const now = (await node.client.status()).height;
    if (now < height) wrong.push(`after kill ${kill} the node has height ${now}, and had ${height}`);
    if (kill % 20 === 0) log(`${kill} kills of the node`);
  }
  if (nodeKills > 0) {
    await bothUp(node);
    stale.push(...(await staleOf(node, folder)));
  }
  const grown = {
    bytes: sizeOf(folder) - before.bytes,
    blocks: (await node.client.status()).height - before.height,
  };
  const readerLog = readFileSync(node.plan.logFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes('answers HTTP'));
  return { load: report, replacedMs, answeredMs, stale, wrong, readerLog, grown };
}

function readersOf(node: TestNode): readonly number[] {
  return readerPidsOf(node.pid());
}

/** Resolves when all `READERS` readers are up and the killed reader is gone. */
async function bothUp(node: TestNode, killed = 0): Promise<void> {
  await waitFor(
    'two readers',
    async () => {
      const { readers } = await node.client.status();
      const up = readers?.each.filter(({ state }) => state === 'up') ?? [];
      if (up.length < READERS || readersOf(node).includes(killed)) throw new Error(JSON.stringify(readers));
      return true;
    },
    START_MS_MAX,
  );
}

function allGone(pids: readonly number[]): Promise<boolean> {
  const alive = pids.filter((pid) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  });
  if (alive.length > 0) return Promise.reject(new Error(`${alive.join()} live`));
  return Promise.resolve(true);
}

/** Returns the unexpected slots of the reader table, one line for each slot. */
async function staleOf(node: TestNode, folder: string): Promise<readonly string[]> {
  // A slot of a killed reader becomes free when the next reader opens the store, or when another reader frees the slot.
  const isFree = async (): Promise<boolean> => {
    const found = await oddPlaces(node, folder);
    if (found.length > 0) throw new Error(found.join());
    return true;
  };
  try {
    await waitFor('no stale place', isFree, START_MS_MAX / 10);
    return [];
  } catch {
    return oddPlaces(node, folder);
  }
}

async function oddPlaces(node: TestNode, folder: string): Promise<readonly string[]> {
  const living = new Set([node.pid(), process.pid, ...readersOf(node)]);
  const database = open({ path: folder, noSubdir: false, readOnly: true });
  const lines = database.readerList().split('\n');
  const newest = Number((database.getStats() as { readonly lastTxnId?: number }).lastTxnId ?? 0);
  await database.close();
  return lines.flatMap((line) => {
    const [, pid, at] = /^\s*(\d+)\s+\S+\s+(\d+|-)/.exec(line) ?? [];
    if (pid === undefined) return [];
    if (!living.has(Number(pid))) return [`a place of ${pid}, which is gone`];
    return at !== '-' && newest - Number(at) > BEHIND_MAX ? [`${pid} stands at ${at} of ${newest}`] : [];
  });
}

function sizeOf(folder: string): number {
  return statSync(join(folder, 'data.mdb')).size;
}
