/** The commands for delegates. */

import type { Command } from 'commander';
import { command, EXIT_CODES, onlyCommands } from './command.ts';
import type { ForgingExportFlags, ForgingImportFlags, ForgingStatusFlags, ForgingSwitchFlags } from './flags.ts';

const PASSWORD = `
The password comes from --password-file (- for the standard input), else BLOOMERY_PASSWORD, else a hidden prompt.`;

export function addForgingCommands(program: Command): void {
  const forging = command(
    program,
    'forging',
    'enable and disable delegates, show their slots, move them to another machine',
  );
  onlyCommands(forging);
  for (const [name, isOn] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    nodeOption(command(forging, name, `${name} forging for a configured delegate`))
      .argument('[public key]', 'delegate (default: the only configured one)')
      .option('--password-file <file>', 'file with the password of its encrypted passphrase')
      .option('--json', 'print {"publicKey","forging","waiting"?}')
      .addHelpText(
        'after',
        `${PASSWORD}\nAfter a restart, all delegates are disabled, unless forging.force is set.\n${EXIT_CODES}`,
      )
      .action(async (publicKey: string | undefined, options: ForgingSwitchFlags) =>
        (await import('./commands/forging.ts')).forgingSwitch(publicKey, isOn, options),
      );
  }
  nodeOption(command(forging, 'status', 'list the configured delegates, and whether each signs'))
    .option('--json', 'print {"delegates":[{"publicKey","forging","waiting"?}, ...]}')
    .addHelpText('after', EXIT_CODES)
    .action(async (options: ForgingStatusFlags) => (await import('./commands/forging.ts')).forgingStatus(options));
  nodeOption(command(forging, 'schedule', "list the next slots of the node's delegates"))
    .option('--json', 'print {"slots":[{"publicKey","username","slot","time","inS","isThisRound","forging"}, ...]}')
    .addHelpText('after', EXIT_CODES)
    .action(async (options: ForgingStatusFlags) => (await import('./commands/forging.ts')).forgingSchedule(options));
  placeOptions(command(forging, 'export', 'write the signing record of a stopped node, for another machine'))
    .argument('<file>', 'new file; - for the standard output')
    .option(
      '--keep',
      'write a copy, and let this node continue to sign; a node that imports a copy waits before it signs',
    )
    .option('--json', 'print {"file","network","delegates":[public key, ...],"isCopy"}; only when writing to a file')
    .addHelpText(
      'after',
      `
The record contains the last signature of each delegate, and a checksum. Without the record, a node does not know which headers it
must not contradict. After an export without --keep, this node no longer signs: only one node is allowed to have the record.
${EXIT_CODES}`,
    )
    .action(async (file: string, options: ForgingExportFlags) =>
      (await import('./commands/forging-record.ts')).forgingExport(file, options),
    );
  placeOptions(command(forging, 'import', 'import a signing record before you start the node'))
    .argument('<file>', 'file as bloomery forging export writes it; - for the standard input')
    .option('--json', 'print {"folder","network","delegates":[public key, ...],"isCopy","isMarked"}')
    .addHelpText(
      'after',
      `\nThe import also keeps the record of this machine: of two headers of a delegate, the later one counts.\n${EXIT_CODES}`,
    )
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
    .option('--data-dir <dir>', 'folder for data that the node is started with')
    .option('--config <file>', 'JSON5 file with options that the node is started with');
}
