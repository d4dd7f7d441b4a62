/**
 * `npm run differential -- [--cases N] [--seed S] [--generation 2|3] [--only NAME] [--framework] [--examples] [--reasons]
 * [--replay FILE] [--http [--record DIR]]`: the published packages of the reference beside this node's rules. `--http` puts
 * requests to a real node and to two of ours on one chain instead (`http/lab.ts`), and `--record` keeps refusals of the real one
 * for the short form. `--framework` fetches the whole releases and has their framework process blocks, in place of a double of it.
 * Prints each class of difference once: one that is not among the known ones (`differences.ts`) with its smallest example, and then
 * the exit code is 1. `--examples` prints those of the known classes too, and `--reasons` where both refuse with another first
 * reason. `--replay` puts the printed examples in a file, one in each line, to the targets that `--only` names and prints what
 * either side makes of each.
 *
 * Cases are shared among the targets of a generation, and each generation gets so many.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Generation } from '../../src/protocol/params.ts';
import { messageOf } from '../../src/primitives/errors.ts';
import { defaultCacheFolder, installRelease } from '../interop/install.ts';
import { differenceOf } from './comparison.ts';
import { knownDifference } from './differences.ts';
import { loadFramework } from './reference-framework.ts';
import { doubleOf } from './reference-node.ts';
import { referencePackage } from './reference.ts';
import { runTarget, type DifferenceClass, type Report } from './runner.ts';
import { startHttpLab } from './http/lab.ts';
import { Refusals } from './http/refusals.ts';
import { httpTargets } from './http/target-http.ts';
import type { Target } from './target.ts';
import { targetsOf, type Reference } from './targets.ts';

const EXAMPLE_CHARACTERS_MAX = 10_000;

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '30000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    generation: { type: 'string' },
    only: { type: 'string' },
    framework: { type: 'boolean', default: false },
    examples: { type: 'boolean', default: false },
    reasons: { type: 'boolean', default: false },
    replay: { type: 'string' },
    http: { type: 'boolean', default: false },
    record: { type: 'string' },
  },
});

let closing: (() => Promise<void>) | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => void Promise.resolve(closing?.()).finally(() => process.exit(1)));

process.exitCode = await main(countOf('cases', values.cases), countOf('seed', values.seed));

async function main(cases: number, seed: number): Promise<number> {
  const generations = ([2, 3] as const).filter((each) => [undefined, String(each)].includes(values.generation));
  console.log(`seed ${seed}, ${cases} cases in each generation`);
  let unknown = 0;
  for (const generation of generations) unknown += await compareGeneration(generation, cases, seed);
  console.log(
    unknown === 0 ? 'no difference but the listed ones' : `${unknown} classes of difference that are not listed`,
  );
  return unknown === 0 ? 0 : 1;
}

async function compareGeneration(generation: Generation, cases: number, seed: number): Promise<number> {
  if (!values.http) return compareTargets(targetsOf(await referenceOf(generation)), cases, seed);
  const lab = await startHttpLab(generation, console.log).catch((error: unknown) => {
    // Of a machine that is busy, or without a package: nothing of the comparison.
    console.error(`the lab of generation ${generation} could not be made: ${messageOf(error)}`);
    process.exit(2);
  });
  closing = () => lab.close();
  try {
    const refusals = new Refusals();
    const unknown = await compareTargets(await httpTargets(lab, refusals), cases, seed);
    if (values.record !== undefined) refusals.write(join(values.record, `refusals-${generation}.json`));
    return unknown;
  } finally {
    closing = undefined;
    await lab.close();
  }
}

async function compareTargets(all: readonly Target[], cases: number, seed: number): Promise<number> {
  const targets = all.filter(({ name }) => values.only === undefined || name.includes(values.only));
  if (values.replay !== undefined) return replay(targets, readFileSync(values.replay, 'utf8'));
  const weights = targets.reduce((sum, { weight = 1 }) => sum + weight, 0);
  let unknown = 0;
  const sums = { cases: 0, equal: 0, listed: 0 };
  for (const target of targets) {
    const share = (target.weight ?? 1) / weights;
    const report = await runTarget(target, Math.ceil(cases * share), seed);
    const { accepted, seconds, classes, reasons } = report;
    for (const name of ['cases', 'equal', 'listed'] as const) sums[name] += report[name];
    const strange = classes.filter(({ known }) => known === undefined);
    unknown += strange.length;
    console.log(
      `${target.name}: ${report.cases} cases, ${accepted} accepted by the reference, ${seconds.toFixed(1)} s, ` +
        `${sharesOf(report)}; ${classes.length} classes of difference, ${strange.length} of them not listed`,
    );
    for (const each of classes) tell(each);
    if (values.reasons) for (const each of reasons) tell(each);
  }
  console.log(`all ${sums.cases} cases: ${sharesOf(sums)}`);
  return unknown;
}

/** Puts printed examples to both sides again. @returns how many differ otherwise than it is listed */
async function replay(targets: readonly Target[], text: string): Promise<number> {
  let unknown = 0;
  for (const input of text.split('\n').map((line) => line.trim())) {
    if (input === '') continue;
    for (const target of targets) {
      const comparison = await target.compareText(input);
      const difference = differenceOf(comparison);
      const known = difference === undefined ? undefined : knownDifference(target.name, difference, input);
      if (difference !== undefined && known === undefined) unknown += 1;
      console.log(`${target.name}: ${difference ?? 'no difference'}${known === undefined ? '' : ' (known)'}`);
      console.log(`  there: ${JSON.stringify(comparison.reference)}\n  here:  ${JSON.stringify(comparison.ours)}`);
    }
  }
  return unknown;
}

/** Equal, different as it is listed, and different otherwise. */
function sharesOf({ cases, equal, listed }: Pick<Report, 'cases' | 'equal' | 'listed'>): string {
  const others = cases - equal - listed;
  return `${percentOf(equal, cases)} equal, ${percentOf(listed, cases)} listed (${listed}), ${others} not listed`;
}

function percentOf(part: number, whole: number): string {
  return `${((100 * part) / Math.max(1, whole)).toFixed(2)} %`;
}

async function referenceOf(generation: Generation): Promise<Reference> {
  if (values.framework) {
    const { sdk } = await installRelease(generation, defaultCacheFolder(), console.log);
    return loadFramework(generation, sdk);
  }
  const reference = referencePackage(generation);
  return { package: reference, handlers: doubleOf(reference) };
}

function tell({ name, known, count, example }: DifferenceClass): void {
  console.log(`  ${known === undefined ? '' : 'known: '}${name} (${count})`);
  if (known === undefined || values.examples) console.log(`    ${example.slice(0, EXAMPLE_CHARACTERS_MAX)}`);
}

function countOf(name: string, text: string): number {
  if (/^[0-9]{1,10}$/.test(text)) return Number(text);
  console.error(`--${name} \`${text}\` is no whole number`);
  process.exit(2);
}
