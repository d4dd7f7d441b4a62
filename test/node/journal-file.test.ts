import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { openJournal, type JournalFile } from '../../src/node/journal-file.ts';
import { lineOf } from '../../src/node/journal-lines.ts';
import type { SignedHeader } from '../../src/protocol/rules.ts';
import { limitFileSize } from '../support/full-disk.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const A = 'aa'.repeat(32);
const B = 'bb'.repeat(32);

function header(height: number): SignedHeader {
  return {
    blockId: `${height}00`,
    height,
    timestamp: height * 10,
    maxHeightPrevoted: height - 1,
    maxHeightPreviouslyForged: 0,
  };
}

test('a journal returns the last header of each delegate, also after it was opened again', (t) => {
  const file = join(temporaryFolder(t), 'deep', 'journal');
  const journal = openJournal(file);
  t.is(journal.last(A), undefined);
  journal.record(A, header(1));
  journal.record(B, header(2));
  journal.record(A, header(3));
  t.deepEqual(journal.last(A), header(3));
  journal.close();
  const again = openJournal(file);
  t.deepEqual(again.last(A), header(3));
  t.deepEqual(again.last(B), header(2));
  again.close();
});

test('the header of a watermark that the journal adopts ends the wait of its delegate, also after it was opened again', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file);
  journal.hold(A, 500);
  journal.adopt(A, header(3));
  t.deepEqual([journal.last(A), journal.heldSinceS(A)], [header(3), 0]);
  journal.close();
  const again = openJournal(file);
  t.deepEqual([again.last(A), again.heldSinceS(A)], [header(3), 0]);
  again.close();
});

test('a copied journal is detected as a copy anywhere, and a moved or rewritten one is not', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'here', 'journal');
  const opened = (path: string): boolean => {
    const journal = openJournal(path, { spareLinesMax: 2 });
    try {
      return journal.isCopied;
    } finally {
      journal.close();
    }
  };
  const journal = openJournal(file, { spareLinesMax: 2 });
  t.false(journal.isCopied);
  journal.recordFileIdentity();
  journal.record(A, header(1));
  journal.close();
  t.false(opened(file));
  const backup = join(folder, 'backup');
  copyFileSync(file, backup);
  const again = openJournal(file, { spareLinesMax: 2 });
  // After this number of records, the journal has rewritten its file, so the file has another inode.
  for (let height = 2; height < 12; height += 1) again.record(A, header(height));
  again.close();
  t.false(opened(file));
  renameSync(join(folder, 'here'), join(folder, 'there'));
  t.false(opened(join(folder, 'there', 'journal')));
  // Remove the file, and put the copy at its path. The file system may give the copy the inode of the removed file, but
  // the journal must still detect the copy.
  const restored = join(folder, 'there', 'journal');
  rmSync(restored);
  copyFileSync(backup, restored);
  t.true(opened(restored));
  // `isCopied` says that the journal file is possibly an outdated copy. Until `recordFileIdentity` is called,
  // `isCopied` is true each time the restored journal is opened.
  t.true(opened(restored));
  const copy = openJournal(restored);
  copy.recordFileIdentity();
  t.deepEqual(copy.last(A), header(1));
  copy.close();
  t.false(opened(restored));
});

test('a backup copied over the files of its own run is detected as a copy once something was signed since', (t) => {
  const folder = temporaryFolder(t);
  const here = join(folder, 'here');
  const file = join(here, 'journal');
  const journal = openJournal(file);
  journal.recordFileIdentity();
  journal.record(A, header(1));
  // Copies all files of a folder, except the process lock, into another folder. Overwrites the content of existing
  // files, like `cp -a backup/. here/`. A journal in the folder `from` may be open during the copy.
  const copyOver = (from: string, to: string): void => {
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from)) if (!name.includes('in-use')) copyFileSync(join(from, name), join(to, name));
  };
  const backup = join(folder, 'backup');
  copyOver(here, backup);
  const unchanged = statSync(file, { bigint: true });
  journal.close();
  copyOver(backup, here);
  const same = openJournal(file);
  t.false(same.isCopied, 'nothing was signed since');
  same.recordFileIdentity();
  same.record(A, header(2));
  same.close();
  copyOver(backup, here);
  const { ino, birthtimeNs } = statSync(file, { bigint: true });
  t.deepEqual([ino, birthtimeNs], [unchanged.ino, unchanged.birthtimeNs], 'the file itself does not show it');
  const restored = openJournal(file);
  t.deepEqual(restored.last(A), header(1));
  t.true(restored.isCopied);
  // `isCopied` says that the journal file is possibly an outdated copy. Until `recordFileIdentity` is called,
  // `isCopied` is true each time the restored journal is opened, even if the journal has recorded a header since the
  // restore.
  restored.record(B, header(3));
  restored.close();
  const again = openJournal(file);
  t.true(again.isCopied);
  again.recordFileIdentity();
  again.close();
  const noted = openJournal(file);
  t.false(noted.isCopied);
  noted.close();
});

test('a journal restored alone among the files of a folder is detected as a copy', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'here', 'journal');
  const journal = openJournal(file);
  journal.recordFileIdentity();
  journal.record(A, header(1));
  copyFileSync(file, join(folder, 'backup'));
  journal.record(A, header(2));
  journal.close();
  copyFileSync(join(folder, 'backup'), file);
  const restored = openJournal(file);
  t.true(restored.isCopied);
  restored.close();
});

test('a journal counts as original after a kill, a change of owner or mode, and with a truncated fingerprint', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'here', 'journal');
  const isCopied = (): boolean => {
    const journal = openJournal(file, { spareLinesMax: 1 });
    try {
      return journal.isCopied;
    } finally {
      journal.close();
    }
  };
  const journal = openJournal(file, { spareLinesMax: 1 });
  journal.recordFileIdentity();
  // Some of these calls of `record` append a line to the file, and others rewrite the file.
  for (let height = 1; height < 6; height += 1) journal.record(height % 2 === 0 ? A : B, header(height));
  journal.close();
  t.false(isCopied());
  chmodSync(file, 0o640);
  chmodSync(`${file}.marker`, 0o640);
  t.false(isCopied());
  // The file with the suffix `.marker` contains the fingerprint of the journal: data with which the node recognises a
  // restored backup of the journal. Append a line to the journal and do not update the fingerprint, as if the process
  // had been killed between the two writes.
  const other = openJournal(join(folder, 'other', 'journal'));
  other.record(A, header(9));
  other.close();
  appendFileSync(file, readFileSync(join(folder, 'other', 'journal')));
  t.false(isCopied());
  // A power cut can leave the file `.marker` without content. This file contains the fingerprint, with which the node
  // recognises a restored backup of the journal.
  writeFileSync(`${file}.marker`, '');
  t.false(isCopied());
  rmSync(`${file}.marker`);
  t.false(isCopied());
  // Earlier versions of the node wrote no fingerprint (the file `.marker`, with which the node recognises a restored
  // backup of the journal). The present version writes the fingerprint when the node starts and calls
  // `recordFileIdentity`.
  const started = openJournal(file);
  started.recordFileIdentity();
  started.close();
  t.true(existsSync(`${file}.marker`));
  t.false(isCopied());
});

test('when two folders share a journal by a hard link, the one that opens it is detected as a copy', (t) => {
  const folder = temporaryFolder(t);
  const [file, linked] = [join(folder, 'here', 'journal'), join(folder, 'there', 'journal')];
  const journal = openJournal(file);
  journal.recordFileIdentity();
  journal.record(A, header(1));
  mkdirSync(dirname(linked));
  for (const end of ['', '.marker']) linkSync(`${file}${end}`, `${linked}${end}`);
  const copy = openJournal(linked);
  t.true(copy.isCopied);
  copy.recordFileIdentity();
  copy.record(B, header(2));
  t.is(readFileSync(file, 'utf8').includes(B), false, 'each has a file of its own from then on');
  journal.record(A, header(3));
  t.deepEqual(copy.last(A), header(1));
  copy.close();
  journal.close();
  const own = openJournal(file);
  t.false(own.isCopied);
  t.deepEqual([own.last(A), own.last(B)], [header(3), undefined]);
  own.close();
});

test('a journal from before the check of its file identity counts as original', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file);
  journal.record(A, header(1));
  journal.close();
  copyFileSync(file, `${file}-copy`);
  const copy = openJournal(`${file}-copy`);
  t.false(copy.isCopied);
  copy.close();
});

test('a journal whose lock another process has taken over records no more headers', (t) => {
  const folder = temporaryFolder(t);
  const journal = openJournal(join(folder, 'journal'));
  journal.record(A, header(1));
  for (const name of readdirSync(folder)) if (name.includes('in-use')) rmSync(join(folder, name));
  const error = t.throws(() => journal.record(A, header(2)), { code: 'JOURNAL_TAKEN_OVER' });
  t.regex(error?.message ?? '', /the lock of this process is gone/);
  t.deepEqual(journal.last(A), header(1));
  journal.close();
});

test('a header is in the file before record returns', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file);
  journal.record(A, header(7));
  t.true(readFileSync(file, 'utf8').includes('"height":7'));
  journal.close();
});

test('a truncated last line is dropped, and new lines follow the complete ones', (t) => {
  const folder = temporaryFolder(t);
  const whole = join(folder, 'whole');
  const journal = openJournal(whole);
  journal.record(A, header(1));
  const firstLine = statSync(whole).size;
  journal.record(A, header(2));
  journal.close();
  const bytes = readFileSync(whole);
  for (let cut = firstLine; cut < bytes.length; cut += 7) {
    const file = join(folder, `cut-${cut}`);
    writeFileSync(file, bytes.subarray(0, cut));
    const torn = openJournal(file);
    t.deepEqual(torn.last(A), header(1));
    torn.record(A, header(5));
    torn.close();
    const again = openJournal(file);
    t.deepEqual(again.last(A), header(5));
    again.close();
  }
});

test('a last line of zeros, as after a power cut, is dropped', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file);
  journal.record(A, header(1));
  journal.close();
  appendFileSync(file, Buffer.concat([Buffer.alloc(200), Buffer.from('\n')]));
  const again = openJournal(file);
  t.deepEqual(again.last(A), header(1));
  again.close();
});

test('two folders cannot share one journal by a symbolic link', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'one', 'journal');
  openJournal(file).close();
  mkdirSync(join(folder, 'two'));
  symlinkSync(file, join(folder, 'two', 'journal'));
  const error = t.throws(() => openJournal(join(folder, 'two', 'journal')), { code: 'JOURNAL_UNREADABLE' });
  t.regex(error?.message ?? '', /it is a symbolic link: link or move the whole data folder/);
  symlinkSync(join(folder, 'one'), join(folder, 'linked'));
  openJournal(join(folder, 'linked', 'journal')).close();
});

test('a damaged line before the last is refused with its number, and the file is not changed', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file);
  for (const height of [1, 2, 3]) journal.record(A, header(height));
  journal.close();
  const damaged = readFileSync(file, 'utf8').replace('"height":2', '"height":9');
  writeFileSync(file, damaged);
  const error = t.throws(() => openJournal(file), { code: 'JOURNAL_UNREADABLE' });
  t.regex(
    error.message,
    /line 2 is damaged; move the file away, then import .* unless forging\.riskDoubleForging is on$/,
  );
  t.is(readFileSync(file, 'utf8'), damaged);
  t.throws(() => openJournal(file), { code: 'JOURNAL_UNREADABLE' }, 'the lock was given back');
});

test('a long journal is rewritten with the last header of each delegate', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file, { spareLinesMax: 10 });
  for (let height = 1; height <= 100; height++) journal.record(height % 2 === 0 ? A : B, header(height));
  t.true(readFileSync(file, 'utf8').trimEnd().split('\n').length <= 13);
  t.deepEqual(journal.last(A), header(100));
  journal.close();
  const again = openJournal(file);
  t.deepEqual(again.last(A), header(100));
  t.deepEqual(again.last(B), header(99));
  again.close();
});

test('a journal says whether an incomplete record is that of a copy, and takes a line without a mark for one', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file);
  journal.hold(A, 5);
  t.false(journal.isCopyFor(A), 'the first start of a delegate');
  journal.record(A, header(9));
  journal.hold(A, 500, true);
  t.true(journal.isCopyFor(A));
  journal.record(A, header(60));
  t.false(journal.isCopyFor(A), 'the record is complete');
  journal.hold(A, 900, journal.isCopyFor(A));
  t.false(journal.isCopyFor(A));
  journal.hold(A, 95);
  journal.record(A, header(9));
  t.deepEqual([journal.heldSinceS(A), journal.isCopyFor(A)], [0, false], 'a signature ends the wait of its slot');
  journal.hold(A, 900, journal.isCopyFor(A));
  journal.record(B, header(9));
  journal.close();
  appendFileSync(file, lineOf({ delegate: B, heldSinceS: 500 }));
  const again = openJournal(file);
  t.deepEqual([again.isCopyFor(A), again.isCopyFor(B)], [false, true]);
  again.close();
});

test('a journal that is rewritten when its identity is stored is no copy at the next start', (t) => {
  for (const store of [
    (journal: JournalFile) => journal.recordFileIdentity(),
    (journal: JournalFile) => journal.take([{ publicKey: B, last: header(9), heldSinceS: 0, isCopy: false }]),
  ]) {
    const file = join(temporaryFolder(t), 'journal');
    const journal = openJournal(file, { spareLinesMax: 2 });
    for (const height of [1, 2, 3, 4]) journal.record(A, header(height));
    const inode = statSync(file).ino;
    store(journal);
    t.not(statSync(file).ino, inode, 'the journal was rewritten');
    journal.close();
    const again = openJournal(file);
    t.false(again.isCopied);
    again.close();
  }
});

test('a journal that cannot be rewritten refuses to sign until it can, and loses no header', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file, { spareLinesMax: 2 });
  for (const height of [1, 2, 3, 4]) journal.record(A, header(height));
  // To rewrite its file, the journal first writes a new file at the path with the suffix `.new`. A folder that is not
  // empty is at this path, so the journal cannot create the new file.
  mkdirSync(join(`${file}.new`, 'full'), { recursive: true });
  for (const height of [5, 6]) {
    const error = t.throws(() => journal.record(A, header(height)), { code: 'JOURNAL_WRITE_FAILED' });
    t.is(error.message, `${file}: cannot be written, so nothing may be signed`);
    t.truthy(error.cause);
  }
  t.deepEqual(journal.last(A), header(4));
  t.is(linesOf(file), 4);
  rmSync(`${file}.new`, { recursive: true });
  journal.record(A, header(7));
  journal.close();
  t.is(linesOf(file), 2);
  const again = openJournal(file);
  t.deepEqual(again.last(A), header(7));
  again.close();
});

test.serial('on a full disk no header is recorded, half a line is undone, and writing resumes with new room', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file);
  journal.record(A, header(1));
  const { size } = statSync(file);
  const whole = readFileSync(file, 'utf8');
  // In the first case, the journal cannot write any byte of the next line. In the second case, it can write only a part
  // of the line.
  for (const spare of [0, 20]) {
    limitFileSize(process.pid, size + spare);
    try {
      for (const height of [2, 3]) t.throws(() => journal.record(A, header(height)), { code: 'JOURNAL_WRITE_FAILED' });
    } finally {
      limitFileSize(process.pid, undefined);
    }
    t.deepEqual(journal.last(A), header(1));
    t.is(readFileSync(file, 'utf8'), whole);
  }
  journal.record(A, header(4));
  journal.close();
  t.is(linesOf(file), 2);
  const again = openJournal(file);
  t.deepEqual(again.last(A), header(4));
  again.close();
});

test('a journal with half a line of a killed process opens with all signed headers', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file);
  journal.record(A, header(1));
  const { size } = statSync(file);
  journal.record(A, header(2));
  journal.close();
  truncateSync(file, size + 20);
  t.is(linesOf(file), 2);
  const again = openJournal(file);
  t.deepEqual(again.last(A), header(1));
  t.is(linesOf(file), 1);
  again.close();
});

test('a journal whose new file cannot replace the old one removes and closes the new file', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file, { spareLinesMax: 0 });
  journal.record(A, header(1));
  journal.record(A, header(2));
  renameSync(file, `${file}.aside`);
  mkdirSync(file);
  t.throws(() => journal.record(A, header(3)), { code: 'JOURNAL_WRITE_FAILED' });
  t.deepEqual(descriptorsOf(`${file}.new`), []);
  rmSync(file, { recursive: true });
  renameSync(`${file}.aside`, file);
  journal.record(A, header(4));
  journal.close();
  t.deepEqual(readdirSync(dirname(file)), ['journal']);
  t.is(linesOf(file), 2);
});

test('a journal that was rewritten many times has one open descriptor, that of the file', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file, { spareLinesMax: 1 });
  for (let height = 1; height <= 50; height++) {
    journal.record(A, header(height));
    t.deepEqual(descriptorsOf(file), [file]);
  }
  t.is(statSync(file).mode & 0o777, 0o600);
  journal.close();
  t.deepEqual(descriptorsOf(file), []);
});

/**
 * Returns the paths of the open files of this process, if they begin with `path`. Linux appends ` (deleted)` to the
 * path of a deleted file.
 */
function descriptorsOf(path: string): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${descriptor}`);
      return target.startsWith(path) ? [target] : [];
    } catch {
      // The list of `readdirSync` also contains the descriptor that `readdirSync` itself opened to read the folder
      // `/proc/self/fd`. This descriptor is closed now, so `readlinkSync` fails.
      return [];
    }
  });
}

function linesOf(file: string): number {
  return readFileSync(file, 'utf8').trimEnd().split('\n').length;
}

test('a second open is refused while the journal is open, and allowed afterwards', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file);
  const error = t.throws(() => openJournal(file), { code: 'JOURNAL_IN_USE' });
  t.regex(error.message, /in use by process \d+, .*: stop that process, or choose another folder with --data-dir$/);
  journal.record(A, header(1));
  journal.close();
  t.deepEqual(readdirSync(dirname(file)), ['journal']);
  openJournal(file).close();
  t.throws(() => journal.record(A, header(2)), { code: 'JOURNAL_CLOSED' });
});

test('another process is refused while the owner lives, but not after it was killed', async (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const holder = fork(fileURLToPath(new URL('../support/journal-holder.js', import.meta.url)), [file], {
    execArgv: [],
  });
  await once(holder, 'message');
  const error = t.throws(() => openJournal(file), { code: 'JOURNAL_IN_USE' });
  t.true(error.message.includes(`process ${holder.pid}`));
  const gone = once(holder, 'exit');
  holder.kill('SIGKILL');
  await gone;
  const journal = openJournal(file);
  t.deepEqual(journal.last(A), header(1));
  journal.close();
});
