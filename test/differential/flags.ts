/**
 * The command line of `npm run differential`. An invalid command line ends the process with code 2 and one line of
 * text, before the comparison starts.
 */

import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { messageOf } from '../../src/primitives/errors.ts';
import type { Generation } from '../../src/protocol/params.ts';
import { generationIn, wholeNumber } from '../support/program.ts';
import { targetNames, TARGETS_IN_WORDS } from './target-names.ts';

export interface Flags {
  readonly cases: number;
  readonly seed: number;
  readonly generation?: Generation;
  readonly only?: string;
  readonly framework?: true;
  readonly examples?: true;
  readonly reasons?: true;
  /** Lines of the file that `--replay` names. Each line contains an example that an earlier run has printed. */
  readonly replay?: readonly string[];
  readonly http?: true;
  readonly record?: string;
}

/**
 * Exit code when nothing was compared: the command line was invalid, or the nodes for `--http` could not be started.
 */
export const EXIT_NOTHING_COMPARED = 2;

const CASES_MAX = 1_000_000_000;
/** `belowOf` uses 32 bits of a seed. */
const SEED_MAX = 2 ** 32 - 1;

export interface Terminal {
  write(text: string): void;
  exit(code: number): never;
}

/**
 * @param args arguments after the name of the program
 * @param seed seed to use if the arguments contain none
 * @param terminal receives help and errors, and ends the process
 */
export function readFlags(args: readonly string[], seed: number, terminal: Terminal): Flags {
  const program = new Command('differential')
    .description(
      "Compares this node with the published packages of the reference on random input, or over HTTP with a real node. Prints each class of difference once, and an example of each class that the pages of differences don't list.",
    )
    .option('--cases <number>', 'cases in each generation, shared among its targets', wholeNumber(1, CASES_MAX), 30_000)
    .addOption(
      new Option('--seed <number>', 'repeat the cases of an earlier run')
        .argParser(wholeNumber(0, SEED_MAX))
        .default(seed, 'by the clock'),
    )
    .addOption(
      new Option('--generation <number>', 'compare this generation only: 2 or 3 (default: both)').argParser(
        generationIn,
      ),
    )
    .option('--only <text>', 'compare only the targets whose names hold this text, such as `headers`')
    .option('--framework', "have the release's own framework process blocks, not a double of it; it is fetched once")
    .option('--examples', 'print the smallest example of listed classes too')
    .option('--reasons', 'print the classes in which both sides refuse with different first reasons')
    .option(
      '--replay <file>',
      'compare the printed examples of this file, one in each line, and print both outcomes',
      lines,
    )
    .addOption(
      new Option(
        '--http',
        'compare answers over HTTP: this starts a lab with a real node and two nodes of this build, which takes minutes',
      ).conflicts(['framework']),
    )
    .option('--record <directory>', "with --http: write the real node's refusals here, for the short form in npm test")
    .addHelpText(
      'after',
      `\n${TARGETS_IN_WORDS}\n\nExit code: 0 without an unlisted difference, 1 with one, ${EXIT_NOTHING_COMPARED} when nothing was compared.`,
    )
    .allowExcessArguments(false)
    // Print the error and its suggestion on one line.
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.write(text),
      outputError: (text, write) => write(`${text.trim().replaceAll(/\s*\n\s*/g, ' ')}\n`),
    })
    .exitOverride(({ exitCode }) => terminal.exit(exitCode === 0 ? 0 : EXIT_NOTHING_COMPARED))
    .parse(args, { from: 'user' });
  const flags = program.opts<Flags>();
  if (flags.record !== undefined && flags.http !== true) program.error('error: --record needs --http');
  if (generationsOf(flags).length === 0)
    program.error(`error: no target is named like \`${flags.only}\`; --help lists them`);
  return flags;
}

/** Generations with at least one selected target. */
export function generationsOf({ generation: only, only: text = '', http }: Flags): readonly Generation[] {
  return ([2, 3] as const).filter(
    (each) =>
      (only === undefined || only === each) && targetNames(each, http === true).some((name) => name.includes(text)),
  );
}

function lines(file: string): readonly string[] {
  const all = textOf(file)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (all.length === 0) throw new InvalidArgumentError('The file holds no example.');
  for (const [index, line] of all.entries()) {
    if (!isJson(line)) throw new InvalidArgumentError(`Example ${index + 1} of the file is not JSON.`);
  }
  return all;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new InvalidArgumentError(`The file cannot be read: ${messageOf(error)}.`);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
