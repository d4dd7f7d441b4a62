/** Tests the supervisor of a devnet with fake nodes and with a clock that the test sets. */

import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { NodeClient } from '../../src/cli/node-client.ts';
import type { ProcessEnd, NodeProcess } from '../../src/cli/devnet/node-process.ts';
import { planDevnet, STARTUP_MS } from '../../src/cli/devnet/plan.ts';
import {
  ENDS_IN_A_ROW_MAX,
  RESTART_DELAY_MS,
  RestartPolicy,
  STABLE_MS,
  type RestartMode,
} from '../../src/cli/devnet/restart-policy.ts';
import type { SupervisedNode } from '../../src/cli/devnet/supervised-node.ts';
import { runDevnet, type DevnetResult } from '../../src/cli/devnet/supervisor.ts';
import type { NodeRow } from '../../src/cli/devnet/table.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';

const network = loadNetwork(packagedNetworkDirectory('devnet'));
const KILLED: ProcessEnd = { reason: 'ended by SIGKILL', exitCode: null };

test('the start deadline ends when all nodes have answered', async (t) => {
  const world = new FakeDevnet(2);
  world.at(STARTUP_MS + 1000, () => world.silence(1));
  world.at(STARTUP_MS + 60_000, () => world.answerAgain(1));
  world.at(STARTUP_MS + 70_000, () => world.stop());
  t.is(await world.run(), undefined);
  t.true(world.absences(1).includes('silent'));
  t.truthy(world.rows.at(-1)?.[1]?.state);
  t.deepEqual(world.notes, []);
});

test('nodes that do not all answer before the start deadline end the devnet', async (t) => {
  const world = new FakeDevnet(2);
  world.silence(1);
  await t.throwsAsync(world.run(), { code: 'DEVNET_TOO_LATE', message: /not all nodes answer .*node 1 silent/ });
  t.true(world.nowMs > STARTUP_MS);
});

test('a node that ends during the start ends the devnet with its reason', async (t) => {
  const world = new FakeDevnet(2);
  world.silence(0);
  world.at(5000, () => world.end(1, { reason: 'port 4001 is in use', exitCode: 1 }));
  await t.throwsAsync(world.run(), { code: 'DEVNET_NODE_ENDED', message: /node 1 ended: port 4001 is in use/ });
});

test('a node that ends later is reported and started again, and the devnet continues', async (t) => {
  const world = new FakeDevnet(2);
  world.at(200_000, () => world.end(1, KILLED));
  world.at(300_000, () => world.stop());
  await world.run();
  t.deepEqual(world.notes, [
    `node 1 ended: ended by SIGKILL: started again in ${RESTART_DELAY_MS / 1000} s`,
    'node 1 is started again',
  ]);
  t.deepEqual(world.starts, [1, 2]);
  t.true(world.absences(1).includes('ended'));
  t.truthy(world.rows.at(-1)?.[1]?.state);
});

test('with --restart never an ended node stays down, and the devnet ends with its last node', async (t) => {
  const world = new FakeDevnet(2, 'never');
  world.at(200_000, () => world.end(1, KILLED));
  world.at(250_000, () => world.end(0, KILLED));
  await t.throwsAsync(world.run(), { code: 'DEVNET_NODE_ENDED', message: /no node is left: node 0: .*; node 1: / });
  t.deepEqual(world.starts, [1, 1]);
  t.is(world.absences(1).at(-1), 'dead');
  t.true(world.nowMs >= 250_000);
});

test('a node that ends again and again is given up with the reason, and the others continue', async (t) => {
  const world = new FakeDevnet(2);
  world.at(200_000, () => world.endAtOnce(1, { reason: 'the disk is full', exitCode: 1 }));
  world.at(400_000, () => world.stop());
  await world.run();
  t.is(world.starts[1], ENDS_IN_A_ROW_MAX);
  t.regex(world.notes.at(-1) ?? '', /node 1 ended: the disk is full: not started again: it ended 5 times in a row/);
  t.truthy(world.rows.at(-1)?.[0]?.state);
});

test('a devnet that ends during a restart waits for the old process, and starts no new one', async (t) => {
  const world = new FakeDevnet(2);
  let isRestarted = false;
  world.attach = (nodes) => {
    world.at(STARTUP_MS + 1000, () => {
      world.ignoreStops(1);
      void nodes[1]?.restart().then(() => (isRestarted = true));
      world.stop();
    });
  };
  const run = world.run();
  const first = await Promise.race([run.then(() => 'run'), sleep(50, 'time')]);
  t.is(first, 'time');
  world.end(1, KILLED);
  await run;
  await setImmediate();
  t.true(isRestarted);
  t.deepEqual(world.starts, [1, 1]);
});

test('a kill ends a process that a restart waits for, and two restarts leave one process', async (t) => {
  const world = new FakeDevnet(2);
  let outcome: string[] = [];
  let wasEnding = false;
  world.attach = ([, node]) => {
    world.at(STARTUP_MS + 1000, () => {
      if (node === undefined) return;
      world.ignoreStops(1);
      const both = Promise.all([node.restart(), node.kill()]);
      queueMicrotask(() => (wasEnding = node.isEnding));
      void both.then(async () => {
        outcome = [node.stateName, String(world.running)];
        world.heedStops(1);
        await Promise.all([node.restart(), node.restart()]);
        outcome.push(node.stateName, String(world.running));
        world.stop();
      });
    });
  };
  await world.run();
  t.deepEqual(outcome, ['killed', '1', 'running', '2']);
  t.true(wasEnding, 'a snapshot must not take such a node for a stopped one');
  t.is(world.starts[1], 3, 'the killed restart started no process');
  t.is(world.running, 0);
});

test('in a run to a height, a node that ends makes the run fail', async (t) => {
  const world = new FakeDevnet(2);
  world.at(10_000, () => world.end(1, KILLED));
  await t.throwsAsync(world.run(1000), { code: 'DEVNET_NODE_ENDED' });
  t.deepEqual(world.starts, [1, 1]);
});

test('in a run to a height, a silent node is waited for until the deadline of the run', async (t) => {
  const world = new FakeDevnet(2);
  world.at(10_000, () => world.silence(1));
  await t.throwsAsync(world.run(10), { code: 'DEVNET_TOO_LATE' });
  t.true(world.nowMs > STARTUP_MS + 60_000);
});

test('restart delays grow, a healthy run resets them, and a refused configuration is not retried', (t) => {
  const policy = new RestartPolicy('always');
  const delays = [0, 0, 0, STABLE_MS, 0].map((ranMs) => {
    const decision = policy.ended({ exitCode: 1 }, ranMs);
    return decision.kind === 'restart' ? decision.delayMs / RESTART_DELAY_MS : decision.reason;
  });
  t.deepEqual(delays, [1, 2, 4, 1, 2]);
  t.is(new RestartPolicy('always').ended({ exitCode: 2 }, 0).kind, 'giveUp');
});

class FakeDevnet {
  nowMs = 0;
  readonly rows: (readonly NodeRow[])[] = [];
  readonly notes: string[] = [];
  /** Number of process starts, by node. */
  readonly starts: number[] = [];
  /** Number of running processes. */
  running = 0;
  readonly #plans;
  readonly #restart: RestartMode;
  readonly #stop = new AbortController();
  readonly #events: { readonly atMs: number; readonly work: () => void }[] = [];
  readonly #silent = new Set<number>();
  readonly #endings = new Map<number, (end: ProcessEnd) => void>();
  readonly #doomed = new Map<number, ProcessEnd>();
  readonly #ignoringStops = new Set<number>();
  attach: (nodes: readonly SupervisedNode[]) => void = () => undefined;

  constructor(nodes: number, restart: RestartMode = 'always') {
    this.#plans = planDevnet({ nodes, httpPort: 4000, wsPort: 5000, directory: '/d', network });
    this.#restart = restart;
  }

  at(atMs: number, work: () => void): void {
    this.#events.push({ atMs, work });
  }

  silence = (index: number): void => void this.#silent.add(index);
  answerAgain = (index: number): void => void this.#silent.delete(index);
  stop = (): void => this.#stop.abort();
  ignoreStops = (index: number): void => void this.#ignoringStops.add(index);
  heedStops = (index: number): void => void this.#ignoringStops.delete(index);
  end = (index: number, end: ProcessEnd): void => this.#endings.get(index)?.(end);

  /** Ends the node now, and again immediately after every restart. */
  endAtOnce(index: number, end: ProcessEnd): void {
    this.#doomed.set(index, end);
    this.end(index, end);
  }

  absences(index: number): readonly (string | undefined)[] {
    return this.rows.map((rows) =>
      rows[index]?.state === undefined ? (rows[index]?.absence ?? 'starting') : undefined,
    );
  }

  run(untilHeight?: number): Promise<DevnetResult | undefined> {
    return runDevnet({
      nodes: this.#plans,
      network,
      restart: this.#restart,
      screen: { show: (rows) => void this.rows.push(rows), print: (line) => void this.notes.push(line) },
      stop: this.#stop.signal,
      attach: (nodes) => this.attach(nodes),
      ...(untilHeight === undefined ? {} : { untilHeight }),
      parts: {
        start: ({ index }) => this.#process(index),
        client: ({ index }) => this.#client(index),
        nowMs: () => this.nowMs,
        pause: (timeMs) => {
          this.nowMs += timeMs;
          for (const event of [...this.#events]) {
            if (event.atMs > this.nowMs) continue;
            this.#events.splice(this.#events.indexOf(event), 1);
            event.work();
          }
          return Promise.resolve();
        },
      },
    });
  }

  #process(index: number): NodeProcess {
    this.starts[index] = (this.starts[index] ?? 0) + 1;
    let isRunning = true;
    this.running += 1;
    const ended = new Promise<ProcessEnd>((resolve) => {
      this.#endings.set(index, (end) => {
        if (isRunning) this.running -= 1;
        isRunning = false;
        resolve(end);
      });
    });
    const doom = this.#doomed.get(index);
    if (doom !== undefined) this.end(index, doom);
    const node = this.#plans[index];
    if (node === undefined) throw new Error(`no node ${index} is planned`);
    const end = (): void => {
      if (!this.#ignoringStops.has(index)) this.end(index, { reason: 'stopped', exitCode: 0 });
    };
    const kill = (): void => this.end(index, KILLED);
    return { node, pid: 1, ended, isRunning: () => isRunning, stop: end, kill, pause: () => undefined };
  }

  #client(index: number): NodeClient {
    const answer = <T>(value: T): Promise<T> =>
      this.#silent.has(index)
        ? Promise.reject(new ProtocolError('NODE_UNREACHABLE', {}, 'no node answers'))
        : Promise.resolve(value);
    const status = {
      height: 3,
      chainMaxHeightFinalized: 1,
      networkHeight: 3,
      consensus: 100,
      syncing: false,
      transactions: { confirmed: 0, total: 0 },
    };
    const uncalled = (): never => {
      throw new Error('the supervisor does not ask this');
    };
    return {
      status: () => answer(status),
      connectedPeers: () => answer(1),
      delegates: () => answer([]),
      blockId: (height) => answer(height <= 3 ? `${height}` : undefined),
      firstBlocks: uncalled,
      constants: uncalled,
      diagnostics: uncalled,
      peerVerdicts: uncalled,
      digest: uncalled,
    };
  }
}
