/** The commands of a delegate. */

import type { Command } from 'commander';
import { command, EXIT_CODES, onlyCommands } from './command.ts';
import type { ForgingExportFlags, ForgingImportFlags, ForgingStatusFlags, ForgingSwitchFlags } from './flags.ts';

const PASSWORD = `
The password comes from --password-file (- for the standard input), else BLOOMERY_PASSWORD, else a hidden prompt.`;

export function addForgingCommands(program: Command): void {
  const forging = command(
    program,
    'forging',
    'switch delegates on and off, see their slots, move them to another machine',
  );
  onlyCommands(forging);
  for (const [name, isOn] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    nodeOption(command(forging, name, `switch a configured delegate ${isOn ? 'on' : 'off'}`))
      .argument('[public key]', 'delegate (default: the only one that is configured)')
      .option('--password-file <file>', 'file with the password of its encrypted passphrase')
      .addHelpText(
        'after',
        `${PASSWORD}\nAfter a restart the node forges with none, unless its configuration says forging.force.\n${EXIT_CODES}`,
      )
      .action(async (publicKey: string | undefined, options: ForgingSwitchFlags) =>
        (await import('./commands/forging.ts')).forgingSwitch(publicKey, isOn, options),
      );
  }
  nodeOption(command(forging, 'status', 'list the configured delegates and whether each signs'))
    .option('--json', 'print {"delegates":[{"publicKey","forging","waiting"?}, ...]}')
    .addHelpText('after', EXIT_CODES)
    .action(async (options: ForgingStatusFlags) => (await import('./commands/forging.ts')).forgingStatus(options));
  nodeOption(command(forging, 'schedule', "list the next slots of the node's delegates"))
    .option('--json', 'print {"slots":[{"publicKey","username","slot","time","inS","isThisRound","forging"}, ...]}')
    .addHelpText('after', EXIT_CODES)
    .action(async (options: ForgingStatusFlags) => (await import('./commands/forging.ts')).forgingSchedule(options));
  placeOptions(command(forging, 'export', 'write the signing record of a stopped node, for another machine'))
    .argument('<file>', 'new file; - for the standard output')
    .option('--keep', 'make a copy and let this node go on: whoever imports it cannot be sure of it')
    .addHelpText(
      'after',
      `
The record says what each delegate signed last, with a checksum. Without it a node cannot know what it must not contradict.
Exporting ends signing here: the record is in one place at a time.
${EXIT_CODES}`,
    )
    .action(async (file: string, options: ForgingExportFlags) =>
      (await import('./commands/forging-record.ts')).forgingExport(file, options),
    );
  placeOptions(command(forging, 'import', 'take over a signing record before the node is started'))
    .argument('<file>', 'file as bloomery forging export writes it; - for the standard input')
    .addHelpText('after', `\nNothing that is known here is forgotten: the later of two headers counts.\n${EXIT_CODES}`)
    .action(async (file: string, options: ForgingImportFlags) =>
      (await import('./commands/forging-record.ts')).forgingImport(file, options),
    );
}

function nodeOption(to: Command): Command {
  return to.option('--node <url>', 'HTTP interface of the node, on the same machine', 'http://127.0.0.1:4000');
}

function placeOptions(to: Command): Command {
  return to
    .requiredOption('--network <name|dir>', 'name of a network, or path of its folder')
    .option('--data-dir <dir>', 'folder for data that the node is started with');
}
