/**
 * Starts two nodes on one data folder in separate process namespaces. The test pauses the first node, and makes the
 * lock file of this node look old, as after a long pause. The test then starts the second node, and resumes the first.
 * At the end, exactly one node must run and forge. The command `node dist/test/chaos/paused-container.js [times]`
 * repeats the test `times` times (default: 20). The command requires permission to create namespaces.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLI_ENTRY } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { freePortRanges } from '../support/ports.ts';

const TIMES = Number(process.argv[2] ?? 20);
const START_MS_MAX = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'bloomery-paused-'));

try {
  for (let time = 1; time <= TIMES; time += 1) console.log(`${time}: ${await runOnce(time)}`);
  console.log(`${TIMES} times exactly one node ran and forged in the end`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

interface Node {
  readonly outer: ChildProcess;
  readonly url: string;
  text(): string;
  isGone(): boolean;
}

/** Runs the test once: pauses the first node and starts the second. @returns which node continued */
async function runOnce(time: number): Promise<string> {
  const data = join(folder, `data-${time}`);
  const nodes: Node[] = [];
  try {
    const first = await start(data, nodes);
    await height(first, 1);
    const pid = innerPid(first);
    // A node updates the modification time of its lock file every five seconds. For a process in another namespace, the
    // lock file is stale if its time is more than half a minute old and no process listens on its socket. The test
    // gives the lock file an old time, so that the test need not wait for half a minute.
    process.kill(pid, 'SIGSTOP');
    ageLockFiles(join(data, 'devnet'));
    const second = await start(data, nodes);
    await waitFor(
      'a word of the second node',
      async () => {
        if (second.isGone()) return true;
        return (await fetch(second.url)).ok;
      },
      START_MS_MAX,
    );
    process.kill(pid, 'SIGCONT');
    await sleep(3000);
    const running = nodes.filter((node) => !node.isGone());
    if (running.length !== 1)
      throw new Error(`${running.length} nodes run: ${nodes.map((node) => node.text()).join('\n---\n')}`);
    const [one] = running as [Node];
    const before = await height(one, 1);
    await height(one, before + 2);
    return `the ${one === first ? 'first' : 'second'} goes on; the other reported: ${(one === first ? second : first).text().trim().split('\n').at(-1)}`;
  } finally {
    for (const node of nodes) {
      if (node.isGone()) continue;
      const ended = once(node.outer, 'exit');
      process.kill(innerPid(node), 'SIGKILL');
      await ended;
    }
  }
}

async function start(data: string, nodes: Node[]): Promise<Node> {
  const { http, ws } = await freePortRanges(1);
  const config = join(folder, `config-${http}.json`);
  writeFileSync(
    config,
    JSON.stringify({
      forging: { force: true, defaultPassword: 'elephant tree paris dragon chair galaxy' },
      verifier: { threads: 0 },
    }),
  );
  const args = [
    'start',
    '--network',
    'devnet',
    '--data-dir',
    data,
    '--no-peers',
    '--config',
    config,
    '--http-port',
    `${http}`,
    '--ws-port',
    `${ws}`,
  ];
  const outer = spawn('unshare', ['--pid', '--fork', '--mount-proc', process.execPath, CLI_ENTRY, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [outer.stdout, outer.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  const node = {
    outer,
    url: `http://127.0.0.1:${http}`,
    text: () => text,
    isGone: () => outer.exitCode !== null || outer.signalCode !== null,
  };
  nodes.push(node);
  return node;
}

/**
 * Process id of the node, as seen from the outer namespace. The node is the child of `outer`, a process of `unshare`.
 */
function innerPid({ outer }: Node): number {
  return Number(readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').trim());
}

function ageLockFiles(directory: string): void {
  const old = new Date(Date.now() - 60_000);
  for (const entry of readdirSync(directory, { recursive: true, encoding: 'utf8' }))
    if (/in-use\./.test(entry)) utimesSync(join(directory, entry), old, old);
}

/** Resolves with the height of the node when the node has reached the given height. */
function height(node: Node, atLeast: number): Promise<number> {
  return waitFor(
    `height ${atLeast}: ${node.text().slice(-500)}`,
    async () => {
      const { data } = (await (await fetch(`${node.url}/api/node/status`)).json()) as { data: { height: number } };
      if (data.height < atLeast) throw new Error(`height ${data.height}`);
      return data.height;
    },
    START_MS_MAX,
  );
}
