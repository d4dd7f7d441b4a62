/**
 * `npm run interop -- [--generation 3] [--cases abc] [--cache DIR] [--keep]`: runs real nodes (of lisk-sdk) and ours
 * together in test networks.
 */

import { parseArgs } from 'node:util';
import { defaultCacheFolder, installPostgres, installRelease } from './install.ts';
import { GENERATIONS, GROUPS, casesIn, type Letter } from './cases.ts';
import { chargesOf } from './watch.ts';
import { makeWorld, type WorldOptions } from './world.ts';

const { values } = parseArgs({
  options: {
    generation: { type: 'string', multiple: true, default: GENERATIONS.map(String) },
    cases: { type: 'string', default: GROUPS.flat().join('') },
    cache: { type: 'string', default: defaultCacheFolder() },
    keep: { type: 'boolean', default: false },
  },
});

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
  for (const generation of GENERATIONS.filter((each) => values.generation.includes(String(each)))) {
    const release = await installRelease(generation, values.cache, log);
    const postgres = await installPostgres(values.cache, log);
    log(`generation ${generation}: lisk-sdk ${release.sdkVersion} under Node.js ${release.nodeVersion}`);
    for (const group of GROUPS) {
      const letters = group.filter((letter) => values.cases.includes(letter));
      if (letters.length > 0) await runGroup(letters, { release, postgres, log, keep: values.keep });
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
