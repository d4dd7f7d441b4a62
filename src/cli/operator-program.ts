/** The commands for operators: diagnosis, and copies of the chain. */

import type { Command } from 'commander';
import { command, EXIT_CODES, integerFrom, onlyCommands } from './command.ts';
import type {
  BackupFlags,
  DoctorFlags,
  SnapshotCreateFlags,
  SnapshotRestoreFlags,
  WhyFlags,
  WhyMissedFlags,
} from './flags.ts';

const NODE = 'http://127.0.0.1:4000';

export function addOperatorCommands(program: Command): void {
  addDoctor(program);
  addWhy(program);
  addCopies(program);
}

function addDoctor(program: Command): void {
  command(program, 'doctor', 'diagnose a node: problems, evidence, suggested fixes')
    .option(
      '--node <url>',
      `its HTTP interface, on the same machine (default: that of the configuration of --network, else ${NODE})`,
    )
    .option(
      '--network <name|dir>',
      'name of its network, or path of its folder; adds checks of configuration and ports',
    )
    .option('--data-dir <dir>', 'folder for data that the node is started with')
    .option('--config <file>', 'its JSON5 file with options')
    .option('--json', 'print {"findings":[{"code","severity","cause","evidence","remedy"}, ...]}')
    .addHelpText(
      'after',
      `
Checks the network folder, configuration, disk, chain, record of signatures and ports, and the clock, peers, chain and forging of
the running node. Changes nothing. docs/troubleshooting.md lists all problems that it can find. The exit code is 1 when it finds
one.
${EXIT_CODES}`,
    )
    .action(async (options: DoctorFlags) => (await import('./commands/doctor.ts')).doctor(options));
}

function addWhy(program: Command): void {
  const why = command(program, 'why', 'show what a running node refused, dropped or missed, with the reasons')
    .option('--node <url>', 'its HTTP interface, on the same machine', NODE)
    .option('--limit <count>', 'number of latest diagnostics', integerFrom(1, 500), 50)
    .option('--json', 'print {"diagnostics":[{"number","time","module","code","message","fields"}, ...]}, newest first')
    .addHelpText(
      'after',
      `
Lists refused blocks, dropped peers, started and abandoned changes of branch, and missed slots of the node's own delegates; times
are UTC. A node keeps the latest 200 of each kind since its start.
${EXIT_CODES}`,
    )
    .action(async (options: WhyFlags) => (await import('./commands/why.ts')).why(options));

  command(why, 'missed', 'explain why a slot has no block')
    .argument(
      '<height|slot>',
      'height of the block after the gap, or number of the slot',
      integerFrom(1, 4_294_967_295),
    )
    .option('--node <url>', 'HTTP interface of the node, on the same machine', NODE)
    .option('--json', 'print {"slots":[{"slot","time","delegate","orderOfHeight","isOwn","reason"}, ...]}')
    .addHelpText(
      'after',
      `
A number above the height of the chain is a slot. The delegate of a slot follows from the chain. In old rounds, the delegate is known
only if it has a block in that round. The node's own actions are known since its start, for the latest 1000 slots.
${EXIT_CODES}`,
    )
    .action(async (place: number, options: WhyMissedFlags) =>
      (await import('./commands/why-missed.ts')).whyMissed(place, options),
    );
}

function addCopies(program: Command): void {
  withPlace(command(program, 'backup', 'back up the chain of a node, which may run meanwhile'))
    .argument('<dir>', 'folder for the copy; start a node with it as --data-dir')
    .option('--json', 'print {"folder","network","height","blockId","digest"}')
    .addHelpText(
      'after',
      `
The copy is a consistent state of one moment. It does not contain the record of the delegates' signatures: move that record with
bloomery forging export, so that they sign nothing that contradicts it.
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
The node may run meanwhile. Needs temporary space of the size of the chain beside the file.
${EXIT_CODES}`,
    )
    .action(async (file: string, options: SnapshotCreateFlags) =>
      (await import('./commands/snapshot.ts')).snapshotCreate(file, options),
    );
  command(snapshot, 'restore', 'verify a snapshot and create a chain from it')
    .argument('<file>', 'file as bloomery snapshot create writes it')
    .requiredOption('--network <name|dir>', 'name of a network, or path of its folder')
    .option('--data-dir <dir>', 'folder for data; the chain is kept in a folder of the network in it')
    .option(
      '--trust-digest <digest>',
      'digest of the state at its tip, from a node that you trust (bloomery status --digest): the blocks are not verified',
    )
    .option('--json', 'print {"network","isVerified","height","blockId","digest"}')
    .addHelpText(
      'after',
      `
Verifies every block from the genesis block on, and compares the result with the content of the file. Refuses a file with any
deviation, and keeps nothing of it.
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
