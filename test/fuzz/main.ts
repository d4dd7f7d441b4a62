/**
 * `npm run fuzz -- [--inputs N | --seconds N] [--seed S] [--only NAME] [--keep]`: runs every decoder on mutated inputs.
 * Prints the seed, a table, and a corpus line for each finding. With `--keep`, replaces the corpus of each decoder with
 * the first input of each outcome: at most 15 inputs of up to 500 bytes. Inputs that once showed a fault stay in the
 * corpus. Exits with code 1 if there is a finding.
 */

import { parseArgs } from 'node:util';
import { corpusLine, corpusOf, FOUND, keep } from './corpus.ts';
import { fuzz, type TargetReport } from './fuzzer.ts';
import { allTargets, closeTargets } from './targets.ts';
import { startWatchdog } from './watchdog.ts';

const { values } = parseArgs({
  options: {
    inputs: { type: 'string' },
    seconds: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});
const seed = countOf('seed', values.seed);
const seconds = values.seconds === undefined ? undefined : countOf('seconds', values.seconds);
const inputs =
  values.inputs === undefined ? (seconds === undefined ? 100_000 : Infinity) : countOf('inputs', values.inputs);

process.exitCode = await main();

async function main(): Promise<number> {
  console.log(`seed ${seed}, ${seconds === undefined ? `${inputs} inputs` : `${seconds} s`}`);
  const all = await allTargets();
  const targets = all.filter(({ name }) => values.only === undefined || name.includes(values.only));
  if (targets.length === 0) {
    console.error(
      `--only ${values.only}: there is no such target; there are ${all.map(({ name }) => name).join(', ')}`,
    );
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
    if (values.keep) keepSmall(target.name, firstInputs);
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

function countOf(name: string, text: string): number {
  if (/^[0-9]{1,10}$/.test(text)) return Number(text);
  console.error(`--${name} \`${text}\` is not a whole number`);
  process.exit(2);
}

function row(cells: readonly (string | number)[]): string {
  return cells.map((cell, index) => (index === 0 ? String(cell).padEnd(28) : String(cell).padStart(11))).join('');
}
