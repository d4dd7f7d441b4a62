/** Tests that failed rotations of the log file lose no kept file. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { temporaryFolder } from '../support/network-folder.ts';

const SINK = new URL('../../src/telemetry/log-sink.js', import.meta.url).href;

test('kept log files stay while the process can open no new file', async (t) => {
  const file = join(temporaryFolder(t), 'node.log');
  // Each line fills a file. After `prlimit`, the process can rename files, but cannot open files.
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
