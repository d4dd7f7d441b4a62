import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { NO_FAULTS } from '../../src/cli/devnet/faults.ts';
import { writeDevnetFolder } from '../../src/cli/devnet/folder.ts';
import type { NodeProcess } from '../../src/cli/devnet/node-process.ts';
import { planDevnet, STARTUP_MS, type PlannedNode } from '../../src/cli/devnet/plan.ts';
import { processParts, runDevnet } from '../../src/cli/devnet/supervisor.ts';
import type { NodeRow } from '../../src/cli/devnet/table.ts';
import { nodeClient, type NodeClient } from '../../src/cli/node-client.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { CLI_ENTRY, isProblemLine, runCli } from '../support/cli.ts';
import { freePortRanges } from '../support/ports.ts';
import { waitFor } from '../support/devnet.ts';
import { MachineWatch } from '../support/machine.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import type { Untyped } from '../support/untyped.ts';
import { isAlive } from '../support/alive.ts';

const NODES = 2;
/** Time limit for each wait of the tests. The limit is generous, because a busy machine makes the nodes slow. */
const START_MS_MAX = 150_000;
/**
 * Time limit for each devnet that ends by itself. The limit is generous, because a busy machine makes the devnet slow.
 */
const RUN_MS_MAX = 400_000;

test.serial(
  'in a run to a height, the standard output has only the nodes’ common block, which is printed as JSON',
  async (t) => {
    t.timeout(480_000);
    const data = temporaryFolder(t);
    const ports = await freePortRanges(4);
    const flags = ['--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`, '--data-dir', data];
    const run = await runCli(['devnet', ...flags, '--until-height', '4', '--json'], { timeoutMs: RUN_MS_MAX });
    t.is(run.code, 0, run.stderr);
    const { nodes } = JSON.parse(run.stdout);
    t.is(nodes.length, 4);
    t.deepEqual(
      nodes.map(({ http, ws }: Untyped) => [http, ws]),
      [0, 1, 2, 3].map((index) => [ports.http + index, ports.ws + index]),
    );
    t.deepEqual(new Set(nodes.map(({ height }: Untyped) => height)), new Set([4]));
    t.is(new Set(nodes.map(({ blockId }: Untyped) => blockId)).size, 1);
    t.is(run.stdout.trim().split('\n').length, 1);
    for (let index = 0; index < 4; index++) t.true(existsSync(join(data, `node-${index}`, 'node.log')));

    const again = await runCli(['devnet', ...flags, '--until-height', '6', '--json'], { timeoutMs: RUN_MS_MAX });
    t.is(again.code, 0, again.stderr);
    t.is(JSON.parse(again.stdout).nodes[0].height, 6);
  },
);

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test.serial(`${signal} ends the devnet with all its nodes and exit code 0`, async (t) => {
    const { supervisor, pids } = await startDevnet(t);
    const ended = once(supervisor, 'exit');
    supervisor.kill(signal);
    t.deepEqual(await ended, [0, null]);
    t.deepEqual(pids.filter(isAlive), []);
  });
}

test.serial('nodes whose supervisor was killed stop by themselves', async (t) => {
  const { supervisor, pids } = await startDevnet(t);
  t.is(pids.filter(isAlive).length, NODES);
  supervisor.kill('SIGKILL');
  await waitFor('end of the nodes', () => Promise.resolve(pids.filter(isAlive).length === 0), START_MS_MAX);
  t.pass();
});

test.serial('a killed node is started again, and the devnet continues', async (t) => {
  const { supervisor, pids, output, data, clients } = await startDevnet(t);
  process.kill(pids[1] ?? 0, 'SIGKILL');
  await waitFor(
    'the restart',
    () => Promise.resolve(output.text.includes('node 1 is started again')),
    START_MS_MAX,
    () => (supervisor.exitCode === null ? undefined : output.text),
  );
  t.regex(output.text, /node 1 ended: ended by SIGKILL: started again in 1 s/);
  await waitFor('the answer of node 1', () => clients[1]?.status() ?? Promise.resolve(undefined), START_MS_MAX);
  t.not(pidOf(data, 1), pids[1]);
  t.is(supervisor.exitCode, null);
  const ended = once(supervisor, 'exit');
  supervisor.kill('SIGTERM');
  t.deepEqual(await ended, [0, null]);
});

test.serial('with --restart never a killed node stays down, and its end is reported', async (t) => {
  const { supervisor, pids, output } = await startDevnet(t, ['--restart', 'never']);
  process.kill(pids[1] ?? 0, 'SIGKILL');
  const givenUp = /node 1 ended: ended by SIGKILL: not started again: .*: its log is .*node-1\/node\.log/;
  await waitFor('the death', () => Promise.resolve(givenUp.test(output.text)), START_MS_MAX);
  t.is(supervisor.exitCode, null);
  const ended = once(supervisor, 'exit');
  process.kill(pids[0] ?? 0, 'SIGKILL');
  t.deepEqual(await ended, [1, null], 'nothing is left to supervise');
  t.true(isProblemLine(output.stderr), output.stderr);
  t.deepEqual(pids.filter(isAlive), []);
});

test.serial('a node that hangs after the start deadline does not end the devnet', async (t) => {
  t.timeout(480_000);
  const directory = temporaryFolder(t);
  const network = loadNetwork(packagedNetworkDirectory('devnet'));
  const ports = await freePortRanges(NODES);
  const nodes = planDevnet({ nodes: NODES, httpPort: ports.http, wsPort: ports.ws, directory, network });
  writeDevnetFolder(directory, nodes, network, network);
  const stop = new AbortController();
  const shown: (readonly NodeRow[])[] = [];
  let aheadMs = 0;
  const link = {
    first: { setting: { kind: 'running', aheadMs: 0 }, isHeld: false, impersonated: [], faults: NO_FAULTS },
    onEvent: () => undefined,
    onReturn: () => undefined,
  } as const;
  const parts = processParts(
    network,
    () => link,
    () => Date.now() + aheadMs,
  );
  const pids: number[] = [];
  const start = (node: PlannedNode): NodeProcess => {
    const started = parts.start(node);
    pids[node.index] = started.pid ?? 0;
    return started;
  };
  const screen = { show: (rows: readonly NodeRow[]) => void shown.push(rows), print: (line: string) => t.log(line) };
  const run = runDevnet({ nodes, network, restart: 'always', screen, stop: stop.signal, parts: { ...parts, start } });
  const lost = run.then(
    () => 'the devnet ended',
    (error: unknown) => String(error),
  );
  let lostWith: string | undefined;
  void lost.then((reason) => (lostWith = reason));
  const seen = (what: string, is: (row: NodeRow | undefined) => boolean) =>
    waitFor(
      what,
      () => Promise.resolve(is(shown.at(-1)?.[1])),
      START_MS_MAX,
      () => lostWith,
    );
  try {
    await waitFor(
      'all nodes',
      () => Promise.resolve(shown.at(-1)?.every(({ state }) => state !== undefined)),
      START_MS_MAX,
      () => lostWith,
    );
    aheadMs = 2 * STARTUP_MS;
    process.kill(pids[1] ?? 0, 'SIGSTOP');
    await seen('silence of node 1', (row) => row?.absence === 'silent');
    process.kill(pids[1] ?? 0, 'SIGCONT');
    await seen('answer of node 1', (row) => row?.state !== undefined);
    t.is(lostWith, undefined);
  } finally {
    stop.abort();
    await lost;
  }
  t.deepEqual(pids.filter(isAlive), []);
});

test.serial('a devnet with its own block time writes a network folder that start accepts', async (t) => {
  const data = temporaryFolder(t);
  const { supervisor } = await startDevnet(t, ['--block-time', '3'], data);
  const folder = join(data, 'network');
  t.is(JSON.parse(readFileSync(join(folder, 'network.json'), 'utf8')).blockTimeS, 3);
  const { http, ws } = await freePortRanges(1);
  const own = temporaryFolder(t);
  const flags = ['--http-port', `${http}`, '--ws-port', `${ws}`, '--data-dir', own, '--no-forging', '--no-peers'];
  const node = spawn(process.execPath, [CLI_ENTRY, 'start', '--network', folder, ...flags], { stdio: 'ignore' });
  t.teardown(() => node.kill('SIGKILL'));
  const client = nodeClient(`http://127.0.0.1:${http}`);
  t.is((await waitFor('the node', () => client.status(), START_MS_MAX)).height, 1);

  const ended = once(node, 'exit');
  const machine = new MachineWatch();
  const stopMs = Date.now();
  node.kill('SIGTERM');
  t.deepEqual(await ended, [0, null]);
  const tookMs = Date.now() - stopMs;
  t.true(tookMs < 3000 || !(await machine.wasQuick()), `${tookMs} ms`);
  supervisor.kill('SIGTERM');
  await once(supervisor, 'exit');
});

test.serial('two devnets cannot use the same folder', async (t) => {
  const data = temporaryFolder(t);
  await startDevnet(t, [], data);
  const ports = await freePortRanges(NODES);
  const flags = ['--nodes', `${NODES}`, '--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`, '--data-dir', data];
  for (const more of [[], ['--fresh']]) {
    const { code, stderr } = await runCli(['devnet', ...flags, ...more]);
    t.is(code, 1);
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, /in use by the devnet of process \d+: stop that one, or choose another folder with --data-dir/);
  }
});

interface RunningDevnet {
  readonly supervisor: ChildProcess;
  /** Process ids of the nodes. */
  readonly pids: readonly number[];
  readonly clients: readonly NodeClient[];
  readonly data: string;
  /** Output of the supervisor. `text` contains the standard output and the standard error. */
  readonly output: { stderr: string; text: string };
}

/** Starts a devnet of two nodes and waits until both answer. */
async function startDevnet(
  t: ExecutionContext,
  more: readonly string[] = [],
  data: string = temporaryFolder(t),
): Promise<RunningDevnet> {
  t.timeout(480_000);
  const ports = await freePortRanges(NODES);
  const flags = ['--nodes', `${NODES}`, '--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`, '--data-dir', data];
  const supervisor = spawn(process.execPath, [CLI_ENTRY, 'devnet', ...flags, ...more], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => supervisor.kill('SIGKILL'));
  const output = { stderr: '', text: '' };
  supervisor.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
    output.text += text;
  });
  supervisor.stdout.setEncoding('utf8').on('data', (text: string) => (output.text += text));
  const clients = Array.from({ length: NODES }, (_, index) => nodeClient(`http://127.0.0.1:${ports.http + index}`));
  for (const [index, client] of clients.entries()) {
    await waitFor(
      `node ${index}`,
      () => client.status(),
      START_MS_MAX,
      () => (supervisor.exitCode === null ? undefined : `the devnet ended: ${output.stderr}`),
    );
  }
  await waitFor(
    'the word that all answer',
    () => Promise.resolve(output.text.includes(`${NODES} of ${NODES} nodes answer`)),
    START_MS_MAX,
    () => (supervisor.exitCode === null ? undefined : `the devnet ended: ${output.stderr}`),
  );
  const pids = clients.map((_, index) => pidOf(data, index));
  return { supervisor, pids, clients, data, output };
}

/** Id of the process that has opened the chain of a node, or 0 if no process has opened the chain. */
function pidOf(data: string, index: number): number {
  const names = readdirSync(join(data, `node-${index}`, 'devnet', 'chain'));
  const lockFiles = names.map((name) => /^in-use\.(\d+)\./.exec(name));
  return Number(lockFiles.find((lockFile) => lockFile !== null)?.[1] ?? 0);
}
