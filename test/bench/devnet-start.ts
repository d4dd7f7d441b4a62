/**
 * Measures the start of a devnet: the elapsed time, and the processor time that the supervisor and all nodes use. By
 * default, the start ends when each node has the first block after the genesis block.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePortRanges } from '../support/ports.ts';

const NODES = 4;
const DEADLINE_MS = 300_000;
const POLL_MS = 20;
/** Unit of the processor times in `/proc/<pid>/stat`, in seconds. */
const TICK_S = 0.01;

export interface StartFigures {
  /** Time from the start of the supervisor until each node has reported `StartOptions.height`. */
  readonly seconds: number;
  /** Processor time that the supervisor and the nodes used during `seconds`. */
  readonly processorSeconds: number;
}

export interface StartOptions {
  /** Flags of `bloomery devnet`, besides the flags that `measureDevnetStart` sets. */
  readonly args?: readonly string[];
  /** The measurement ends when each node has reported this height or a greater one. Default: 2. */
  readonly height?: number;
  readonly nodes?: number;
}

/** @param root folder of a built package; the function runs the command `bloomery devnet` of this package */
export async function measureDevnetStart(root: string, options: StartOptions = {}): Promise<StartFigures> {
  const { args = [], height = 2, nodes = NODES } = options;
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-bench-start-'));
  const { http, ws } = await freePortRanges(nodes);
  const startedMs = performance.now();
  const flags = ['--data-dir', directory, '--http-port', `${http}`, '--ws-port', `${ws}`, '--nodes', `${nodes}`];
  const supervisor = spawn(process.execPath, [join(root, 'bin/bloomery.js'), 'devnet', ...flags, ...args], {
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => supervisor.once('exit', resolve));
  try {
    for (let node = 0; node < nodes; node += 1) await forged(http + node, height, startedMs + DEADLINE_MS);
    const seconds = (performance.now() - startedMs) / 1000;
    return { seconds, processorSeconds: processorSecondsOf(supervisor.pid ?? 0) };
  } finally {
    supervisor.kill('SIGTERM');
    await ended;
    rmSync(directory, { recursive: true, force: true });
  }
}

async function forged(port: number, height: number, deadlineMs: number): Promise<void> {
  while (performance.now() < deadlineMs) {
    const reached = await fetch(`http://127.0.0.1:${port}/api/node/status`)
      .then(async (response) => ((await response.json()) as { data: { height: number } }).data.height)
      .catch(() => 0);
    if (reached >= height) return;
    await sleep(POLL_MS);
  }
  throw new Error(`the node on port ${port} has no forged block after ${DEADLINE_MS / 1000} s`);
}

/** Returns the processor time, in seconds, of a process and its child processes. */
function processorSecondsOf(pid: number): number {
  let seconds = 0;
  for (const name of readdirSync('/proc').filter((each) => /^[0-9]+$/.test(each))) {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      if (Number(name) !== pid && Number(fields[1]) !== pid) continue;
      seconds += (Number(fields[11]) + Number(fields[12])) * TICK_S;
    } catch {
      // The process has ended.
    }
  }
  return seconds;
}
