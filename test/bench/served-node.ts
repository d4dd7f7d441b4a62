/**
 * Starts a Bloomery node with an imported chain, without peers and without forging. If `processes` is above 0, reading
 * processes answer the HTTP requests that the node receives.
 */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePortRanges } from '../support/ports.ts';
import { EXECUTABLE, megabytesOf } from './import-run.ts';

export interface ServedNode {
  /** Port of the HTTP interface. */
  readonly port: number;
  readonly pid: number | undefined;
  /** Time from the start of the process to the first answer to an HTTP request. */
  readonly firstAnswerMs: number;
  /** Process ids of the running readers. */
  readers(): readonly number[];
  stop(): Promise<void>;
}

export interface ServedNodeOptions {
  /** Network folder. */
  readonly network: string;
  readonly dataDir: string;
  /** Number of reading processes. */
  readonly processes: number;
}

/** Memory in MB. */
export interface Memory {
  /** Memory without mapped files. */
  readonly own: number;
  readonly resident: number;
}

const START_MS_MAX = 60_000;

/**
 * @throws Error if the node does not answer within a minute, or if its readers do not start within a further minute
 */
export async function startServedNode({ network, dataDir, processes }: ServedNodeOptions): Promise<ServedNode> {
  const { http: port, ws } = await freePortRanges(1);
  const startedMs = performance.now();
  const child = spawn(
    process.execPath,
    [EXECUTABLE, 'start', '--network', network, '--data-dir', dataDir].concat(
      ...['--no-forging', '--no-peers', '--http-port', String(port), '--ws-port', String(ws)],
    ),
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, BLOOMERY_HTTP_PROCESSES: String(processes) } },
  );
  const readers = (): readonly number[] => {
    // `ps` fails if the node has no children.
    if (processes === 0) return [];
    const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(child.pid)], { encoding: 'utf8' });
    return children.split('\n').flatMap((line) => {
      return line.includes('reader-program') ? [Number.parseInt(line, 10)] : [];
    });
  };
  const stop = async (): Promise<void> => {
    const ended = child.exitCode === null ? once(child, 'exit') : Promise.resolve();
    child.kill('SIGTERM');
    await ended;
  };
  try {
    await until('an answer', () => isAnswered(port));
    const firstAnswerMs = performance.now() - startedMs;
    await until(`${processes} readers`, () => Promise.resolve(readers().length === processes));
    return { port, pid: child.pid, firstAnswerMs, readers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export function memoryOfProcess(pid: number | undefined): Memory {
  return { own: megabytesOf({ pid }, 'RssAnon'), resident: megabytesOf({ pid }, 'VmRSS') };
}

function isAnswered(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/api/transactions?limit=10`).then(
    async (response) => response.ok && (await response.json()) !== undefined,
    () => false,
  );
}

async function until(what: string, isReached: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + START_MS_MAX;
  while (performance.now() < deadlineMs) {
    if (await isReached()) return;
    await sleep(5);
  }
  throw new Error(`the node does not have ${what} after ${START_MS_MAX / 1000} s`);
}
