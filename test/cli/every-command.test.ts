/** Checks help, exit codes, error lines and JSON schemas of all commands, and the JSON output of a few commands. */

import test from 'ava';
import Ajv from 'ajv';
import type { Command } from 'commander';
import { jsonSchemas } from '../../src/cli/json-schemas.ts';
import { errorLineOf } from '../../src/cli/error-lines.ts';
import { createProgram } from '../../src/cli/program.ts';
import { isProblemLine, runCli } from '../support/cli.ts';

interface Listed {
  readonly path: string;
  readonly command: Command;
}

function allCommands(command: Command, path: readonly string[] = []): readonly Listed[] {
  return command.commands.flatMap((each) => {
    const place = [...path, each.name()];
    return [{ path: place.join(' '), command: each }, ...allCommands(each, place)];
  });
}

const COMMANDS = allCommands(createProgram());
const PASSPHRASE = `${'abandon '.repeat(11)}about`;

function helpOf(command: Command): string {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (text) => void parts.push(text) });
  command.outputHelp();
  return parts.join('');
}

for (const { path, command } of COMMANDS) {
  test(`the help of ${path} states the purpose and the exit codes`, (t) => {
    const help = helpOf(command);
    t.true(help.startsWith(`Usage: bloomery ${path}`), help);
    t.not(command.description(), '');
    t.is(help.match(/^Exit codes: 0 .*; 1 .*; 2 /gm)?.length, 1, help);
  });
}

for (const { path } of COMMANDS) {
  test(`${path} ends with exit code 2 and one line for a wrong use`, async (t) => {
    const program = createProgram();
    // `vote` reads a word that begins with a hyphen as the withdrawal of a vote, so `--no-such-option` is not an error
    // there. The test therefore runs `vote` without its required argument.
    const wrong = path === 'vote' ? [] : ['--no-such-option'];
    const error = await t.throwsAsync(program.parseAsync(['node', 'bloomery', ...path.split(' '), ...wrong]));
    const { line, exitCode } = errorLineOf(error);
    t.is(exitCode, 2, line);
    t.regex(line, new RegExp(`^bloomery: [^\\n]+: see \`bloomery ${path} --help\`$`));
  });
}

test('each command with a result has --json, and a JSON schema', (t) => {
  const hasJson = ({ command }: Listed): boolean => command.options.some(({ long }) => long === '--json');
  t.deepEqual(
    COMMANDS.filter((listed) => !hasJson(listed) && listed.command.commands.length === 0).map(({ path }) => path),
    ['start', 'completion', 'help'],
  );
  t.deepEqual(
    Object.keys(jsonSchemas()).sort(),
    COMMANDS.filter(hasJson)
      .map(({ path }) => path)
      .sort(),
  );
});

for (const { path, args = [], wrong } of [
  { path: 'version', wrong: ['surplus'] },
  { path: 'devnet accounts', wrong: ['surplus'] },
  { path: 'keys create', wrong: ['surplus'] },
  { path: 'keys show', wrong: ['--passphrase-file', '/nowhere/passphrase'] },
  { path: 'message sign', args: ['it is mine'], wrong: [] },
]) {
  test(`${path} --json prints what its schema says; a usage error is one line with exit code 2`, async (t) => {
    const command = path.split(' ');
    const env = { BLOOMERY_PASSPHRASE: PASSPHRASE };
    const { code, stdout, stderr } = await runCli([...command, ...args, '--json'], { env });
    t.is(code, 0, stderr);
    const ajv = new Ajv();
    const schema = jsonSchemas()[path];
    if (schema === undefined) throw new Error(`${path} has no schema`);
    const printed: unknown = JSON.parse(stdout);
    t.true(ajv.validate(schema, printed), ajv.errorsText());
    t.false(ajv.validate(schema, {}), 'the schema asks for the members');
    const refused = await runCli([...command, ...wrong], { env });
    t.is(refused.code, 2, refused.stderr);
    t.true(isProblemLine(refused.stderr), refused.stderr);
  });
}

test('message verify --json prints what its schema says', async (t) => {
  const signed = await runCli(['message', 'sign', 'it is mine', '--json'], {
    env: { BLOOMERY_PASSPHRASE: PASSPHRASE },
  });
  const { stdout } = await runCli(['message', 'verify', '--json'], { input: signed.stdout });
  const ajv = new Ajv();
  t.true(ajv.validate(jsonSchemas()['message verify'] ?? false, JSON.parse(stdout)), ajv.errorsText());
});
