/** Commands in README and docs, and the tests that run them. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';

export interface ShownCommand {
  /** The command on one line, without comments and without redirections of its output. */
  readonly text: string;
  /** Path of the page from the root of the package. */
  readonly page: string;
  /** Whether the command is named in a sentence instead of shown as input. */
  readonly isMention: boolean;
}

/** A test that runs a command or a short form of it. */
export interface Runner {
  /** Path of the test file below `test`. */
  readonly file: string;
  /** Text in the file that identifies the test. */
  readonly title: string;
}

const COMMAND = String.raw`(?:bloomery |npx |npm (?:ci|test|run|pack)|node bin\/bloomery\.js |curl )`;
const FENCE = /^[ \t]*```[a-z0-9]*\n(.*?)^[ \t]*```/gms;

/**
 * Returns all commands in README and docs, but not the `curl` commands in docs/http. test/http/pages.test.ts runs these
 * `curl` commands.
 */
export function shownCommands(): readonly ShownCommand[] {
  return ['README.md', ...pagesBelow('docs')].flatMap(commandsOf);
}

function commandsOf(page: string): readonly ShownCommand[] {
  const text = readFileSync(join(packageDirectory(), page), 'utf8');
  const lines = [...text.matchAll(FENCE)].flatMap(([, block = '']) => block.replaceAll('\\\n', ' ').split('\n'));
  const typed = lines.flatMap((line) => [
    ...line.matchAll(new RegExp(String.raw`(?:^\s*|[({|;&]\s*)(${COMMAND}.*)`, 'g')),
  ]);
  const named = [...text.replaceAll(FENCE, '').matchAll(new RegExp(`\`(${COMMAND}[^\`]*)\``, 'g'))];
  const all = [
    ...typed.map(([, command = '']) => ({ text: bare(command), page, isMention: false })),
    ...named.map(([, command = '']) => ({ text: bare(command), page, isMention: true })),
  ];
  return page.startsWith('docs/http/') ? all.filter((command) => !command.text.startsWith('curl ')) : all;
}

function bare(command: string): string {
  const [text = ''] = command.split(/ +# | [|>] |\)(?:$|\})|; \}/);
  return text.replaceAll(/\s+/g, ' ').trim();
}

function pagesBelow(folder: string): readonly string[] {
  return readdirSync(join(packageDirectory(), folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return pagesBelow(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

const GUIDE: Runner = { file: 'guide/main.ts', title: 'walkGuide(' };
const SIM: Runner = { file: 'sim/scripted/seeds.test.ts', title: 'seed ' };
const ATTACKS: Runner = { file: 'attacks/attacks.test.ts', title: 'testAttacks' };
const FUZZ: Runner = { file: 'fuzz/fuzz.test.ts', title: 'no decoder crashes, hangs or fills the memory' };
const BENCH: Runner = { file: 'bench/bench.test.ts', title: 'the bench makes' };

/**
 * Shows, for each npm script of the docs, where it is run: in a test that makes a shorter run, in the code of the
 * script, or in a file that calls the script.
 */
export const NPM_RUNNERS: Readonly<Record<string, Runner>> = {
  analytics: { file: 'analytics/main.ts', title: 'questionsOfGuide' },
  attacks: ATTACKS,
  bench: BENCH,
  browse: { file: 'browse/main.ts', title: 'browse(' },
  build: { file: '../package.json', title: '"test": "npm run -s build && ava"' },
  chaos: { file: 'chaos/kill-forger.test.ts', title: 'a forging node that is killed at random moments' },
  check: { file: 'check.js', title: 'check:format' },
  ci: { file: '../.ci/run', title: 'npm ci' },
  devnet: { file: 'devnet/supervisor.long.test.ts', title: 'ends the devnet with all its nodes' },
  events: { file: 'http/events.test.ts', title: 'EVENT_STEPS' },
  metrics: { file: 'devnet/operate.test.ts', title: 'every panel of the Grafana file finds its metrics' },
  format: { file: 'check.js', title: 'check:format' },
  differential: {
    file: 'differential/differential.test.ts',
    title: 'accepts and refuses the same blocks as the reference',
  },
  fuzz: FUZZ,
  golden: { file: 'golden/main.ts', title: 'compareAnswers' },
  guide: { file: 'guide/guide.long.test.ts', title: 'the guide makes an account of generation' },
  interop: { file: 'interop/main.ts', title: 'casesIn' },
  'odd-requests': { file: 'http/odd-requests.prop.test.ts', title: 'ODD_REQUESTS' },
  'package-check': { file: 'package/main.ts', title: 'npm' },
  sim: SIM,
  test: { file: '../.ci/run', title: 'npm test' },
  'test:long': { file: '../.ci/run', title: 'npm run test:long' },
};

/**
 * Files below `test` that declare the flags of an npm script. By default, the flags are in `main.ts` of the folder with
 * the name of the script.
 */
export const FLAGS_IN: Readonly<Record<string, readonly string[]>> = {
  bench: ['bench/main.ts', 'bench/http.ts', 'bench/import.ts'],
  differential: ['differential/flags.ts'],
  devnet: ['../src/cli/command.ts', '../src/cli/program.ts'],
};

/** Guides whose commands a test runs unchanged. For each guide, the value names this test. */
export const GUIDE_RUNNERS: Readonly<Record<string, Runner>> = {
  'forge.md': GUIDE,
  'exchanges.md': { file: 'guide/guide.long.test.ts', title: "walkPage(t, 'exchanges.md'" },
  'explorers.md': { file: 'guide/guide.long.test.ts', title: "walkPage(t, 'explorers.md'" },
};
