/** `npm run interop`: runs real nodes (of lisk-sdk) and ours together in test networks. */

import { InvalidArgumentError, Option } from 'commander';
import type { Generation } from '../../src/protocol/params.ts';
import { generationsIn, testProgram } from '../support/program.ts';
import { defaultCacheFolder, installPostgres, installRelease } from './install.ts';
import { GENERATIONS, GROUPS, casesIn, type Letter } from './cases.ts';
import { chargesOf } from './watch.ts';
import { makeWorld, type WorldOptions } from './world.ts';

interface Flags {
  readonly generation?: readonly Generation[];
  readonly cases: string;
  readonly cache: string;
  readonly keep?: true;
}

const LETTERS = GROUPS.flat().join('');
const flags = testProgram('interop', 'Runs real nodes (of lisk-sdk) and ours together in test networks')
  .option('--generation <numbers...>', 'protocol generations (default: 3, then 2)', generationsIn)
  .addOption(new Option('--cases <letters>', 'cases to run').default(LETTERS).argParser(lettersOf))
  .option('--cache <directory>', 'folder for the downloaded releases', defaultCacheFolder())
  .option('--keep', 'keep the folders and logs of the run')
  .parse()
  .opts<Flags>();

interface Row {
  readonly generation: number;
  readonly letter: string;
  readonly title: string;
  readonly passed: boolean;
  readonly seconds: number;
  readonly words: string;
}

const rows: Row[] = [];
/**
 * Ends all processes of the current world (`world.ts`: a test network with its nodes and its database server). This
 * variable is set before the database server starts. Undefined while no world exists.
 */
let closeWorld: (() => Promise<void>) | undefined;
let interrupted = false;
const log = (line: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupted) process.exit(1);
    interrupted = true;
    console.error(`${signal}: ending all nodes`);
    void Promise.resolve(closeWorld?.()).finally(() => process.exit(1));
  });
}

try {
  for (const generation of GENERATIONS.filter((each) => flags.generation?.includes(each) ?? true)) {
    const release = await installRelease(generation, flags.cache, log);
    const postgres = await installPostgres(flags.cache, log);
    log(`generation ${generation}: lisk-sdk ${release.sdkVersion} under Node.js ${release.nodeVersion}`);
    for (const group of GROUPS) {
      const letters = group.filter((letter) => flags.cases.includes(letter));
      if (letters.length > 0) await runGroup(letters, { release, postgres, log, keep: flags.keep === true });
    }
  }
  console.log('\n| generation | case | result | time | figures |\n| --- | --- | --- | --- | --- |');
  for (const { generation, letter, title, passed, seconds, words } of rows) {
    const result = passed ? 'passed' : 'FAILED';
    console.log(`| ${generation} | (${letter}) ${title} | ${result} | ${seconds} s | ${words.replaceAll('\n', ' ')} |`);
  }
  process.exitCode = rows.length > 0 && rows.every(({ passed }) => passed) ? 0 : 1;
} catch (error) {
  console.error(`interop failed: ${error instanceof Error ? error.message : String(error)}`);
  await closeWorld?.();
  process.exitCode = 1;
}

/**
 * Runs the cases of a group, one after another, in a new world. If a case fails, the remaining cases of the group would
 * prove nothing, so they are not run.
 */
async function runGroup(letters: readonly Letter[], options: WorldOptions): Promise<void> {
  const { generation } = options.release;
  const place = await makeWorld({ ...options, begun: (close) => (closeWorld = close) });
  const cases = casesIn(place);
  let broken = false;
  for (const letter of letters) {
    const { title, run } = cases[letter];
    const startedMs = Date.now();
    let words = 'not run: the case before it failed';
    if (!broken) {
      try {
        words = await run();
        const charges = place.nodes.flatMap((node) => chargesOf(node).map((line) => `${node.name}: ${line}`));
        if (charges.length > 0) throw new Error(`penalties and bans:\n${charges.slice(0, 5).join('\n')}`);
      } catch (error) {
        broken = true;
        words = error instanceof Error ? error.message : String(error);
      }
    }
    const seconds = Math.round((Date.now() - startedMs) / 1000);
    rows.push({ generation, letter, title, passed: !broken, seconds, words });
    log(`generation ${generation} (${letter}) ${broken ? 'FAILED' : 'passed'} after ${seconds} s: ${words}`);
  }
  await place.close();
  closeWorld = undefined;
}

function lettersOf(text: string): string {
  if (/^./.test(text) && [...text].every((letter) => LETTERS.includes(letter))) return text;
  throw new InvalidArgumentError(`It should be letters of ${LETTERS}.`);
}
