/** A node of `bloomery start` always uses the clock of the machine. No other process can change the node's clock. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { nodeClient } from '../../src/cli/node-client.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { freePortRanges } from '../support/ports.ts';
import type { Untyped } from '../support/untyped.ts';

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url));
const START_MS_MAX = 150_000;
const YEAR_MS = 365 * 24 * 3600 * 1000;

/** Files of the build that a file imports directly or indirectly, including the file itself. */
function loadedBy(file: string, found = new Set<string>()): ReadonlySet<string> {
  // In a bundled package, a comment may look like an import of a file that does not exist.
  if (found.has(file) || !existsSync(file)) return found;
  found.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, path = ''] of text.matchAll(/(?:\bfrom |\bimport |\bimport\()["'](\.{1,2}\/[^"'\n]*)["']/g)) {
    loadedBy(resolve(dirname(file), path), found);
  }
  return found;
}

test('the modules of bloomery start cannot move a clock, answer an agent, fake a signature or cut a link', (t) => {
  const loaded = [...loadedBy(resolve(SOURCES, 'cli/commands/start.js'))].map((file) => file.slice(SOURCES.length + 1));
  t.true(loaded.length > 200, 'the imports were read');
  t.true(loaded.includes('node/node.js'));
  t.deepEqual(
    loaded.filter((file) => file.startsWith('cli/devnet/') || file === 'node/movable-clock.js'),
    [],
  );
  const agent = [...loadedBy(resolve(SOURCES, 'cli/devnet/agent-program.js'))];
  for (const file of [
    'node/movable-clock.js',
    ...['faulty-transport', 'impersonation', 'fork/substitute-key'].map((name) => `cli/devnet/${name}.js`),
  ]) {
    t.true(agent.includes(resolve(SOURCES, file)), `the agent loads ${file}`);
  }
});

test('the packaged programs separate these modules, too', (t) => {
  const bundle = resolve(SOURCES, 'bundle');
  const sourcesOf = (files: Iterable<string>): readonly string[] =>
    [...files].flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/^\/\/ (src\/.*)$/gm)].map(([, name = '']) => name),
    );
  const entry = readdirSync(bundle).find((name) => {
    return (
      name.endsWith('.js') && readFileSync(resolve(bundle, name), 'utf8').includes('\n// src/cli/commands/start.ts\n')
    );
  });
  const loaded = sourcesOf(loadedBy(resolve(bundle, entry ?? 'none')));
  t.true(loaded.length > 200, 'the sources were read');
  t.true(loaded.includes('src/node/node.ts'));
  t.deepEqual(
    loaded.filter((name) => name.startsWith('src/cli/devnet/') || name === 'src/node/movable-clock.ts'),
    [],
  );
  // The agent program (`agent-program.js`, the program of a devnet node) is minified, so it lacks the comments that
  // name the sources. Its source map lists the sources.
  const { sources } = JSON.parse(readFileSync(resolve(bundle, 'agent-program.js.map'), 'utf8')) as {
    sources: string[];
  };
  const agent = sources.map((source) => source.replace(/^.*\/(src\/.*)$/, '$1'));
  for (const name of ['node/movable-clock', 'cli/devnet/faulty-transport', 'cli/devnet/fork/substitute-key'].map(
    (each) => `src/${each}.ts`,
  )) {
    t.true(agent.includes(name), `the agent loads ${name}`);
  }
});

test('a node of bloomery start accepts no controls from its parent process or at its HTTP port', async (t) => {
  t.timeout(300_000);
  const { http, ws } = await freePortRanges(1);
  const flags = ['--http-port', `${http}`, '--ws-port', `${ws}`, '--no-peers', '--data-dir', temporaryFolder(t)];
  // A devnet starts its nodes as child processes with an IPC channel and with `BLOOMERY_SUPERVISED`. This child process
  // also has both, but runs `bloomery start` instead of the program of a devnet node.
  const node = fork(CLI_ENTRY, ['start', '--network', 'devnet', ...flags], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { ...process.env, BLOOMERY_SUPERVISED: '1' },
  });
  t.teardown(() => node.kill('SIGKILL'));
  const answers: unknown[] = [];
  node.on('message', (message) => answers.push(message));
  const setting = { kind: 'running', aheadMs: YEAR_MS };
  const requests = [
    { op: 'set', setting, isHeld: false },
    { op: 'state' },
    { op: 'forge' },
    { op: 'faults', faults: { links: [{ wsPort: 5000, isCut: true, delayMs: 0, loss: 0 }], skewMs: YEAR_MS } },
    { op: 'impersonate', address: '1L' },
    { op: 'snapshot', directory: '/tmp/none' },
  ];
  // The test sends one request before the node has started. It sends the other requests after the start.
  node.send({ op: 'set', setting, isHeld: false });
  const client = nodeClient(`http://127.0.0.1:${http}`);
  await waitFor('the node', () => client.status(), START_MS_MAX);
  for (const [number, request] of requests.entries()) {
    node.send(request);
    node.send({ number, request });
  }
  for (const path of [
    'mine',
    'warp',
    'freeze',
    'impersonate',
    'snapshot',
    'partition',
    'skew',
    'api/mine',
    'api/node/warp',
  ]) {
    const body = JSON.stringify({ slots: 1, to: '1y', name: 'a', address: '1L' });
    const headers = { 'content-type': 'application/json' };
    const { status } = await fetch(`http://127.0.0.1:${http}/${path}`, { method: 'POST', body, headers });
    t.true(status === 404 || status === 405, `${path}: ${status}`);
  }
  const response = await fetch(`http://127.0.0.1:${http}/api/node/status`);
  const { data } = (await response.json()) as Untyped;
  t.true(Math.abs(data.currentTime - Date.now()) < 60_000);
  t.is(data.height, 1);
  t.deepEqual(answers, []);
  const ended = once(node, 'exit');
  node.kill('SIGTERM');
  t.deepEqual(await ended, [0, null]);
});

test('the program of a devnet node does not run without a supervisor', async (t) => {
  const { spawn } = await import('node:child_process');
  const child = spawn(process.execPath, [resolve(SOURCES, 'cli/devnet/agent-program.js'), 'a', 'b', 'c']);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number];
  t.is(code, 2);
  t.regex(stderr, /^bloomery: .* is started by that command alone\n$/);
});
