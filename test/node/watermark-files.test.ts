import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { WatermarkFiles, watermarkFolderOf } from '../../src/node/watermark-files.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const A = 'aa'.repeat(32);
const B = 'bb'.repeat(32);
const NETWORK = 'cd'.repeat(32);
const last = { blockId: '9', height: 9, timestamp: 90, maxHeightPrevoted: 1, maxHeightPreviouslyForged: 2 };

test('the last written watermark of each delegate and network is read back', (t) => {
  const folder = join(temporaryFolder(t), 'deep', 'signed');
  const watermarks = new WatermarkFiles(folder, NETWORK, SILENT);
  t.is(watermarks.read(A), undefined);
  watermarks.write(A, { last: { ...last, height: 8 } });
  watermarks.write(A, { last });
  watermarks.write(B, { last, movedAtS: 100 });
  const again = new WatermarkFiles(folder, NETWORK, SILENT);
  t.deepEqual(again.read(A), { last });
  t.deepEqual(again.read(B), { last, movedAtS: 100 });
  t.is(new WatermarkFiles(folder, 'ef'.repeat(32), SILENT).read(A), undefined);
  t.is(readdirSync(folder).length, 2);
  t.is(statSync(join(folder, readdirSync(folder)[0] ?? '')).mode & 0o777, 0o600);
});

test('a watermark file that was copied, or into which a backup was copied, counts as a copy until its next write', (t) => {
  const folder = join(temporaryFolder(t), 'signed');
  const backup = join(temporaryFolder(t), 'backup');
  const watermarks = new WatermarkFiles(folder, NETWORK, SILENT);
  watermarks.write(A, { last: { ...last, height: 8 } });
  cpSync(folder, backup, { recursive: true, preserveTimestamps: true });
  const restored = new WatermarkFiles(backup, NETWORK, SILENT);
  t.deepEqual(restored.read(A), { last: { ...last, height: 8 }, isCopied: true });
  restored.write(A, { last });
  t.deepEqual(restored.read(A), { last });

  rmSync(backup, { recursive: true });
  cpSync(folder, backup, { recursive: true });
  watermarks.write(A, { last });
  for (const name of readdirSync(folder)) writeFileSync(join(folder, name), readFileSync(join(backup, name)));
  t.deepEqual(watermarks.read(A), { last: { ...last, height: 8 }, isCopied: true });
});

test('a read renews the change time, because only an earlier birth time proves that a file is no copy', async (t) => {
  const folder = temporaryFolder(t);
  const watermarks = new WatermarkFiles(folder, NETWORK, SILENT);
  watermarks.write(A, { last });
  const file = join(folder, readdirSync(folder)[0] ?? '');
  utimesSync(file, 0, 0);
  const before = statSync(file, { bigint: true }).ctimeNs;
  await sleep(50);
  t.deepEqual(watermarks.read(A), { last });
  t.true(statSync(file, { bigint: true }).ctimeNs > before);
});

test('a watermark file of an earlier version, which has no identity, counts as no copy', (t) => {
  const folder = temporaryFolder(t);
  const watermarks = new WatermarkFiles(folder, NETWORK, SILENT);
  watermarks.write(A, { last });
  const file = join(folder, readdirSync(folder)[0] ?? '');
  const lines = readFileSync(file, 'utf8').split('\n');
  writeFileSync(file, lines.filter((line) => !line.includes('bornNs')).join('\n'));
  t.deepEqual(watermarks.read(A), { last });
});

test('a file that is not a watermark is ignored', (t) => {
  const folder = temporaryFolder(t);
  const watermarks = new WatermarkFiles(folder, NETWORK, SILENT);
  writeFileSync(join(folder, `${NETWORK.slice(0, 16)}-${A}`), 'something else\n');
  t.is(watermarks.read(A), undefined);
});

test('a folder that cannot be written is reported once, and the writes raise no error', (t) => {
  const file = join(temporaryFolder(t), 'file');
  writeFileSync(file, '');
  for (const folder of [join(file, 'signed'), '/proc/bloomery/signed']) {
    const codes: string[] = [];
    const observer: Observer = { ...SILENT, log: (_level, code) => codes.push(code) };
    const watermarks = new WatermarkFiles(folder, NETWORK, observer);
    watermarks.write(A, { last });
    watermarks.write(B, { last });
    t.is(watermarks.read(A), undefined);
    t.deepEqual(codes, ['FORGING_WATERMARK_FAILED']);
  }
});

test('an unusable folder is reported before the first write, and a check leaves nothing behind', (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'signed');
  const codes: string[] = [];
  const observer: Observer = { ...SILENT, log: (_level, code) => codes.push(code) };
  new WatermarkFiles(folder, NETWORK, observer).check();
  t.deepEqual(readdirSync(folder), []);
  t.deepEqual(codes, []);
  rmSync(folder, { recursive: true });
  writeFileSync(folder, '');
  const watermarks = new WatermarkFiles(folder, NETWORK, observer);
  watermarks.check();
  t.deepEqual(codes, ['FORGING_WATERMARK_FAILED']);
  rmSync(folder);
  watermarks.write(A, { last });
  t.deepEqual(watermarks.read(A), { last });
});

test('a failure after a successful write is reported again', (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'signed');
  const codes: string[] = [];
  const watermarks = new WatermarkFiles(folder, NETWORK, { ...SILENT, log: (_level, code) => codes.push(code) });
  for (const reports of [1, 2]) {
    writeFileSync(folder, '');
    watermarks.write(A, { last });
    watermarks.write(A, { last });
    t.is(codes.length, reports);
    rmSync(folder);
    watermarks.write(A, { last });
    t.deepEqual(watermarks.read(A), { last });
    rmSync(folder, { recursive: true });
  }
});

test('a lasting failure of one delegate is reported once, although another delegate has none', (t) => {
  const folder = temporaryFolder(t);
  const codes: string[] = [];
  const watermarks = new WatermarkFiles(folder, NETWORK, { ...SILENT, log: (_level, code) => codes.push(code) });
  mkdirSync(join(folder, `${NETWORK.slice(0, 16)}-${B}.${process.pid}.new`));
  for (let turn = 0; turn < 3; turn += 1) {
    watermarks.write(A, { last });
    watermarks.write(B, { last });
  }
  t.deepEqual(codes, ['FORGING_WATERMARK_FAILED']);
});

test('a watermark that could not be updated is removed, because it would be too low', (t) => {
  const folder = temporaryFolder(t);
  const watermarks = new WatermarkFiles(folder, NETWORK, SILENT);
  watermarks.write(A, { last, firstBlockId: '2000' });
  t.deepEqual(watermarks.read(A), { last, firstBlockId: '2000' });
  // The next write must first create a temporary file. This write fails, because a folder is at the path of the
  // temporary file.
  mkdirSync(join(folder, `${NETWORK.slice(0, 16)}-${A}.${process.pid}.new`));
  watermarks.write(A, { last: { ...last, height: last.height + 1 } });
  t.is(watermarks.read(A), undefined);
});

test("watermarks are in the user's state folder unless another folder, or none, is configured", (t) => {
  t.is(watermarkFolderOf('', {}), join(homedir(), '.local/state/bloomery/signed'));
  t.is(watermarkFolderOf('', { XDG_STATE_HOME: '/state' }), '/state/bloomery/signed');
  t.is(watermarkFolderOf('', { XDG_STATE_HOME: 'state' }), join(homedir(), '.local/state/bloomery/signed'));
  t.is(watermarkFolderOf('/elsewhere', { XDG_STATE_HOME: '/state' }), '/elsewhere');
  t.is(watermarkFolderOf('none', {}), undefined);
});
