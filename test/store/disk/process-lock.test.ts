import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../src/node/system.ts';
import { isHolderListening } from '../../../src/store/disk/holder-socket.ts';
import { ownerElsewhere, takeLock } from '../../../src/store/disk/process-lock.ts';
import { temporaryFolder } from '../../support/network-folder.ts';

/**
 * Name of the lock file of a process: the name of the lock, the process id, the boot id, the start time in ticks, and
 * the number of the process namespace.
 */
const LOCK_FILE = /^thing\.(\d+)\.([0-9a-f]{8})-(\d+)-in(\d+)$/;
const HOLDER = fileURLToPath(new URL('../../support/lock-holder.js', import.meta.url));

/** Names of the files in a folder, without the sockets of lock holders. */
function lockFilesOf(folder: string): readonly string[] {
  return readdirSync(folder).filter((entry) => !entry.endsWith('.sock'));
}

test('a lock is held once at a time, even within a process, and leaves nothing behind', (t) => {
  const folder = temporaryFolder(t);
  const lock = takeLock(folder, 'thing');
  const error = t.throws(() => takeLock(folder, 'thing'), { code: 'LOCKED' });
  t.is(error.message, `${join(folder, 'thing')}: in use by process ${process.pid}`);
  lock.release();
  takeLock(folder, 'thing').release();
  t.deepEqual(lockFilesOf(folder), []);
});

test('locks of other names in the same folder have no effect', (t) => {
  const folder = temporaryFolder(t);
  const locks = ['thing', 'thing.other', 'other'].map((name) => takeLock(folder, name));
  writeFileSync(join(folder, 'thing.txt'), 'mine');
  t.throws(() => takeLock(folder, 'thing'), { code: 'LOCKED' });
  for (const lock of locks) lock.release();
  t.deepEqual(lockFilesOf(folder), ['thing.txt']);
});

test('lock files of dead processes, of another boot, or of a reused process number are removed', (t) => {
  const folder = temporaryFolder(t);
  const own = takeLock(folder, 'thing', systemClock);
  const [lockFile = ''] = lockFilesOf(folder);
  own.release();
  const [, pid = '', boot = '', ticks = '', here = ''] = LOCK_FILE.exec(lockFile) ?? [];
  t.is(pid, `${process.pid}`);
  const otherBoot = boot === '00000000' ? '00000001' : '00000000';
  for (const stale of [
    `4194399.${boot}-5`,
    `4194399.${boot}-5-in${here}`,
    `${pid}.${otherBoot}-${ticks}`,
    `${process.ppid}.${boot}-1`,
    `${pid}.unknown`,
    `${pid}.unknown-in${here}`,
    `1.${otherBoot}-1-in1`,
  ]) {
    writeFileSync(join(folder, `thing.${stale}`), '');
  }
  const lock = takeLock(folder, 'thing', systemClock);
  t.deepEqual(lockFilesOf(folder), [lockFile]);
  lock.release();
});

test('a lock file of another container counts while its file is renewed, whatever its process number', async (t) => {
  const folder = temporaryFolder(t);
  const own = takeLock(folder, 'thing', systemClock);
  const [lockFile = ''] = lockFilesOf(folder);
  own.release();
  const [, pid = '', boot = '', ticks = '', here = ''] = LOCK_FILE.exec(lockFile) ?? [];
  for (const number of ['4194399', pid]) {
    const other = join(folder, `thing.${number}.${boot}-${ticks}-in${Number(here) + 1}`);
    writeFileSync(other, '');
    const owner = `process ${number} of another container (a killed process keeps its lock file for 30 s, a paused process until it ends)`;
    const error = t.throws(() => takeLock(folder, 'thing', systemClock), { code: 'LOCKED' });
    t.is(error.message, `${join(folder, 'thing')}: in use by ${owner}`);
    t.is(ownerElsewhere(folder, 'thing', systemClock), owner);
    t.deepEqual(lockFilesOf(folder), [basename(other)]);
    const longAgo = new Date(Date.now() - 31_000);
    utimesSync(other, longAgo, longAgo);
    // Without a clock, `takeLock` cannot determine the age of the lock file.
    t.throws(() => takeLock(folder, 'thing'), { code: 'LOCKED' });
    t.is(ownerElsewhere(folder, 'thing', systemClock), undefined);
    const lock = takeLock(folder, 'thing', systemClock);
    t.deepEqual(lockFilesOf(folder), [lockFile]);
    // The owner touches its lock file regularly, so that the lock file stays valid for other containers.
    utimesSync(join(folder, lockFile), longAgo, longAgo);
    while (Date.now() - statSync(join(folder, lockFile)).mtimeMs > 20_000) await sleep(100);
    lock.release();
  }
});

test('a lock file of another container counts while its process lives, paused or not', async (t) => {
  const folder = temporaryFolder(t);
  const own = takeLock(folder, 'thing', systemClock);
  const [lockFile = ''] = lockFilesOf(folder);
  own.release();
  t.deepEqual(readdirSync(folder), []);
  const other = lockFile.replace(/-in\d+$/, '-in1');
  const listen = `require('node:net').createServer().listen(process.argv[1], () => console.log('listening'))`;
  const owner = spawn(process.execPath, ['-e', listen, `${other}.sock`], { cwd: folder });
  t.teardown(() => void owner.kill('SIGKILL'));
  await once(owner.stdout, 'data');
  owner.kill('SIGSTOP');
  writeFileSync(join(folder, other), '');
  const longAgo = new Date(Date.now() - 3_600_000);
  utimesSync(join(folder, other), longAgo, longAgo);
  t.throws(() => takeLock(folder, 'thing', systemClock), { code: 'LOCKED' });
  t.deepEqual(lockFilesOf(folder), [other]);
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  takeLock(folder, 'thing', systemClock).release();
  t.deepEqual(readdirSync(folder), []);
});

test("the holder of a lock answers on its socket until it releases the lock, however long the folder's path is", (t) => {
  const folder = join(temporaryFolder(t), 'x'.repeat(200));
  mkdirSync(folder);
  const lock = takeLock(folder, 'thing', systemClock);
  const socket = readdirSync(folder).find((entry) => entry.endsWith('.sock')) ?? '';
  t.true(isHolderListening(folder, socket));
  lock.release();
  t.false(isHolderListening(folder, socket));
});

test('a lock file of another container from before the clock was set back locks out no process', (t) => {
  const folder = temporaryFolder(t);
  const own = takeLock(folder, 'thing', systemClock);
  const [lockFile = ''] = lockFilesOf(folder);
  own.release();
  const other = join(folder, lockFile.replace(/-in\d+$/, '-in1'));
  for (const [aheadMs, counts] of [
    [20_000, true],
    [3_600_000, false],
  ] as const) {
    writeFileSync(other, '');
    const later = new Date(Date.now() + aheadMs);
    utimesSync(other, later, later);
    t.is(ownerElsewhere(folder, 'thing', systemClock) !== undefined, counts);
  }
  takeLock(folder, 'thing', systemClock).release();
  t.deepEqual(lockFilesOf(folder), []);
});

test('when processes start together beside a stale lock file, at most one of them gets the lock', async (t) => {
  for (let round = 0; round < 4; round += 1) {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'thing.4194399.abcdef01-5'), '');
    const startMs = Date.now() + 400;
    const words = await Promise.all([1, 2, 3, 4].map(async () => (await holder(t, [folder, `${startMs}`])).word));
    t.true(words.filter((word) => word === 'taken').length <= 1, words.join(', '));
    t.is(words.filter((word) => word.startsWith('refused')).length >= 3, true, words.join(', '));
  }
});

test('a fresh lock file of a living process is never removed', async (t) => {
  const folder = temporaryFolder(t);
  const { pid } = await holder(t, [folder]);
  for (let attempt = 0; attempt < 100; attempt += 1) t.throws(() => takeLock(folder, 'thing'), { code: 'LOCKED' });
  t.deepEqual(
    lockFilesOf(folder).map((name) => Number(name.split('.')[1])),
    [pid],
  );
});

test('a killed owner that its parent does not reap locks out no process', async (t) => {
  const folder = temporaryFolder(t);
  const script = '"$0" "$1" "$2" & exec sleep 60';
  const { pid, word } = await holderOf(t, 'sh', ['-c', script, process.execPath, HOLDER, folder]);
  t.is(word, 'taken');
  t.throws(() => takeLock(folder, 'thing'), { code: 'LOCKED' });
  process.kill(pid, 'SIGKILL');
  for (let waitedMs = 0; !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')); waitedMs += 10) {
    if (waitedMs > 60_000) throw new Error('the process does not become a zombie');
    await sleep(10);
  }
  takeLock(folder, 'thing').release();
});

function holder(
  t: ExecutionContext,
  args: readonly string[],
): Promise<{ readonly pid: number; readonly word: string }> {
  return holderOf(t, process.execPath, [HOLDER, ...args]);
}

/** Starts a process that takes a lock (`lock-holder.ts`), and waits for its first output. */
async function holderOf(t: ExecutionContext, command: string, args: readonly string[]) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [text] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const [, pid = '', word = ''] = /^(\d+) (.*)\n$/.exec(text) ?? [];
  return { pid: Number(pid), word };
}
