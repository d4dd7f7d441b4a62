/**
 * Tests the watchdog with running nodes. The module `harmful-part.ts` makes such a node leak memory, fill its heap, or
 * block its event loop. The watchdog must end the node, and the last line of the node's output must name the reason. If
 * the node belongs to a devnet, the supervisor must then start it again.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { EXIT } from '../../../src/cli/error-lines.ts';
import { nodeClient, type NodeClient } from '../../../src/cli/node-client.ts';
import { CLI_ENTRY } from '../../support/cli.ts';
import { waitFor } from '../../support/devnet.ts';
import { temporaryFolder } from '../../support/network-folder.ts';
import { freePortRanges } from '../../support/ports.ts';

const HARMFUL_PART = new URL('../../support/harmful-part.js', import.meta.url).href;
/**
 * Longest time that a test waits for the start or the end of a node. The time is long, because nodes are slow on a busy
 * machine.
 */
const END_MS_MAX = 120_000;
const BLOCKED_MAX_S = 2;

test.serial('a node with a memory leak ends with the documented code and the reason', async (t) => {
  // Disable the limit for a blocked event loop. Otherwise the watchdog might end the node for this reason, because the
  // event loop may hang on a slow machine while the memory fills.
  const { node, output, inflict } = await startNode(t, { BLOOMERY_WATCHDOG_BLOCKED_MAX_S: '0' });
  inflict('leak');
  t.deepEqual(await endOf(node), { code: EXIT.unhealthy, signal: null }, output());
  t.regex(output(), /MEMORY_LIMIT_EXCEEDED/);
  t.regex(lastLine(output()), /^bloomery: the node ended itself: \d+ MB of memory exceeded the limit of 1280 MB/);
});

test.serial('a node whose heap fills up without a pause ends by the documented signal and logs why', async (t) => {
  const log = join(temporaryFolder(t), 'node.log');
  const { node, output, inflict } = await startNode(t, {
    BLOOMERY_LOG_FILE: log,
    BLOOMERY_LOG_FORMAT: 'json',
    BLOOMERY_WATCHDOG_BLOCKED_MAX_S: '0',
  });
  inflict('fill');
  t.deepEqual(await endOf(node), { code: null, signal: 'SIGALRM' }, output());
  t.regex(lastLine(output()), /^bloomery: the node ended itself: \d+ MB of memory exceeded the limit of 1280 MB/);
  const last = JSON.parse(lastLine(readFileSync(log, 'utf8'))) as { code: string; level: string; module: string };
  t.like(last, { level: 'error', module: 'watchdog', code: 'MEMORY_LIMIT_EXCEEDED' });
});

test.serial('a node whose event loop hangs ends by the documented signal and logs why', async (t) => {
  const { node, output, inflict } = await startNode(t);
  inflict('block');
  t.deepEqual(await endOf(node), { code: null, signal: 'SIGALRM' }, output());
  t.regex(lastLine(output()), /^bloomery: the node ended itself: the event loop was blocked for 2\.\d s/);
});

test.serial('a node that was paused for longer than its limit continues', async (t) => {
  const { node, client, output } = await startNode(t);
  for (let times = 0; times < 2; times += 1) {
    node.kill('SIGSTOP');
    await sleep(3 * BLOCKED_MAX_S * 1000);
    node.kill('SIGCONT');
    await waitFor('the node', () => client.status(), END_MS_MAX);
    await sleep(2 * BLOCKED_MAX_S * 1000);
  }
  await client.status();
  t.is(node.exitCode, null, output());
  node.kill('SIGTERM');
  t.deepEqual(await endOf(node), { code: 0, signal: null });
});

test.serial('the supervisor of a devnet restarts a node whose heap was full', async (t) => {
  t.timeout(3 * END_MS_MAX);
  const data = temporaryFolder(t);
  const ports = await freePortRanges(2);
  const flags = ['--nodes', '2', '--delegates', '4', '--data-dir', data];
  const place = ['--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`];
  const harmFile = join(data, 'harm');
  const supervisor = spawn(process.execPath, [CLI_ENTRY, 'devnet', ...flags, ...place], {
    env: environment({ HARM_FILE: harmFile, HARM_IN: 'node-1' }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => supervisor.kill('SIGKILL'));
  const output = gathered(supervisor);
  const lost = (): string | undefined => (supervisor.exitCode === null ? undefined : output());
  const printed = (what: RegExp) =>
    waitFor(String(what), () => Promise.resolve(what.test(output())), END_MS_MAX, lost).catch((error: unknown) => {
      throw new Error(output(), { cause: error });
    });
  await printed(/2 of 2 nodes answer/);
  writeFileSync(harmFile, 'fill');
  // The nodes of this devnet use the default limits, so the watchdog may end node 1 for one of two reasons. The memory
  // of the node may exceed its limit. On a slow machine, filling the heap may first block the event loop for longer
  // than `watchdog.blockedMaxS`.
  await printed(
    /node 1 ended: the node ended itself: (\d+ MB of memory|the event loop was blocked) .*: started again in 1 s/,
  );
  await printed(/node 1 is started again/);
  const client = nodeClient(`http://127.0.0.1:${ports.http + 1}`);
  const height = await waitFor('the node', async () => (await client.status()).height, END_MS_MAX, lost);
  await waitFor('more blocks', async () => (await client.status()).height > height + 2, END_MS_MAX, lost);
  const ended = once(supervisor, 'exit');
  supervisor.kill('SIGTERM');
  t.deepEqual(await ended, [0, null]);
});

interface Running {
  readonly node: ChildProcess;
  readonly client: NodeClient;
  readonly output: () => string;
  /**
   * Makes the module `test/support/harmful-part.ts` in the node leak memory, fill the heap, or block the event loop.
   */
  inflict(how: 'leak' | 'fill' | 'block'): void;
}

/** Starts a single node. Its memory limit is the smallest value that the option `memory.limitMb` accepts. */
async function startNode(t: ExecutionContext, variables: Readonly<Record<string, string>> = {}): Promise<Running> {
  t.timeout(3 * END_MS_MAX);
  const { http } = await freePortRanges(1);
  const harmFile = join(temporaryFolder(t), 'harm');
  const flags = ['--http-port', `${http}`, '--no-peers', '--no-forging', '--data-dir', temporaryFolder(t)];
  const node = spawn(process.execPath, [CLI_ENTRY, 'start', '--network', 'devnet', ...flags], {
    env: {
      ...environment({ HARM_FILE: harmFile }),
      BLOOMERY_MEMORY_LIMIT_MB: '1280',
      BLOOMERY_WATCHDOG_BLOCKED_MAX_S: `${BLOCKED_MAX_S}`,
      ...variables,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.teardown(() => node.kill('SIGKILL'));
  const output = gathered(node);
  const client = nodeClient(`http://127.0.0.1:${http}`);
  await waitFor(
    'the node',
    () => client.status(),
    END_MS_MAX,
    () => (node.exitCode === null && node.signalCode === null ? undefined : output()),
  );
  return { node, client, output, inflict: (how) => void writeFileSync(harmFile, how) };
}

/**
 * Returns the environment variables of a node. They set V8's heap limit above the memory limit of the node, so that the
 * watchdog ends the node before V8 does.
 */
function environment(variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const options = `--max-old-space-size=6000 --import ${HARMFUL_PART}`;
  return { ...process.env, ...variables, NODE_OPTIONS: options };
}

function gathered(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (more: string) => (text += more));
  }
  return () => text;
}

async function endOf(node: ChildProcess): Promise<{ readonly code: number | null; readonly signal: string | null }> {
  if (node.exitCode === null && node.signalCode === null) await once(node, 'close');
  return { code: node.exitCode, signal: node.signalCode };
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}
