/**
 * Loaded into each node of a run on hosts (`--import`): collects all garbage once a minute and writes what is left to a file. The
 * memory that a process holds says little: the collector lets it rise by 30 MB for a quarter of an hour before it gives it back.
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
  /** Objects that are alive, and the memory outside of V8's heap that they hold. */
  readonly bytes: number;
}

/** @param file that the process is to write to */
export function probeEnvironment(file: string): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import ${import.meta.url}`, [FILE_VARIABLE]: file };
}

/** @returns nothing for a file that is not there yet */
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
