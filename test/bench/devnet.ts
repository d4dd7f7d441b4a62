/**
 * Measures the time from the start of a devnet until all its nodes answer. After `IDLE_MS`, measures the resident
 * memory of each node, and returns the largest of these values.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../support/ports.ts';

const NODES = 4;
const DEADLINE_MS = 30_000;
/**
 * After all nodes have answered, the benchmark waits for this time before it measures the memory. The nodes forge
 * several blocks in this time.
 */
const IDLE_MS = 15_000;

export interface DevnetFigures {
  readonly readySeconds: number;
  readonly residentMegabytes: number;
}

export async function measureDevnet(): Promise<DevnetFigures> {
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-bench-devnet-'));
  const base = await freePorts(2 * NODES);
  const startedMs = performance.now();
  const supervisor = spawn(
    process.execPath,
    ['bin/bloomery.js', 'devnet', '--data-dir', directory].concat([
      '--http-port',
      String(base),
      '--ws-port',
      String(base + NODES),
    ]),
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => supervisor.once('exit', resolve));
  try {
    for (let node = 0; node < NODES; node += 1) await answering(`http://127.0.0.1:${base + node}/api/node/status`);
    const readySeconds = (performance.now() - startedMs) / 1000;
    await sleep(IDLE_MS);
    const residents = childrenOf(supervisor.pid ?? 0).map(residentBytesOf);
    return { readySeconds, residentMegabytes: Math.max(...residents) / 1_000_000 };
  } finally {
    supervisor.kill('SIGTERM');
    await ended;
    rmSync(directory, { recursive: true, force: true });
  }
}

async function answering(url: string): Promise<void> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  while (performance.now() < deadlineMs) {
    const isUp = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (isUp) return;
    await sleep(20);
  }
  throw new Error(`${url} does not answer`);
}

function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((child) => statusOf(child, 'PPid') === pid);
}

function residentBytesOf(pid: number): number {
  return statusOf(pid, 'VmRSS') * 1024;
}

/**
 * Reads a field of `/proc/<pid>/status` whose value is a number. Returns 0 if the process or the field does not exist.
 */
function statusOf(pid: number, name: string): number {
  try {
    const line = readFileSync(`/proc/${pid}/status`, 'utf8').match(new RegExp(`^${name}:\\s+([0-9]+)`, 'm'));
    return Number(line?.[1] ?? 0);
  } catch {
    return 0;
  }
}
