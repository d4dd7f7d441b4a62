import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { fileSink } from '../../src/telemetry/log-sink.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const SINK = new URL('../../src/telemetry/log-sink.js', import.meta.url).href;

test('kept log files stay while the process can open no new file', async (t) => {
  const file = join(temporaryFolder(t), 'node.log');
  // The maximum size of a log file is four bytes, so each line of this program fills a file. After `prlimit`, the
  // process can rename files, but cannot open files.
  const program = `
    import { execFileSync } from 'node:child_process';
    import { fileSink } from '${SINK}';
    const sink = fileSink(process.argv[1], { bytesMax: 4, filesKept: 3 });
    for (const line of ['1', '2', '3', '4']) sink.write(line + '\\n\\n\\n');
    execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=3:']);
    for (let lost = 0; lost < 5; lost += 1) sink.write('lost\\n\\n\\n');
    process.exit(sink.linesLost === 5 ? 0 : 1);`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program, '--', file]);
  const kept = [1, 2, 3].map((age) => readFileSync(`${file}.${age}`, 'utf8').trim());
  t.deepEqual(kept, ['4', '3', '2']);
});

test('a file that cannot be renamed gets all lines, and is renamed when that works again', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'node.log');
  const sink = fileSink(file, { bytesMax: 100, filesKept: 1 });
  t.teardown(() => sink.close());
  // A file cannot be renamed to the path of a folder.
  mkdirSync(`${file}.1`);
  const lines = Array.from({ length: 60 }, (_, index) => `line ${index}\n`);
  for (const line of lines.slice(0, 50)) sink.write(line);
  t.is(sink.linesLost, 0);
  t.is(readFileSync(file, 'utf8'), lines.slice(0, 50).join(''));
  rmSync(`${file}.1`, { recursive: true });
  for (const line of lines.slice(50)) sink.write(line);
  t.is(readFileSync(`${file}.1`, 'utf8') + readFileSync(file, 'utf8'), lines.join(''));
});
