/** `bloomery sink parquet` and `bloomery query` as a person runs them. */

import test from 'ava';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chdbFolder } from '../analytics/engines.ts';
import { madeChain, placeIn, storeChain, writeNetworkFolder } from '../support/chain-folder.ts';
import { isProblemLine, runCli } from '../support/cli.ts';

const HEIGHT = 34;
const chdb = chdbFolder();

let folder: string;
let data: readonly string[];

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-sink-'));
  const { network, blocks } = madeChain(HEIGHT);
  await storeChain(placeIn(join(folder, 'data'), network), blocks);
  data = ['--data-dir', join(folder, 'data'), '--network', writeNetworkFolder(join(folder, 'network'), network)];
});

test.after.always(() => rmSync(folder, { recursive: true, force: true }));

test('bloomery sink parquet writes the chain of a folder and goes on at its place', async (t) => {
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
  t.regex(other.stderr, /made with blocks of a range 10, and not 20/);
});

if (chdb === undefined) {
  test('without chdb (skipped: answers) bloomery query says what to install', async (t) => {
    const sink = join(folder, 'unasked');
    t.is((await runCli(['sink', 'parquet', sink, ...data, '--once'])).code, 0);
    const { code, stderr } = await runCli(['query', 'SELECT 1', '--from', sink]);
    t.is(code, 1);
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, /npm install chdb/);
  });
} else {
  test('bloomery query answers over the files of a sink, numbers of 64 bits in full', async (t) => {
    const sink = join(folder, 'asked');
    const written = await runCli(['sink', 'parquet', sink, ...data, '--once', '--range-blocks', '10']);
    t.is(written.code, 0, written.stderr);
    const sql = 'SELECT max(height) AS height, count() AS blocks, groupBitXor(id) AS ids FROM blocks';
    // The package is sought in the working folder too.
    const { code, stdout, stderr } = await runCli(['query', sql, '--from', sink, '--json'], { cwd: chdb });
    t.is(code, 0, stderr);
    const [row] = (JSON.parse(stdout) as { data: readonly Record<string, unknown>[] }).data;
    t.deepEqual([row?.['height'], row?.['blocks']], [HEIGHT, `${HEIGHT}`]);
    t.is(typeof row?.['ids'], 'string');
    const refused = await runCli(['query', 'SELECT nothing', '--from', sink], { cwd: chdb });
    t.is(refused.code, 1);
    t.true(isProblemLine(refused.stderr), refused.stderr);
  });
}

test('bloomery query refuses a folder that is no sink', async (t) => {
  const other = join(folder, 'other');
  cpSync(join(folder, 'network'), other, { recursive: true });
  const { code, stderr } = await runCli(['query', 'SELECT 1', '--from', other]);
  t.is(code, 1);
  t.regex(stderr, /is no folder of a Parquet sink/);
  t.false(existsSync(join(other, 'ranges')));
});
