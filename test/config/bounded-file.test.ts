import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readBounded } from '../../src/config/bounded-file.ts';
import { firstRepeatedKey } from '../../src/config/repeated-keys.ts';
import fc from 'fast-check';
import { temporaryFolder } from '../support/network-folder.ts';

function pipe(t: ExecutionContext): string {
  const path = join(temporaryFolder(t), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

test('a file is read whole up to its limit and refused above it', (t) => {
  const file = join(temporaryFolder(t), 'file');
  writeFileSync(file, 'x'.repeat(100_000));
  t.is(readBounded(file, { bytesMax: 100_000 }).length, 100_000);
  t.throws(() => readBounded(file, { bytesMax: 99_999 }), { message: 'it is longer than 99999 bytes' });
  truncateSync(file, 10 ** 12);
  t.throws(() => readBounded(file, { bytesMax: 99_999 }), { message: 'it is longer than 99999 bytes' });
});

test('a path that is not a regular file is refused at once, and the error names its kind', (t) => {
  const folder = join(temporaryFolder(t), 'folder');
  mkdirSync(folder);
  t.throws(() => readBounded(folder, { bytesMax: 10 }), { message: 'it is a folder, not a file' });
  t.throws(() => readBounded(pipe(t), { bytesMax: 10 }), { message: 'it is a pipe, not a file' });
  for (const allowPipe of [false, true])
    t.throws(() => readBounded('/dev/zero', { bytesMax: 10, allowPipe }), { message: 'it is a device, not a file' });
});

test('an allowed pipe is waited for and read to its end, within the limit', async (t) => {
  for (const [bytes, bytesMax] of [
    [5, 5],
    [300_000, 400_000],
  ] as const) {
    const path = pipe(t);
    const writer = spawn('sh', ['-c', `head -c ${bytes} /dev/zero > ${path}`]);
    t.is(readBounded(path, { bytesMax, allowPipe: true }).length, bytes);
    if (writer.exitCode === null) await once(writer, 'exit');
  }
  const path = pipe(t);
  const writer = spawn('sh', ['-c', `cat /dev/zero > ${path}`], { stdio: 'ignore' });
  t.throws(() => readBounded(path, { bytesMax: 1000, allowPipe: true }), { message: 'it is longer than 1000 bytes' });
  if (writer.exitCode === null) await once(writer, 'exit');
});

test('a duplicate key of an object is found with its line, however it is written', (t) => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['{ http: { port: 1 }, p2p: { port: 2 } }', undefined],
    ['{ list: [{ a: 1 }, { a: 2 }], a: [[], {}] }', undefined],
    ['{ a: "b", b: "a", c: { a: 1, b: 2, c: 3 } }', undefined],
    ["{ a: ', a: 1', // a: 2\n /* a: 3 */ b: 1 }", undefined],
    ['{\n  http: { port: 1 },\n  p2p: {},\n  http: { host: "x" },\n}', 'http 4'],
    ['{ a: { x: 1,\r\n "x": 2 } }', 'x 2'],
    ["{ 'a': [1, 2], /* \n */ a: 2 }", 'a 2'],
    ['{ "\\u0061": 1, a: 2 }', 'a 1'],
    ['{ \\u0061: 1, a: 2 }', 'a 1'],
    ['{ a: [{ b: 1, b: 2 }] }', 'b 1'],
    ['{ __proto__: 1, "__proto__": 2 }', '__proto__ 1'],
  ];
  for (const [text, expected] of cases) {
    const found = firstRepeatedKey(text);
    t.is(found === undefined ? undefined : `${found.key} ${found.line}`, expected, text);
  }
});

test('no duplicate key is found in the output of JSON.stringify', (t) => {
  fc.assert(
    fc.property(fc.json(), fc.nat(4), (json, indent) => {
      t.is(firstRepeatedKey(JSON.stringify(JSON.parse(json), null, indent)), undefined);
    }),
  );
  t.pass();
});
