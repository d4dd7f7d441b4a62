import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { commandsIn, stepsOf } from './page.ts';
import { walkGuide } from './walk.ts';

/**
 * Returns the options in `args` that the command does not know. Returns all of `args` if there is no such command, or
 * if a required argument is missing.
 */
function unknownOptions(args: readonly string[]): readonly string[] {
  let command: Command = createProgram();
  const rest = [...args];
  for (;;) {
    const next = command.commands.find((each) => each.name() === rest[0]);
    if (next === undefined) break;
    command = next;
    rest.shift();
  }
  if (command.parent === null || command.registeredArguments.some(({ required }) => required && rest.length === 0))
    return args;
  return rest.filter((each) => each.startsWith('--') && !command.options.some(({ long }) => long === each));
}

test('each command in the guide for delegates exists, with existing options', (t) => {
  const commands = stepsOf('forge.md').flatMap((step) => (step.kind === 'stop' ? [] : commandsIn(step.text)));
  t.true(commands.length >= 20, `${commands.length}`);
  for (const args of commands) t.deepEqual(unknownOptions(args), [], args.join(' '));
  t.deepEqual(unknownOptions(['forging', 'enable', '--no-such']), ['--no-such']);
});

for (const page of ['exchanges.md', 'explorers.md']) {
  test(`each command in ${page} exists, with existing options`, (t) => {
    const commands = stepsOf(page).flatMap((step) => (step.kind === 'stop' ? [] : commandsIn(step.text)));
    t.true(commands.length >= 5, `${commands.length}`);
    for (const args of commands) t.deepEqual(unknownOptions(args), [], args.join(' '));
  });
}

test('the guide for exchanges credits a final deposit, pays out once and reads a stopped folder', async (t) => {
  t.timeout(600_000);
  const directory = temporaryFolder(t);
  const output = await walkPage(t, 'exchanges.md', directory);
  const deposits = readFileSync(join(directory, 'deposits'), 'utf8').trim().split('\n');
  const credited = deposits.map((line) => JSON.parse(line) as { event: string; data: { asset: { data?: string } } });
  t.deepEqual(
    credited.filter(({ data }) => data.asset.data === 'customer 4711').map(({ event }) => event),
    ['transactions/included'],
  );
  t.regex(output, /^verdict +a node would take it$/m);
  t.regex(output, /^transaction \d+: in block \d+$/m);
  t.regex(output, /^place +block \d+ at height \d+/m);
  t.regex(output, /transactions\/included .* sends 10\.5 LSK to \d+L with the text "withdrawal 1"/m);
});

test('the guide for explorers reads a chain and keeps up with it', async (t) => {
  t.timeout(600_000);
  const directory = temporaryFolder(t);
  const output = await walkPage(t, 'explorers.md', directory);
  const events = readFileSync(join(directory, 'events'), 'utf8').trim().split('\n');
  const parsed = events.map((line) => JSON.parse(line) as { event: string; data: { height: number } });
  const added = parsed.filter(({ event }) => event === 'blocks/new').map(({ data }) => data.height);
  t.deepEqual(added.slice(0, 5), [1, 2, 3, 4, 5]);
  t.true(readFileSync(join(directory, 'blocks.ndjson'), 'utf8').split('\n').length > 6);
  t.regex(output, /^no transaction waits$/m);
});

async function walkPage(t: ExecutionContext, page: string, directory: string): Promise<string> {
  const { output } = await walkGuide({
    page,
    generation: 3,
    directory,
    nodes: 1,
    stepTimeoutMs: 200_000,
    print: (line) => t.log(line),
  });
  return output;
}

for (const generation of [2, 3] as const) {
  test(`the guide makes an account of generation ${generation} a delegate with votes and a node of its own, switched on`, async (t) => {
    t.timeout(600_000);
    const directory = temporaryFolder(t);
    const { output } = await walkGuide({
      generation,
      directory,
      nodes: 1,
      lastSection: 'A node of your own',
      stepTimeoutMs: 200_000,
      print: (line) => t.log(line),
    });
    t.is(output.match(/^transaction \d+: in block \d+$/gm)?.length, 3, output);
    t.regex(output, /^forging\.riskDoubleForging +false +forger\.json5$/m);
    t.regex(output, /^forging\.defaultPassword +none +default$/m);
    t.regex(output, /^[0-9a-f]{64} {2}on/m);
    const passphrase = readFileSync(join(directory, 'passphrase'), 'utf8').trim();
    t.is(passphrase.split(' ').length, 12);
    t.false(output.includes(passphrase));
  });
}
