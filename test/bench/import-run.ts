/** Runs one import in its own process, and measures its duration, processor time and memory. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

export const EXECUTABLE = 'bin/bloomery.js';

export interface ImportJob {
  /** Network folder. */
  readonly network: string;
  readonly dataDir: string;
  /** Chain file. */
  readonly file: string;
}

export interface ImportRun {
  readonly seconds: number;
  readonly blocks: number;
  readonly transactions: number;
  /** Processor time of all threads of the process. */
  readonly cpuSeconds: number;
  /** Processor time of the main thread. */
  readonly mainThreadSeconds: number;
  /** Maximum resident memory of the process in each quarter of the run, without mapped files. */
  readonly quartersMegabytes: readonly number[];
  /**
   * Maximum resident memory of the process in each quarter of the run, with mapped files. The system frees the mapped
   * pages of the store when other processes need memory.
   */
  readonly mappedMegabytes: readonly number[];
}

/** @throws Error if the import fails */
export async function runImport({ network, dataDir, file }: ImportJob): Promise<ImportRun> {
  const startedMs = performance.now();
  const args = ['import', '--network', network, '--data-dir', dataDir, file];
  const child = spawn(process.execPath, [EXECUTABLE, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const samples: { readonly own: number; readonly mapped: number }[] = [];
  let cpuSeconds = 0;
  let mainThreadSeconds = 0;
  const timer = setInterval(() => {
    samples.push({ own: megabytesOf(child, 'RssAnon'), mapped: megabytesOf(child, 'VmRSS') });
    cpuSeconds = cpuSecondsOf(child) ?? cpuSeconds;
    mainThreadSeconds = mainThreadSecondsOf(child) ?? mainThreadSeconds;
  }, 100);
  const [code] = (await once(child, 'close')) as [number | null];
  clearInterval(timer);
  const found = /: ([0-9]+) blocks and ([0-9]+) transactions imported/.exec(output);
  if (code !== 0 || found === null) throw new Error(`the import ended with code ${code}: ${output}`);
  return {
    seconds: (performance.now() - startedMs) / 1000,
    blocks: Number(found[1]),
    transactions: Number(found[2]),
    cpuSeconds,
    mainThreadSeconds,
    quartersMegabytes: quarters(samples.map(({ own }) => own)),
    mappedMegabytes: quarters(samples.map(({ mapped }) => mapped)),
  };
}

function quarters(samples: readonly number[]): readonly number[] {
  return [1, 2, 3, 4].map((quarter) => {
    const from = Math.floor((samples.length * (quarter - 1)) / 4);
    return Math.max(0, ...samples.slice(from, Math.ceil((samples.length * quarter) / 4)));
  });
}

/**
 * Returns the sum of the user time and the system time of the process until now, in steps of 0.01 s. Returns undefined
 * if the process has ended.
 */
export function cpuSecondsOf({ pid }: Pick<ChildProcess, 'pid'>): number | undefined {
  return secondsIn(`/proc/${pid}/stat`);
}

/** Like `cpuSecondsOf`, but for the main thread only. */
function mainThreadSecondsOf({ pid }: Pick<ChildProcess, 'pid'>): number | undefined {
  return secondsIn(`/proc/${pid}/task/${pid}/stat`);
}

function secondsIn(statFile: string): number | undefined {
  try {
    // Spaces separate the fields of the file. One of the first fields is the process name in parentheses. The process
    // name may contain spaces. So the function splits only the text after the process name.
    const fields = readFileSync(statFile, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return undefined;
  }
}

/**
 * Returns the resident memory of the process in millions of bytes, or 0 if the process has ended. `RssAnon` excludes
 * mapped files, and `VmRSS` includes them.
 */
export function megabytesOf({ pid }: Pick<ChildProcess, 'pid'>, what: 'RssAnon' | 'VmRSS'): number {
  try {
    const line = new RegExp(`^${what}:\\s+([0-9]+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return (Number(line?.[1] ?? 0) * 1024) / 1_000_000;
  } catch {
    return 0;
  }
}
