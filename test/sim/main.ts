/**
 * The program of the simulator: `npm run sim -- --seed S --nodes N --hours H [--generation 2]`. It simulates one world
 * for each seed, and prints one line for each. If a guarantee is violated in the world of a seed, the seed fails. For a
 * failed seed, the program prints the last log lines of the world, and then the seed and the violated guarantee. The
 * exit code of the program is then 1.
 */

import { InvalidArgumentError, Option } from 'commander';
import { performance } from 'node:perf_hooks';
import type { Generation } from '../../src/protocol/params.ts';
import { generationIn, positiveNumber, testProgram, wholeNumber } from '../support/program.ts';
import { syncAfterOutage } from './catch-up.ts';
import { runMutants } from './run-mutants.ts';
import { runRecords } from './records/many.ts';
import { runRestores } from './restore-processes.ts';
import { runSeed, type RunOptions, type RunResult } from './run.ts';
import { runSeedsInProcesses } from './seed-processes.ts';
import type { SimLine } from './world.ts';

interface Flags {
  readonly seed: number;
  readonly seeds?: readonly [number, number];
  readonly nodes: number;
  readonly hours: number;
  readonly store: 'memory' | 'lmdb';
  readonly generation: Generation;
  readonly jobs: number;
  readonly behind?: number;
  readonly restores?: number;
  readonly records?: number;
  readonly mutants?: string | true;
  readonly verbose?: boolean;
}

/** Number of log lines that the program prints for a failed seed. */
const LINES_SHOWN = 60;

const whole = wholeNumber(0);
const program = testProgram('sim', 'Runs worlds of nodes on virtual time under faults drawn from a seed')
  .option('--seed <number>', 'the world to run', whole, 1)
  .option('--seeds <from..to>', 'a range of worlds', range)
  .option('--nodes <number>', 'nodes of a world', whole, 4)
  .option('--hours <number>', 'virtual hours', positiveNumber, 1)
  .addOption(new Option('--store <kind>', 'where the nodes store').choices(['memory', 'lmdb']).default('memory'))
  .option('--generation <number>', 'protocol generation, 2 or 3', generationIn, 3 as Generation)
  .option('--jobs <number>', 'processes that share the seeds', wholeNumber(1), 1)
  .option('--behind <blocks>', 'have a node catch up with so many blocks instead', whole)
  .option('--restores <number>', 'run so many schedules of backups, from the seed on, instead', whole)
  .option('--records <number>', 'run so many schedules of signing records, from the seed on, instead', whole)
  .option('--mutants [names]', 'plant faults in the node, one at a time, and see whether the suite notices')
  .option('--verbose', 'print the plan of each seed and the number of log lines for each code')
  .parse();

process.exitCode = await main(program.opts<Flags>());

async function main(flags: Flags): Promise<number> {
  if (flags.mutants !== undefined) return runMutants(flags.jobs, flags.mutants === true ? '' : flags.mutants);
  if (flags.restores !== undefined) return runRestores(flags.seed, flags.restores, flags.jobs);
  if (flags.records !== undefined) return runRecords(flags.seed, flags.records);
  if (flags.behind !== undefined) return lateNode(flags.behind);
  const [from, to] = flags.seeds ?? [flags.seed, flags.seed];
  const all: RunOptions[] = [];
  for (let seed = from; seed <= to; seed += 1) {
    const { nodes, hours, store, generation } = flags;
    all.push({ seed, nodes, hours, store, generation });
  }
  const startMs = performance.now();
  let failed = 0;
  let cpuMs = 0;
  await forEachResult(all, flags.jobs, (result, realMs) => {
    const speedUp = Math.round((flags.hours * 3_600_000) / realMs);
    printResult(result, speedUp, flags);
    cpuMs += result.cpuMs;
    if (result.failure !== undefined) failed += 1;
  });
  const realMs = performance.now() - startMs;
  const virtualMs = all.length * flags.hours * 3_600_000;
  const worlds = all.length === 1 ? '1 world' : `${all.length} worlds`;
  console.log(
    `${worlds} of ${flags.nodes} nodes, ${all.length * flags.hours} virtual hours in ${(realMs / 1000).toFixed(1)} s: ` +
      `${Math.round(virtualMs / realMs)} times faster than real time (${Math.round(virtualMs / cpuMs)} by processor time), ` +
      `${failed} failed`,
  );
  return failed === 0 ? 0 : 1;
}

async function lateNode(missed: number): Promise<number> {
  const startMs = performance.now();
  const { blocks, slots, isSame } = await syncAfterOutage(missed);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(
    `${blocks} blocks behind: ${isSame ? 'caught up' : 'NOT caught up'} in ${slots} slots, ${seconds} s with the making`,
  );
  return isSame ? 0 : 1;
}

async function forEachResult(
  all: readonly RunOptions[],
  jobs: number,
  take: (result: RunResult, realMs: number) => void,
): Promise<void> {
  if (jobs > 1 && all.length > 1) {
    await runSeedsInProcesses(all, jobs, take);
    return;
  }
  for (const options of all) {
    const startMs = performance.now();
    const result = await runSeed(options);
    take(result, performance.now() - startMs);
  }
}

function printResult(result: RunResult, speedUp: number, flags: Flags): void {
  const { nodes, hours, generation, store, verbose } = flags;
  const { seed, digest, height, finalized, events, metAfterSlots, failure, plan, counts } = result;
  const verdict = failure === undefined ? `met after ${metAfterSlots} slots` : 'FAILED';
  console.log(
    `seed ${seed}: ${verdict}, height ${height}, finalized ${finalized}, ${events} events, digest ${digest}, ${speedUp}x`,
  );
  if (verbose === true)
    console.log({ plan, counts: Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))) });
  if (failure === undefined) return;
  console.log(failure.lines.slice(-LINES_SHOWN).map(textOf).join('\n'));
  console.log(`seed ${seed} failed: ${failure.message}`);
  const flagsOfRun = `--seed ${seed} --nodes ${nodes} --hours ${hours} --generation ${generation} --store ${store}`;
  console.log(`again: npm run sim -- ${flagsOfRun}`);
}

function textOf({ atMs, node, level, code, fields }: SimLine): string {
  const time = new Date(atMs).toISOString().slice(11, 23);
  return `${time} node ${node} ${level} ${code} ${JSON.stringify(fields)}`;
}

function range(text: string): readonly [number, number] {
  const [from = NaN, to = NaN] = text.split('..').map(Number);
  if (!(from >= 0 && to >= from)) throw new InvalidArgumentError('two numbers like 1..20 are wanted');
  return [from, to];
}
