/**
 * The catalogue of faults on real nodes: each fault is made with processes, clocks, disks and wires as it comes about, and
 * must be named within the time that an operator waits; healthy nets of either generation must not be alarmed about.
 * test/cli/doctor.test.ts has the whole catalogue, with what takes hours to come about told by a script.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, closeSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { FaultCode } from '../../src/cli/doctor/catalogue.ts';
import { examine } from '../../src/cli/doctor/examine.ts';
import { packagedNetworkDirectory } from '../../src/config/network.ts';
import { CLI_ENTRY, runCli } from '../support/cli.ts';
import { freePortRanges } from '../support/ports.ts';
import { startTestDevnet, waitFor, waitForCommonBlock, type TestDevnet, type TestNode } from '../support/devnet.ts';
import { devnetCopy, editJson, temporaryFolder } from '../support/network-folder.ts';
import type { Untyped } from '../support/untyped.ts';

const NAMED_WITHIN_MS = 10_000;
/** For a fault to show itself: some blocks, on a busy machine. */
const SHOWS_WITHIN_MS = 90_000;
const STARTS_WITHIN_MS = 90_000;
const ROOM_BYTES = 1e12;

/** A gap between two turns of this process that says that the machine itself stood still. */
const PAUSE_MS = 1500;

let devnet: TestDevnet;
let isMachineSteady = true;

test.before(async (t) => {
  t.timeout(120_000);
  let lastTurnMs = Date.now();
  const turns = setInterval(() => {
    if (Date.now() - lastTurnMs > PAUSE_MS) isMachineSteady = false;
    lastTurnMs = Date.now();
  }, 100);
  turns.unref();
  devnet = await startTestDevnet({ nodes: 2 });
  await waitForCommonBlock(devnet.nodes, 4, 60_000);
});
test.after.always(() => devnet.close());

for (const name of ['devnet', 'devnet-gen2']) {
  test.serial(`nothing is found on any node of a healthy ${name}`, async (t) => {
    t.timeout(240_000);
    const net = name === 'devnet' ? devnet : await startTestDevnet({ nodes: 2, network: name });
    if (net !== devnet) t.teardown(() => net.close());
    await waitForCommonBlock(net.nodes, 6, 90_000);
    for (const node of net.nodes) {
      // A machine that stands still for seconds is a fault, and is told of rightly.
      const isNothing = async (): Promise<boolean> =>
        (await codesOf(t, node, net)).every((code) => code === 'MACHINE_TOO_SLOW' && !isMachineSteady);
      t.true(await waitFor(`nothing to find on node ${node.plan.index}`, isNothing, 10_000));
    }
  });
}

test.serial(
  'a node that was started without peers is not alarmed about, and one whose peers are away is',
  async (t) => {
    t.timeout(180_000);
    const alone = await startOne(t, { flags: ['--no-peers'] });
    t.deepEqual(await found(t, alone.url), []);
    // As a newcomer starts one: all delegates of the devnet are at hand, and it forges with none.
    const follower = await startOne(t, { config: { forging: {} } });
    await waitFor('nothing to find', async () => (await found(t, follower.url)).length === 0, 30_000);
    const { ws: nobody } = await freePortRanges(1);
    const lost = await startOne(t, { config: { p2p: { fixedPeers: [`127.0.0.1:${nobody}`] } } });
    await named(t, lost.url, 'NO_PEERS', ['NO_PEERS']);
  },
);

test.serial('nodes that are mixed up, closed to the doctor, or of another network', async (t) => {
  t.timeout(180_000);
  const [first] = devnet.nodes;
  const other = packagedNetworkDirectory('devnet-gen2');
  const findings = await examine({ url: first?.url ?? '', network: other, dataDir: temporaryFolder(t), ...ELSEWHERE });
  t.deepEqual(codes(findings), ['NODE_OF_OTHER_NETWORK']);

  const closed = await startOne(t, { config: { http: { accessPublic: false, accessWhitelist: ['10.1.2.3'] } } });
  await named(t, closed.url, 'NODE_REFUSES', ['NODE_REFUSES']);

  const foreign = devnetCopy(t);
  for (const file of ['network.json', 'genesis.json'])
    editJson(foreign, file, (json) => void (json.communityIdentifier = 'Other'));
  const stranger = await startOne(t, { network: foreign });
  await named(t, stranger.url, 'PEERS_OF_OTHER_NETWORK', ['PEERS_OF_OTHER_NETWORK']);
});

test.serial('delegates that are off', async (t) => {
  t.timeout(180_000);
  const { forging } = devnet.nodes[0]?.plan.config as Untyped;
  const off = await startOne(t, { config: { forging: { ...forging, force: false } } });
  await named(t, off.url, 'FORGING_OFF', ['FORGING_OFF']);
});

test.serial('a machine that sleeps, and a clock that is wrong', async (t) => {
  t.timeout(240_000);
  const [, sleeper] = devnet.nodes;
  const pid = sleeper?.pid() ?? 0;
  // Half of the delegates are its own, so ten slots hold three of them nearly always.
  for (let naps = 0; naps < 3; naps += 1) {
    process.kill(pid, 'SIGSTOP');
    await sleep(20_000);
    process.kill(pid, 'SIGCONT');
    await sleep(1500);
    if ((await found(t, sleeper?.url ?? '')).includes('MACHINE_TOO_SLOW')) break;
  }
  await waitForCommonBlock(devnet.nodes, 10, 60_000);
  await named(t, sleeper?.url ?? '', 'MACHINE_TOO_SLOW', ['MACHINE_TOO_SLOW']);

  const late = await startOne(t, { clockOffsetMs: -5000 });
  await named(t, late.url, 'CLOCK_OFF', ['CLOCK_OFF']);
});

test.serial('delegates whose record went to another machine', async (t) => {
  t.timeout(180_000);
  const node = devnet.nodes[0];
  if (node === undefined) return t.fail('the devnet has no node');
  await node.stop();
  const record = join(temporaryFolder(t), 'record.json');
  const at = ['--network', devnet.network.directory, '--data-dir', node.plan.directory];
  const exported = await runCli(['forging', 'export', record, ...at]);
  t.is(exported.code, 0, exported.stderr);
  node.start();
  await named(t, node.url, 'DELEGATE_ELSEWHERE', ['DELEGATE_ELSEWHERE']);
  await node.stop();
  const imported = await runCli(['forging', 'import', record, ...at]);
  t.is(imported.code, 0, imported.stderr);
  node.start();
});

test.serial('a network folder with other rewards: blocks are refused, and the node lags', async (t) => {
  t.timeout(240_000);
  const folder = devnetCopy(t);
  editJson(folder, 'network.json', (json) => void (json.rewards.offset = 3));
  const astray = await startOne(t, { network: folder });
  await named(t, astray.url, 'BLOCKS_REFUSED', ['BLOCKS_REFUSED', 'NODE_LAGS']);
  await named(t, astray.url, 'NODE_LAGS', ['BLOCKS_REFUSED', 'NODE_LAGS']);

  // A node with no other peer than that one forges for itself.
  const { forging } = devnet.nodes[1]?.plan.config as Untyped;
  await devnet.nodes[1]?.stop();
  const peers = { p2p: { fixedPeers: [`127.0.0.1:${astray.wsPort}`] } };
  const lonely = await startOne(t, { config: { ...peers, forging: { ...forging, consensusMin: 0 } } });
  await named(t, lonely.url, 'CONSENSUS_LOW', ['CONSENSUS_LOW', 'SYNC_FAILS']);
  // Its only peer breaks off whatever it is asked for.
  await named(t, lonely.url, 'SYNC_FAILS', ['CONSENSUS_LOW', 'SYNC_FAILS']);
  await lonely.end();
  const careful = await startOne(t, { config: { ...peers, forging: { ...forging, consensusMin: 51 } } });
  await named(t, careful.url, 'SLOTS_MISSED', ['SLOTS_MISSED', 'CONSENSUS_LOW', 'SYNC_FAILS']);
});

test.serial('a network whose forgers are gone stands still', async (t) => {
  t.timeout(240_000);
  const one = await startOne(t, {});
  const two = await startOne(t, { config: { p2p: { fixedPeers: [`127.0.0.1:${one.wsPort}`] } } });
  await waitFor('blocks', async () => (await heightOf(two.url)) > 3, 60_000);
  await Promise.all(devnet.nodes.map((node) => node.kill()));
  await named(t, two.url, 'NETWORK_STANDS_STILL', ['NETWORK_STANDS_STILL']);
});

interface OneNode {
  readonly url: string;
  readonly wsPort: number;
  end(): Promise<void>;
}

interface OneOptions {
  /** Folder; that of the devnet unless given. */
  readonly network?: string;
  /** Peers are those of the devnet unless it has others. */
  readonly config?: Untyped;
  readonly flags?: readonly string[];
  /** By which its clock is ahead. */
  readonly clockOffsetMs?: number;
}

/** A further node, as an operator starts it. */
async function startOne(t: ExecutionContext, options: OneOptions): Promise<OneNode> {
  const { network = devnet.network.directory, config = {}, flags = [], clockOffsetMs = 0 } = options;
  const folder = temporaryFolder(t);
  const { http, ws } = await freePortRanges(1);
  const fixedPeers = devnet.nodes.map(({ plan }) => `127.0.0.1:${plan.wsPort}`);
  const file = join(folder, 'config.json');
  writeFileSync(
    file,
    JSON.stringify({
      // The network has delegates for everybody.
      forging: { enabled: false },
      ...config,
      http: { port: http, host: '127.0.0.1', ...config.http },
      p2p: { port: ws, host: '127.0.0.1', fixedPeers, ...config.p2p },
      verifier: { threads: 0 },
    }),
  );
  mkdirSync(join(folder, 'data'));
  const log = openSync(join(folder, 'log'), 'a');
  const shift = `const now = Date.now; Date.now = () => now() + ${clockOffsetMs};`;
  const preload = clockOffsetMs === 0 ? [] : ['--import', `data:text/javascript,${encodeURIComponent(shift)}`];
  const args = ['start', '--network', network, '--data-dir', join(folder, 'data'), '--config', file, ...flags];
  const child = spawn(process.execPath, [...preload, CLI_ENTRY, ...args], { stdio: ['ignore', 'ignore', log] });
  closeSync(log);
  t.teardown(async () => {
    if (!t.passed) t.log(readFileSync(join(folder, 'log'), 'utf8').slice(-2500));
    await end(child);
  });
  const url = `http://127.0.0.1:${http}`;
  await waitFor(`a node with ${JSON.stringify(options)}`, () => fetch(url), STARTS_WITHIN_MS);
  return { url, wsPort: ws, end: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const ELSEWHERE = { environment: {}, freeBytesOf: () => ROOM_BYTES };

/** Codes that are found on a node, within the time that an operator waits. */
async function found(t: ExecutionContext, url: string): Promise<readonly FaultCode[]> {
  const startedMs = Date.now();
  const findings = await examine({ url, ...ELSEWHERE });
  t.true(Date.now() - startedMs < NAMED_WITHIN_MS);
  return codes(findings);
}

/** Resolves when the fault is named. @param allowed what may be named beside it, as it follows from the same cause */
async function named(t: ExecutionContext, url: string, code: FaultCode, allowed: readonly FaultCode[]): Promise<void> {
  let last: readonly FaultCode[] = [];
  const startedMs = Date.now();
  const isNamedAlone = async (): Promise<boolean> => {
    last = await found(t, url);
    return last.includes(code) && last.every((each) => allowed.includes(each));
  };
  try {
    await waitFor(code, isNamedAlone, SHOWS_WITHIN_MS);
  } catch (error) {
    throw new Error(`${code} is not named alone: ${last.join(', ')}`, { cause: error });
  }
  t.log(`${code} after ${Date.now() - startedMs} ms${last.length > 1 ? ` among ${last.join(', ')}` : ''}`);
}

async function codesOf(t: ExecutionContext, { url, plan }: TestNode, net: TestDevnet): Promise<readonly FaultCode[]> {
  const findings = await examine({
    url,
    network: net.network.directory,
    dataDir: plan.directory,
    config: plan.configFile,
    ...ELSEWHERE,
  });
  t.log(codes(findings).join(', '));
  return codes(findings);
}

function codes(findings: Awaited<ReturnType<typeof examine>>): readonly FaultCode[] {
  return findings.map(({ code }) => code);
}

async function heightOf(url: string): Promise<number> {
  const { data } = (await (await fetch(`${url}/api/node/status`)).json()) as Untyped;
  return data.height;
}
