import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { watchdogIntervalMs } from '../../src/cli/systemd.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import { waitFor } from '../support/devnet.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { freePortRanges } from '../support/ports.ts';

const START_MS_MAX = 100_000;

test("the keep-alive interval is a third of the watchdog's, and only the process that systemd names sends", (t) => {
  t.is(watchdogIntervalMs({ WATCHDOG_USEC: '90000000' }, 7), 30_000);
  t.is(watchdogIntervalMs({ WATCHDOG_USEC: '90000000', WATCHDOG_PID: '7' }, 7), 30_000);
  t.is(watchdogIntervalMs({ WATCHDOG_USEC: '90000000', WATCHDOG_PID: '8' }, 7), undefined);
  t.is(watchdogIntervalMs({}, 7), undefined);
  t.is(watchdogIntervalMs({ WATCHDOG_USEC: '0' }, 7), undefined);
  t.is(watchdogIntervalMs({ WATCHDOG_USEC: 'soon' }, 7), undefined);
});

test.serial('a node under systemd reports ready, sends keep-alives, and reports that it stops', async (t) => {
  const data = temporaryFolder(t);
  const heard = join(data, 'heard');
  const tools = join(data, 'tools');
  mkdirSync(tools);
  // This script replaces the program `systemd-notify` and records its arguments, which are the messages for systemd.
  writeFileSync(join(tools, 'systemd-notify'), `#!/bin/sh\necho "$@" >> '${heard}'\n`);
  chmodSync(join(tools, 'systemd-notify'), 0o755);
  const path = [tools, process.env['PATH']].join(delimiter);
  await run(t, data, { PATH: path, NOTIFY_SOCKET: join(data, 'socket') }, () =>
    existsSync(heard) ? readFileSync(heard, 'utf8') : '',
  );
  const lines = (): readonly string[] => readFileSync(heard, 'utf8').trimEnd().split('\n');
  // The program that sends the last message may end after the node.
  await waitFor('the last message', () => Promise.resolve(lines().includes('STOPPING=1')), START_MS_MAX);
  t.is(lines()[0], 'READY=1');
  t.deepEqual(new Set(lines()), new Set(['READY=1', 'WATCHDOG=1', 'STOPPING=1']));
});

test.serial('a message that the node sends through systemd-notify arrives at the socket of systemd', async (t) => {
  // This test needs systemd and Python. On a machine that lacks one of them, only the previous test checks the
  // messages.
  const missing = ['systemd-notify', 'python3'].filter((name) => spawnSync(name, ['--version']).error !== undefined);
  if (missing.length > 0) {
    t.pass(`this machine has no ${missing.join(' and ')}`);
    return;
  }
  const data = temporaryFolder(t);
  const socket = join(data, 'socket');
  const listener = spawn('python3', ['-u', '-c', LISTENER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => listener.kill('SIGKILL'));
  let heard = '';
  listener.stdout.setEncoding('utf8').on('data', (text: string) => (heard += text));
  await waitFor('the listener', () => Promise.resolve(existsSync(socket)), START_MS_MAX);
  await run(t, data, { NOTIFY_SOCKET: socket }, () => heard);
  t.regex(heard, /^READY=1/m);
  t.regex(heard, /^WATCHDOG=1/m);
});

/**
 * Receives datagrams. Some datagrams contain file descriptors. The listener closes these descriptors, because the
 * sender waits for the close.
 */
const LISTENER = `
import os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
while True:
    data, fds, _, _ = socket.recv_fds(server, 4096, 8)
    print(data.decode(), flush=True)
    for fd in fds: os.close(fd)
`;

/** Runs a node until it has sent two keep-alives, then stops it. */
async function run(
  t: ExecutionContext,
  data: string,
  variables: Readonly<Record<string, string>>,
  heard: () => string,
): Promise<void> {
  t.timeout(3 * START_MS_MAX);
  const { http } = await freePortRanges(1);
  const flags = ['--http-port', `${http}`, '--no-peers', '--no-forging', '--data-dir', data];
  const node = spawn(process.execPath, [CLI_ENTRY, 'start', '--network', 'devnet', ...flags], {
    env: { ...process.env, WATCHDOG_USEC: '900000', ...variables },
    stdio: 'ignore',
  });
  t.teardown(() => node.kill('SIGKILL'));
  const lost = (): string | undefined => (node.exitCode === null ? undefined : `the node ended: ${node.exitCode}`);
  const isAlive = (): boolean => heard().split('WATCHDOG=1').length > 2;
  await waitFor('two signs of life', () => Promise.resolve(isAlive()), START_MS_MAX, lost);
  const ended = once(node, 'exit');
  node.kill('SIGTERM');
  t.deepEqual(await ended, [0, null]);
}
