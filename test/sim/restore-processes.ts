/**
 * Runs N restore schedules (`restores.ts`), which test a node after a restore from a backup. The schedules run in M
 * processes: `npm run sim -- --restores N --jobs M`.
 */

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { performance } from 'node:perf_hooks';

import { runRestore, type RestoreResult } from './restores.ts';

const CHILD = '--restore-process';
/** A process gets its schedules in tasks of this number of schedules. The last task may have fewer. */
const AT_A_TIME = 50;

/** The results of the schedules of one task. */
interface Share {
  readonly run: number;
  readonly signedAfter: number;
  readonly failed: readonly RestoreResult[];
}

/** @returns exit code */
export async function runRestores(from: number, count: number, jobs: number): Promise<number> {
  const startMs = performance.now();
  const waiting: number[] = [];
  for (let seed = from; seed < from + count; seed += AT_A_TIME) waiting.push(seed);
  let [run, signedAfter, failed] = [0, 0, 0];
  const take = (share: Share): void => {
    run += share.run;
    signedAfter += share.signedAfter;
    failed += share.failed.length;
    for (const { seed, schedule, contradiction } of share.failed)
      console.log(`seed ${seed}: ${contradiction?.text ?? ''}\n  ${JSON.stringify(schedule)}`);
  };
  const shareFrom = (seed: number): Promise<Share> => runShare(seed, Math.min(AT_A_TIME, from + count - seed));
  if (jobs > 1) await Promise.all(Array.from({ length: jobs }, () => runOne(waiting, from + count, take)));
  else for (const seed of waiting) take(await shareFrom(seed));
  const seconds = (performance.now() - startMs) / 1000;
  console.log(
    `${run} schedules with backups in ${seconds.toFixed(1)} s, ${signedAfter} headers signed after them: ` +
      `${failed} with headers that contradict each other`,
  );
  return failed === 0 && signedAfter > 0 ? 0 : 1;
}

async function runShare(from: number, count: number): Promise<Share> {
  let signedAfter = 0;
  const failed: RestoreResult[] = [];
  for (let seed = from; seed < from + count; seed += 1) {
    const result = await runRestore(seed);
    signedAfter += result.signedAfter;
    if (result.contradiction !== undefined)
      failed.push({ ...result, contradiction: { ...result.contradiction, lines: [] } });
  }
  return { run: count, signedAfter, failed };
}

function runOne(waiting: number[], end: number, take: (share: Share) => void): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), [CHILD]);
  return new Promise((resolve, reject) => {
    const next = (): void => {
      const seed = waiting.shift();
      if (seed === undefined) child.disconnect();
      else child.send([seed, Math.min(AT_A_TIME, end - seed)]);
    };
    child.on('message', (share) => {
      take(share as Share);
      next();
    });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a process ended with code ${code}`))));
    next();
  });
}

if (process.argv[2] === CHILD) {
  process.on('message', (message) => {
    const [from, count] = message as [number, number];
    void runShare(from, count).then((share) => process.send?.(share));
  });
}
