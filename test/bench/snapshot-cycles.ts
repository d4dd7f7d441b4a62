/**
 * Repeatedly takes a snapshot of a devnet of four nodes and reverts to it. Each cycle adds blocks with transactions,
 * reverts the blocks, and checks that all nodes have their earlier state. The benchmark fails if a process of the
 * devnet remains at the end. The result contains the memory and the number of open file descriptors of the nodes.
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ANSWERS, type ControlList } from '../../src/cli/devnet/control-answers.ts';
import { askDevnet } from '../../src/cli/devnet/control-client.ts';
import { nodeClient } from '../../src/cli/node-client.ts';
import { freePortRanges } from '../support/ports.ts';

export interface CycleOptions {
  /** Folder of the built package. */
  readonly root: string;
  readonly cycles: number;
  /** Height of the chain before the first snapshot. */
  readonly height: number;
}

export interface CycleFigures {
  readonly height: number;
  /** Durations of all snapshots, ascending. `revertMs` contains the durations of all reverts, also ascending. */
  readonly snapshotMs: readonly number[];
  readonly revertMs: readonly number[];
  /** Maximum values among the nodes after a tenth of the cycles. `late` contains the maximum values at the end. */
  readonly early: Footprint;
  readonly late: Footprint;
}

interface Footprint {
  readonly residentMb: number;
  readonly descriptors: number;
}

const NODES = 4;
const START_MS_MAX = 300_000;
const END_MS_MAX = 60_000;
const POLL_MS = 50;
const MINED_AT_ONCE = 500;
const BLOCKS_PER_CYCLE = 3;
const SNAPSHOT = 'cycle';

/**
 * @throws Error if the blocks of a cycle do not change the state, if a node does not have its earlier state after a
 *   revert, if a node ended during the cycles, or if a process remains at the end
 */
export async function runCycles({ root, cycles, height }: CycleOptions): Promise<CycleFigures> {
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-cycles-'));
  const { http, ws } = await freePortRanges(NODES);
  const ports = ['--http-port', `${http}`, '--ws-port', `${ws}`];
  const flags = ['--nodes', `${NODES}`, '--mine', 'on-demand', '--data-dir', directory, '--json', ...ports];
  const supervisor = spawn(process.execPath, [join(root, 'bin/bloomery.js'), 'devnet', ...flags], { stdio: 'ignore' });
  const ended = new Promise((resolve) => supervisor.once('exit', resolve));
  const ask = (operation: string, parameters: object = {}): Promise<unknown> =>
    askDevnet(directory, operation, parameters);
  const digests = async (): Promise<string> => {
    const all = await Promise.all(
      Array.from({ length: NODES }, (_, node) => nodeClient(`http://127.0.0.1:${http + node}`, 60_000).digest()),
    );
    return all.map(({ digest }) => digest).join(' ');
  };
  try {
    await until(async () => list(ask).then(({ nodes }) => nodes.every(({ pid }) => pid !== undefined)), START_MS_MAX);
    await until(async () => digests().then(() => true), START_MS_MAX);
    const pids = (await list(ask)).nodes.flatMap(({ pid }) => pid ?? []);
    for (let at = 1; at < height; at += MINED_AT_ONCE) {
      await ask('mine', { slots: Math.min(MINED_AT_ONCE, height - at) });
    }
    const figures = { snapshotMs: [] as number[], revertMs: [] as number[] };
    const kept = ANSWERS.snapshot.read(await timed(figures.snapshotMs, () => ask('snapshot', { name: SNAPSHOT })));
    const before = await digests();
    let early: Footprint | undefined;
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      await ask('fund', { address: `${1 + cycle}L`, amount: '100000000' });
      await ask('mine', { slots: BLOCKS_PER_CYCLE });
      if ((await digests()) === before) throw new Error(`cycle ${cycle}: the blocks have changed nothing`);
      const back = ANSWERS.snapshot.read(await timed(figures.revertMs, () => ask('revert', { name: SNAPSHOT })));
      if (back.digest !== kept.digest || (await digests()) !== before) {
        throw new Error(`cycle ${cycle}: the nodes are not what they were`);
      }
      await timed(figures.snapshotMs, () => ask('snapshot', { name: SNAPSHOT }));
      if (cycle === Math.floor(cycles / 10)) early = footprintOf(pids);
    }
    const late = footprintOf(pids);
    const now = (await list(ask)).nodes.flatMap(({ pid }) => pid ?? []);
    if (now.join() !== pids.join()) throw new Error('a node has ended and was started again');
    await ask('stop');
    await ended;
    await until(async () => pids.every((pid) => !existsSync(`/proc/${pid}/stat`)), END_MS_MAX);
    const sorted = (values: readonly number[]): readonly number[] => [...values].sort((a, b) => a - b);
    return {
      height: kept.height,
      snapshotMs: sorted(figures.snapshotMs),
      revertMs: sorted(figures.revertMs),
      early: early ?? late,
      late,
    };
  } finally {
    supervisor.kill('SIGTERM');
    await ended;
    rmSync(directory, { recursive: true, force: true });
  }
}

async function list(ask: (operation: string) => Promise<unknown>): Promise<ControlList> {
  return ANSWERS.list.read(await ask('list'));
}

async function timed<T>(into: number[], work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await work();
  into.push(performance.now() - startedMs);
  return result;
}

/** Returns the maximum of each value among the processes. A process without values in `/proc` counts as 0. */
function footprintOf(pids: readonly number[]): Footprint {
  const of = (pid: number): Footprint => {
    try {
      const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      return { residentMb: Math.round(Number(resident) / 1000), descriptors: readdirSync(`/proc/${pid}/fd`).length };
    } catch {
      return { residentMb: 0, descriptors: 0 };
    }
  };
  const all = pids.map(of);
  return {
    residentMb: Math.max(...all.map(({ residentMb }) => residentMb)),
    descriptors: Math.max(...all.map(({ descriptors }) => descriptors)),
  };
}

/**
 * Calls `holds` until it returns true, for about `withinMs` at most.
 *
 * @throws the error of the last call, or an Error if this call returned false
 */
async function until(holds: () => Promise<boolean>, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    try {
      if (await holds()) return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
    if (performance.now() > endMs) throw new Error(`it has not come about within ${withinMs / 1000} s`);
    await sleep(POLL_MS);
  }
}
