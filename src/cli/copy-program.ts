/** Defines the commands that copy the chain of a node: `backup`, `snapshot create` and `snapshot restore`. */

import type { Command } from 'commander';
import { command, EXIT_CODES, onlyCommands } from './command.ts';
import type { BackupFlags, SnapshotCreateFlags, SnapshotRestoreFlags } from './flags.ts';

export function addCopyCommands(program: Command): void {
  withPlace(command(program, 'backup', 'back up the chain of a running or stopped node'))
    .argument('<dir>', 'folder for the copy; start a node with it as --data-dir')
    .option('--json', 'print {"folder","network","height","blockId","digest"}')
    .addHelpText(
      'after',
      `
The copy is a consistent state of one moment. It does not contain the record of the delegates' signatures: move that record with
bloomery forging export, so that the delegates sign nothing that contradicts the record.
${EXIT_CODES}`,
    )
    .action(async (folder: string, options: BackupFlags) =>
      (await import('./commands/backup.ts')).backup(folder, options),
    );

  const snapshot = command(program, 'snapshot', 'copy a chain with its state to another machine');
  onlyCommands(snapshot);
  withPlace(command(snapshot, 'create', 'write the chain and its state to one compressed file'))
    .argument('<file>', 'file to write')
    .option('--force', 'replace an existing file')
    .option('--json', 'print {"file","network","height","blockId","digest"}')
    .addHelpText(
      'after',
      `
The node can be running. In the folder of the file, needs as much temporary space as the chain takes.
${EXIT_CODES}`,
    )
    .action(async (file: string, options: SnapshotCreateFlags) =>
      (await import('./commands/snapshot.ts')).snapshotCreate(file, options),
    );
  command(snapshot, 'restore', 'verify a snapshot and create a chain from it')
    .argument('<file>', 'file as bloomery snapshot create writes it')
    .requiredOption('--network <name|dir>', 'name of a network, or path of its folder')
    .option('--data-dir <dir>', 'folder for data; the chain is in its subfolder with the name of the network')
    .option(
      '--trust-digest <digest>',
      'digest of the state at the tip of the snapshot, from a node that you trust (bloomery status --digest); skips the verification of the blocks',
    )
    .option('--json', 'print {"network","isVerified","height","blockId","digest"}')
    .addHelpText(
      'after',
      `
Verifies every block from the genesis block on, and compares the result with the content of the file. If they differ,
refuses the file and keeps nothing of it.
${EXIT_CODES}`,
    )
    .action(async (file: string, options: SnapshotRestoreFlags) =>
      (await import('./commands/snapshot.ts')).snapshotRestore(file, options),
    );
}

function withPlace(of: Command): Command {
  return of
    .option('--data-dir <dir>', 'folder for data that the node was started with')
    .option('--network <name|dir>', 'name of a network, or path of its folder');
}
