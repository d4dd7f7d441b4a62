/** Runs `bloomery sink` and `bloomery query` as processes, as a user runs the two commands. */

import test from 'ava';
import { execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeSinkLock } from '../../src/cli/sink/sink-lock.ts';
import { ParquetSink } from '../../src/sinks/parquet/parquet-sink.ts';
import { chdbFolder } from '../analytics/engines.ts';
import { madeChain, locationIn, storeChain, writeNetworkFolder } from '../support/chain-folder.ts';
import { CLI_ENTRY, isProblemLine, runCli } from '../support/cli.ts';
import { blocksOf, IDENTITY, putRange } from './contract.ts';

const HEIGHT = 34;
const chdb = chdbFolder();

let folder: string;
let data: readonly string[];

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-sink-'));
  const { network, blocks } = madeChain(HEIGHT);
  await storeChain(locationIn(join(folder, 'data'), network), blocks);
  data = ['--data-dir', join(folder, 'data'), '--network', writeNetworkFolder(join(folder, 'network'), network)];
});

test.after.always(() => rmSync(folder, { recursive: true, force: true }));

test('bloomery sink parquet writes the chain of a folder and continues where it stopped', async (t) => {
  const sink = join(folder, 'files');
  const args = ['sink', 'parquet', sink, ...data, '--once', '--range-blocks', '10'];
  const first = await runCli(args);
  t.is(first.code, 0, first.stderr);
  t.regex(first.stdout, /^live: height 34, ranges up to 0, [0-9]+ rows written\n$/);
  t.is(readdirSync(join(sink, 'tail')).length, HEIGHT);
  const second = await runCli([...args, '--json']);
  t.is(second.code, 0, second.stderr);
  t.deepEqual(JSON.parse(second.stdout.trim().split('\n').at(-1) ?? ''), {
    phase: 'live',
    height: HEIGHT,
    finalHeight: 0,
    rows: 0,
  });
  const other = await runCli([...args.slice(0, -1), '20']);
  t.is(other.code, 1);
  t.true(isProblemLine(other.stderr), other.stderr);
  t.true(other.stderr.includes(`${sink} was created with --range-blocks 10, and not 20: `), other.stderr);
  t.regex(other.stderr, /: start the command with --range-blocks 10, or name another sink/);
});

test('a sink that follows a chain without new blocks prints the height that it has reached', async (t) => {
  const sink = join(folder, 'idle');
  const child = spawn(process.execPath, [CLI_ENTRY, 'sink', 'parquet', sink, ...data], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let printed = '';
  for await (const text of child.stderr.setEncoding('utf8') as AsyncIterable<string>) {
    printed += text;
    if (printed.includes('\n')) child.kill('SIGTERM');
  }
  t.regex(printed, /^live: height 34, ranges up to 0, [0-9]+ rows written\n$/);
});

test('a chain of another network creates no sink, so the command works after its flags are corrected', async (t) => {
  const sink = join(folder, 'mistaken');
  const wrong = writeNetworkFolder(join(folder, 'other-network'), madeChain(1, { accounts: 3 }).network);
  const refused = await runCli([
    'sink',
    'parquet',
    sink,
    '--data-dir',
    join(folder, 'data'),
    '--network',
    wrong,
    '--once',
  ]);
  t.is(refused.code, 1);
  t.true(isProblemLine(refused.stderr), refused.stderr);
  t.false(existsSync(sink));
  const { code, stderr } = await runCli(['sink', 'parquet', sink, ...data, '--once']);
  t.is(code, 0, stderr);
});

test("a folder that cannot be written is refused with a remedy for the sink, not for the node's folder", async (t) => {
  const file = join(folder, 'a-file');
  writeFileSync(file, '');
  for (const sink of [file, join(file, 'below')]) {
    const { code, stderr } = await runCli(['sink', 'parquet', sink, ...data, '--once']);
    t.is(code, 1);
    t.true(isProblemLine(stderr), stderr);
    t.true(stderr.startsWith(`bloomery: the folder ${sink} cannot be written (E`), stderr);
    t.notRegex(stderr, /--data-dir/);
  }
});

if (chdb === undefined) {
  test('without chdb (skipped: answers) bloomery query says how to install it', async (t) => {
    const sink = join(folder, 'unasked');
    t.is((await runCli(['sink', 'parquet', sink, ...data, '--once'])).code, 0);
    const { code, stderr } = await runCli(['query', 'SELECT 1', '--from', sink]);
    t.is(code, 1);
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, /npm install chdb/);
  });
} else {
  test('bloomery query answers over the files of a sink, with exact 64-bit numbers', async (t) => {
    const sink = join(folder, 'asked');
    const written = await runCli(['sink', 'parquet', sink, ...data, '--once', '--range-blocks', '10']);
    t.is(written.code, 0, written.stderr);
    const sql = 'SELECT max(height) AS height, count() AS blocks, groupBitXor(id) AS ids FROM blocks';
    const ask = ['--from', sink, '--engine', chdb];
    const { code, stdout, stderr } = await runCli(['query', sql, ...ask, '--json']);
    t.is(code, 0, stderr);
    const [row] = (JSON.parse(stdout) as { data: readonly Record<string, unknown>[] }).data;
    t.deepEqual([row?.['height'], row?.['blocks']], [HEIGHT, `${HEIGHT}`]);
    t.is(typeof row?.['ids'], 'string');
    const file = join(folder, 'volume.parquet');
    const stored = await runCli([
      'query',
      `SELECT * FROM volume_per_day INTO OUTFILE '${file}' FORMAT Parquet`,
      ...ask,
    ]);
    t.is(stored.code, 0, stored.stderr);
    t.is(readFileSync(file).toString('latin1', 0, 4), 'PAR1');
    const refused = await runCli(['query', 'SELECT nothing', ...ask]);
    t.is(refused.code, 1);
    t.true(isProblemLine(refused.stderr), refused.stderr);
  });

  test('a query during which the sink writes a range has all blocks of one moment', async (t) => {
    const [before, after] = [join(folder, 'before-range'), join(folder, 'after-range')];
    for (const [place, ranges] of [
      [before, 1],
      [after, 2],
    ] as const) {
      const sink = new ParquetSink(place, takeSinkLock);
      await sink.begin(IDENTITY);
      for (let number = 1; number <= ranges; number += 1) await putRange(sink, number);
      await sink.putTail(blocksOf(ranges * 10 + 1, 24));
      await sink.end();
    }
    // This engine creates the views, then changes the files of the sink, and then runs the query. The changes are the
    // same as when a sink writes a range at this moment.
    const project = join(folder, 'engine-with-sink');
    mkdirSync(join(project, 'node_modules', 'chdb'), { recursive: true });
    writeFileSync(
      join(project, 'node_modules', 'chdb', 'index.js'),
      `const { cpSync, readdirSync, rmSync } = require('node:fs');
       const { Session } = require(${JSON.stringify(join(chdb, 'node_modules', 'chdb'))});
       exports.Session = class extends Session {
         query(sql, format) {
           if (sql.startsWith('SELECT')) {
             cpSync('${after}/ranges', '${before}/ranges', { recursive: true });
             const left = readdirSync('${after}/tail');
             for (const name of readdirSync('${before}/tail'))
               if (!left.includes(name)) rmSync('${before}/tail/' + name, { recursive: true });
           }
           return super.query(sql, format);
         }
       };`,
    );
    const sql = 'SELECT count(), max(height) FROM blocks FORMAT CSV';
    const { stdout, stderr } = await runCli(['query', sql, '--from', before, '--engine', project]);
    t.is(stdout, '24,24\n', stderr);
  });

  test('bloomery query reads no sink in a folder beside its own', async (t) => {
    t.is((await runCli(['sink', 'parquet', join(folder, 'a[1]'), ...data, '--once'])).code, 0);
    for (const name of ['a-1-', 'a,1,', 'a*']) cpSync(join(folder, 'a[1]'), join(folder, name), { recursive: true });
    symlinkSync(join(folder, 'a*'), join(folder, 'link'));
    const ask = (name: string) =>
      runCli(['query', 'SELECT count() FROM blocks FORMAT CSV', '--from', join(folder, name), '--engine', chdb]);
    for (const name of ['a[1]', 'a,1,', 'link']) {
      const { stdout, stderr } = await ask(name);
      t.is(stdout, `${HEIGHT}\n`, stderr);
    }
    const refused = await ask('a*');
    t.is(refused.code, 1);
    t.true(isProblemLine(refused.stderr), refused.stderr);
  });
}

test('bloomery query loads no package from the working folder or its parents, only from a named folder', async (t) => {
  const sink = join(folder, 'planted-sink');
  t.is((await runCli(['sink', 'parquet', sink, ...data, '--once'])).code, 0);
  const project = join(folder, 'project');
  const below = join(project, 'below');
  mkdirSync(below, { recursive: true });
  mkdirSync(join(project, 'node_modules', 'chdb'), { recursive: true });
  const proof = join(folder, 'planted-ran');
  const engine = join(project, 'node_modules', 'chdb', 'index.js');
  const engineThatSays = (answer: string): string =>
    `require('node:fs').writeFileSync(${JSON.stringify(proof)}, '');
     exports.Session = class { query() { return '${answer}'; } cleanup() {} };`;
  writeFileSync(engine, engineThatSays('planted'));
  for (const cwd of [project, below]) {
    await runCli(['query', 'SELECT 1', '--from', sink], { cwd });
    t.false(existsSync(proof), cwd);
  }
  // The package `chdb` is installed in the folder `project`, but the option `--engine` contains the path of a
  // subfolder. The command must not search the parent folders of this subfolder.
  const above = await runCli(['query', 'SELECT 1', '--from', sink, '--engine', below]);
  t.is(above.code, 1);
  t.true(isProblemLine(above.stderr), above.stderr);
  t.false(existsSync(proof));
  const query = ['query', 'SELECT 1', '--from', sink];
  for (const [rest, env] of [
    [['--engine', project], {}],
    [[], { BLOOMERY_CHDB: project }],
  ] as const) {
    const { code, stdout, stderr } = await runCli([...query, ...rest], { env });
    t.is(code, 0, stderr);
    t.is(stdout, 'planted\n');
    // If a query contains FORMAT, the engine answers in this format, not in the JSON that `--json` needs. The answer
    // 885 is a line of CSV that also parses as JSON.
    for (const answer of ['885\\n', 'planted']) {
      writeFileSync(engine, engineThatSays(answer));
      const mixed = await runCli([...query, ...rest, '--json'], { env });
      t.is(mixed.code, 2, mixed.stdout);
      t.true(isProblemLine(mixed.stderr), mixed.stderr);
      t.regex(mixed.stderr, /without FORMAT/);
    }
    writeFileSync(engine, engineThatSays('planted'));
    t.true(existsSync(proof));
    rmSync(proof);
  }
});

test('--depth is refused for a chain of generation 3, in which the rules define which blocks are final', async (t) => {
  const sink = join(folder, 'depth');
  const { code, stderr } = await runCli(['sink', 'parquet', sink, ...data, '--once', '--depth', '500']);
  t.is(code, 2);
  t.true(isProblemLine(stderr), stderr);
  t.regex(stderr, /--depth is for generation 2: /);
  t.false(existsSync(sink));
});

/** Answer of a fake engine with a right-to-left mark, a joined emoji, a control character, and a line of CRLF. */
const TEXT_ANSWER = 'a\u200fb\t\u{1f469}\u200d\u{1f4bb}\u0001\r\nc\n';

/** Makes a folder with a fake engine that gives `TEXT_ANSWER` to every statement. */
function fakeEngine(name: string): string {
  const at = join(folder, name, 'node_modules', 'chdb');
  mkdirSync(at, { recursive: true });
  writeFileSync(
    join(at, 'index.js'),
    `exports.Session = class { query() { return ${JSON.stringify(TEXT_ANSWER)}; } cleanup() {} };`,
  );
  return join(folder, name);
}

test('bloomery query passes text on unchanged to a pipe, and makes it safe for a terminal', async (t) => {
  const sink = join(folder, 'text-sink');
  t.is((await runCli(['sink', 'parquet', sink, ...data, '--once'])).code, 0);
  const args = ['query', 'SELECT 1', '--from', sink, '--engine', fakeEngine('text-engine'), '--format', 'tsv'];
  t.is((await runCli(args)).stdout, TEXT_ANSWER);
  if (!existsSync('/usr/bin/script')) return;
  // The program `script` runs the command in a terminal of its own. The terminal puts a CR before each LF.
  const line = [process.execPath, CLI_ENTRY, ...args].map((part) => `'${part}'`).join(' ');
  const shown = execFileSync('/usr/bin/script', ['-qec', line, '/dev/null'], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.is(shown.toString().replaceAll('\r\n', '\n'), 'a?b\t\u{1f469}?\u{1f4bb}??\nc\n');
});

test('bloomery query refuses to print a binary format, and names the clause that writes a file', async (t) => {
  const sink = join(folder, 'binary-sink');
  t.is((await runCli(['sink', 'parquet', sink, ...data, '--once'])).code, 0);
  const ask = (sql: string, ...more: readonly string[]) =>
    runCli(['query', sql, '--from', sink, '--engine', fakeEngine('binary-engine'), ...more]);
  for (const ran of [
    await ask('SELECT 1', '--format', 'parquet'),
    await ask('SELECT 1 FORMAT RowBinary;', '--format', 'CSV'),
  ]) {
    t.is(ran.code, 2, ran.stdout);
    t.is(ran.stdout, '');
    t.true(isProblemLine(ran.stderr), ran.stderr);
    t.regex(ran.stderr, /: (parquet|RowBinary) .*INTO OUTFILE 'FILE' FORMAT \1/);
  }
  const written = await ask("SELECT 1 INTO OUTFILE 'blocks.parquet' FORMAT Parquet");
  t.is(written.code, 0, written.stderr);
});

test('a sink folder in use is refused to a second process, with one line that names the first', async (t) => {
  const sink = join(folder, 'shared');
  t.is((await runCli(['sink', 'parquet', sink, ...data, '--once'])).code, 0);
  const lock = takeSinkLock(sink, 'sink.lock');
  const refused = await runCli(['sink', 'parquet', sink, ...data, '--once']);
  t.is(refused.code, 1);
  t.true(isProblemLine(refused.stderr), refused.stderr);
  t.regex(refused.stderr, new RegExp(`in use by process ${process.pid}`));
  lock.release();
  t.is((await runCli(['sink', 'parquet', sink, ...data, '--once'])).code, 0);
});

test('a server password comes from a file or a variable, in a URL with a warning, and is never printed', async (t) => {
  const seen: string[] = [];
  // This server repeats the password in its errors, as a proxy may do.
  const server = createServer((request, response) => {
    const given = Buffer.from((request.headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString();
    seen.push(given);
    response.writeHead(403).end(`Code: 516. DB::Exception: ${given} is refused, request ${request.url ?? ''}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = join(folder, 'password');
  writeFileSync(file, 'from-file\n');
  const run = (url: string, rest: readonly string[], env: Record<string, string> = {}) =>
    runCli(['sink', 'clickhouse', '--url', url, '--database', 'chain', '--once', ...data, ...rest], { env });
  const tried = [
    { password: 'in-url', ran: await run(`http://me:in-url@${at}`, []) },
    { password: 'in query', ran: await run(`http://me@${at}/?password=in%20query`, []) },
    { password: 'from-file', ran: await run(`http://me@${at}`, ['--password-file', file]) },
    { password: 'from-env', ran: await run(`http://me@${at}`, [], { BLOOMERY_CLICKHOUSE_PASSWORD: 'from-env' }) },
    { password: 'from-file', ran: await run(`http://me:in-url@${at}`, ['--password-file', file]) },
    { password: 'in-url', ran: await run(`http://me:in-url@${at}`, [], { BLOOMERY_CLICKHOUSE_PASSWORD: '' }) },
  ];
  t.deepEqual(
    tried.map(({ password }) => `me:${password}`),
    seen,
  );
  for (const [index, { password, ran }] of tried.entries()) {
    t.is(ran.code, 1, ran.stderr);
    for (const secret of [password, 'in-url', 'in%20query']) t.notRegex(ran.stdout + ran.stderr, new RegExp(secret));
    const warnings = ran.stderr.split('\n').filter((line) => line.includes('warning'));
    t.is(warnings.length, [0, 1, 4, 5].includes(index) ? 1 : 0, ran.stderr);
  }
  for (const url of ['http://me:hidden%zz@127.0.0.1:1', 'http://me:hidden@127.0.0.1:99999', 'ftp://me:hidden@host']) {
    const { code, stderr } = await run(url, []);
    t.is(code, 2, stderr);
    t.notRegex(stderr, /hidden/);
  }
});

test('bloomery query refuses a folder that is not a sink', async (t) => {
  const other = join(folder, 'other');
  cpSync(join(folder, 'network'), other, { recursive: true });
  const { code, stderr } = await runCli(['query', 'SELECT 1', '--from', other]);
  t.is(code, 1);
  t.regex(stderr, /is no folder of a Parquet sink/);
  t.false(existsSync(join(other, 'ranges')));
});

test('bloomery query refuses an empty query', async (t) => {
  for (const sql of ['', ' \n']) {
    const { code, stderr } = await runCli(['query', sql, '--from', folder]);
    t.is(code, 2);
    t.regex(stderr, /the query is empty/);
  }
});
