import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { packagedNetworkDirectory } from '../../../src/config/network.ts';
import { endLeftoverReaders, noteReader } from '../../../src/node/readers/leftover-readers.ts';
import { systemClock } from '../../../src/node/system.ts';
import { startOf } from '../../../src/store/disk/process-start.ts';
import { temporaryFolder } from '../../support/network-folder.ts';
import { freePortRanges } from '../../support/ports.ts';
import { waitFor } from '../../support/devnet.ts';
import { readerPidsOf } from '../../support/reader-pids.ts';
import { startOneNode } from '../../support/one-node.ts';

test('a node starts again while a paused reader of its killed process still holds the port', async (t) => {
  t.timeout(300_000);
  const ports = await freePortRanges(1);
  const options = {
    network: packagedNetworkDirectory('devnet'),
    fixedPeers: [],
    flags: ['--no-peers'],
    dataDir: mkdtempSync(join(temporaryFolder(t), 'data-')),
    config: { http: { processes: 2 } },
    ports,
  };
  const first = await startOneNode(t, options);
  const [paused = 0] = readerPidsOf(first.process.pid);
  process.kill(paused, 'SIGSTOP');
  t.teardown(() => killIfRunning(paused));
  first.process.kill('SIGKILL');
  await first.ended;
  const second = await startOneNode(t, options);
  t.is((await fetch(`${second.url}/api/node/constants`)).status, 200);
  t.true([undefined, 'ended'].includes(startOf(paused)), 'the paused reader was killed, reaped or not');
  // The first reader answers requests before the node starts the second reader.
  const notes = async (): Promise<boolean> => Promise.resolve(notesIn(join(options.dataDir, 'devnet')).length === 2);
  await waitFor('the notes of the two new readers, and no others', notes, 60_000);
  second.process.kill('SIGTERM');
  await second.ended;
  t.deepEqual(notesIn(join(options.dataDir, 'devnet')), []);
});

test('a reader whose node runs, and a process that only has the number of a reader, are not killed', async (t) => {
  const directory = temporaryFolder(t);
  const pid = await startSleeper(t);
  const remove = noteReader(directory, pid, process.pid);
  t.is(notesIn(directory).length, 1);
  t.deepEqual(await endLeftoverReaders(directory, systemClock), []);
  t.is(notesIn(directory).length, 1, 'the note of a running reader stays');
  remove();
  t.deepEqual(notesIn(directory), []);
  writeFileSync(join(directory, `reader.${pid}.0badb007-1`), '1');
  writeFileSync(join(directory, `reader.${pid}.exe`), '1');
  // Let `noteReader` write a file for a running process, and then empty this file. A full disk during the call would
  // leave such an empty file.
  noteReader(directory, pid, process.pid);
  const [empty = ''] = notesIn(directory).filter((name) => !/0badb007|exe$/.test(name));
  writeFileSync(join(directory, empty), '');
  t.deepEqual(await endLeftoverReaders(directory, systemClock), []);
  t.notThrows(() => process.kill(pid, 0));
  t.deepEqual(
    readdirSync(directory),
    [empty, `reader.${pid}.exe`].sort(),
    'a note of an earlier process goes, an unknown file and the note of a running process stay',
  );
});

test('a reader with another parent than its node is killed', async (t) => {
  const directory = temporaryFolder(t);
  const pid = await startSleeper(t);
  noteReader(directory, pid, process.pid + 1);
  t.deepEqual(await endLeftoverReaders(directory, systemClock), [pid]);
  t.deepEqual(readdirSync(directory), []);
  t.deepEqual(await endLeftoverReaders(join(directory, 'none'), systemClock), []);
});

async function startSleeper(t: ExecutionContext): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600_000)'], { stdio: 'ignore' });
  await once(child, 'spawn');
  t.teardown(() => child.kill('SIGKILL'));
  return child.pid ?? 0;
}

function notesIn(directory: string): readonly string[] {
  return readdirSync(directory).filter((entry) => entry.startsWith('reader.'));
}

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}
