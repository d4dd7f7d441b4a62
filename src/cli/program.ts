/**
 * The commands and their flags. The code of most commands is in `commands/`. The program loads the code of a command
 * from this folder only when the user calls the command.
 */

import { Argument, Command, Option } from 'commander';
import { bloomeryHome, networkNames } from '../config/network.ts';
import { packageVersion } from '../config/package.ts';
import type { Shell } from './completion.ts';
import type {
  ConfigShowFlags,
  ExportFlags,
  GenesisFlags,
  ImportFlags,
  NetworkImportFlags,
  PeersFlags,
  RollbackFlags,
  StartFlags,
  StatusFlags,
  UpgradeFlags,
  VerifyFlags,
} from './flags.ts';
import {
  addHelpCommand,
  collectPeers,
  command,
  EXIT_CODES,
  generationOption,
  integerFrom,
  majorMinor,
  onlyCommands,
  quiet,
  refuseEmptyPlaces,
} from './command.ts';
import { addDevnetCommands } from './devnet-program.ts';
import { addChainQueryCommands } from './chain-query-program.ts';
import { addForgingCommands } from './forging-program.ts';
import { addInitCommand } from './init-program.ts';
import { addCopyCommands } from './copy-program.ts';
import { addDiagnosisCommands } from './diagnosis-program.ts';
import { printJson, printLine, printText } from './output.ts';
import { addSinkCommands } from './sink-program.ts';
import { addWalletCommands } from './wallet/program.ts';

const PLACES = `
The data of each network are in a subfolder of the folder --data-dir (default: BLOOMERY_HOME, else ~/.bloomery).`;

const WHICH_CHAIN = `
Without --network, the folder must contain exactly one chain, of a network that bloomery can find.`;

/**
 * Creates the program with all commands. Its method `parseAsync` never ends the process. The method throws
 * `CommanderError` if the command line is wrong. The method also throws `CommanderError` after it has printed the text
 * for `--help` or `--version`. The method throws a `ProtocolError` with the code `USAGE` in two cases: the command is
 * unknown, or the value of an option for a folder or a file is empty. The method also throws the errors of the called
 * command.
 */
export function createProgram(): Command {
  const program = quiet(new Command('bloomery'))
    .description('Run a DPoS blockchain node, query it, and manage keys, transactions and test networks.')
    .version(packageVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'describe a command')
    .helpCommand(false)
    .addHelpText('after', '\nEvery command has --help. Without a command, bloomery prints this text.');
  onlyCommands(program);
  program.hook('preAction', (_, parsed) => refuseEmptyPlaces(parsed));

  addDevnetCommands(program);

  addInitCommand(program);

  command(program, 'start', 'run a node')
    .requiredOption('--network <name|dir>', 'name of a network, or path of its folder')
    .option('--data-dir <dir>', 'folder for data; the node uses its subfolder with the name of the network')
    .option('--http-port <port>', "port of the HTTP interface (default: the network's)", integerFrom(0, 65_535))
    .option('--ws-port <port>', "port for peers (default: the network's)", integerFrom(0, 65_535))
    .addOption(
      new Option('--peer <ip:port>', 'peer that the node always dials; repeat the flag for each peer')
        .argParser(collectPeers)
        .conflicts('peers'),
    )
    .option('--no-peers', 'connect to no peers')
    .option('--no-forging', 'never forge')
    .option(
      '--risk-double-forging',
      'before signing, check only the record in the data folder and the chain, and do not wait for signs of other nodes (forging.riskDoubleForging)',
    )
    .option('--config <file>', 'JSON5 file with options (docs/configuration.md)')
    .addHelpText(
      'after',
      `
The node searches for the name of a network in the package, and in the networks folder of BLOOMERY_HOME (default: ~/.bloomery).
Options come from these sources: the network's folder, --config, BLOOMERY_* variables, flags. Later sources win over earlier ones.
SIGINT or SIGTERM stops the node; a second signal ends it at once. A node that no longer works ends itself with exit code 3, or with
SIGALRM when its event loop hangs (docs/troubleshooting.md).
${PLACES}
${EXIT_CODES}`,
    )
    .action(async (options: StartFlags) => (await import('./commands/start.ts')).start(options));

  command(program, 'status', 'show the status of a running node: height, finality, peers, consensus')
    .option('--node <url>', 'HTTP interface of the node', 'http://127.0.0.1:4000')
    .option('--digest', 'add the digest of all consensus state at the tip (only on the machine of the node)')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXIT_CODES)
    .action(async (options: StatusFlags) => (await import('./commands/status.ts')).status(options));

  command(program, 'peers', 'list the peers of a running node, with state and reputation of each')
    .option('--node <url>', 'HTTP interface of the node, on the same machine', 'http://127.0.0.1:4000')
    .option('--limit <count>', 'maximum number of addresses', integerFrom(1, 1000), 100)
    .option(
      '--json',
      'print {"peers":[{"ip","wsPort","verdict","roles","reputation", ...}, ...]}, connected peers first',
    )
    .addHelpText(
      'after',
      `
The line of an address shows its state: connected (in or out), is being dialled, banned (until when, and why), dropped (when, and
why), dialled again (from when) or known. Times are UTC. A peer begins with a reputation of 100; at 0, it is banned for a day.
${EXIT_CODES}`,
    )
    .action(async (options: PeersFlags) => (await import('./commands/peers.ts')).peers(options));

  const config = command(program, 'config', 'show the configuration of a node');
  onlyCommands(config);
  command(config, 'show', 'list every option with its value and the source of the value, without secrets')
    .requiredOption('--network <name|dir>', 'name of a network, or path of its folder')
    .option('--config <file>', 'JSON5 file with options, as for bloomery start')
    .option('--json', 'print {"options":[{"option","value","origin"}, ...]}')
    .addHelpText('after', `\nA wrong configuration gives the same error as bloomery start.\n${EXIT_CODES}`)
    .action(async (options: ConfigShowFlags) => (await import('./commands/config-show.ts')).configShow(options));

  addChainQueryCommands(program);
  addChainCommands(program);
  addDiagnosisCommands(program);
  addCopyCommands(program);
  addSinkCommands(program);

  const genesis = command(program, 'genesis', 'create networks');
  onlyCommands(genesis);
  command(genesis, 'create', 'create a network folder with known accounts')
    .addOption(generationOption())
    .requiredOption('--name <name>', 'name of the network')
    .requiredOption('--out <dir>', 'folder to write; it must be new or empty')
    .option('--delegates <count>', 'number of delegates of the genesis block; all are active', integerFrom(1, 101), 101)
    .option('--block-time <seconds>', 'length of a slot', integerFrom(2, 3600), 10)
    .option(
      '--seed <text>',
      'text from which all keys are derived: the same text gives the same files (default: random)',
    )
    .option('--json', 'print {"folder","network","generation","genesisBlockId","nethash","networkIdentifier"}')
    .addHelpText(
      'after',
      `
Writes network.json, genesis.json, forgers.json (delegates, encrypted) and accounts.json (all passphrases in clear). A round
has as many blocks as the network has delegates. To run the network: bloomery devnet --network DIR.
${EXIT_CODES}`,
    )
    .action(async (options: GenesisFlags) => (await import('./commands/genesis-create.ts')).genesisCreate(options));
  addNetworkCommands(program);
  addWalletCommands(program);
  addForgingCommands(program);

  command(program, 'completion', 'print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'shell of the script').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `\nFor the running shell: source <(bloomery completion bash); fish: bloomery completion fish | source\n${EXIT_CODES}`,
    )
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./completion.ts');
      printText(completionScript(program, shell, { networks: networkNames(bloomeryHome(process.env)) }));
    });

  command(program, 'version', 'print the version')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXIT_CODES)
    .action((options: { json?: true }) => {
      const version = packageVersion();
      if (options.json) printJson({ version });
      else printLine(version);
    });

  addHelpCommand(program);
  return program;
}

function addNetworkCommands(program: Command): void {
  const network = command(program, 'network', 'add existing networks');
  onlyCommands(network);
  command(network, 'import', 'create a network folder from the configuration of lisk-core')
    .requiredOption('--from <dir>', 'folder with config.json and genesis_block.json')
    .requiredOption('--name <name>', 'name of the network, for --network')
    .option('--out <dir>', 'folder to write (default: where --network finds the name)')
    .option(
      '--protocol-version <version>',
      'protocol version to send to peers (default: the version in config.json, else 1.1 or 2.0)',
      majorMinor,
    )
    .option('--force', 'replace a network folder')
    .option('--json', 'print {"folder","network","generation","genesisBlockId","nethash","networkIdentifier"}')
    .addHelpText(
      'after',
      `
Writes network.json and genesis.json. Also writes exceptions.json and forgers.json if config.json has data for them. Values that
config.json leaves out get the defaults of lisk-core. The network has the generation of its genesis block. Both files of --from
must belong to the same network. The names mainnet and testnet are only for the genesis blocks of these two networks. The default
folder is NAME in the networks folder of BLOOMERY_HOME (default: ~/.bloomery).
${EXIT_CODES}`,
    )
    .action(async (options: NetworkImportFlags) =>
      (await import('./commands/network-import.ts')).networkImport(options),
    );
}

/** Adds the commands for a chain on the disk. */
function addChainCommands(program: Command): void {
  chainCommand(program, 'export', 'write the chain to a file')
    .argument('[file]', 'file to write, compressed if its name ends in .gz; - for the standard output', '-')
    .option('--from <height>', 'first block (default: the genesis block)', integerFrom(1, HEIGHT_MAX))
    .option('--to <height>', 'last block (default: the tip)', integerFrom(1, HEIGHT_MAX))
    .option('--force', 'replace an existing file')
    .option('--json', 'print {"file","network","fromHeight","toHeight"}; only when writing to a file')
    .addHelpText(
      'after',
      `
Writes one block per line, as JSON with the members that peers exchange; amounts are strings. The node can run during the export.
${WHICH_CHAIN}
${PLACES}
${EXIT_CODES}`,
    )
    .action(async (file: string, options: ExportFlags) =>
      (await import('./commands/export.ts')).exportCommand(file, options),
    );

  command(program, 'import', 'verify the blocks of a file and add them to the chain on the disk')
    .argument('<file>', 'file as bloomery export writes it, plain or .gz; - for the standard input')
    .requiredOption('--network <name|dir>', 'name of a network, or path of its folder')
    .option('--data-dir <dir>', 'folder for data; the chain is in its subfolder with the name of the network')
    .option('--json', 'print {"network","blocks","transactions","height","blockId","isComplete"}')
    .addHelpText(
      'after',
      `
The first block of the file can be any block from the genesis block to the block after the tip. The import skips blocks that the
chain already has, so the same command continues an interrupted import. The import stops at the first block that the rules refuse,
names this block, and exits with code 1; the earlier blocks stay imported. During the import, no node is allowed to use the folder.
${PLACES}
${EXIT_CODES}`,
    )
    .action(async (file: string, options: ImportFlags) =>
      (await import('./commands/import.ts')).importCommand(file, options),
    );

  chainCommand(program, 'verify', 'check every block, index and counter of the chain on the disk')
    .option('--json', 'print {"network","keys","height","blockId","digest"}')
    .addHelpText(
      'after',
      `
Applies all blocks from the genesis block on, and compares the result with the stored state and indexes. If they differ, names
the first difference and exits with code 1. The node can run during the check. Needs as much space in the temporary folder as the
chain takes.
${WHICH_CHAIN}
${PLACES}
${EXIT_CODES}`,
    )
    .action(async (options: VerifyFlags) => (await import('./commands/verify.ts')).verify(options));

  chainCommand(program, 'upgrade', 'upgrade the chain store of a stopped node to the layout of this version')
    .option('--json', 'print {"from","to","seconds"}')
    .addHelpText(
      'after',
      `
A node also upgrades its store when it starts. With this command, you choose the time, and see the progress. You can stop the
command at any moment: the store then stays unchanged. For a layout that this version cannot read, the error names a remedy.
${WHICH_CHAIN}
${PLACES}
${EXIT_CODES}`,
    )
    .action(async (options: UpgradeFlags) => (await import('./commands/upgrade.ts')).upgrade(options));

  chainCommand(program, 'rollback', 'revert blocks from the tip of a stopped node')
    .requiredOption(
      '--to <height>',
      'height of the new tip; not below the finalized height',
      integerFrom(1, HEIGHT_MAX),
    )
    .option('--yes', 'remove the blocks without asking')
    .option('--json', 'print {"network","removedBlocks","height","blockId"}')
    .addHelpText(
      'after',
      `
Shows the number of blocks and transactions to remove, and asks before it removes them. The signing journal stays, so that the
delegates of the node sign nothing that contradicts a removed block.
${WHICH_CHAIN}
${PLACES}
${EXIT_CODES}`,
    )
    .action(async (options: RollbackFlags) => (await import('./commands/rollback.ts')).rollback(options));
}

const HEIGHT_MAX = 4_294_967_295;

/** Adds a command for an existing chain on the disk. */
function chainCommand(program: Command, name: string, description: string): Command {
  return command(program, name, description)
    .option('--data-dir <dir>', 'folder for data that the node was started with')
    .option('--network <name|dir>', 'name of a network, or path of its folder');
}
