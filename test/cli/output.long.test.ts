/** Tests commands whose output cannot be written. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { journalFileOf, openJournal } from '../../src/node/journal-file.ts';
import { CLI_ENTRY, isProblemLine } from '../support/cli.ts';
import { argumentsOf, commandPaths, makeWorkplace, healthyAnswer, type Workplace } from '../support/every-command.ts';
import { freePortRanges } from '../support/ports.ts';

let folder: string;
let workplace: Workplace;
let server: Server;

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-output-'));
  workplace = await makeWorkplace(folder);
  server = createServer((request, response) => {
    request.resume();
    const answer = healthyAnswer(request.url ?? '');
    // A node wraps its answer in an object with the member `data`. The supervisor of a devnet, which answers `/mine`,
    // sends its answer without such an object.
    response.end(JSON.stringify(request.url === '/mine' ? answer : { data: answer }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

test.after.always(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Files and pipes to which no command can write. Each function opens a file descriptor. */
const SINKS = {
  'a full device': () => openSync('/dev/full', 'w'),
  'a pipe whose reader is gone': () => {
    const pipe = join(folder, 'pipe');
    rmSync(pipe, { force: true });
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(pipe, 'w');
    closeSync(reader);
    return writer;
  },
} as const;

interface Ending {
  readonly code: number | null;
  readonly stderr: string;
  /** Folder with the files that the command wrote. */
  readonly fresh: string;
}

/** Runs a command with the descriptor as its standard output. */
async function run(path: string, descriptor: number, more: readonly string[] = []): Promise<Ending> {
  const fresh = mkdtempSync(join(folder, 'fresh-'));
  const node = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const args = argumentsOf(path, workplace, { node, fresh, ports: await freePortRanges(1) }) ?? [];
  const child = spawn(process.execPath, [CLI_ENTRY, ...path.split(' '), ...args, ...more], {
    env: { PATH: process.env['PATH'], HOME: fresh, BLOOMERY_HOME: fresh },
    stdio: ['ignore', descriptor, 'pipe'],
  });
  closeSync(descriptor);
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr: withoutLog(stderr), fresh };
}

/** Removes log lines of a node and progress lines of a command. */
function withoutLog(stderr: string): string {
  return stderr.replace(
    /^(\d\d:\d\d:\d\d\.\d{3} .*|([0-9]+ %, )?(im|ex)porting: .*|([0-9]+ %, )?verifying: .*)\n/gm,
    '',
  );
}

test('the table of commands has a row for every command of the program', (t) => {
  const place = { node: '', fresh: join(folder, 'fresh'), ports: { http: 1, ws: 2 } };
  const missing = commandPaths().filter((path) => argumentsOf(path, workplace, place) === undefined);
  t.deepEqual(missing, []);
});

/**
 * Commands that send a request to a running devnet. The same functions print the output of these commands and of
 * `devnet mine`, so the tests run only `devnet mine`.
 */
const ASKS_DEVNET =
  /^devnet (list|stop|kill|pause|resume|restart|add|instant|on-demand|interval|warp|freeze|snapshots?|revert|fund|impersonate|partition|delay|loss|skew|heal)$/;
/** Commands that need a server or an optional package. `sink clickhouse` uses the output code of `sink parquet`. */
const NEEDS_ENGINE = /^(sink clickhouse|query)$/;
const representatives = commandPaths().filter((path) => !ASKS_DEVNET.test(path) && !NEEDS_ENGINE.test(path));

for (const [sink, open] of Object.entries(SINKS)) {
  for (const path of representatives) {
    test.serial(`${path} fails with one error line when its output is ${sink}`, async (t) => {
      const { code, stderr } = await run(path, open());
      t.is(code, 1, stderr);
      t.true(isProblemLine(stderr), stderr);
      t.regex(stderr, /^bloomery: the standard output cannot be written: /);
      t.false(stderr.includes('--data-dir'), stderr);
    });
  }

  test.serial(`--help fails with one error line when its output is ${sink}`, async (t) => {
    const { code, stderr } = await run('version', open(), ['--help']);
    t.is(code, 1);
    t.true(isProblemLine(stderr), stderr);
  });

  test.serial(`a signing record stays moved, and the error says so, when the export went to ${sink}`, async (t) => {
    const { fresh, stderr } = await run('forging export', open());
    t.regex(stderr, /this node does not sign for its delegates any more: export them again, to a file/);
    const journal = openJournal(journalFileOf(join(fresh, 'data', 'made')));
    t.teardown(() => journal.close());
    t.deepEqual(
      journal.delegates().map((key) => journal.movedAtS(key) !== undefined),
      [true],
    );
  });

  test.serial(`a passphrase file stays and is named when the address went to ${sink}`, async (t) => {
    const file = join(mkdtempSync(join(folder, 'keys-')), 'passphrase');
    const { code, stderr } = await run('keys create', open(), ['--out', file]);
    t.is(code, 1);
    t.true(stderr.includes(`the passphrase is in ${file}`), stderr);
    t.is(readFileSync(file, 'utf8').trim().split(' ').length, 12);
  });
}

/** Commands that run nodes. Other tests check these commands with a writable output. */
const NODES: ReadonlySet<string> = new Set(['start', 'devnet', 'devnet run']);
for (const path of representatives.filter((each) => !NODES.has(each))) {
  test.serial(`${path} succeeds when its output can be written`, async (t) => {
    const { code, stderr } = await run(path, openSync(join(folder, 'stdout'), 'w'));
    // The command `doctor` ends with code 1. It checks a chain and a node, and reports that they belong to different
    // networks.
    t.is(code, path === 'doctor' ? 1 : 0, stderr);
    t.false(stderr.startsWith('bloomery: '), stderr);
  });
}
