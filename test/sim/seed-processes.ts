/**
 * Runs the worlds of many seeds in several processes, to use several processor cores. When a process has finished a
 * seed, it gets the next one that no process has run.
 */

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { runSeed, type RunOptions, type RunResult } from './run.ts';

const CHILD = '--seed-process';

interface Answer {
  readonly result: Omit<RunResult, 'counts'>;
  readonly counts: readonly (readonly [string, number])[];
  readonly realMs: number;
}

/**
 * @param take receives the result of each seed as soon as the seed has finished, so the results are not in the order of
 *   the seeds
 */
export async function runSeedsInProcesses(
  all: readonly RunOptions[],
  jobs: number,
  take: (result: RunResult, realMs: number) => void,
): Promise<void> {
  const waiting = [...all];
  await Promise.all(Array.from({ length: Math.min(jobs, all.length) }, () => runOne(waiting, take)));
}

function runOne(waiting: RunOptions[], take: (result: RunResult, realMs: number) => void): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), [CHILD]);
  return new Promise((resolve, reject) => {
    const next = (): void => {
      const options = waiting.shift();
      if (options === undefined) child.disconnect();
      else child.send(options);
    };
    child.on('message', (message) => {
      const { result, counts, realMs } = message as Answer;
      take({ ...result, counts: new Map(counts) }, realMs);
      next();
    });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a process ended with code ${code}`))));
    next();
  });
}

if (process.argv[2] === CHILD) {
  process.on('message', (options: RunOptions) => {
    const startMs = performance.now();
    void runSeed(options).then(({ counts, ...result }) => {
      // The fields of a log line may contain amounts of the type bigint. The channel between the processes cannot carry
      // this type, so convert these amounts to text.
      const plain = JSON.parse(
        JSON.stringify(result, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)),
      ) as typeof result;
      process.send?.({ result: plain, counts: [...counts], realMs: performance.now() - startMs } satisfies Answer);
    });
  });
}
