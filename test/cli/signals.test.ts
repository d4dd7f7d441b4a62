/** Tests the output and the files that a node or a command leaves when a signal ends the process. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { LAYOUT_VERSION } from '../../src/store/tables/layout.ts';
import { CLI_ENTRY } from '../support/cli.ts';
import { makeWorkplace, type Workplace } from '../support/every-command.ts';
import { startOneNode } from '../support/one-node.ts';
import { freePort } from '../support/ports.ts';
import { readerPidsOf } from '../support/reader-pids.ts';

const ATTEMPTS = 10;
/**
 * The test pauses a reading process (a child process that answers HTTP requests for the node). If the reading process
 * was ready before the pause, the node starts within this time after the pause.
 */
const SETTLED_MS = 1_000;

let folder: string;
let work: Workplace;

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-signals-'));
  work = await makeWorkplace(folder);
});
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

for (const [signal, code] of [
  ['SIGTERM', 0],
  ['SIGINT', 0],
  ['SIGHUP', 0],
  ['SIGQUIT', 0],
  ['SIGUSR2', 1],
  ['SIGXCPU', 1],
  ['SIGPWR', 1],
] as const) {
  test.serial(`${signal} stops a node cleanly, and the log names the signal`, async (t) => {
    const log = join(folder, `${signal}.log`);
    const node = await startOneNode(t, {
      network: work.network,
      fixedPeers: [],
      config: { log: { file: log, format: 'json' } },
      flags: ['--no-peers'],
    });
    node.process.kill(signal);
    t.deepEqual(await node.ended, [code, null]);
    const lines = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { code: string; data?: { by?: string } });
    t.deepEqual(
      lines.filter(({ code: name }) => /^NODE_STOP/.test(name)).map(({ code: name, data }) => [name, data?.by]),
      [
        ['NODE_STOPPING', signal],
        ['NODE_STOPPED', signal],
      ],
    );
  });
}

test.serial('a signal during the start ends a node whose reading process hangs', async (t) => {
  t.timeout(300_000);
  const log = join(folder, 'starting.log');
  const printed = join(folder, 'starting.err');
  const config = join(folder, 'starting.json');
  const settings = { log: { file: log, format: 'json' }, http: { port: await freePort(), processes: 1 } };
  writeFileSync(config, JSON.stringify(settings));
  const args = ['start', '--network', work.network, '--data-dir', join(folder, 'starting'), '--config', config];
  const hasStarted = (): boolean => readFileSync(log, 'utf8').includes('"NODE_STARTED"');
  /**
   * Starts a node and pauses its reading process (a child process that answers HTTP requests for the node) before the
   * reading process is ready.
   */
  const startPaused = async (): Promise<ChildProcess> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      rmSync(log, { force: true });
      // Standard error is a file. If it were a pipe, the paused reading process (a child process that answers HTTP
      // requests for the node) would keep the pipe open after the end of the node.
      const output = openSync(printed, 'w');
      const node = spawn(process.execPath, [CLI_ENTRY, ...args, '--no-peers'], { stdio: ['ignore', 'ignore', output] });
      closeSync(output);
      t.teardown(() => node.kill('SIGKILL'));
      let reader: number | undefined;
      while (reader === undefined && node.exitCode === null) {
        [reader] = readerPidsOf(node.pid);
        await sleep(1);
      }
      if (reader === undefined) throw new Error(`the node ended: ${readFileSync(printed, 'utf8')}`);
      const paused = reader;
      process.kill(paused, 'SIGSTOP');
      t.teardown(() => killIfRunning(paused));
      await sleep(SETTLED_MS);
      if (!hasStarted()) return node;
      // The reading process (a child process that answers HTTP requests for the node) was ready before its pause.
      killIfRunning(paused);
      const ended = once(node, 'exit');
      node.kill('SIGKILL');
      await ended;
    }
    throw new Error('no reading process could be paused in time');
  };
  const node = await startPaused();
  const ended = once(node, 'exit');
  const sentMs = performance.now();
  node.kill('SIGINT');
  t.deepEqual(await ended, [1, null]);
  t.true(performance.now() - sentMs < 18_000, 'before the hanging reader is killed');
  t.regex(readFileSync(printed, 'utf8'), /^bloomery: the node did not stop in time and was ended$/m);
  t.regex(readFileSync(log, 'utf8'), /"code":"NODE_STOPPING".*"by":"SIGINT"/);
});

test.serial('a restore that a signal ends leaves no files and says so', async (t) => {
  const nethash = JSON.parse(readFileSync(join(work.network, 'genesis.json'), 'utf8')).payloadHash as string;
  const file = join(folder, 'long.snapshot');
  const value = randomBytes(16 * 1024 * 1024);
  const sizes = Buffer.from([0, 1, 1, 1, 0, 0, 0]);
  const entries = Array.from({ length: 20 }, (_, index) => {
    const head = Buffer.from(sizes);
    head.writeUInt16BE(1, 0);
    head[2] = 1 + index;
    head.writeUInt32BE(value.length, 3);
    return Buffer.concat([head, value]);
  });
  const manifest = `${JSON.stringify({ format: 'bloomery-snapshot-1', nethash, layout: LAYOUT_VERSION, network: 'x' })}\n`;
  writeFileSync(file, gzipSync(Buffer.concat([Buffer.from(manifest), ...entries]), { level: 0 }));
  const data = join(folder, 'restored');
  const args = ['snapshot', 'restore', file, '--network', work.network, '--data-dir', data];
  const child = spawn(process.execPath, [CLI_ENTRY, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const draft = join(data, 'made', '.restore', 'chain', 'data.mdb');
  while (child.exitCode === null && !existsSync(draft)) await sleep(2);
  child.kill('SIGTERM');
  t.deepEqual(await once(child, 'close'), [1, null]);
  t.is(stderr, 'bloomery: stopped by SIGTERM; its temporary files were removed\n');
  t.deepEqual(readdirSync(join(data, 'made')), []);
});

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended already.
  }
}
