/** The command lines of the programs in this folder's parent, such as that of `npm run sim`. */

import { Command, InvalidArgumentError } from 'commander';
import type { Generation } from '../../src/protocol/params.ts';

/** Exit code after an invalid command line. */
const EXIT_USAGE = 2;
const WHOLE_MAX = 999_999_999;

/**
 * Creates a program without options. An invalid command line ends the process with code 2, before the program does
 * anything. `--help` prints the description and the options.
 */
export function testProgram(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE));
}

/** Returns the parser of an option whose value is a whole number. */
export function wholeNumber(min: number, max = WHOLE_MAX): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^[0-9]{1,10}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It should be a whole number from ${min} to ${max}.`);
  };
}

/** @throws InvalidArgumentError if the text is not a number above 0 */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (value > 0 && value < Infinity) return value;
  throw new InvalidArgumentError('It should be a number above 0.');
}

/** @throws InvalidArgumentError if the text is not a protocol generation */
export function generationIn(text: string): Generation {
  if (text === '2') return 2;
  if (text === '3') return 3;
  throw new InvalidArgumentError('It should be 2 or 3.');
}

/** Parser of an option whose values are one or more generations of the protocol. Each call adds one value. */
export function generationsIn(text: string, before: readonly Generation[] | undefined): readonly Generation[] {
  return [...new Set([...(before ?? []), generationIn(text)])];
}
