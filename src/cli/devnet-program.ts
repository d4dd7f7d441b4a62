/** Defines the commands that run a devnet or control a running devnet. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { beddowsOfLskText } from '../primitives/amount.ts';
import { command, EXIT_CODES, generationOption, integerFrom } from './command.ts';
import type { DevnetControl } from './commands/devnet-control.ts';
import { BLOCK_TIMES_TEXT, isBlockTime } from './devnet/block-timing.ts';
import { NODE_INDEX_MAX } from './devnet/messages.ts';
import { MINED_SLOTS_MAX, MINING_MODES } from './devnet/mining.ts';
import { RESTART_MODES } from './devnet/restart-policy.ts';
import type { AccountsFlags, ControlFlags, DevnetFlags, ScenarioFlags } from './flags.ts';

export function addDevnetCommands(program: Command): void {
  const devnet = command(program, 'devnet', 'start a private network of several nodes on this machine')
    .option('--nodes <count>', 'number of nodes', integerFrom(1, 32), 4)
    .option('--network <name|dir>', 'network to run, made by bloomery genesis create (default: a packaged devnet)')
    .option('--fork <dir|file>', 'start from the chain in a data folder or in a snapshot, without changing it')
    .option('--new-network-id', 'with --fork: use another network identifier (generation 3)')
    .option('--delegates <count>', 'number of delegates of the packaged devnet (default: 101)', integerFrom(1, 101))
    .option(
      '--block-time <seconds>',
      "time between blocks, from 0.2 (default: the network's; packaged devnet: 2); below 2 only with --mine interval",
      blockTime,
    )
    .addOption(
      new Option('--mine <when>', 'when to forge a block: in each slot, when a transaction arrives, or on request')
        .choices(MINING_MODES)
        .default(MINING_MODES[0]),
    )
    .addOption(generationOption())
    .option('--http-port <port>', 'HTTP port of node 0; node i has port + i', integerFrom(1, 65_535), 4000)
    .option('--ws-port <port>', 'peer port of node 0; node i has port + i', integerFrom(1, 65_535), 5000)
    .option('--data-dir <dir>', 'folder for the nodes, their logs and the network')
    .option('--fresh', 'delete the data of an earlier devnet in that folder')
    .addOption(
      new Option('--restart <when>', 'whether to restart a node that exits')
        .choices(RESTART_MODES)
        .default(RESTART_MODES[0]),
    )
    .option(
      '--until-height <height>',
      'stop when all nodes have the same block at this height',
      integerFrom(1, 1_000_000_000),
    )
    .option('--json', 'print one JSON object and nothing else on the standard output')
    .addHelpText(
      'after',
      `
Node i listens on port + i, forges with its share of the delegates, and writes its log to node-<i>/node.log in the data folder.
The default data folder is devnet, or the name of the network, in BLOOMERY_HOME, else in ~/.bloomery. With another block time or
number of delegates, the command writes the changed network to the folder network in the data folder, for bloomery start --network.
Ctrl-C, SIGTERM or bloomery devnet stop ends all nodes.

Slots last whole seconds, at least 2. With a block time below 2 s (0.2 to 1.99), slots last 2 s, and the clock of the chain runs
faster than the clock of the machine: ten times as fast with 0.2. With --mine instant or on-demand, the clock of the chain moves
ahead to the next slot if a block comes before this slot.

If no slot stays empty, blocks become final after about one and a third to two rounds: 135 to 182 blocks with 101 delegates, 7 to 11
with 5.

At the start, all nodes must answer within three minutes. Later, the devnet waits for a node that does not answer. The devnet
restarts a node that exits, with growing delays. After five exits without a minute of running between two of them, the devnet no
longer restarts the node.

The commands above control a running devnet, over a port of this machine. The port requires the token in the file control.json of
the devnet's folder. If this folder is not the default folder, add --data-dir after the command.

With --until-height, the time limit is three minutes, plus three block times for each block from genesis. If the time limit ends, or
if a node ends, the exit code is 1. With --json, the command prints {"nodes":[{"http","ws","height","blockId"}, ...]}: the ports of
each node, and its block at the height of --until-height. Without --until-height, the command prints this object as soon as all
nodes answer, with the tip of each node.
${EXIT_CODES}`,
    )
    .action(async (options: DevnetFlags) => (await import('./commands/devnet.ts')).devnet(options));

  command(devnet, 'accounts', 'list the accounts of the devnet with their passphrases (devnet only)')
    .addOption(generationOption())
    .option('--network <name|dir>', 'network made by bloomery genesis create (default: a packaged devnet)')
    .option('--json', 'print {"accounts":[{"name","address","publicKey","passphrase"}, ...]}')
    .addHelpText('after', EXIT_CODES)
    .action(async (options: AccountsFlags) => (await import('./commands/devnet-accounts.ts')).devnetAccounts(options));

  command(devnet, 'run', 'run the steps of a scenario file on a fresh devnet')
    .argument('<file>', 'scenario in YAML: a devnet, actions, expected results')
    .option('--junit <file>', 'write the result of each step as JUnit XML; overwrites the file')
    .option(
      '--http-port <port>',
      'HTTP port of node 0; node i has port + i (default: free ports)',
      integerFrom(1, 65_535),
    )
    .option(
      '--ws-port <port>',
      'peer port of node 0; node i has port + i (default: free ports)',
      integerFrom(1, 65_535),
    )
    .option(
      '--json',
      'print {"scenario","hasPassed","stepCount","steps":[{"line","text","tookMs","failure"?}, ...]}; progress goes to the standard error output',
    )
    .addHelpText(
      'after',
      `
The command checks the file before it starts anything. The devnet is fresh, in a temporary folder; no process is left when the
command returns. A step that fails ends the run: the command prints the step with the expected and the actual result, keeps the
folder with the logs of the nodes, and exits with code 1. docs/guides/scenarios.md has all actions and expectations.
${EXIT_CODES}`,
    )
    .action(async (file: string, options: ScenarioFlags) =>
      (await import('./commands/devnet-run.ts')).devnetRun(file, options),
    );

  addProcessCommands(devnet);
  addFaultCommands(devnet);
  addTimeCommands(devnet);
  addSnapshotCommands(devnet);
  addAccountCommands(devnet);
}

/** Shape of a node in the JSON output of the commands; part of the help texts of these commands. */
const NODE_JSON = '{"index","state","http","ws","delegates","pid"}';
/** Shape of the active faults in the JSON output of the commands; part of the help texts of these commands. */
const FAULTS_JSON = '{"parts":[[node, ...], ...],"nodes":[{"node","delayMs","loss","skewMs"}, ...]}';
const TIME_JSON = 'print {"time"}';

function addProcessCommands(devnet: Command): void {
  const list = `print {"mode","clock","time","nodes":[${NODE_JSON}, ...],"faults":${FAULTS_JSON}}`;
  asking(devnet, 'list', 'list the nodes of a running devnet, with its clock and faults', list).action(
    ask((control) => control.list()),
  );
  asking(devnet, 'stop', 'stop a running devnet with all its nodes', 'print {}').action(
    ask((control) => control.stop()),
  );
  for (const [name, description] of [
    ['kill', 'kill a node, as in a crash; bloomery devnet restart starts it again'],
    ['pause', 'suspend a node: it neither answers nor forges'],
    ['restart', 'stop a node, if it runs, and start it again'],
  ] as const) {
    asking(devnet, name, description, `print ${NODE_JSON}`)
      .argument('<node>', 'number of the node', integerFrom(0, NODE_INDEX_MAX))
      .action(askOf<number>((control, node) => control.node(name, node)));
  }
  asking(
    devnet,
    'resume',
    'continue a paused node; without a number, continue the frozen clock',
    `print ${NODE_JSON}, or {"time"} for the clock`,
  )
    .argument('[node]', 'number of the node', integerFrom(0, NODE_INDEX_MAX))
    .action(askOf<number | undefined>((control, node) => control.resume(node)));
  asking(devnet, 'add', 'add a node, which follows the others and forges nothing', `print ${NODE_JSON}`).action(
    ask((control) => control.add()),
  );
}

function addFaultCommands(devnet: Command): void {
  const json = `print ${FAULTS_JSON}`;
  asking(devnet, 'partition', 'split the network into parts that do not reach each other', json)
    .argument('<parts...>', "nodes of each part: 0,1 2,3 or '0,1|2,3'")
    .addHelpText(
      'after',
      `
Nodes that no part names form one more part. Connections between parts stay open, as when a cable is cut, but no message passes
until bloomery devnet heal. A later partition replaces an earlier partition.`,
    )
    .action(askOf<readonly string[]>((control, parts) => control.partition(parts)));
  for (const { name, description, argument, meaning, work } of [
    {
      name: 'delay',
      description: 'delay messages between nodes',
      argument: '<time>',
      meaning: 'delay in each direction: 150ms, 2s; 0ms ends the delay',
      work: 'delay',
    },
    {
      name: 'loss',
      description: 'drop a share of the messages between nodes',
      argument: '<share>',
      meaning: 'probability that a message is lost: 5%; 0% ends the loss',
      work: 'lose',
    },
  ] as const) {
    asking(devnet, name, description, json)
      .argument(argument, meaning)
      .argument('[nodes...]', 'nodes whose links have the fault: 1 or 1,2 (default: all)')
      .addHelpText(
        'after',
        '\nIf the values of the two nodes of a link differ, the larger value applies, in both directions.',
      )
      .action(async (amount: string, nodes: readonly string[], options: ControlFlags) =>
        (await controlOf(options))[work](amount, nodes),
      );
  }
  asking(devnet, 'skew', "set the clock of one node ahead of the devnet's, or behind it", json)
    .argument('<node>', 'number of the node', integerFrom(0, NODE_INDEX_MAX))
    .argument('<distance>', 'offset of the clock: +3s, -500ms; 0s ends the offset')
    // Without this call, Commander would refuse a negative clock offset, such as `-500ms`, as an unknown option.
    .allowUnknownOption()
    .action(async (node: number, distance: string, options: ControlFlags) =>
      (await controlOf(options)).skew(node, distance),
    );
  asking(devnet, 'heal', 'end partition, delays, losses and skewed clocks', json)
    .addHelpText('after', '\nKilled nodes stay killed, and paused nodes stay paused: see restart and resume.')
    .action(ask((control) => control.heal()));
}

function addTimeCommands(devnet: Command): void {
  asking(
    devnet,
    'mine',
    'forge blocks for the next slots now, each by the delegate of its slot',
    'print {"slots","emptySlots","height","blockId","time"}',
  )
    .argument('[slots]', 'number of slots', integerFrom(1, MINED_SLOTS_MAX), 1)
    .addHelpText('after', 'A slot stays empty when its delegate is on a node that does not run.')
    .action(askOf<number>((control, slots) => control.mine(slots)));
  for (const [name, description] of [
    ['instant', 'forge a block when a transaction arrives, from now on'],
    ['on-demand', 'forge blocks only on request from now on'],
    ['interval', 'forge a block in each slot from now on'],
  ] as const) {
    asking(devnet, name, description, 'print {"mode"}').action(ask((control) => control.mode(name)));
  }
  asking(devnet, 'warp', 'set the clock of all nodes ahead; the skipped slots stay empty', TIME_JSON)
    .argument('<time>', 'how far (30s, 15m, 1h, 2d, 3w, 1y) or a date in UTC (2027-01-01, 2027-01-01T12:00)')
    .action(askOf<string>((control, time) => control.warp(time)));
  asking(devnet, 'freeze', 'stop the clock of all nodes: no slot begins', TIME_JSON).action(
    ask((control) => control.freeze()),
  );
}

function addAccountCommands(devnet: Command): void {
  asking(
    devnet,
    'fund',
    'send LSK to an address, without the passphrase of a sender',
    'print {"address","balance","transactionId","height"}',
  )
    .argument('<address>', 'recipient, digits followed by L')
    .argument('<amount>', 'LSK with at most 8 decimals', beddows)
    .addHelpText('after', 'All nodes have a block with the transfer when the command returns.')
    .action(async (address: string, amount: bigint, options: ControlFlags) =>
      (await controlOf(options)).fund(address, amount),
    );
  const json = 'print {"address","publicKey","secondPublicKey"?}';
  asking(devnet, 'impersonate', 'accept any signature for transactions of an account (devnet only)', json)
    .argument('<address>', 'account that has sent a transaction before')
    .addHelpText(
      'after',
      `
The devnet then accepts a transaction with the account's public key and any 128 hexadecimal digits as the signature, for as long as
the folder of the devnet exists. No other node accepts a chain with such transactions.`,
    )
    .action(askOf<string>((control, address) => control.impersonate(address)));
}

function beddows(text: string): bigint {
  const amount = beddowsOfLskText(text);
  if (amount !== undefined && amount > 0n) return amount;
  if (amount === 0n) throw new InvalidArgumentError('The amount must be above 0 LSK');
  throw new InvalidArgumentError('It must be an amount of LSK with at most 8 decimals');
}

const SNAPSHOT_JSON = '{"name","height","blockId","digest","time"}';

function addSnapshotCommands(devnet: Command): void {
  const text = `
A snapshot contains the chains, signing records and pools of all nodes, and the mining mode. It also contains the frozen time of the
clock, or the time by which the clock is ahead.`;
  asking(devnet, 'snapshot', 'save the state of the devnet under a name', `print ${SNAPSHOT_JSON}`)
    .argument('<name>', 'name; an earlier snapshot of that name is replaced')
    .addHelpText('after', text)
    .action(askOf<string>((control, name) => control.snapshot(name)));
  asking(devnet, 'revert', 'restore a snapshot on all nodes; the snapshot stays', `print ${SNAPSHOT_JSON}`)
    .argument('<name>', 'name of the snapshot')
    .addHelpText('after', text)
    .action(askOf<string>((control, name) => control.revert(name)));
  const list = `print {"snapshots":[${SNAPSHOT_JSON}, ...]}`;
  asking(devnet, 'snapshots', 'list the snapshots of a running devnet', list).action(
    ask((control) => control.snapshots()),
  );
}

/** Adds a command for a running devnet. @param json description of the command's `--json` output */
function asking(devnet: Command, name: string, description: string, json: string): Command {
  return command(devnet, name, description)
    .option('--data-dir <dir>', 'folder of the devnet')
    .addOption(generationOption())
    .option('--json', json)
    .addHelpText(
      'after',
      `\nWithout --data-dir, the command uses the default folder of a devnet of the generation in --generation.\n${EXIT_CODES}`,
    );
}

function ask(work: (control: DevnetControl) => Promise<void>) {
  return async (options: ControlFlags): Promise<void> => work(await controlOf(options));
}

function askOf<T>(work: (control: DevnetControl, argument: T) => Promise<void>) {
  return async (argument: T, options: ControlFlags): Promise<void> => work(await controlOf(options), argument);
}

async function controlOf(options: ControlFlags): Promise<DevnetControl> {
  const module = await import('./commands/devnet-control.ts');
  return new module.DevnetControl(options);
}

function blockTime(text: string): number {
  const isPlain = /^(?:[0-9]{1,4}|[01]\.[0-9]{1,2})$/.test(text);
  if (isPlain && isBlockTime(Number(text))) return Number(text);
  throw new InvalidArgumentError(`It must be ${BLOCK_TIMES_TEXT}`);
}
