/**
 * Checks that each command in README and docs has a test that runs the command. This file runs the commands of
 * `RUN_HERE`, the command `JOINING`, and the `curl` commands of README. For the other commands, `runnerOf` names the
 * test.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import type { FaultCode } from '../../src/cli/doctor/catalogue.ts';
import { nodeClient } from '../../src/cli/node-client.ts';
import { packageDirectory } from '../../src/config/package.ts';
import { packagedNetworkDirectory } from '../../src/config/network.ts';
import { commandsIn, stepsOf } from '../guide/page.ts';
import { CLI_ENTRY, runCli } from '../support/cli.ts';
import { freePortRanges } from '../support/ports.ts';
import { closeAfter, startTestDevnet, waitFor, waitForCommonBlock } from '../support/devnet.ts';
import { FaultWatch } from '../support/fault-watch.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { FLAGS_IN, GUIDE_RUNNERS, NPM_RUNNERS, shownCommands, type Runner, type ShownCommand } from './commands.ts';

const read = (path: string): string => readFileSync(join(packageDirectory(), path), 'utf8');
const PACKAGE = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
const GUIDES = Object.entries(GUIDE_RUNNERS).map(([page, runner]) => ({
  runner,
  text: stepsOf(page).flatMap((step) => (step.kind === 'stop' ? [] : [step.text.replaceAll(/\s+/g, ' ')])),
}));

/** Values that replace the placeholders in the commands of the docs. */
interface Places {
  readonly node: string;
  readonly http: number;
  readonly dataDir: string;
  readonly config: string;
  /** A temporary folder. */
  readonly folder: string;
  /** A configuration folder in the format of Lisk Core. */
  readonly foreign: string;
  /** Account that can receive a transfer. */
  readonly to: string;
  /** Path of a file that contains a signed transaction. */
  readonly signed: string;
}

/**
 * The commands of the docs that this test runs, in this order. For each command, a function returns the arguments with
 * which the test runs `bloomery`. These arguments contain values of the test in place of the placeholders of the docs.
 */
const RUN_HERE: Readonly<Record<string, (at: Places) => readonly string[]>> = {
  'node bin/bloomery.js --help': () => ['--help'],
  'bloomery --help': () => ['--help'],
  'node bin/bloomery.js devnet accounts': () => ['devnet', 'accounts'],
  'bloomery genesis create': ({ folder }) => ['genesis', 'create', '--name', 'own', '--out', join(folder, 'own')],
  'bloomery network import --from path/to/config/testnet --name testnet': ({ foreign }) => [
    'network',
    'import',
    '--from',
    foreign,
    '--name',
    'mine',
  ],
  'bloomery doctor': ({ node }) => ['doctor', '--node', node],
  'bloomery doctor --network mainnet --config /etc/bloomery/config.json5': ({ node, config, dataDir }) => [
    'doctor',
    '--network',
    'devnet',
    '--config',
    config,
    '--node',
    node,
    '--data-dir',
    dataDir,
  ],
  'bloomery status --digest': ({ node }) => ['status', '--digest', '--node', node],
  'bloomery peers': ({ node }) => ['peers', '--node', node],
  'bloomery why missed HEIGHT': ({ node }) => ['why', 'missed', '3', '--node', node],
  'bloomery why missed SLOT': ({ node }) => ['why', 'missed', '165000000', '--node', node],
  'bloomery broadcast': ({ node, signed }) => ['broadcast', signed, '--node', node, '--yes', '--wait'],
  'bloomery transfer --from account_1 ADDRESS 12.5 --wait': ({ node, to }) => [
    ...['transfer', '--from', 'account_1', to, '12.5', '--node', node, '--wait'],
  ],
  'bloomery backup DIR': ({ folder, dataDir }) => ['backup', join(folder, 'backup'), '--data-dir', dataDir],
  'bloomery verify': ({ dataDir }) => ['verify', '--data-dir', dataDir],
  'bloomery export': ({ folder, dataDir }) => ['export', join(folder, 'chain.gz'), '--data-dir', dataDir],
  'bloomery import': ({ folder }) => [
    'import',
    join(folder, 'chain.gz'),
    '--network',
    'devnet',
    '--data-dir',
    join(folder, 'imported'),
  ],
  'bloomery snapshot create FILE': ({ folder, dataDir }) => [
    'snapshot',
    'create',
    join(folder, 'snapshot'),
    '--data-dir',
    dataDir,
  ],
  'bloomery snapshot restore FILE --network NAME': ({ folder }) => [
    'snapshot',
    'restore',
    join(folder, 'snapshot'),
    '--network',
    'devnet',
    '--data-dir',
    join(folder, 'restored'),
  ],
};

/**
 * This runner stands for several tests, one for each number of delegates. `title` is the part that the titles of these
 * tests have in common.
 */
const OWN_NETWORK: Runner = {
  file: 'devnet/own-network.long.test.ts',
  title: 'delegates forges blocks (',
};

const control = (title: string): Runner => ({ file: 'devnet/control.long.test.ts', title });
const MINING = control('blocks that are asked for are on all nodes at once');
const FREEZING = control('a frozen clock stands still until it is resumed');
const FAULTS = control('links are slow and lossy, and a clock is skewed, until they are healed');
const SNAPSHOTS = control('a snapshot brings back chains, pools and clock of all nodes');

const FORK: Runner = {
  file: 'devnet/fork.long.test.ts',
  title: 'generation 3: a fork continues a chain under another identifier',
};

const SINK: Runner = { file: 'sinks/commands.test.ts', title: 'bloomery sink parquet writes the chain' };
const QUERY: Runner = { file: 'sinks/commands.test.ts', title: 'bloomery query answers over the files' };
const CLICKHOUSE: Runner = { file: 'analytics/main.ts', title: 'clickHouseEngine' };

/** Commands that tests in other files run. Such a test may run a short form of the command. */
const RUN_THERE: Readonly<Record<string, Runner>> = {
  'node bin/bloomery.js transfer --from account_1 14938407111099202722L 10 --wait': {
    file: 'cli/readme.test.ts',
    title: 'the first transaction of the README is in a block of generation',
  },
  'bloomery rollback': {
    file: 'cli/chain-commands.long.test.ts',
    title: 'a chain is imported, verified, exported, rolled back and imported again',
  },
  'bloomery init': {
    file: 'cli/init.test.ts',
    title: 'answers to the questions lead to a configuration that a node takes, a new account and a unit',
  },
  'bloomery start --network testnet': {
    file: 'cli/network-import.test.ts',
    title: 'an imported network starts without peers from its genesis block',
  },
  'bloomery genesis create --name own --out own --delegates 5 --block-time 5': OWN_NETWORK,
  'bloomery devnet --network own --nodes 2': OWN_NETWORK,
  'bloomery start --network own': {
    file: 'devnet/own-network.long.test.ts',
    title: 'start says what prevents a new network from forging',
  },
  'bloomery devnet --delegates 5 --data-dir ./five': control('the devnet prints its addresses, ten worthless accounts'),
  'bloomery transfer --from account_1 ADDRESS 10 --network /home/alice/five/network': {
    file: 'cli/startup-banner.test.ts',
    title: 'a devnet in another folder prints the folder, the network and the port that commands need',
  },
  'bloomery devnet list': control('an added node follows the chain of the other nodes'),
  'bloomery devnet mine 10': MINING,
  'bloomery devnet instant': control('in the mode instant, a transaction is in a block before anybody asks'),
  'bloomery devnet warp 1h': control('a year passes at once, for clients too'),
  'bloomery devnet freeze': FREEZING,
  'bloomery devnet resume': FREEZING,
  'bloomery devnet snapshot NAME': SNAPSHOTS,
  'bloomery devnet revert NAME': SNAPSHOTS,
  'bloomery devnet --fork': FORK,
  'bloomery devnet --fork ~/.bloomery --network testnet --nodes 2': FORK,
  'bloomery devnet fund ADDRESS 12.5': control('an account is funded at once'),
  'bloomery devnet impersonate ADDRESS': control('an impersonated account needs no signature'),
  "bloomery devnet partition '0,1\\|2,3'": control('a partition keeps blocks in their part'),
  'bloomery devnet delay 150ms': FAULTS,
  'bloomery devnet loss 5%': FAULTS,
  'bloomery devnet skew 1 +3s': FAULTS,
  'bloomery devnet heal': FAULTS,
  'bloomery devnet run scenario.yaml --junit results.xml': {
    file: 'devnet/scenarios.long.test.ts',
    title: 'a scenario that fails names the step',
  },
  'bloomery devnet kill 1': control('a killed node stays down until it is restarted'),
  'bloomery devnet pause 1': control('a paused node does not answer'),
  'bloomery devnet add': control('an added node follows the chain of the other nodes'),
  'bloomery devnet stop': control('stop ends the devnet with all its nodes'),
  'bloomery upgrade': {
    file: 'cli/chain-commands.long.test.ts',
    title: 'a store of an earlier layout is upgraded by a command',
  },
  'bloomery sink': SINK,
  'bloomery sink parquet DIR': SINK,
  'bloomery sink parquet chain-files --data-dir ~/.bloomery --network mainnet': SINK,
  'bloomery query': QUERY,
  'bloomery query "SELECT * FROM volume_per_day ORDER BY day" --from chain-files --engine .': QUERY,
  'bloomery query "SELECT * FROM volume_per_day INTO OUTFILE \'volume.parquet\' FORMAT Parquet" --from chain-files --engine .':
    QUERY,
  'bloomery sink clickhouse --url URL --database NAME': CLICKHOUSE,
  'bloomery sink clickhouse --url http://user@127.0.0.1:8123 --password-file clickhouse-password --database chain --node http://node.example:4000 --network mainnet':
    CLICKHOUSE,
  'bloomery sink clickhouse --url http://127.0.0.1:8123 --database chain --cluster NAME --network mainnet': CLICKHOUSE,
  'npm ci && npm run devnet': NPM_RUNNERS['devnet']!,
  'npm ci && npm test': NPM_RUNNERS['test']!,
};

/** This command runs until it is stopped, so it is run separately. */
const JOINING =
  'bloomery start --network devnet --data-dir fifth --http-port 4010 --ws-port 5010 --peer 127.0.0.1:5000';

const NOTHING_MISSED = /no slot was missed before the block at height 3/;

const FAULT_NAMED = /^(?:error|warning) +([A-Z_]+)/gm;

const HERE: Runner = { file: 'docs/commands.test.ts', title: 'each command of the docs that needs no guide works' };

/** Returns the test that runs a command. Undefined if no test does. */
function runnerOf({ text, page, isMention }: ShownCommand): Runner | undefined {
  if (text in RUN_HERE || text === JOINING) return HERE;
  const there = RUN_THERE[text];
  if (there !== undefined) return there;
  if (text.startsWith('curl ')) return page === 'README.md' ? HERE : guideRunnerOf(text);
  const [, script] = /^npm (?:run )?(?:-s )?([a-z-]+)/.exec(text) ?? [];
  if (script !== undefined) return NPM_RUNNERS[script];
  const guide = guideRunnerOf(text);
  if (guide !== undefined) return guide;
  // A mentioned command may lack some or all of its arguments. In this case, it refers to the complete command.
  const isNamed = (command: string): boolean => command === text || command.startsWith(`${text} `);
  return isMention && Object.keys(RUN_HERE).some(isNamed) ? HERE : undefined;
}

function guideRunnerOf(text: string): Runner | undefined {
  return GUIDES.find((guide) => guide.text.some((commands) => commands.includes(text)))?.runner;
}

test.serial('each command of the docs is run by a test', (t) => {
  const commands = shownCommands();
  t.true(commands.length > 80, `${commands.length}`);
  const without: string[] = [];
  for (const command of commands) {
    const runner = runnerOf(command);
    if (runner === undefined) without.push(`${command.page}: ${command.text}`);
    else t.true(read(join('test', runner.file)).includes(runner.title), `${runner.file} lacks "${runner.title}"`);
  }
  t.deepEqual(without, [], 'no test runs these: RUN_HERE is the place for them');
  const shown = new Set(commands.map(({ text }) => text));
  t.deepEqual(
    [...Object.keys(RUN_HERE), ...Object.keys(RUN_THERE)].filter((text) => !shown.has(text)),
    [],
    'no page shows these any more',
  );
  t.is(runnerOf({ text: 'bloomery backup --quickly DIR', page: 'README.md', isMention: false }), undefined);
  t.is(runnerOf({ text: 'npm run nothing', page: 'README.md', isMention: true }), undefined);
});

test.serial('each script named in the docs is in the package, with the flags that the docs show', (t) => {
  for (const { text, page } of shownCommands()) {
    const [, script = '', rest = ''] = /npm run (?:-s )?([a-z-]+)(?: -- (.*))?/.exec(text) ?? [];
    if (script === '') continue;
    t.truthy(PACKAGE.scripts[script], `${page}: ${text}`);
    const sources = (FLAGS_IN[script] ?? [`${script}/main.ts`]).map((file) =>
      rest === '' ? '' : read(join('test', file)),
    );
    for (const [, flag = ''] of rest.matchAll(/--([a-z-]+)/g)) {
      const declared = new RegExp(`--${flag}[ '<]`);
      t.true(flag === 'help' || sources.some((source) => declared.test(source)), `${page}: --${flag} of ${text}`);
    }
  }
});

test.serial('each bloomery command in the docs uses only existing options', async (t) => {
  for (const { text, page, isMention } of shownCommands()) {
    if (isMention || !text.startsWith('bloomery ') || guideRunnerOf(text) !== undefined) continue;
    for (const args of commandsIn(text)) {
      const words = args.filter((arg) => /^[a-z-]+$/.test(arg) && !arg.startsWith('-')).slice(0, 2);
      const { code, stdout } = await runCli([...words, '--help']);
      t.is(code, 0, text);
      for (const flag of args.filter((arg) => arg.startsWith('--'))) t.true(stdout.includes(flag), `${page}: ${text}`);
    }
  }
});

test.serial(HERE.title, async (t) => {
  t.timeout(600_000);
  const watch = new FaultWatch();
  const devnet = await startTestDevnet({ nodes: 2 });
  closeAfter(t, devnet);
  await waitForCommonBlock(devnet.nodes, 4, 150_000);
  const [node] = devnet.nodes;
  if (node === undefined) return t.fail('the devnet has no node');
  const { plan, url } = node;
  const folder = temporaryFolder(t);
  const env = { BLOOMERY_HOME: join(folder, 'home') };
  mkdirSync(join(folder, 'foreign'));
  const packaged = (file: string): string => readFileSync(join(packagedNetworkDirectory('devnet'), file), 'utf8');
  writeFileSync(join(folder, 'foreign', 'config.json'), JSON.stringify({ app: { genesisConfig: { BLOCK_TIME: 2 } } }));
  writeFileSync(join(folder, 'foreign', 'genesis_block.json'), packaged('genesis.json'));
  const signed = join(folder, 'signed.json');
  const known = JSON.parse((await runCli(['devnet', 'accounts', '--json'])).stdout) as {
    accounts: { name: string; address: string; passphrase: string }[];
  };
  const account = (name: string) => known.accounts.find((one) => one.name === name) ?? t.fail(name);
  const payer = { env: { BLOOMERY_PASSPHRASE: String(Object(account('account_1')).passphrase) } };
  const to = String(Object(account('account_2')).address);
  const offline = await runCli(['transfer', to, '1', '--offline', '--network', 'devnet'], payer);
  t.is(offline.code, 0, offline.stderr);
  writeFileSync(signed, offline.stdout);

  const at: Places = {
    node: url,
    http: plan.httpPort,
    dataDir: plan.directory,
    config: plan.configFile,
    folder,
    foreign: join(folder, 'foreign'),
    signed,
    to,
  };
  for (const [text, argsOf] of Object.entries(RUN_HERE)) {
    const args = argsOf(at);
    const { code, stdout, stderr } = await runCli(args, { env, timeoutMs: 150_000 });
    // `why missed` fails if no slot was missed, and `doctor` fails if this machine is too busy. The test accepts both.
    const faults = [...stdout.matchAll(FAULT_NAMED)].map(([, fault]) => fault as FaultCode);
    const isOfMachine = faults.length > 0 && faults.every((fault) => watch.isOfMachine(fault));
    if (NOTHING_MISSED.test(stderr) || isOfMachine) continue;
    t.is(code, 0, `${text}: ${args.join(' ')}: ${stdout}${stderr}`);
    t.true(stdout.length > 0, text);
  }
  t.true(await joins(plan.wsPort, folder), JOINING);
  for (const { text, page } of shownCommands().filter((command) => command.text.startsWith('curl '))) {
    if (page !== 'README.md') continue;
    const [, address = ''] = /^curl '?(http:[^' ]*)'?$/.exec(text) ?? [];
    const { stdout } = await promisify(execFile)('curl', ['-s', address.replace(':4000', `:${at.http}`)]);
    t.truthy((JSON.parse(stdout) as { data?: unknown }).data, text);
  }
});

/** Starts a node with the command `JOINING`, and returns whether the node downloads the blocks of the devnet. */
async function joins(wsPort: number, folder: string): Promise<boolean> {
  const ports = await freePortRanges(1);
  const places: readonly (readonly [string, string])[] = [
    ['4010', String(ports.http)],
    ['5010', String(ports.ws)],
    ['127.0.0.1:5000', `127.0.0.1:${wsPort}`],
    ['fifth', join(folder, 'fifth')],
  ];
  const args = JOINING.split(' ').slice(1);
  const filled = args.map((arg) => places.find(([shown]) => shown === arg)?.[1] ?? arg);
  const node = spawn(process.execPath, [CLI_ENTRY, ...filled], { stdio: 'ignore' });
  try {
    const client = nodeClient(`http://127.0.0.1:${ports.http}`);
    return await waitFor('a node that joined', async () => (await client.status()).height >= 4, 150_000);
  } finally {
    node.kill();
    if (node.exitCode === null) await once(node, 'exit');
  }
}
