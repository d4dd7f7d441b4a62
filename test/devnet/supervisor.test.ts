import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { nodeClient } from '../../src/cli/node-client.ts';
import { CLI_ENTRY, isProblemLine, runCli } from '../support/cli.ts';
import { freePortRanges } from '../support/ports.ts';
import { waitFor } from '../support/devnet.ts';
import { MachineWatch } from '../support/machine.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import type { Untyped } from '../support/untyped.ts';

const NODES = 2;
/** Far more than a start takes: a machine with other work to do is no fault of the node. */
const START_MS_MAX = 150_000;
/** A devnet that is late says itself what it waits for; this only ends one that says nothing. */
const RUN_MS_MAX = 400_000;

test.serial(
  'until a height, the JSON on the standard output is the nodes’ common block and nothing else',
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

test.serial('a node that dies ends the devnet with exit code 1 and the node’s name', async (t) => {
  const { supervisor, pids, output } = await startDevnet(t);
  const ended = once(supervisor, 'exit');
  process.kill(pids[1] ?? 0, 'SIGKILL');
  t.deepEqual(await ended, [1, null]);
  const problem = output.stderr.slice(output.stderr.indexOf('bloomery: '));
  t.true(isProblemLine(problem), output.stderr);
  t.regex(problem, /node 1 ended: ended by SIGKILL: its log is .*node-1\/node\.log/);
  t.deepEqual(pids.filter(isAlive), []);
});

test.serial('a devnet with its own block time writes a network folder that start takes', async (t) => {
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

test.serial('two devnets do not share a folder', async (t) => {
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
  /** Of the nodes. */
  readonly pids: readonly number[];
  readonly output: { stderr: string };
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
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.teardown(() => supervisor.kill('SIGKILL'));
  const output = { stderr: '' };
  supervisor.stderr?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  for (let index = 0; index < NODES; index++) {
    const client = nodeClient(`http://127.0.0.1:${ports.http + index}`);
    await waitFor(
      `node ${index}`,
      () => client.status(),
      START_MS_MAX,
      () => (supervisor.exitCode === null ? undefined : `the devnet ended: ${output.stderr}`),
    );
  }
  const pids = Array.from({ length: NODES }, (_, index) => {
    const claims = readdirSync(join(data, `node-${index}`, 'devnet', 'chain')).map((name) =>
      /^in-use\.(\d+)\./.exec(name),
    );
    return Number(claims.find((claim) => claim !== null)?.[1]);
  });
  return { supervisor, pids, output };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // Where nobody takes care of orphans, as in many containers, they stay in the list of processes when they have ended.
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}
