/** The commands of daily work with a node: what ails it, copies of its chain. */

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
  command(program, 'doctor', 'say what ails a node, by what that shows, and what helps')
    .option(
      '--node <url>',
      `its HTTP interface, on the same machine (default: as the configuration of --network says, else ${NODE})`,
    )
    .option(
      '--network <name|dir>',
      'name of its network, or path of its folder: then configuration and ports are checked too',
    )
    .option('--data-dir <dir>', 'folder for data that the node is started with')
    .option('--config <file>', 'its JSON5 file with options')
    .option('--json', 'print {"findings":[{"code","severity","cause","evidence","remedy"}, ...]}')
    .addHelpText(
      'after',
      `
Looks at the network folder, configuration, disk, chain, record of signatures and ports, and at what the running node says of
its clock, peers, chain and forging. Changes nothing. docs/troubleshooting.md lists all that it can find. The exit code is 1
when it finds something.
${EXIT_CODES}`,
    )
    .action(async (options: DoctorFlags) => (await import('./commands/doctor.ts')).doctor(options));
}

function addWhy(program: Command): void {
  const why = command(program, 'why', 'say what a running node refused, dropped or missed, and why')
    .option('--node <url>', 'its HTTP interface, on the same machine', NODE)
    .option('--limit <count>', 'latest diagnostics', integerFrom(1, 500), 50)
    .option('--json', 'print {"diagnostics":[{"number","time","module","code","message","fields"}, ...]}, newest first')
    .addHelpText(
      'after',
      `
Refused blocks, dropped peers, changes of branch begun and given up, slots of the node's own delegates that passed unused;
times are UTC. A node keeps the latest 200 of each kind since its start.
${EXIT_CODES}`,
    )
    .action(async (options: WhyFlags) => (await import('./commands/why.ts')).why(options));

  command(why, 'missed', 'say why no block came in a slot')
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
A number above the height of the chain is a slot. The forger of a slot follows from the chain, for rounds that are over for long
only where it has a block in the round; what the node itself did is known since its start, for the latest 1000 slots.
${EXIT_CODES}`,
    )
    .action(async (place: number, options: WhyMissedFlags) =>
      (await import('./commands/why-missed.ts')).whyMissed(place, options),
    );
}

function addCopies(program: Command): void {
  withPlace(command(program, 'backup', 'copy the chain of a node, which may go on running'))
    .argument('<dir>', 'folder for the copy; --data-dir of a node that is to run on it')
    .option('--json', 'print {"folder","network","height","blockId","digest"}')
    .addHelpText(
      'after',
      `
The copy is of one moment and whole. What the node's delegates signed is not in it: on another machine take it along with
bloomery forging export, so that they sign nothing that contradicts it.
${EXIT_CODES}`,
    )
    .action(async (folder: string, options: BackupFlags) =>
      (await import('./commands/backup.ts')).backup(folder, options),
    );

  const snapshot = command(program, 'snapshot', 'hand a chain with its state to another machine');
  onlyCommands(snapshot);
  withPlace(command(snapshot, 'create', 'write the chain and its state to one compressed file'))
    .argument('<file>', 'file to write')
    .option('--force', 'replace a file that is there')
    .addHelpText(
      'after',
      `
A running node need not be stopped. Needs as much room as the chain beside the file while it is written.
${EXIT_CODES}`,
    )
    .action(async (file: string, options: SnapshotCreateFlags) =>
      (await import('./commands/snapshot.ts')).snapshotCreate(file, options),
    );
  command(snapshot, 'restore', 'take a snapshot over, once all that it holds was verified')
    .argument('<file>', 'file as bloomery snapshot create writes it')
    .requiredOption('--network <name|dir>', 'name of a network, or path of its folder')
    .option('--data-dir <dir>', 'folder for data; the chain is kept in a folder of the network in it')
    .option(
      '--trust-digest <digest>',
      'digest of the state at its tip, from a node that you trust (bloomery status --digest): the blocks are not verified',
    )
    .addHelpText(
      'after',
      `
Every block is verified from the genesis block on, and what follows from the blocks is compared with what the file holds. A
file that deviates anywhere is refused and nothing of it is kept.
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
