/**
 * A run of the comparison with the reference (lisk-sdk). The run prints each class (kind) of difference once. For a
 * class that `knownDifference` does not find, the run also prints the shortest example, and the exit code is 1. A run
 * that compares nothing fails. Progress goes to stderr.
 */

import { constants } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../src/primitives/errors.ts';
import type { Generation } from '../../src/protocol/params.ts';
import { defaultCacheFolder, installRelease } from '../interop/install.ts';
import { differenceOf } from './comparison.ts';
import { knownDifference } from './known-differences.ts';
import { EXIT_NOTHING_COMPARED, generationsOf, type Flags } from './flags.ts';
import { startHttpLab, type HttpLab, type StartingLab } from './http/lab.ts';
import { Refusals } from './http/refusals.ts';
import { httpTargets } from './http/target-http.ts';
import { rowOf, sharesOf, printClass, printReport, unlistedOf } from './printed.ts';
import { Progress, withHeartbeat } from './progress.ts';
import { loadFramework } from './reference-framework.ts';
import { doubleOf } from './reference-node.ts';
import { referencePackage } from './reference.ts';
import { runTarget } from './runner.ts';
import type { Target } from './target.ts';
import { targetsOf, type Reference } from './targets.ts';

interface Sums {
  cases: number;
  equal: number;
  listed: number;
  /** Number of unlisted classes. In a replay, the number of examples with an unlisted difference. */
  unlisted: number;
}

let starting: StartingLab | undefined;
let isEnding = false;

/** @returns the exit code */
export async function compareAll(flags: Flags): Promise<number> {
  endOnSignals();
  const { cases, seed, replay } = flags;
  if (replay === undefined) console.log(`seed ${seed}, ${cases} cases in each generation`);
  const sums: Sums = { cases: 0, equal: 0, listed: 0, unlisted: 0 };
  for (const generation of generationsOf(flags)) await compareGeneration(generation, flags, sums);
  if (sums.cases === 0) {
    console.error('error: nothing was compared');
    return EXIT_NOTHING_COMPARED;
  }
  console.log(
    sums.unlisted === 0
      ? 'no difference but the listed ones'
      : `${sums.unlisted} ${replay === undefined ? 'classes of difference' : 'examples with a difference'} that are not listed`,
  );
  return sums.unlisted === 0 ? 0 : 1;
}

function endOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      const code = 128 + constants.signals[signal];
      // After a second signal the lab's processes end with this process, but the folder of the lab remains.
      if (isEnding) process.exit(code);
      isEnding = true;
      if (starting !== undefined) console.error(`${signal}: ending the lab`);
      void Promise.resolve(starting?.close()).finally(() => process.exit(code));
    });
  }
}

async function compareGeneration(generation: Generation, flags: Flags, sums: Sums): Promise<void> {
  if (flags.http !== true) return compareTargets(targetsOf(await referenceOf(generation, flags)), flags, sums);
  console.error(`generation ${generation}: starting a lab with a real node and two of this build, which takes minutes`);
  starting = startHttpLab(generation, console.error);
  const lab = await labOf(generation, starting);
  try {
    const refusals = new Refusals();
    await compareTargets(await httpTargets(lab, refusals), flags, sums);
    if (flags.record !== undefined) refusals.write(join(flags.record, `refusals-${generation}.json`));
  } finally {
    await lab.close();
    starting = undefined;
  }
}

async function labOf(generation: Generation, { lab }: StartingLab): Promise<HttpLab> {
  try {
    return await withHeartbeat(`generation ${generation}: starting the lab`, lab);
  } catch (error) {
    // A signal has ended the lab, and the same signal ends this process. The function therefore never returns.
    if (isEnding) return new Promise<never>(() => undefined);
    // The cause may be a busy machine or a missing package, so the exit code must not mean a difference.
    console.error(`error: the lab of generation ${generation} could not be made: ${messageOf(error)}`);
    process.exit(EXIT_NOTHING_COMPARED);
  }
}

async function compareTargets(all: readonly Target[], flags: Flags, sums: Sums): Promise<void> {
  const targets = all.filter(({ name }) => name.includes(flags.only ?? ''));
  if (flags.replay !== undefined) return replay(targets, flags.replay, sums);
  const weights = targets.reduce((sum, { weight = 1 }) => sum + weight, 0);
  const own = { cases: 0, equal: 0, listed: 0 };
  for (const target of targets) {
    const cases = Math.ceil((flags.cases * (target.weight ?? 1)) / weights);
    const progress = new Progress(target.name, cases);
    const report = await runTarget(target, cases, flags.seed, (done) => progress.report(done, cases));
    for (const name of ['cases', 'equal', 'listed'] as const) {
      own[name] += report[name];
      sums[name] += report[name];
    }
    sums.unlisted += unlistedOf(report).length;
    printReport(report, flags.examples === true);
    if (flags.reasons === true) for (const each of report.reasons) printClass(each, flags.examples === true);
  }
  console.log(`all ${own.cases} cases: ${sharesOf(own)}`);
}

/** Runs the comparison again for examples that an earlier run has printed. */
async function replay(targets: readonly Target[], examples: readonly string[], sums: Sums): Promise<void> {
  for (const input of examples) {
    for (const target of targets) {
      const comparison = await target.compareText(input);
      const difference = differenceOf(comparison);
      const known = difference === undefined ? undefined : knownDifference(target.name, difference, input);
      sums.cases += 1;
      if (difference !== undefined && known === undefined) sums.unlisted += 1;
      const row = known === undefined ? '' : ` (known, row ${rowOf(target.name, known.reference)})`;
      console.log(`${target.name}: ${difference ?? 'no difference'}${row}`);
      console.log(`  there: ${JSON.stringify(comparison.reference)}\n  here:  ${JSON.stringify(comparison.ours)}`);
    }
  }
}

async function referenceOf(generation: Generation, flags: Flags): Promise<Reference> {
  if (flags.framework === true) {
    const install = installRelease(generation, defaultCacheFolder(), console.error);
    const { sdk } = await withHeartbeat(`generation ${generation}: fetching the release`, install);
    return loadFramework(generation, sdk);
  }
  const reference = referencePackage(generation);
  return { package: reference, handlers: doubleOf(reference) };
}
