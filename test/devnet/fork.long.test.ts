/** Tests devnets of real processes that fork a chain without the keys of the chain's delegates. */

import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { nodeClient } from '../../src/cli/node-client.ts';
import { BlockImporter } from '../../src/engine/block-importer.ts';
import { prepareFork } from '../../src/cli/devnet/fork/prepare.ts';
import { SubstituteKey } from '../../src/cli/devnet/fork/substitute-key.ts';
import { loadNetwork } from '../../src/config/network.ts';
import { createSnapshot } from '../../src/node/backup.ts';
import { chainDirectory } from '../../src/node/chain-directory.ts';
import { openChain, openSnapshot } from '../../src/node/chain-tool.ts';
import { systemClock } from '../../src/node/system.ts';
import { PEER_BOOK_NOTE } from '../../src/ports/notes.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import type { Block } from '../../src/protocol/types.ts';
import { openLmdb } from '../../src/store/disk/lmdb.ts';
import { TABLES } from '../../src/store/tables/layout.ts';
import { madeChain, NETWORK_NAME, locationIn, storeChain, writeNetworkFolder } from '../support/chain-folder.ts';
import { CLI_ENTRY, runCli } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { freePortRanges } from '../support/ports.ts';
import type { Untyped } from '../support/untyped.ts';

const START_MS_MAX = 150_000;
/**
 * `HEIGHT` is the number of blocks of the original chain. `MINED` is the number of blocks that a test mines on the
 * fork. A round has 101 blocks. `HEIGHT` is greater, so nearly all delegates that forge on the fork have already signed
 * a block of the original chain. `MINED` is greater, so a new round begins on the fork.
 */
const HEIGHT = 150;
const MINED = 110;
const LSK = 100_000_000;

interface Source {
  /** Data folder of the original chain. */
  readonly dataDir: string;
  /** Network folder of the original chain. */
  readonly network: string;
  readonly tip: Block;
}

function optionsOf(generation: 2 | 3) {
  return { generation, blockTimeS: 10, ...(generation === 2 ? { delegateListRoundOffset: 0 } : {}) };
}

async function makeSource(t: ExecutionContext, generation: 2 | 3): Promise<Source> {
  const folder = temporaryFolder(t);
  const { network, blocks } = madeChain(HEIGHT, optionsOf(generation));
  const dataDir = join(folder, 'data');
  await storeChain(locationIn(dataDir, network), blocks);
  const [tip] = blocks.slice(-1);
  if (tip === undefined) throw new Error('no chain was made');
  return { dataDir, network: writeNetworkFolder(join(folder, 'network'), network), tip };
}

/** Digests and modification times of all files in a folder. */
function fingerprint(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => join(folder, name))
    .map((path) => {
      const facts = statSync(path);
      const content = facts.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
      return `${path} ${facts.mtimeMs} ${content}`;
    });
}

class Fork {
  readonly directory: string;
  readonly http: number;
  readonly process: ChildProcess;
  output = '';

  constructor(directory: string, http: number, process: ChildProcess) {
    this.directory = directory;
    this.http = http;
    this.process = process;
    for (const stream of [process.stdout, process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
  }

  async ask(...args: readonly string[]): Promise<Untyped> {
    const { code, stdout, stderr } = await runCli(['devnet', ...args, '--data-dir', this.directory, '--json']);
    if (code !== 0) throw new Error(`${stderr}${this.output}`);
    return JSON.parse(stdout);
  }

  async get(node: number, path: string): Promise<Untyped> {
    const response = await fetch(`http://127.0.0.1:${this.http + node}/api/${path}`);
    return ((await response.json()) as Untyped).data;
  }

  async stop(): Promise<void> {
    await this.ask('stop');
  }
}

/** Starts a fork. The promise resolves when all nodes of the fork answer. */
async function startFork(
  t: ExecutionContext,
  { nodes, directory, args }: { readonly nodes: number; readonly directory: string; readonly args: readonly string[] },
): Promise<Fork> {
  // Reserve ports for one more node, which a test adds.
  const { http, ws } = await freePortRanges(nodes + 1);
  const flags = ['--nodes', `${nodes}`, '--mine', 'on-demand', '--data-dir', directory];
  const ports = ['--http-port', `${http}`, '--ws-port', `${ws}`];
  const child = spawn(process.execPath, [CLI_ENTRY, 'devnet', ...args, ...flags, ...ports], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const fork = new Fork(directory, http, child);
  await waitFor(
    'the fork',
    async () => {
      for (let node = 0; node < nodes; node += 1) await nodeClient(`http://127.0.0.1:${http + node}`).status();
      return (await fork.ask('list')).nodes.length === nodes;
    },
    START_MS_MAX,
    () => (child.exitCode === null ? undefined : fork.output),
  );
  return fork;
}

test('generation 3: a fork continues a chain under another identifier, and the chain stays unchanged', async (t) => {
  t.timeout(600_000);
  const { dataDir, network, tip } = await makeSource(t, 3);
  const before = fingerprint(dataDir);
  const directory = join(temporaryFolder(t), 'fork');
  const args = ['--fork', dataDir, '--network', network, '--new-network-id'];
  const fork = await startFork(t, { nodes: 2, directory, args });
  t.regex(fork.output, new RegExp(`forked +from ${dataDir} at height ${HEIGHT}`));

  const mined = await fork.ask('mine', `${MINED}`);
  t.like(mined, { emptySlots: 0, height: HEIGHT + MINED });
  const blocks = await Promise.all([0, 1].map((node) => fork.get(node, `blocks?height=${mined.height}`)));
  t.deepEqual(blocks[0], blocks[1]);
  t.is((await fork.get(1, `blocks?height=${HEIGHT}`))[0].id, tip.id);
  const { chainMaxHeightFinalized } = await fork.get(0, 'node/status');
  t.true(chainMaxHeightFinalized > HEIGHT - 101, 'blocks become final as if nothing had been');
  const constants = await fork.get(0, 'node/constants');
  t.not(constants.networkId, loadNetwork(network).params.networkIdentifier);
  t.is(constants.nethash, loadNetwork(network).params.nethash);

  const funded = await fork.ask('fund', '42L', '12.5');
  t.is((await fork.get(1, 'accounts?address=42L'))[0].balance, String(12.5 * LSK));
  // In a fork (a devnet that continues a copy of another network's chain), a node cannot download the chain from the
  // other nodes. The snapshot does not contain the node that is added next, so `revert` must copy the chain to this
  // node.
  await fork.ask('snapshot', 'early');
  const added = await fork.ask('add');
  t.like(added, { index: 2, delegates: 0 });
  await waitFor('the new node', async () => (await fork.get(2, 'node/status')).height >= funded.height, START_MS_MAX);
  await fork.ask('mine', '2');
  await fork.ask('revert', 'early');
  const reverted = await fork.ask('mine', '1');
  t.is(reverted.height, funded.height + 1);
  const heightOfAdded = async (): Promise<number> => (await fork.get(2, 'node/status')).height as number;
  await waitFor('the added node', async () => (await heightOfAdded()) === reverted.height, START_MS_MAX);
  const again = await fork.ask('mine', '3');
  t.is((await fork.get(2, 'node/status')).height, again.height);

  // The source of a fork can be a running node, here a node of the first fork. The command finds the network folder
  // beside the data folder of this node.
  const second = await startFork(t, {
    nodes: 1,
    directory: join(temporaryFolder(t), 'second'),
    args: ['--fork', join(directory, 'node-0')],
  });
  t.like(await second.ask('mine', '2'), { emptySlots: 0, height: again.height + 2 });
  t.is((await second.get(0, `blocks?height=${again.height}`))[0].id, again.blockId);
  await second.stop();
  t.is((await fork.get(0, 'node/status')).height, again.height);
  await fork.stop();
  t.deepEqual(fingerprint(dataDir), before);

  const other = await runCli(['devnet', '--nodes', '2', '--network', network, '--data-dir', directory]);
  t.not(other.code, 0);
  const continued = await startFork(t, { nodes: 2, directory, args });
  t.is((await continued.get(0, 'node/status')).height, again.height);
  await continued.stop();
});

test('generation 2: a fork begins from a snapshot, and the rules of a real node refuse its blocks', async (t) => {
  t.timeout(600_000);
  const { dataDir, network, tip } = await makeSource(t, 2);
  const place = { network: loadNetwork(network), dataDirectory: join(dataDir, NETWORK_NAME) };
  const file = join(temporaryFolder(t), 'chain.snapshot');
  await createSnapshot(place, file);
  const directory = join(temporaryFolder(t), 'fork');
  const fork = await startFork(t, { nodes: 1, directory, args: ['--fork', file, '--network', network] });
  t.like(await fork.ask('mine', '5'), { emptySlots: 0, height: HEIGHT + 5 });
  await fork.ask('fund', '42L', '1');
  t.is((await fork.get(0, 'accounts?address=42L'))[0].balance, String(LSK));
  // A single node of generation 2 must forge although it has no peers, and therefore no consensus.
  await fork.ask('interval');
  const { height } = await fork.get(0, 'node/status');
  await waitFor('a block in its slot', async () => (await fork.get(0, 'node/status')).height > height, START_MS_MAX);
  await fork.stop();

  const forked = await openSnapshot({ network: place.network, dataDirectory: join(directory, 'node-0', NETWORK_NAME) });
  const block = forked.store.block(HEIGHT + 1);
  await forked.store.close();
  t.is(block?.previousBlockId, tip.id);
  const { chain, close } = await openChain(place, false);
  try {
    const importer = new BlockImporter({ chain, clock: systemClock, observer: SILENT });
    const outcome = await importer.import(block!);
    t.like(outcome, { kind: 'refused' });
    t.like(outcome.kind === 'refused' ? outcome.rejection : {}, { code: 'BLOCK_SIGNATURE_INVALID' });
    t.is(chain.tip.header.id, tip.id);
  } finally {
    await close();
  }
});

test('a fork does not know the peers of the original chain', async (t) => {
  const folder = temporaryFolder(t);
  const { network, blocks } = madeChain(3, optionsOf(3));
  const place = locationIn(join(folder, 'data'), network);
  await storeChain(place, blocks);
  const original = await openChain(place, true);
  original.store.transact((writer) => {
    writer.setNote(PEER_BOOK_NOTE, Buffer.from('{"peers":[]}'));
  });
  await original.close();
  const known = loadNetwork(writeNetworkFolder(join(folder, 'network'), network));
  const dataDirectories = ['node-0', 'node-1'].map((name) => join(folder, name));
  const chain = { kind: 'folder', dataDirectory: place.dataDirectory } as const;
  await prepareFork({ source: { path: folder, network: known, chain }, network: known, dataDirectories });
  for (const dataDirectory of [place.dataDirectory, ...dataDirectories]) {
    const { store } = await openSnapshot({ network: place.network, dataDirectory });
    t.is(store.note(PEER_BOOK_NOTE) !== undefined, dataDirectory === place.dataDirectory, dataDirectory);
    await store.close();
  }
});

/** Changes a value of the state without updating the checksum of the state. */
function changeState(dataDirectory: string): Promise<void> {
  const keys = openLmdb(chainDirectory({ dataDirectory }), false);
  const [first] = keys.entries(TABLES.delegates.all);
  const value = Buffer.from(first?.value ?? []);
  value[value.length - 1] = (value.at(-1) ?? 0) ^ 1;
  keys.transact((writer) => writer.put(first?.key ?? Buffer.alloc(1), value));
  return keys.close();
}

test('an impossible fork is refused with its reason', async (t) => {
  const folder = temporaryFolder(t);
  const { network, blocks } = madeChain(3, optionsOf(2));
  const dataDir = join(folder, 'data');
  await storeChain(locationIn(dataDir, network), blocks);
  const networkFolder = writeNetworkFolder(join(folder, 'network'), network);
  const place = ['--data-dir', join(folder, 'fork'), '--network', networkFolder];
  const refused = async (...args: readonly string[]): Promise<string> => {
    const { code, stderr } = await runCli(['devnet', ...args]);
    t.not(code, 0);
    return stderr;
  };
  t.regex(await refused('--fork', join(folder, 'none'), ...place), /neither a folder nor a file/);
  t.regex(await refused('--fork', dataDir, ...place, '--delegates', '5'), /delegates of its chain/);
  t.regex(await refused('--fork', dataDir, ...place, '--block-time', '30'), /cannot become longer/);
  t.regex(await refused('--fork', dataDir, ...place, '--new-network-id'), /generation 2 name no network/);
  t.regex(await refused('--new-network-id'), /needs --fork/);
  t.regex(
    await refused('--fork', dataDir, '--network', 'devnet', '--data-dir', join(folder, 'fork')),
    /no chain of devnet/,
  );
  for (const inside of [dataDir, folder]) {
    const own = ['--fork', dataDir, '--network', networkFolder, '--data-dir', inside, '--fresh'];
    t.regex(await refused(...own), /is in the folder of the devnet/);
  }
  const copy = join(folder, 'other');
  cpSync(join(dataDir, NETWORK_NAME), join(copy, 'devnet'), { recursive: true });
  const error = await refused('--fork', copy, '--network', 'devnet', '--data-dir', join(folder, 'fork'));
  t.regex(error, /belongs to generation 2/);

  const damaged = join(folder, 'damaged');
  cpSync(dataDir, damaged, { recursive: true });
  await changeState(locationIn(damaged, network).dataDirectory);
  const { http, ws } = await freePortRanges(2);
  const ports = ['--http-port', `${http}`, '--ws-port', `${ws}`, '--nodes', '2'];
  const message = await refused('--fork', damaged, ...place, ...ports, '--until-height', '4');
  t.regex(message, /its state does not match its checksum/);
});

test('in a forked devnet, a signature by a real key is valid only for that key', (t) => {
  const real = defaultEd25519();
  const [a, b] = [1, 2].map((fill) => real.keyPairOfSeed(new Uint8Array(32).fill(fill)));
  const message = new Uint8Array(8);
  const check = { publicKey: a!.publicKey, message, signature: real.sign(message, b!.privateKey) };
  const wrapped = new SubstituteKey().ed25519(real);
  t.false(wrapped.verify(check));
  t.true(wrapped.verify({ ...check, publicKey: b!.publicKey }));
});
