import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SourceMap } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import fc from 'fast-check';
import { originalPosition } from '../../src/cli/stack-traces.ts';
import { CLI_ENTRY } from '../support/cli.ts';

const MAP = JSON.parse(readFileSync(`${CLI_ENTRY}.map`, 'utf8')) as { mappings: string; sources: string[] };

test("a position in the bundle is mapped to the source position in Node's source map", (t) => {
  const payload = { ...MAP, version: 3, file: '', sourcesContent: [], names: [], sourceRoot: '' };
  const reference = new SourceMap(payload);
  const lines = MAP.mappings.split(';').length;
  t.true(lines > 300, 'the map was read');
  let found = 0;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: lines }), fc.integer({ min: 1, max: 80 }), (line, column) => {
      const expected = reference.findEntry(line - 1, column - 1);
      // If the requested line has no mapping, `findEntry` of Node.js returns the last mapping of an earlier line. That
      // mapping says nothing about the requested line, so `originalPosition` must return undefined.
      if (!('originalLine' in expected) || expected.generatedLine !== line - 1) {
        t.is(originalPosition(MAP.mappings, { line, column }), undefined);
        return;
      }
      found += 1;
      const { originalSource, originalLine, originalColumn } = expected;
      const source = MAP.sources.indexOf(originalSource);
      t.deepEqual(originalPosition(MAP.mappings, { line, column }), {
        ...{ source, line: originalLine + 1, column: originalColumn + 1 },
      });
    }),
    { numRuns: 300 },
  );
  t.true(found > 50);
});

test('the trace of a command that fails names the sources', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-trace-'));
  const args = [CLI_ENTRY, 'status', '--node', 'http://127.0.0.1:1'];
  const env = { PATH: process.env['PATH'], HOME: folder, BLOOMERY_HOME: folder, BLOOMERY_DEBUG: '1' };
  const failed = await t.throwsAsync(promisify(execFile)(process.execPath, args, { env }));
  const { stderr } = failed as Error & { stderr: string };
  t.regex(stderr, /^bloomery: no node answers/);
  t.regex(stderr, /\n {4}at .*\(?src\/cli\/ask-node\.ts:\d+:\d+\)?\n/);
  t.notRegex(stderr, /\/bundle\//);
});

test('a trace of a file without a source map stays unchanged', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-trace-'));
  const file = join(folder, 'plain.mjs');
  const traces = fileURLToPath(new URL('../../src/cli/stack-traces.js', import.meta.url));
  const lines = [
    `import { nameSourcesInTraces } from ${JSON.stringify(pathToFileURL(traces).href)};`,
    'nameSourcesInTraces();',
    "console.log(new TypeError('odd').stack);",
  ];
  writeFileSync(file, lines.join('\n'));
  const { stdout } = await promisify(execFile)(process.execPath, [file]);
  t.true(stdout.startsWith(`TypeError: odd\n    at ${pathToFileURL(file).href}:3:13\n`), stdout);
});

test('a trace that a library reads in the constructor of its own error reads no source map', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-trace-'));
  const file = join(folder, 'library.js');
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const traces = fileURLToPath(new URL('../../src/cli/stack-traces.js', import.meta.url));
  const lines = [
    `import { nameSourcesInTraces } from ${JSON.stringify(pathToFileURL(traces).href)};`,
    'nameSourcesInTraces();',
    'function OldError() { this.stack = new Error().stack; }',
    'function thrown() { return new Error("mine").stack; }',
    'console.log(JSON.stringify([new OldError().stack, thrown()]));',
  ];
  writeFileSync(file, lines.join('\n'));
  // In this source map, line 3 and each later line of the file map to the start of `odd.ts`.
  const map = { version: 3, sources: ['odd.ts'], names: [], mappings: ';;AAAA;AAAA;AAAA' };
  writeFileSync(`${file}.map`, JSON.stringify(map));
  const { stdout } = await promisify(execFile)(process.execPath, [file]);
  const [ofLibrary = '', ofMine = ''] = JSON.parse(stdout) as string[];
  t.regex(ofLibrary, /library\.js:3:/);
  t.regex(ofMine, /odd\.ts:1:1/);
});
