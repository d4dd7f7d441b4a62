/** Arguments for each command of the program, for tests that check one rule for all commands. */

import type { Command } from 'commander';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeControlFile } from '../../src/cli/devnet/control-file.ts';
import { createProgram } from '../../src/cli/program.ts';
import { packagedNetworkDirectory } from '../../src/config/network.ts';
import { createSnapshot } from '../../src/node/backup.ts';
import { journalFileOf, openJournal } from '../../src/node/journal-file.ts';
import { lineOfBlock } from '../../src/protocol/block/block-line.ts';
import { madeChain, locationIn, storeChain, writeNetworkFolder } from './chain-folder.ts';
import { runCli } from './cli.ts';

/** Paths of all executable commands, such as `keys create`. */
export function commandPaths(): readonly string[] {
  return [...leavesOf(createProgram(), '')].sort();
}

function leavesOf(parent: Command, path: string): readonly string[] {
  return parent.commands.flatMap((command) => {
    const own = path === '' ? command.name() : `${path} ${command.name()}`;
    const below = leavesOf(command, own);
    // `devnet`, `tx` and `why` have subcommands and are executable themselves.
    const isCommandItself = below.length === 0 || command.options.length > 0;
    return isCommandItself ? [own, ...below] : below;
  });
}

/** The files on which the commands of a test work. */
export interface Workplace {
  readonly folder: string;
  /** Network folder of the chain. */
  readonly network: string;
  /** Paths of two files: one contains a passphrase, the other a password. */
  readonly passphrase: string;
  readonly password: string;
}

const SIGNED = { blockId: '17', height: 7, timestamp: 70, maxHeightPrevoted: 3, maxHeightPreviouslyForged: 2 };
const HEIGHT = 12;
const DELEGATE = 'aa'.repeat(32);

/**
 * Makes everything that commands read: a network, a chain, a signing journal (a file of signed headers), a snapshot, a
 * chain file and other files.
 */
export async function makeWorkplace(folder: string): Promise<Workplace> {
  const { maker, network: made, blocks } = madeChain(HEIGHT);
  const network = writeNetworkFolder(join(folder, 'net'), made);
  const place = locationIn(join(folder, 'data'), made);
  await storeChain(place, blocks);
  const journal = openJournal(journalFileOf(place.dataDirectory));
  journal.record(DELEGATE, SIGNED);
  journal.close();
  await createSnapshot(place, join(folder, 'snapshot'));
  writeFileSync(
    join(folder, 'chain.ndjson'),
    blocks.map((block) => `${lineOfBlock(block, maker.rules.codec)}\n`).join(''),
  );
  const foreign = join(folder, 'foreign');
  mkdirSync(foreign);
  const packaged = packagedNetworkDirectory('devnet');
  const { delegates, defaultPassword } = JSON.parse(readFileSync(join(packaged, 'forgers.json'), 'utf8'));
  const modules = { chain: { forging: { delegates, defaultPassword } }, network: { wsPort: 5050 } };
  writeFileSync(join(foreign, 'config.json'), JSON.stringify({ modules }));
  cpSync(join(packaged, 'genesis.json'), join(foreign, 'genesis_block.json'));
  const passphrase = join(folder, 'passphrase');
  writeFileSync(passphrase, `${'abandon '.repeat(11)}about\n`);
  const password = join(folder, 'password');
  writeFileSync(password, 'a password\n');
  writeFileSync(
    join(folder, 'signature.json'),
    JSON.stringify({ transactionId: '17', publicKey: DELEGATE, signature: 'ab'.repeat(64) }),
  );
  const sign = ['message', 'sign', 'hello', '--json', '--passphrase-file', passphrase];
  writeFileSync(join(folder, 'message.json'), (await runCli(sign)).stdout);
  writeFileSync(join(folder, 'scenario.yaml'), 'name: one\ndevnet: { nodes: 1 }\nsteps: [mine]\n');
  const offline = ['transfer', '1L', '1', '--passphrase-file', passphrase, '--offline', '--network', 'devnet'];
  writeFileSync(join(folder, 'multisig.json'), (await runCli(offline)).stdout);
  const [from, to] = [made.accounts[0], made.accounts[1]];
  if (from === undefined || to === undefined) throw new Error('the network has accounts');
  const transfer = maker.rules.codec.transactionToJson(maker.transfer(from, to, 5n));
  writeFileSync(join(folder, 'transaction.json'), JSON.stringify(transfer));
  const keep = ['forging', 'export', '-', '--keep', '--data-dir', join(folder, 'data'), '--network', network];
  writeFileSync(join(folder, 'record.json'), (await runCli(keep)).stdout);
  return { folder, network, passphrase, password };
}

export interface Ports {
  readonly http: number;
  readonly ws: number;
}

/**
 * Returns the arguments that follow the path of a command. Also copies the workplace's data into the folder `fresh`, in
 * which the command works.
 *
 * @param node URL of a node that answers requests; an empty text if the test sends no request to a node
 * @returns undefined for a command without an entry in this table
 */
export function argumentsOf(
  path: string,
  { folder, network, passphrase, password }: Workplace,
  { node, fresh, ports }: { readonly node: string; readonly fresh: string; readonly ports: Ports },
): readonly string[] | undefined {
  const at = ['--node', node];
  const data = ['--data-dir', join(fresh, 'data'), '--network', network];
  const empty = ['--data-dir', join(fresh, 'empty'), '--network', network];
  const secret = ['--passphrase-file', passphrase];
  const offline = ['--offline', '--network', 'devnet'];
  const listening = ['--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`];
  const table: Readonly<Record<string, () => readonly string[]>> = {
    devnet: () => ['--nodes', '1', '--until-height', '1', '--data-dir', join(fresh, 'devnet'), ...listening],
    'devnet accounts': () => [],
    'devnet run': () => [join(folder, 'scenario.yaml'), ...listening],
    ...Object.fromEntries(
      CONTROL_COMMANDS.map((name) => [`devnet ${name}`, () => controlArguments(name, fresh, node)]),
    ),
    init: () => ['--yes', '--data-dir', join(fresh, 'new'), '--network', network, '--unit'],
    start: () => [...empty, '--no-peers', '--no-forging', ...listening],
    status: () => at,
    peers: () => at,
    block: () => ['3', ...at],
    tx: () => ['17', ...at],
    'tx verify': () => [join(folder, 'transaction.json'), ...data],
    decode: () => [DELEGATE],
    events: () => ['--from-height', '1', ...data],
    account: () => ['1L', ...at],
    delegates: () => at,
    pool: () => at,
    'config show': () => ['--network', network],
    export: () => ['-', ...data],
    import: () => [join(folder, 'chain.ndjson'), ...empty],
    verify: () => data,
    upgrade: () => data,
    rollback: () => ['--to', `${HEIGHT - 1}`, '--yes', ...data],
    help: () => ['forging', 'export'],
    doctor: () => [...at, ...data],
    why: () => at,
    'why missed': () => ['3', ...at],
    backup: () => [join(fresh, 'backup'), ...data],
    'snapshot create': () => [join(fresh, 'snapshot'), ...data],
    'snapshot restore': () => [join(folder, 'snapshot'), ...empty],
    'sink parquet': () => [join(fresh, 'sink'), '--once', ...data],
    'sink clickhouse': () => ['--url', 'http://127.0.0.1:1', '--database', 'chain', '--once', ...data],
    query: () => ['SELECT 1', '--from', join(fresh, 'sink')],
    'genesis create': () => ['--name', 'mine', '--out', join(fresh, 'mine'), '--delegates', '1'],
    'network import': () => ['--from', join(folder, 'foreign'), '--name', 'mine', '--out', join(fresh, 'mine')],
    'keys create': () => [],
    'keys encrypt': () => [...secret, '--password-file', password, '--iterations', '1'],
    'keys show': () => secret,
    'message sign': () => ['hello', ...secret],
    'message verify': () => [join(folder, 'message.json')],
    transfer: () => ['1L', '1', ...secret, ...offline],
    'delegate register': () => ['smith', ...secret, ...offline],
    vote: () => [`+${DELEGATE}`, ...secret, ...offline],
    'second-signature register': () => ['--new-passphrase-file', passphrase, ...secret, ...offline],
    'multisig register': () => [...['--min', '1', '--lifetime', '1', '--member', DELEGATE], ...secret, ...offline],
    'multisig sign': () => [join(folder, 'multisig.json'), ...secret, ...offline],
    broadcast: () => [join(folder, 'signature.json'), '--yes', ...at],
    'forging enable': () => [DELEGATE, '--password-file', password, ...at],
    'forging disable': () => [DELEGATE, '--password-file', password, ...at],
    'forging status': () => at,
    'forging schedule': () => at,
    'forging export': () => ['-', ...data],
    'forging import': () => [join(folder, 'record.json'), ...empty],
    completion: () => ['bash'],
    version: () => [],
  };
  const row = table[path];
  if (row === undefined) return undefined;
  cpSync(join(folder, 'data'), join(fresh, 'data'), { recursive: true });
  return row();
}

/** Commands that control a running devnet, with their arguments. */
const CONTROL_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  list: [],
  stop: [],
  kill: ['1'],
  pause: ['1'],
  resume: [],
  restart: ['1'],
  add: [],
  mine: ['3'],
  instant: [],
  'on-demand': [],
  interval: [],
  warp: ['1h'],
  freeze: [],
  snapshot: ['one'],
  revert: ['one'],
  snapshots: [],
  fund: ['1L', '1'],
  partition: ['0,1|2,3'],
  delay: ['150ms', '1'],
  loss: ['5%', '1,2'],
  skew: ['1', '-3s'],
  heal: [],
  impersonate: ['1L'],
};
const CONTROL_COMMANDS = Object.keys(CONTROL_ARGUMENTS);

/**
 * Returns the arguments of a command that controls a running devnet, such as `devnet mine`. Such a command reads a port
 * number (the control port) from a file in the folder of the devnet, and sends its request to this port. The function
 * writes this file with the port of the test node, because the test node also answers the requests of these commands.
 * If `node` is empty, the function writes no file.
 */
function controlArguments(name: string, fresh: string, node: string): readonly string[] {
  if (node !== '') {
    mkdirSync(fresh, { recursive: true });
    writeControlFile(fresh, { port: Number(new URL(node).port), token: 'ab'.repeat(32) });
  }
  return [...(CONTROL_ARGUMENTS[name] ?? []), '--data-dir', fresh];
}

/** The answers of a healthy node, by path. */
const HEALTHY_ANSWERS: Readonly<Record<string, unknown>> = {
  'node/status': {
    height: 7,
    chainMaxHeightFinalized: 1,
    networkHeight: 7,
    consensus: 100,
    syncing: false,
    secondsSinceEpoch: 1005,
    currentTime: Date.parse('2016-05-24T17:16:45.000Z'),
    transactions: { confirmed: 1, total: 1 },
  },
  'node/constants': {
    epoch: '2016-05-24T17:00:00.000Z',
    version: '3.0.2',
    nethash: '00'.repeat(32),
    networkId: '11'.repeat(32),
    protocolVersion: '2.0',
    blockTime: 10,
  },
  'node/status/forging': [{ publicKey: DELEGATE, forging: true }],
  'node/peers': [
    {
      ip: '20.0.0.1',
      wsPort: 5000,
      verdict: 'dropped',
      direction: 'inbound',
      since: '2026-01-02T03:04:05.678Z',
      until: '2026-01-02T03:05:05.678Z',
      code: 4418,
      reason: 'Evicted',
      roles: ['fixed'],
      reputation: 90,
      height: 7,
      latencyMs: 12,
    },
  ],
  'node/diagnostics': [],
  'node/slots': { since: '2016-05-24T17:00:00.000Z', slots: [{ slot: 3, facts: [] }], switches: [] },
  'node/digest': { height: 7, blockId: '17', digest: '22'.repeat(32) },
  'delegates/forgers': [{ username: 'smith', publicKey: DELEGATE, nextSlot: 101 }],
  delegates: [
    {
      username: 'smith',
      rank: 1,
      vote: '5',
      productivity: 99.5,
      account: { publicKey: DELEGATE, address: '1L' },
      producedBlocks: 1,
      missedBlocks: 0,
    },
  ],
  accounts: [{ address: '1L', balance: '100000000000' }],
  'accounts/1L/multisignature_groups': [],
  peers: [],
  transactions: [
    {
      id: '17',
      type: 8,
      senderId: '1L',
      fee: '10000000',
      height: 5,
      blockId: '17',
      asset: { amount: '7', recipientId: '2L' },
      confirmations: 3,
      timestamp: 50,
    },
  ],
  'node/transactions/ready': [],
  'node/transactions/verified': [],
  'node/transactions/pending': [],
  'node/transactions/validated': [],
  'node/transactions/received': [],
  signatures: {},
  mine: { slots: 3, emptySlots: 0, height: 7, blockId: '17', time: '2026-01-01T00:00:00.000Z' },
};

/** A block of a chain that has one empty slot before its third block. */
function healthyBlock(height: number): unknown {
  return {
    id: `${height}`,
    height,
    timestamp: height * 10 + (height > 2 ? 10 : 0),
    generatorPublicKey: DELEGATE,
    numberOfTransactions: 1,
    totalAmount: '7',
    totalFee: '10000000',
    reward: '0',
  };
}

/** Returns the answer of a healthy node; undefined for an unknown path. */
export function healthyAnswer(url: string): unknown {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const path = pathname.replace(/^\/(?:api\/)?/, '');
  if (path === 'blocks')
    return searchParams.has('fromTimestamp') ? [] : [healthyBlock(Number(searchParams.get('height') ?? 7))];
  return HEALTHY_ANSWERS[path];
}
