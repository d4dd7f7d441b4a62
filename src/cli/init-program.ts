/** The command `bloomery init`, which prepares a node. */

import type { Command } from 'commander';
import { command, EXIT_CODES, integerFrom } from './command.ts';
import type { InitFlags } from './flags.ts';

export function addInitCommand(program: Command): void {
  command(program, 'init', 'prepare a node: network, data folder, keys, configuration, systemd unit')
    .option('--network <name|dir>', 'name of a network, or path of its folder')
    .option('--data-dir <dir>', 'folder for data; the node uses its subfolder with the name of the network')
    .option('--config <file>', 'configuration to write (default: config.json5 in the folder for data)')
    .option('--http-port <port>', "port of the HTTP interface (default: the network's)", integerFrom(1, 65_535))
    .option('--ws-port <port>', "port for peers (default: the network's)", integerFrom(1, 65_535))
    .option('--public', 'open the HTTP interface to other machines')
    .option(
      '--new-account',
      'create an account that forges on this node; its passphrase goes to a new file of mode 600',
    )
    .option('--passphrase-file <file>', 'file with the passphrase of the delegate that forges on this node')
    .option(
      '--password-file <file>',
      'file with the password to encrypt the passphrase of the delegate (else BLOOMERY_PASSWORD, else a prompt)',
    )
    .option('--iterations <count>', 'rounds of PBKDF2 for that password', integerFrom(1, 10_000_000), 1_000_000)
    .option('--unit [file]', 'write a systemd unit (default file: bloomery.service in the folder for data)')
    .option('--no-unit', 'write no systemd unit')
    .option('--yes', 'ask for nothing except a password that is not given')
    .option(
      '--json',
      'print {"network","dataDirectory","config","unit","publicKey","address","passphraseFile","start"}',
    )
    .addHelpText(
      'after',
      `
Asks for each value that has no flag, on a terminal or from the lines of the standard input. An empty line selects the value in
brackets. Shows the files before it writes them, and overwrites no file. Prints the commands that start the node, but does not start it.
${EXIT_CODES}`,
    )
    .action(async (options: InitFlags) => (await import('./commands/init.ts')).init(options));
}
