/** Tests commands that start or resume nodes of a devnet. The nodes are fake child processes. */

import { EventEmitter } from 'node:events';
import test from 'ava';
import { nodeClient } from '../../src/cli/node-client.ts';
import { type LinkedProcess, ProcessLink } from '../../src/cli/devnet/agent-link.ts';
import { NO_FAULTS } from '../../src/cli/devnet/faults.ts';
import type { ProcessEnd } from '../../src/cli/devnet/node-process.ts';
import { operationsOf, type OperationParts } from '../../src/cli/devnet/operations.ts';
import { planDevnet } from '../../src/cli/devnet/plan.ts';
import { SupervisedNode } from '../../src/cli/devnet/supervised-node.ts';
import { waitForAgent } from '../../src/cli/devnet/wait-for-agent.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import type { Untyped } from '../support/untyped.ts';

const network = loadNetwork(packagedNetworkDirectory('devnet'));

/**
 * A fake child process. When a test calls `ready`, the process reports that it is ready, and from then on answers each
 * request at once. Before that, it answers requests only when a test calls `answer`.
 */
class FakeChild extends EventEmitter implements LinkedProcess {
  connected = true;
  isRunning = true;
  isAnswering = false;
  readonly #open: number[] = [];

  send(message: Parameters<LinkedProcess['send']>[0]): void {
    if (!('number' in message)) return;
    this.#open.push(message.number);
    if (this.isAnswering) this.answer();
  }

  ready(): void {
    this.isAnswering = true;
    this.emit('message', { event: 'ready', state: {} });
  }

  answer(): void {
    for (const number of this.#open.splice(0)) this.emit('message', { number, state: {} });
  }
}

function devnet() {
  const children: FakeChild[] = [];
  const ends: ((end: ProcessEnd) => void)[] = [];
  const [plan] = planDevnet({ nodes: 1, httpPort: 4000, wsPort: 5000, directory: '/d', network });
  const node = new SupervisedNode({
    node: plan!,
    client: nodeClient('http://127.0.0.1:1'),
    restart: 'always',
    nowMs: () => 0,
    start: (planned) => {
      const child = new FakeChild();
      children.push(child);
      const ended = new Promise<ProcessEnd>((resolve) => ends.push(resolve));
      const end = (reason: string): void => {
        child.isRunning = false;
        ends.at(-1)?.({ reason, exitCode: 0 });
      };
      const setting = { kind: 'running', aheadMs: 0 } as const;
      const first = { setting, isHeld: true, impersonated: [], faults: NO_FAULTS };
      const options = { first, onEvent: () => undefined, onReturn: () => undefined } as const;
      return {
        ...{ node: planned, pid: 1, ended, isRunning: () => child.isRunning },
        stop: () => end('stopped'),
        kill: () => end('killed'),
        // The test decides when the child answers the requests that arrived during the pause.
        pause: () => void (child.isAnswering = false),
        link: new ProcessLink(child, options),
      };
    },
  });
  const unused = (): never => {
    throw new Error('no test asks for it');
  };
  const parts: OperationParts = {
    nodes: () => [node],
    add: () => Promise.resolve(node),
    resumed: () => undefined,
    stop: unused,
    clockMoved: unused,
    timekeeper: {
      mode: 'on-demand',
      setting: { kind: 'running', aheadMs: 0 },
      nowMs: () => 0,
      ...{ mine: unused, setMode: unused, warp: unused, freeze: unused, resume: unused },
    },
    snapshots: { create: unused, revert: unused, list: unused },
    accounts: { fund: unused, send: unused, payers: unused, impersonate: unused },
    faults: {
      active: () => ({ parts: [], nodes: [] }),
      ...{ partition: unused, delay: unused, lose: unused, skew: unused, heal: unused },
    },
  };
  const operations = operationsOf(parts);
  const ask = (name: string, parameters: object = {}): Promise<Untyped> =>
    operations.get(name)!({ ...parameters }) as Promise<Untyped>;
  const stateOf = async () => (await ask('list')).nodes[0].state as string;
  const end = (reason: string): void => {
    children.at(-1)!.isRunning = false;
    ends.at(-1)?.({ reason, exitCode: 1 });
  };
  return { node, children, ask, stateOf, end };
}

test('a node is listed as starting until it answers', async (t) => {
  const { children, stateOf } = devnet();
  t.is(await stateOf(), 'starting');
  children[0]!.ready();
  t.is(await stateOf(), 'running');
});

for (const name of ['restart', 'add'] as const) {
  test(`${name} returns only after the node answers`, async (t) => {
    const { children, ask } = devnet();
    let isDone = false;
    const answer = ask(name, { node: 0 }).finally(() => (isDone = true));
    await new Promise((resolve) => setTimeout(resolve, 100));
    t.false(isDone);
    children.at(-1)!.ready();
    t.is((await answer).state, 'running');
  });
}

test('resume returns when the node answers again', async (t) => {
  const { children, ask, stateOf } = devnet();
  children[0]!.ready();
  await ask('pause', { node: 0 });
  t.is(await stateOf(), 'paused');
  let isDone = false;
  const answer = ask('resume', { node: 0 }).finally(() => (isDone = true));
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.false(isDone);
  children[0]!.answer();
  t.is((await answer).state, 'running');
});

test('a node that ends instead of answering is reported with its reason', async (t) => {
  const { ask, end } = devnet();
  const answer = ask('restart', { node: 0 });
  await new Promise((resolve) => setTimeout(resolve, 50));
  end('the disk is full');
  await t.throwsAsync(answer, { code: 'DEVNET_NODE_ENDED', message: /node 0 ended: the disk is full: its log is/ });
});

test('the command waits for a silent node until its time-out', async (t) => {
  const { node, children } = devnet();
  const expected = { code: 'DEVNET_NODE_SILENT', message: /node 0 runs, but does not answer after 0.05 s: its log is/ };
  await t.throwsAsync(waitForAgent(node, 50), expected);
  children[0]!.ready();
  children[0]!.isAnswering = false;
  await t.throwsAsync(waitForAgent(node, 50), expected);
  children[0]!.answer();
});

test('a request to a node whose process has ended fails at once', async (t) => {
  const child = new FakeChild();
  const options = { first: {} as Untyped, onEvent: () => undefined, onReturn: () => undefined };
  const link = new ProcessLink(child, options);
  child.connected = false;
  child.emit('exit');
  const startedMs = performance.now();
  await t.throwsAsync(link.ask({ ask: 'state' } as Untyped), { code: 'DEVNET_NODE_SILENT', message: /has ended/ });
  t.true(performance.now() - startedMs < 5_000);
});
