/**
 * Runs mutation tests: `npm run sim -- --mutants --jobs 2`. For each mutant of `mutants.ts`, makes a copy of the build,
 * plants the defect of the mutant into the copy, and runs the tests of `STAGES` on it. The run takes about half an hour
 * on two cores. The exit code is 1 if the tests fail without a mutant, or if they do not detect enough mutants. The
 * code that a mutant replaces must occur exactly once in its file of the build; otherwise the exit code is also 1.
 */

import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { MUTANTS, type Mutant } from './mutants.ts';

/** Minimum share of the mutants that the tests must detect (catch). */
const CAUGHT_SHARE_MIN = 0.9;
/**
 * Time limit for each stage of the tests when they run without a mutant. The limit is high, because the machine may be
 * busy.
 */
const WHOLE_STAGE_MS_MAX = 3_600_000;
/**
 * The time limit of a stage with a mutant is `STAGE_SLOWER_MAX` times the duration of the stage without a mutant, but
 * never less than `STAGE_MS_MIN`. If a stage exceeds this limit, the mutant counts as caught.
 */
const STAGE_MS_MIN = 900_000;
const STAGE_SLOWER_MAX = 3;

/**
 * The stages of the tests, in the order in which they run. A run stops at the first failed stage, so the fast stages
 * come first.
 */
const STAGES: readonly { readonly name: string; readonly files: readonly string[] }[] = [
  {
    name: 'chain',
    files: [
      'engine/chain/*',
      'engine/forge/*',
      'engine/sync/{claims,synchronizer}',
      'engine/answer-requests*',
      'node/{journal-f,record-moves,signing-record,watermark-files}*',
    ],
  },
  { name: 'store', files: ['store/chain/chain-store*'] },
  { name: 'records', files: ['sim/scripted/records'] },
  { name: 'rules', files: ['protocol/gen3/{bft,blocks,forge,fork-choice,rounds}*', 'protocol/{payout,rounds}*'] },
  { name: 'seeds', files: ['sim/scripted/seeds'] },
  { name: 'scripted', files: ['sim/scripted/{partition,bad-branch,time,cheats,behind,rates,restores}'] },
];

/**
 * If AVA gets no further test result for this share of a stage's time limit, it stops the run. AVA then names the test
 * that hangs.
 */
const AVA_SHARE = 2 / 3;

/**
 * @param wholeMs duration of the stage in the run without a mutant
 * @returns time limit for the stage with a mutant
 */
export function stageMsMaxOf(wholeMs: number): number {
  return Math.max(STAGE_MS_MIN, STAGE_SLOWER_MAX * wholeMs);
}

/** The result of one run of all stages, up to the first failed stage. */
interface SuiteRun {
  /** Name of the first stage that failed, and of its failed test; undefined if all stages passed. */
  readonly failure: string | undefined;
  /** Duration in milliseconds of each stage that has run, by the name of the stage. */
  readonly tookMs: ReadonlyMap<string, number>;
}

interface Fate {
  readonly mutant: Mutant;
  /** Names of the stage and of the test that detected the mutant; undefined if all stages passed. */
  readonly caughtBy: string | undefined;
  readonly seconds: number;
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * @param only comma-separated texts; the function runs only mutants whose names contain one of these texts, or all
 *   mutants if `only` is empty
 * @returns exit code
 */
export async function runMutants(jobs: number, only: string): Promise<number> {
  const parts = only.split(',');
  const chosen = MUTANTS.filter(({ name }) => parts.some((part) => name.includes(part)));
  const misfits = misfitsAmong(chosen);
  for (const { name, file } of misfits) console.log(`"${name}" does not fit ${file} any more`);
  if (misfits.length > 0) return 1;
  const whole = await suite(ROOT, () => WHOLE_STAGE_MS_MAX);
  if (whole.failure !== undefined) {
    console.log(`the suite fails (${whole.failure}) though nothing was planted`);
    return 1;
  }
  const limitOf = (stage: string): number => stageMsMaxOf(whole.tookMs.get(stage) ?? 0);
  const waiting = [...chosen];
  const fates: Fate[] = [];
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const fate = await tryOut(mutant, limitOf);
      fates.push(fate);
      console.log(textOf(fate));
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  const caught = fates.filter(({ caughtBy }) => caughtBy !== undefined).length;
  const needed = Math.ceil(chosen.length * CAUGHT_SHARE_MIN);
  for (const { mutant, caughtBy } of fates) {
    if (caughtBy === undefined) console.log(`${mutant.name}: ${mutant.reason ?? 'survives without a reason'}`);
  }
  console.log(`${caught} of ${chosen.length} planted faults caught, ${needed} needed`);
  return caught >= needed ? 0 : 1;
}

async function tryOut(mutant: Mutant, limitOf: (stage: string) => number): Promise<Fate> {
  const startMs = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-mutant-'));
  try {
    for (const name of ['dist', 'package.json', 'networks', 'test/vectors']) {
      cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter: (path) => !path.endsWith('.map') });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const file = join(folder, 'dist/src', mutant.file);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(patternOf(mutant), () => mutant.to),
    );
    const { failure: caughtBy } = await suite(folder, limitOf);
    return { mutant, caughtBy, seconds: Math.round((performance.now() - startMs) / 1000) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs the stages on the build in `folder`, up to the first stage that fails.
 *
 * @param limitOf returns the time limit of a stage in milliseconds
 */
async function suite(folder: string, limitOf: (stage: string) => number): Promise<SuiteRun> {
  const tookMs = new Map<string, number>();
  for (const { name, files } of STAGES) {
    const patterns = files.map((file) => `dist/test/${file}.test.js`);
    const startMs = performance.now();
    const failure = await failureOf(folder, patterns, limitOf(name));
    tookMs.set(name, performance.now() - startMs);
    if (failure !== undefined) return { failure: `${name}: ${failure}`, tookMs };
  }
  return { failure: undefined, tookMs };
}

/**
 * Runs the tests of one stage.
 *
 * @returns name of the first test that fails, or another reason for the failure; undefined if all tests pass
 */
function failureOf(folder: string, patterns: readonly string[], limitMs: number): Promise<string | undefined> {
  const ava = join(ROOT, 'node_modules/ava/entrypoints/cli.mjs');
  const child = spawn(
    process.execPath,
    [ava, '--fail-fast', '--tap', `--timeout=${Math.round((limitMs * AVA_SHARE) / 1000)}s`, ...patterns],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const chunks: Buffer[] = [];
  let isLate = false;
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, limitMs);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      const failed = /^not ok \d+ - (.*)$/m.exec(Buffer.concat(chunks).toString('utf8'))?.[1];
      if (code === 0) resolve(undefined);
      else resolve(isLate ? 'does not end' : (failed ?? `exit code ${code}`));
    });
  });
}

/**
 * Returns the mutants whose original code (`from`) does not exist in their file of the build, or exists more than once
 * in it.
 */
export function misfitsAmong(mutants: readonly Mutant[]): readonly Mutant[] {
  return mutants.filter(
    (mutant) => [...readFileSync(join(ROOT, 'dist/src', mutant.file), 'utf8').matchAll(patternOf(mutant))].length !== 1,
  );
}

/**
 * Returns a pattern for the original code of a mutant (`from`). The pattern also matches if the build has other white
 * space, or double quotes where `from` has single quotes.
 */
function patternOf({ from }: Mutant): RegExp {
  const words = from.trim().split(/\s+/);
  return new RegExp(words.map((word) => escaped(word).replaceAll("'", `['"]`)).join('\\s+'), 'g');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function textOf({ mutant, caughtBy, seconds }: Fate): string {
  const fate = caughtBy === undefined ? 'SURVIVED' : 'caught';
  const by = caughtBy === undefined ? '' : `\n${' '.repeat(18)}${caughtBy}`;
  return `${fate.padEnd(8)} ${`${seconds} s`.padStart(7)}  ${mutant.name} (${mutant.file})${by}`;
}
