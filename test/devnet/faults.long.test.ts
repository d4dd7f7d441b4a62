/**
 * Tests whether the doctor names the faults of real nodes. The tests cause each fault as it happens in practice, for
 * example with a stopped process or a limit on the file size. The doctor must name most faults within ten seconds, and
 * must find no fault in a healthy network. test/cli/doctor.test.ts checks which faults the doctor finds in single
 * answers of a node.
 */

import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { FaultCode } from '../../src/cli/doctor/catalogue.ts';
import { unusedSlotsMin, earlierHeight, type BlockState } from '../../src/cli/doctor/stale-tip.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { encryptPassphrase } from '../../src/crypto/keys.ts';
import { runCli } from '../support/cli.ts';
import { lastWords, startTestDevnet, waitFor, waitForCommonBlock, type TestDevnet } from '../support/devnet.ts';
import { diskFaults } from '../support/disk-faults.ts';
import { FaultWatch } from '../support/fault-watch.ts';
import { limitFileSize } from '../support/full-disk.ts';
import { devnetCopy, editJson, temporaryFolder } from '../support/network-folder.ts';
import { startOneNode, type OneNode, type OneNodeOptions } from '../support/one-node.ts';
import { freePort } from '../support/ports.ts';
import { readerPidsOf } from '../support/reader-pids.ts';
import { writeUnfinalChain } from '../support/unfinal-chain.ts';
import type { Untyped } from '../support/untyped.ts';

const SLOT_MS = 2000;
/** Largest number of unfinalized blocks that the doctor accepts. */
const UNFINAL_BLOCKS_MAX = 404;
/** Limit on the file size that is too small for another block. */
const NO_ROOM_BYTES = 32_768;
const NAPS_MAX = 8;
/**
 * Time between two kills of a reading process (a child process that answers HTTP requests for the node). A reading
 * process needs more time than this to start.
 */
const KILL_INTERVAL_MS = 100;
const SHOWS_WITHIN_MS = 150_000;

let devnet: TestDevnet;
/** A devnet of generation 2. It has no faults until a test kills its nodes. */
let devnet2: TestDevnet;
let watch: FaultWatch;

test.before(async (t) => {
  t.timeout(480_000);
  watch = new FaultWatch();
  devnet2 = await startTestDevnet({ nodes: 2, network: 'devnet-gen2' });
  devnet = await startTestDevnet({ nodes: 2 });
  await waitForCommonBlock(devnet.nodes, 4, SHOWS_WITHIN_MS);
});
test.afterEach.always((t) => {
  if (!t.passed) t.log(`${lastWords(devnet)}\n${lastWords(devnet2)}`);
});
test.after.always(async () => {
  await devnet.close();
  await devnet2.close();
});

for (const name of ['devnet', 'devnet-gen2']) {
  test.serial(`the doctor finds nothing on any node of a healthy ${name}`, async (t) => {
    t.timeout(480_000);
    const net = name === 'devnet' ? devnet : devnet2;
    await waitForCommonBlock(net.nodes, 6, SHOWS_WITHIN_MS);
    for (const node of net.nodes) {
      const isNothing = async (): Promise<boolean> => {
        const { directory: dataDir, configFile: config } = node.plan;
        const codes = await watch.found(t, { url: node.url, network: net.network.directory, dataDir, config });
        t.log(codes.join(', '));
        return codes.every((code) => watch.isOfMachine(code));
      };
      t.true(await waitFor(`nothing to find on node ${node.plan.index}`, isNothing, SHOWS_WITHIN_MS));
    }
  });
}

test.serial(
  'a node started without peers is not a fault, but a node whose known peers are all unreachable is a fault',
  async (t) => {
    t.timeout(480_000);
    const alone = await startOne(t, { flags: ['--no-peers'] });
    t.deepEqual(await watch.found(t, alone), []);
    // Like the node of a new user, this node forges for no delegate, although the network folder has the keys of all
    // delegates.
    const follower = await startOne(t, { config: { forging: {} } });
    await waitFor('nothing to find', () => isNothingFound(t, follower), SHOWS_WITHIN_MS);
    const lost = await startOne(t, { fixedPeers: [`127.0.0.1:${await freePort()}`] });
    await watch.named(t, lost, ['NO_PEERS']);
  },
);

test.serial('the doctor reports a node that refuses its requests, hangs, or belongs to another network', async (t) => {
  t.timeout(480_000);
  const url = devnet.nodes[0]?.url ?? '';
  const other = packagedNetworkDirectory('devnet-gen2');
  await watch.named(t, { url, network: other, dataDir: temporaryFolder(t) }, ['NODE_OF_OTHER_NETWORK']);

  const closed = await startOne(t, { config: { http: { accessPublic: false, accessWhitelist: ['10.1.2.3'] } } });
  await watch.named(t, closed, ['NODE_REFUSES']);

  // A node can have a reading process (a child process that answers HTTP requests for the node). The reading process
  // still answers while the main process of the node is stopped.
  for (const processes of [0, 1]) {
    const hanging = await startOne(t, { config: { http: { processes } } });
    hanging.process.kill('SIGSTOP');
    await watch.named(t, hanging.place, ['NODE_SILENT']);
  }

  const foreign = devnetCopy(t);
  for (const file of ['network.json', 'genesis.json'])
    editJson(foreign, file, (json) => void (json.communityIdentifier = 'Other'));
  const stranger = await startOne(t, { network: foreign });
  await watch.named(t, stranger, ['PEERS_OF_OTHER_NETWORK']);
});

test.serial('the doctor reports faults in the folder of a stopped node, and in its configuration', async (t) => {
  t.timeout(480_000);
  const node = await startOne(t, {});
  await waitFor('blocks', async () => (await heightOf(node.url)) > 3, SHOWS_WITHIN_MS);
  node.process.kill('SIGTERM');
  await node.ended;
  for (const [code, induce] of Object.entries(diskFaults)) {
    // Another test causes NODE_SILENT with a hanging node. In this test, no node runs. The doctor would report
    // NODE_SILENT only while a process holds the lock of the signing journal, as a running node does.
    if (code === 'NODE_SILENT') continue;
    const folder = temporaryFolder(t);
    const [network, dataDir, config] = [join(folder, 'network'), join(folder, 'data'), join(folder, 'config.json')];
    cpSync(node.place.network, network, { recursive: true });
    cpSync(node.place.dataDir, dataDir, { recursive: true });
    cpSync(node.place.config, config);
    const loaded = loadNetwork(network);
    const place = { network: loaded, dataDirectory: join(dataDir, loaded.name) };
    const fixture = { url: node.url, environment: {}, network, dataDir, config, place };
    await induce(fixture, t);
    await watch.named(t, fixture, [code as FaultCode], { beside: ['NODE_NOT_RUNNING'] });
  }
});

test.serial('the doctor reports a disk that is full', async (t) => {
  t.timeout(480_000);
  const node = await startOne(t, {});
  await waitFor('blocks', async () => (await heightOf(node.url)) > 3, SHOWS_WITHIN_MS);
  limitFileSize(node.process.pid ?? 0, NO_ROOM_BYTES);
  await watch.named(t, node, ['WRITES_FAIL']);
});

test.serial('the doctor reports a folder that another process has taken over', async (t) => {
  t.timeout(480_000);
  const node = await startOne(t, {});
  await waitFor('blocks', async () => (await heightOf(node.url)) > 3, SHOWS_WITHIN_MS);
  const folder = join(node.place.dataDir, devnet.network.name, 'chain');
  for (const name of readdirSync(folder)) if (name.startsWith('in-use.')) rmSync(join(folder, name));
  await watch.named(t, node, ['FOLDER_TAKEN_OVER']);
});

test.serial('the doctor reports disabled delegates, and one without votes', async (t) => {
  t.timeout(480_000);
  const { forging } = devnet.nodes[0]?.plan.config as Untyped;
  const off = await startOne(t, { config: { forging: { ...forging, force: false } } });
  await watch.named(t, off, ['FORGING_OFF']);

  const [{ passphrase, publicKey }] = JSON.parse(
    readFileSync(join(devnet.network.directory, 'accounts.json'), 'utf8'),
  ).accounts.slice(1);
  const file = join(temporaryFolder(t), 'passphrase');
  writeFileSync(file, passphrase);
  const from = ['--passphrase-file', file, '--node', devnet.nodes[0]?.url ?? ''];
  const registered = await runCli(['delegate', 'register', 'unvoted', ...from, '--yes', '--wait'], {
    timeoutMs: 150_000,
  });
  t.is(registered.code, 0, registered.stderr);
  const key = { iterations: 1, salt: Buffer.alloc(16, 1), iv: Buffer.alloc(12, 1) };
  const encryptedPassphrase = await encryptPassphrase(passphrase, 'a password', key);
  const delegates = [{ publicKey, encryptedPassphrase }];
  const unvoted = { force: true, defaultPassword: 'a password', delegates };
  await watch.named(t, await startOne(t, { config: { forging: unvoted } }), ['DELEGATE_NOT_ACTIVE']);
});

test.serial('the doctor reports lagging finality when more than a third of the delegates is off', async (t) => {
  t.timeout(480_000);
  const { network, dataDir, forging } = await writeUnfinalChain(temporaryFolder(t), UNFINAL_BLOCKS_MAX - 3);
  const node = await startOne(t, { network, dataDir, fixedPeers: [], config: { forging }, flags: ['--no-peers'] });
  await waitFor('a block too many', async () => (await heightOf(node.url)) > UNFINAL_BLOCKS_MAX, SHOWS_WITHIN_MS);
  await watch.named(t, node, ['FINALITY_LAGS']);
});

test.serial('the doctor reports a machine that sleeps, and a wrong clock', async (t) => {
  t.timeout(480_000);
  const [, sleeper] = devnet.nodes;
  if (sleeper === undefined) return t.fail('the devnet has no second node');
  const pid = sleeper.pid() ?? 0;
  let wokenMs = 0;
  // Each stop of the process lasts ten slots. Half of the delegates belong to this node, so the node owns at least
  // three of these slots with a probability of about 95 %.
  for (let naps = 0; naps < NAPS_MAX; naps += 1) {
    process.kill(pid, 'SIGSTOP');
    await sleep(20_000);
    process.kill(pid, 'SIGCONT');
    wokenMs = Date.now();
    await sleep(1500);
    if ((await watch.found(t, sleeper)).includes('MACHINE_TOO_SLOW')) break;
  }
  await watch.named(t, sleeper, ['MACHINE_TOO_SLOW'], { sinceMs: wokenMs });

  const late = await startOne(t, { clockOffsetMs: -5000 });
  await watch.named(t, late, ['CLOCK_OFF']);
});

test.serial('the doctor reports delegates whose record went to another machine', async (t) => {
  t.timeout(480_000);
  const node = devnet.nodes[0];
  if (node === undefined) return t.fail('the devnet has no node');
  await node.stop();
  const record = join(temporaryFolder(t), 'record.json');
  const at = ['--network', devnet.network.directory, '--data-dir', node.plan.directory];
  const exported = await runCli(['forging', 'export', record, ...at]);
  t.is(exported.code, 0, exported.stderr);
  node.start();
  await watch.named(t, node, ['DELEGATE_ELSEWHERE']);
  await node.stop();
  const imported = await runCli(['forging', 'import', record, ...at]);
  t.is(imported.code, 0, imported.stderr);
  node.start();
});

test.serial('the doctor reports a network folder with other rewards, whose node refuses blocks and lags', async (t) => {
  t.timeout(480_000);
  const folder = devnetCopy(t);
  editJson(folder, 'network.json', (json) => void (json.rewards.offset = 3));
  const astray = await startOne(t, { network: folder });
  await watch.named(t, astray, ['BLOCKS_REFUSED', 'NODE_LAGS']);

  // The only peer of `lonely` is `astray`, whose rewards differ from those of the network. The two nodes refuse each
  // other's blocks, so `lonely` forges on its own branch.
  const { forging } = devnet.nodes[1]?.plan.config as Untyped;
  await devnet.nodes[1]?.stop();
  const fixedPeers = [`127.0.0.1:${astray.wsPort}`];
  const lonely = await startOne(t, { fixedPeers, config: { forging: { ...forging, consensusMin: 0 } } });
  // `astray` refuses all blocks of `lonely` and disconnects. Later, `lonely` may find other peers. It then possibly
  // leaves its slots empty, because it has signed headers of a branch that these peers do not have.
  await watch.named(t, lonely, ['CONSENSUS_LOW'], { beside: ['SYNC_FAILS', 'SLOTS_MISSED'] });
  lonely.process.kill('SIGKILL');
  await lonely.ended;
  // The node `careful` forges only with a consensus of at least 51 %, and its consensus is lower. It therefore does not
  // forge. It has the keys of all delegates, so every slot is its own.
  const delegates = devnet.network.forgers?.delegates;
  const careful = await startOne(t, { fixedPeers, config: { forging: { ...forging, delegates, consensusMin: 51 } } });
  const beside: readonly FaultCode[] = ['CONSENSUS_LOW', 'SYNC_FAILS'];
  const sinceMs = await waitFor('a slot that passes unused', () => firstUnusedSlotMs(careful.url), SHOWS_WITHIN_MS);
  await watch.named(t, careful, ['SLOTS_MISSED'], { beside, sinceMs, unavoidableMs: 3 * SLOT_MS });
});

test.serial('the doctor reports a network that stands still without its forgers', async (t) => {
  t.timeout(480_000);
  const network = devnet2.network.directory;
  const fixedPeers = devnet2.nodes.map(({ plan }) => `127.0.0.1:${plan.wsPort}`);
  const one = await startOne(t, { network, fixedPeers });
  const two = await startOne(t, { network, fixedPeers: [`127.0.0.1:${one.wsPort}`] });
  await waitFor('nothing to find', () => isNothingFound(t, two), SHOWS_WITHIN_MS);
  const ask = async (query: string): Promise<BlockState | undefined> =>
    ((await (await fetch(`${two.url}/api/blocks?${query}`)).json()) as Untyped).data[0];
  await Promise.all(devnet2.nodes.map((node) => node.kill()));
  const sinceMs = Date.now();
  const tip = await ask('limit=1');
  if (tip === undefined) return t.fail('there is no tip');
  const slots = unusedSlotsMin(tip, await ask(`height=${earlierHeight(tip.height)}`), SLOT_MS / 1000);
  t.log(`slots that pass unused first: ${slots}`);
  // The doctor may report SYNC_FAILS, because the node `two` may request blocks from a killed peer.
  const beside: readonly FaultCode[] = ['SYNC_FAILS'];
  await watch.named(t, two, ['NETWORK_STANDS_STILL'], { beside, sinceMs, unavoidableMs: (slots + 1) * SLOT_MS });
});

test.serial('the doctor reports a node that answers HTTP and ends again and again', async (t) => {
  t.timeout(480_000);
  const node = await startOne(t, { config: { http: { processes: 2 } } });
  const { pid } = node.process;
  const [kept] = await waitFor(
    'two readers',
    () => Promise.resolve(readerPidsOf(pid).length === 2 && readerPidsOf(pid)),
    SHOWS_WITHIN_MS,
  );
  const killing = setInterval(() => {
    try {
      for (const reader of readerPidsOf(pid)) if (reader !== kept) process.kill(reader, 'SIGKILL');
    } catch {
      // The reading process (a process that answers HTTP requests for the node) has ended after `readerPidsOf` listed
      // it.
    }
  }, KILL_INTERVAL_MS);
  t.teardown(() => clearInterval(killing));
  await watch.named(t, node, ['READERS_FAIL']);
});

test.serial('the doctor reports a server that is not a node', async (t) => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"data":{"height":"high"}}');
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await watch.named(t, { url }, ['NODE_ANSWERS_ODDLY']);
});

test.serial('the doctor reports a node of an earlier build', async (t) => {
  const constants = { version: '3.0.2', protocolVersion: '2.0', epoch: '2016-05-24T17:00:00.000Z' };
  const server = createServer((request, response) => {
    const isKnown = request.url === '/api/node/constants';
    response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isKnown ? { data: constants } : { message: 'Route not found' }));
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await watch.named(t, { url }, ['NODE_OF_EARLIER_BUILD']);
});

test.serial('the doctor reported all faults of the catalogue, most of them within ten seconds', (t) => {
  watch.conclude(t);
});

async function isNothingFound(t: ExecutionContext, { url }: OneNode): Promise<boolean> {
  return (await watch.found(t, { url })).every((code) => watch.isOfMachine(code));
}

/** Starts one more node, by default as a peer of the nodes of `devnet`. */
function startOne(t: ExecutionContext, options: OneNodeOptions): Promise<OneNode> {
  const fixedPeers = devnet.nodes.map(({ plan }) => `127.0.0.1:${plan.wsPort}`);
  return startOneNode(t, { network: devnet.network.directory, fixedPeers, ...options });
}

/** Time of the first diagnostic about a missed slot of the node, in Unix milliseconds. */
async function firstUnusedSlotMs(url: string): Promise<number | undefined> {
  const { data } = (await (await fetch(`${url}/api/node/diagnostics?limit=500`)).json()) as Untyped;
  const unused = data.filter(({ module, fields }: Untyped) => module === 'forge' && 'slot' in fields);
  return unused.length === 0 ? undefined : Date.parse(unused.at(-1).time);
}

async function heightOf(url: string): Promise<number> {
  const { data } = (await (await fetch(`${url}/api/node/status`)).json()) as Untyped;
  return data.height;
}
