/** Functions that all commands share. The functions define commands and options, parse values, and report wrong use. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { ipv4Port } from '../config/option.ts';
import type { ProtocolError } from '../primitives/errors.ts';
import { printText } from './output.ts';
import { usageError } from './error-lines.ts';
import { similarTo } from './similar.ts';

export const EXIT_CODES = `
Exit codes: 0 done; 1 failed; 2 wrong flag, configuration, network folder or input file, or the output file already exists.
Every error is one line on the standard error output; its code, for example (NODE_UNREACHABLE), stands at the end. With --json, the
standard output contains only data.`;

/**
 * Adds a subcommand. If the arguments or options of the subcommand are wrong, the program reports the error in one line
 * (see `quiet`).
 */
export function command(parent: Command, name: string, description: string): Command {
  return quiet(parent.command(name)).description(description);
}

/**
 * Sets what a command does without a known subcommand: the command prints its help if no subcommand is given, and
 * refuses an unknown subcommand.
 */
export function onlyCommands(parent: Command): void {
  parent.addHelpText('after', EXIT_CODES);
  parent.allowExcessArguments().action(() => {
    const [name] = parent.args;
    if (name !== undefined) throw unknownCommand(parent, name);
    parent.outputHelp();
  });
}

/** Creates the error for an unknown command. If a similar command exists, the error suggests this command. */
function unknownCommand(parent: Command, name: string): ProtocolError {
  const similar = similarTo(
    name,
    parent.commands.map((each) => each.name()),
  );
  const meant = similar === undefined ? '' : `did you mean \`${pathOf(parent)} ${similar}\`? `;
  return usageError(`unknown command \`${name}\`: ${meant}see \`${pathOf(parent)} --help\``);
}

/** Adds the subcommand `help`. The call `help COMMAND` prints the same text as `COMMAND --help`. */
export function addHelpCommand(program: Command): void {
  command(program, 'help', 'describe a command')
    .argument('[command...]', 'command, for example: forging export')
    .addHelpText('after', EXIT_CODES)
    .action((names: readonly string[]) => {
      let described = program;
      for (const name of names) {
        const below = described.commands.find((each) => each.name() === name);
        if (below === undefined) throw unknownCommand(described, name);
        described = below;
      }
      described.outputHelp();
    });
}

/**
 * Switches off the error output of Commander. Commander would print an error in several lines, but `main` prints each
 * error in one line. `quiet` also adds a text to the message of each error: the call that shows the help, for example
 * `bloomery start --help`. With `quiet`, an option belongs to the command that precedes it on the command line. Without
 * `quiet`, a parent command would take the options of its subcommand.
 */
export function quiet(program: Command): Command {
  return program
    .enablePositionalOptions()
    .allowExcessArguments(false)
    .exitOverride((error) => {
      const [first] = program.args;
      const isCommandMeant = error.code === 'commander.excessArguments' && program.commands.length > 0;
      if (isCommandMeant && first !== undefined) throw unknownCommand(program, first);
      if (error.exitCode !== 0) {
        const message = error.message.replace(/\n\(Did you mean (.*)\?\)$/, ': did you mean $1?').replace(/\.$/, '');
        error.message = `${message}${message.endsWith('?') ? ' see' : ': see'} \`${pathOf(program)} --help\``;
      }
      throw error;
    })
    .configureOutput({ outputError: () => undefined, writeOut: printText });
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/**
 * Refuses an empty value of an option for a folder or a file. An empty value can come from an unset variable in a
 * script. With an empty `--data-dir`, a command would use the current folder, and `devnet --fresh` would remove
 * folders such as `network` and `snapshots` from the current folder.
 *
 * @throws ProtocolError `USAGE`
 */
export function refuseEmptyPlaces(parsed: Command): void {
  for (const option of parsed.options) {
    if (!/\b(dir|file)>$/.test(option.flags) || parsed.getOptionValue(option.attributeName()) !== '') continue;
    throw usageError(
      `option '${option.flags}' argument '' is invalid. It must not be empty: see \`${pathOf(parsed)} --help\``,
    );
  }
}

export function generationOption(): Option {
  return new Option('--generation <number>', 'protocol generation').argParser(integerFrom(2, 3)).default(3);
}

export function integerFrom(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^[0-9]{1,10}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}`);
  };
}

export function majorMinor(text: string): string {
  if (/^\d{1,4}\.\d{1,4}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be two numbers such as 2.0');
}

export function collectPeers(value: string, earlier?: readonly string[]): readonly string[] {
  if (ipv4Port(value) !== undefined) return collect(value, earlier);
  throw new InvalidArgumentError('It must be an IPv4 address and a port such as 10.0.0.2:5000');
}

export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}
