/**
 * A module that each node on a simulated host loads with `--import`. Once a minute, the module collects all garbage.
 * The module then writes to a file how much memory the live objects use. Without these collections, garbage would hide
 * a leak: V8 sometimes lets the memory of a process grow by 30 MB for a quarter of an hour before it collects all
 * garbage.
 */

import { appendFileSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const EVERY_MS = 60_000;
const FILE_VARIABLE = 'MEMORY_PROBE_FILE';

export interface MemorySample {
  readonly pid: number;
  readonly timeMs: number;
  /** Bytes of the live objects, and of the memory that they hold outside V8's heap. */
  readonly bytes: number;
}

/** @param file the file to which the process writes its samples */
export function probeEnvironment(file: string): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import ${import.meta.url}`, [FILE_VARIABLE]: file };
}

/** @returns an empty list if the file does not exist yet */
export function readSamples(file: string): readonly MemorySample[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as MemorySample);
}

const file = process.env[FILE_VARIABLE];
if (file !== undefined && isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setInterval(() => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    const sample: MemorySample = { pid: process.pid, timeMs: Date.now(), bytes: heapUsed + external };
    appendFileSync(file, `${JSON.stringify(sample)}\n`);
  }, EVERY_MS).unref();
}
