/**
 * `npm run fuzz`: runs every decoder on mutated inputs. Prints the seed, a table, and a corpus line for each finding.
 * Inputs that once showed a fault stay in the corpus. Exits with code 1 if there is a finding.
 */

import { Option } from 'commander';
import { positiveNumber, testProgram, wholeNumber } from '../support/program.ts';
import { corpusLine, corpusOf, FOUND, keep } from './corpus.ts';
import { fuzz, type TargetReport } from './fuzzer.ts';
import { allTargets, closeTargets } from './targets.ts';
import { startWatchdog } from './watchdog.ts';

interface Flags {
  readonly inputs?: number;
  readonly seconds?: number;
  readonly seed: number;
  readonly only?: string;
  readonly keep?: true;
}

const INPUTS_DEFAULT = 100_000;

const {
  seconds,
  inputs = seconds === undefined ? INPUTS_DEFAULT : Infinity,
  seed,
  ...flags
} = testProgram('fuzz', 'Runs every decoder on mutated inputs')
  .option('--inputs <number>', `inputs of all decoders together (default: ${INPUTS_DEFAULT})`, wholeNumber(1))
  .option('--seconds <number>', 'run for so long instead', positiveNumber)
  .addOption(
    new Option('--seed <number>', 'repeat the inputs of an earlier run')
      .argParser(wholeNumber(0))
      .default(Date.now() % 1_000_000, 'by the clock'),
  )
  .option('--only <text>', 'only decoders whose names hold this text')
  .option(
    '--keep',
    'replace the corpus of each decoder by the first input of each outcome: at most 15 inputs of up to 500 bytes',
  )
  .parse()
  .opts<Flags>();

process.exitCode = await main();

async function main(): Promise<number> {
  console.log(`seed ${seed}, ${seconds === undefined ? `${inputs} inputs` : `${seconds} s`}`);
  const all = await allTargets();
  const targets = all.filter(({ name }) => flags.only === undefined || name.includes(flags.only));
  if (targets.length === 0) {
    console.error(`--only ${flags.only}: there is no such target; there are ${all.map(({ name }) => name).join(', ')}`);
    await closeTargets(all);
    return 2;
  }
  const watchdog = startWatchdog();
  const weights = targets.reduce((sum, { weight = 1 }) => sum + weight, 0);
  const reports: TargetReport[] = [];
  console.log(row(['target', 'inputs', 'outcomes', 'slowest ms', 'grown KB', 'seconds', 'findings']));
  for (const target of targets) {
    const share = (target.weight ?? 1) / weights;
    const firstInputs = new Map<string, Buffer>();
    const report = await fuzz(target, {
      seed,
      inputs: Math.ceil(inputs * share),
      ...(seconds === undefined ? {} : { untilMs: performance.now() + seconds * 1000 * share }),
      corpus: corpusOf(target.name),
      watchdog,
      novel: (outcome, input) => firstInputs.set(outcome, input),
    });
    reports.push(report);
    const { slowestMs, grownBytes } = report;
    const figures = [report.inputs, report.outcomes, Math.round(slowestMs), Math.round(grownBytes / 1024)];
    console.log(row([target.name, ...figures, report.seconds.toFixed(1), report.findings.length]));
    for (const { what, input } of report.findings)
      console.log(`  ${corpusLine(FOUND + what, input.subarray(0, 20_000))}`);
    if (flags.keep === true) keepSmall(target.name, firstInputs);
  }
  await watchdog.close();
  await closeTargets(all);
  const found = reports.reduce((sum, { findings }) => sum + findings.length, 0);
  const fed = reports.reduce((sum, report) => sum + report.inputs, 0);
  console.log(`${fed} inputs, ${found} findings, seed ${seed}`);
  return found === 0 ? 0 : 1;
}

/** Large inputs are not kept, because mutations soon create them again. */
function keepSmall(name: string, firstInputs: ReadonlyMap<string, Buffer>): void {
  const kept = [...firstInputs].filter(([, input]) => input.length <= 500).slice(0, 15);
  keep(name, new Map(kept));
}

function row(cells: readonly (string | number)[]): string {
  return cells.map((cell, index) => (index === 0 ? String(cell).padEnd(28) : String(cell).padStart(11))).join('');
}
