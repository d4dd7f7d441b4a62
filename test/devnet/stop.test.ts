import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { startArguments } from '../../src/cli/devnet/plan.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import {
  contradictions,
  lastWords,
  startTestDevnet,
  waitFor,
  type TestDevnet,
  type TestNode,
} from '../support/devnet.ts';
import { MachineWatch } from '../support/machine.ts';

const STOP_MS_MAX = 3000;
const KEPT_ALIVE = 5;
/** Time limit for each wait of the tests. The limit is generous, because a busy machine makes the node slow. */
const START_MS_MAX = 150_000;

let devnet: TestDevnet;

test.before(async (t) => {
  t.timeout(480_000);
  devnet = await startTestDevnet({ nodes: 2 });
  await nodeAt(1).stop();
});
test.afterEach.always((t) => {
  if (!t.passed) t.log(lastWords(devnet));
});
test.after.always(() => devnet.close());

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test.serial(`${signal} ends a forging node with peers and readers within three seconds`, async (t) => {
    t.timeout(480_000);
    const { child, output, isClosed } = await busyNode(t);
    const { height } = await nodeAt(1).client.status();
    const machine = new MachineWatch();
    const startedMs = Date.now();
    child.kill(signal);
    t.deepEqual(await once(child, 'exit'), [0, null], output());
    const tookMs = Date.now() - startedMs;
    t.true(tookMs < STOP_MS_MAX || !(await machine.wasQuick()), `${tookMs} ms`);
    await waitFor('ends of all connections', async () => isClosed(), START_MS_MAX);
    t.notRegex(output(), /ERROR/);
    // The node logs this message if its stop takes longer than ten seconds.
    if (tookMs < STOP_MS_MAX) t.notRegex(output(), /did not stop in time/);

    const again = startAlone(t);
    t.true((await waitFor('the node', () => nodeAt(1).client.status(), START_MS_MAX)).height >= height);
    again.child.kill('SIGKILL');
    await once(again.child, 'exit');
    t.deepEqual(contradictions(devnet), []);
  });
}

test.serial('a second signal ends a node at once, and the data on the disk is intact', async (t) => {
  t.timeout(480_000);
  const { child } = await busyNode(t);
  const { height } = await nodeAt(1).client.status();
  const machine = new MachineWatch();
  const startedMs = Date.now();
  child.kill('SIGTERM');
  child.kill('SIGINT');
  t.deepEqual(await once(child, 'exit'), [1, null]);
  const tookMs = Date.now() - startedMs;
  t.true(tookMs < STOP_MS_MAX || !(await machine.wasQuick()), `${tookMs} ms`);

  const again = startAlone(t);
  t.true((await waitFor('the node', () => nodeAt(1).client.status(), START_MS_MAX)).height >= height);
  again.child.kill('SIGTERM');
  t.deepEqual(await once(again.child, 'exit'), [0, null], again.output());
  t.deepEqual(contradictions(devnet), []);
});

function nodeAt(index: number): TestNode {
  const node = devnet.nodes[index];
  if (node === undefined) throw new Error(`the devnet has no node ${index}`);
  return node;
}

/** Starts node 1 without a supervisor, so that signals reach it directly. */
function startAlone(t: ExecutionContext): { readonly child: ChildProcess; readonly output: () => string } {
  const args = startArguments(nodeAt(1).plan, devnet.network.directory);
  const child = spawn(process.execPath, [CLI_ENTRY, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  t.teardown(() => void child.kill('SIGKILL'));
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => (text += more));
  return { child, output: () => text };
}

/**
 * Starts node 1 and waits until it has forged and has a peer. Then opens an SSE stream, several HTTP connections that
 * stay idle after one request, and a connection that sends only part of a request.
 */
async function busyNode(t: ExecutionContext) {
  const { child, output } = startAlone(t);
  const { client, plan } = nodeAt(1);
  const lost = (): string | undefined => (child.exitCode === null ? undefined : `it ended: ${output()}`);
  await waitFor('the node', () => client.status(), START_MS_MAX, lost);
  await waitFor('a block of its own', async () => output().includes('forged a block'), START_MS_MAX);
  const peers = await waitFor('a peer', async () => (await client.status()).consensus > 0, START_MS_MAX);
  t.true(peers);
  const sockets = await Promise.all([
    connected(plan.httpPort, 'GET /api/events HTTP/1.1\r\nhost: a\r\n\r\n'),
    connected(
      plan.httpPort,
      'POST /api/transactions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{',
    ),
    ...Array.from({ length: KEPT_ALIVE }, () =>
      connected(plan.httpPort, 'GET /api/node/status HTTP/1.1\r\nhost: a\r\nconnection: keep-alive\r\n\r\n'),
    ),
  ]);
  t.teardown(() => sockets.forEach((socket) => socket.destroy()));
  const readers = sockets.filter((_, index) => index !== 1);
  await waitFor('answers', async () => readers.every(({ bytesRead }) => bytesRead > 100), START_MS_MAX);
  t.true(sockets.every(({ closed }) => !closed));
  return { child, output, isClosed: () => sockets.every(({ closed }) => closed) };
}

async function connected(port: number, request: string): Promise<Socket> {
  const socket = createConnection({ port, host: '127.0.0.1' });
  // Discard the received data and errors, because the test only counts bytes and waits for the node to close the
  // connection.
  socket.on('error', () => undefined).resume();
  await once(socket, 'connect');
  socket.write(request);
  return socket;
}
