/** The commands that diagnose a node: `doctor`, `why` and `why missed`. */

import type { Command } from 'commander';
import { command, EXIT_CODES, integerFrom } from './command.ts';
import type { DoctorFlags, WhyFlags, WhyMissedFlags } from './flags.ts';

const NODE = 'http://127.0.0.1:4000';

export function addDiagnosisCommands(program: Command): void {
  addDoctor(program);
  addWhy(program);
}

function addDoctor(program: Command): void {
  command(program, 'doctor', 'diagnose a node: problems, evidence, suggested fixes')
    .option(
      '--node <url>',
      `HTTP interface of the node, on the same machine (default: from the configuration of --network, else ${NODE})`,
    )
    .option('--network <name|dir>', 'name of a network, or path of its folder; adds checks of configuration and ports')
    .option('--data-dir <dir>', 'folder for data that the node is started with')
    .option('--config <file>', 'JSON5 file with options that the node is started with')
    .option('--json', 'print {"findings":[{"code","severity","cause","evidence","remedy"}, ...]}')
    .addHelpText(
      'after',
      `
Checks the network folder, configuration, disk, chain, record of signatures and ports, and the clock, peers, chain and forging of
the running node. Changes nothing. docs/troubleshooting.md lists all problems that it can find. The exit code is 1 when it finds
a problem.
${EXIT_CODES}`,
    )
    .action(async (options: DoctorFlags) => (await import('./commands/doctor.ts')).doctor(options));
}

function addWhy(program: Command): void {
  const why = command(program, 'why', 'show what a running node refused, dropped or missed, with the reasons')
    .option('--node <url>', 'HTTP interface of the node, on the same machine', NODE)
    .option('--limit <count>', 'number of latest diagnostics', integerFrom(1, 500), 50)
    .option('--json', 'print {"diagnostics":[{"number","time","module","code","message","fields"}, ...]}, newest first')
    .addHelpText(
      'after',
      `
Lists refused blocks, dropped peers, started and abandoned reorgs, and missed slots of the node's own
delegates; times are UTC. A node keeps at most 200 diagnostics of each of its modules (such as peers or sync), since its start.
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
A number above the height of the chain is a slot. The command computes the delegate of a slot from the chain. In an old round, it
finds the delegate only if the delegate has a block in that round. The node knows its own actions since its start, for the latest
1000 slots.
${EXIT_CODES}`,
    )
    .action(async (place: number, options: WhyMissedFlags) =>
      (await import('./commands/why-missed.ts')).whyMissed(place, options),
    );
}
