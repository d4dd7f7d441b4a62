/** Tests the signing journal together with the watermarks, which are stored outside the folder of the journal. */

import { join } from 'node:path';
import test from 'ava';
import { createSigningJournal, journalIgnoringWatermarks } from '../../../src/engine/forge/signing-journal.ts';
import { WatermarkedJournal } from '../../../src/engine/forge/watermarked-journal.ts';
import { openJournal } from '../../../src/node/journal-file.ts';
import type { SigningJournal, Watermark } from '../../../src/ports/journal.ts';
import { SILENT, type Observer } from '../../../src/ports/observer.ts';
import type { SignedHeader } from '../../../src/protocol/rules.ts';
import { MemoryJournal, MemoryWatermarks } from '../../sim/node.ts';
import { temporaryFolder } from '../../support/network-folder.ts';

const A = 'aa'.repeat(32);
const NOW_S = 5000;

function header(height: number): SignedHeader {
  const named = { maxHeightPrevoted: 0, maxHeightPreviouslyForged: 0 };
  return { blockId: `${height}00`, height, timestamp: height * 10, ...named };
}

/**
 * Opens a journal with one signed header for each height in `folder`. If `marked` is given, it is the watermark of the
 * delegate.
 */
function start(folder: readonly number[], marked: Watermark | undefined, isCopied = false) {
  const journal = new MemoryJournal();
  for (const height of folder) journal.record(A, header(height));
  journal.isCopied = isCopied;
  const watermarks = new MemoryWatermarks();
  if (marked !== undefined) watermarks.write(A, marked);
  const logged: string[] = [];
  const observer: Observer = { ...SILENT, log: (_level, code) => logged.push(code) };
  return {
    journal,
    watermarks,
    logged,
    signing: new WatermarkedJournal({ journal, watermarks, observer, nowS: NOW_S, firstBlockId: () => '2000' }),
  };
}

test('in a folder restored to an earlier state, the last header comes from the watermark', (t) => {
  for (const isCopied of [false, true]) {
    const { signing, journal, logged } = start([1, 2], { last: header(7) }, isCopied);
    t.deepEqual(signing.last(A), header(7));
    t.is(signing.outside(A), 'agrees');
    t.is(signing.heldSinceS(A), undefined);
    t.deepEqual(logged, ['FORGING_FOLDER_RESTORED']);
    signing.record(A, header(8));
    t.deepEqual(signing.last(A), header(8));
    t.deepEqual(journal.last(A), header(8));
  }
});

test('a watermark and a journal that agree are trusted even in a copied folder', (t) => {
  const { signing, logged } = start([1, 2], { last: header(2) }, true);
  t.deepEqual([signing.last(A), signing.outside(A), signing.heldSinceS(A)], [header(2), 'agrees', undefined]);
  t.deepEqual(logged, []);
});

test('a copied watermark proves nothing about a copied folder, because both can come from one backup', (t) => {
  const { signing, logged } = start([1, 2], { last: header(2), isCopied: true }, true);
  t.deepEqual([signing.last(A), signing.outside(A), signing.heldSinceS(A)], [header(2), 'unknown', NOW_S]);
  t.deepEqual(logged, ['FORGING_FOLDER_COPIED']);
});

test('a copied watermark that is newer than the journal is used, but a newer header may be missing', (t) => {
  const { signing, watermarks, journal } = start([1, 2], { last: header(7), isCopied: true }, true);
  t.deepEqual([signing.last(A), signing.heldSinceS(A)], [header(7), NOW_S]);
  // The first start has recorded the identity of the journal file. At a later start, the file therefore no longer
  // counts as a copy, and the wait that the first start began (`heldSinceS`) does not begin again.
  const again = { journal, watermarks, observer: SILENT, nowS: NOW_S + 100, firstBlockId: () => '2000' };
  t.is(new WatermarkedJournal(again).heldSinceS(A), NOW_S);
  signing.record(A, header(8));
  t.deepEqual(watermarks.read(A), { last: header(8), firstBlockId: '2000' });
});

test('a copied watermark that is newer than a journal that is no copy makes the journal incomplete once', (t) => {
  const { signing, watermarks, journal } = start([1, 2], { last: header(7), isCopied: true });
  t.is(signing.heldSinceS(A), NOW_S);
  const again = { journal, watermarks, observer: SILENT, nowS: NOW_S + 100, firstBlockId: () => '2000' };
  t.is(new WatermarkedJournal(again).heldSinceS(A), NOW_S);
});

test('a signature of another process during a wait begins the wait again, and a restart does not end it', (t) => {
  const journal = new MemoryJournal();
  for (const height of [1, 2]) journal.record(A, header(height));
  journal.hold(A, 50);
  const watermarks = new MemoryWatermarks();
  const options = { journal, watermarks, observer: SILENT, firstBlockId: () => '2000' };
  watermarks.write(A, { last: header(4) });
  t.is(new WatermarkedJournal({ ...options, nowS: NOW_S }).heldSinceS(A), 50, 'signed before the wait');
  watermarks.write(A, { last: header(7) });
  t.is(new WatermarkedJournal({ ...options, nowS: NOW_S }).heldSinceS(A), NOW_S);
  t.is(new WatermarkedJournal({ ...options, nowS: NOW_S + 100 }).heldSinceS(A), NOW_S);
});

test('the header of a newer watermark stays known after the watermark is lost', (t) => {
  for (const [marked, movedAtS] of [
    [{ last: header(7) }, undefined],
    [{ last: header(7), movedAtS: 77 }, 77],
    [{ last: header(2), movedAtS: 77 }, 77],
  ] as const) {
    const { journal } = start([1, 2], marked);
    const again = new WatermarkedJournal({
      ...{ journal, watermarks: undefined, observer: SILENT },
      ...{ nowS: NOW_S, firstBlockId: () => '2000' },
    });
    t.deepEqual([again.last(A), again.movedAtS(A)], [marked.last, movedAtS]);
  }
});

test('a folder that was restored to before the first header of a delegate leaves the header in the watermark', (t) => {
  const journal = new MemoryJournal();
  journal.hold(A, 50);
  const watermarks = new MemoryWatermarks();
  watermarks.write(A, { last: header(9), firstBlockId: '2000' });
  const options = { journal, watermarks, observer: SILENT, nowS: NOW_S, firstBlockId: () => '2000' };
  const signing = new WatermarkedJournal(options);
  // In this journal, the delegate already waits before it signs (`hold`, from time 50). If the constructor copied the
  // header of the watermark to the journal, `isCopyFor` would return true, and the wait would begin again at `NOW_S`.
  t.deepEqual([signing.last(A), signing.outside(A)], [undefined, 'later']);
  t.deepEqual([signing.heldSinceS(A), signing.isCopyFor(A)], [50, false]);
  t.deepEqual(signing.recalled(A), { last: header(9), firstBlockId: '2000' });
});

test('each start of a delegate without a header treats the watermark in the same way', (t) => {
  for (const [marked, isCopy, recalled] of [
    [undefined, false, undefined],
    [{ last: header(9) }, false, header(9)],
    [{ last: header(9), movedAtS: 77 }, true, undefined],
    [{ movedAtS: 77 }, true, undefined],
    [{ last: header(9), isCopied: true }, true, undefined],
  ] as const) {
    const { signing, journal, watermarks } = start([], marked);
    signing.hold(A, NOW_S);
    for (const nowS of [NOW_S, NOW_S + 100]) {
      const again = new WatermarkedJournal({ journal, watermarks, observer: SILENT, nowS, firstBlockId: () => '2000' });
      t.deepEqual([again.last(A), again.movedAtS(A), again.heldSinceS(A)], [undefined, undefined, NOW_S]);
      t.deepEqual([again.isCopyFor(A), again.recalled(A)?.last], [isCopy, recalled]);
    }
  }
});

test('the wait of a delegate without a header is after the header of its watermark, although the clock is behind', (t) => {
  const { signing, watermarks } = start([], { last: header(9), movedAtS: 77 });
  signing.hold(A, 20);
  t.deepEqual([signing.heldSinceS(A), signing.isCopyFor(A)], [91, true]);
  const journal = new MemoryJournal();
  journal.hold(A, 10);
  const options = { journal, watermarks, observer: SILENT, nowS: 20, firstBlockId: () => '2000' };
  t.is(new WatermarkedJournal(options).heldSinceS(A), 91);
});

test('a copied folder begins a wait of its own for a delegate without a header', (t) => {
  const B = 'bb'.repeat(32);
  for (const [marked, isCopy] of [
    [undefined, true],
    // The watermark of delegate B is older than the last header of B in the journal. A node writes a watermark for each
    // signature, so this node concludes that the journal comes from another machine.
    [{ last: header(1) }, true],
    [{ last: header(2) }, false],
    [{ last: header(7) }, false],
    [{ last: header(7), isCopied: true as const }, true],
    [{ last: header(2), movedAtS: 77 }, true],
  ] as const) {
    const journal = new MemoryJournal();
    journal.record(B, header(2));
    journal.hold(A, 50);
    journal.isCopied = true;
    const watermarks = new MemoryWatermarks();
    if (marked !== undefined) watermarks.write(B, marked);
    const options = { journal, watermarks, observer: SILENT, nowS: NOW_S, firstBlockId: () => '2000' };
    const signing = new WatermarkedJournal(options);
    t.deepEqual([signing.isCopyFor(A), signing.heldSinceS(A)], isCopy ? [true, NOW_S] : [false, 50]);
  }
});

test('a copied folder begins a new wait, although its journal has an earlier one', (t) => {
  const { signing, watermarks, journal } = start([1, 2], { last: header(7), isCopied: true }, true);
  t.is(signing.heldSinceS(A), NOW_S);
  journal.isCopied = true;
  const again = { journal, watermarks, observer: SILENT, nowS: NOW_S + 100, firstBlockId: () => '2000' };
  t.is(new WatermarkedJournal(again).heldSinceS(A), NOW_S + 100);
});

test('beside a folder that is no copy, a copied watermark counts like none', (t) => {
  const { signing, logged } = start([1, 2], { last: header(2), isCopied: true });
  t.deepEqual([signing.last(A), signing.outside(A), signing.heldSinceS(A)], [header(2), 'unknown', undefined]);
  t.deepEqual(logged, []);
});

test('a copied watermark without a record of the delegate is not used', (t) => {
  t.is(start([], { last: header(9), firstBlockId: '2000', isCopied: true }).signing.recalled(A), undefined);
});

test('a watermark that is older than a journal does not contradict the journal', (t) => {
  const { signing } = start([1, 2], { last: header(1) });
  t.deepEqual([signing.last(A), signing.outside(A)], [header(2), 'unknown']);
});

test('a copied journal without a watermark counts as possibly incomplete once', (t) => {
  const { signing, journal, logged } = start([1, 2], undefined, true);
  t.is(signing.heldSinceS(A), NOW_S);
  t.deepEqual(logged, ['FORGING_FOLDER_COPIED']);
  t.false(journal.isCopied);
});

test('a folder without a record of a delegate does not take over the watermark', (t) => {
  const { signing } = start([], { last: header(9) });
  t.deepEqual([signing.last(A), signing.outside(A)], [undefined, 'later']);
});

test('for a delegate without a record, the watermark reports the last signature until the journal adopts it', (t) => {
  const { signing, journal, watermarks } = start([], { last: header(9), firstBlockId: '2000' });
  signing.hold(A, NOW_S);
  t.deepEqual(signing.recalled(A), { last: header(9), firstBlockId: '2000' });
  signing.adopt(A, header(9));
  t.deepEqual([journal.last(A), signing.heldSinceS(A), signing.outside(A)], [header(9), 0, 'agrees']);
  t.is(signing.recalled(A), undefined);
  signing.record(A, header(10));
  t.deepEqual(watermarks.read(A), { last: header(10), firstBlockId: '2000' });
});

test('a watermark of a record that was handed over, or beside a record of the delegate, is not used', (t) => {
  t.is(start([], { last: header(9), movedAtS: 77 }).signing.recalled(A), undefined);
  t.is(start([1], { last: header(9) }).signing.recalled(A), undefined);
  t.is(start([], undefined).signing.recalled(A), undefined);
});

test('a record that was handed over stays marked so when its folder is restored', (t) => {
  const { signing, logged } = start([1, 2], { last: header(2), movedAtS: 77 });
  t.is(signing.movedAtS(A), 77);
  t.deepEqual(logged, ['FORGING_FOLDER_RESTORED']);
});

test('a record that was handed over, and whose folder says so too, is no restored folder', (t) => {
  const journal = new MemoryJournal();
  journal.record(A, header(2));
  journal.move(A, 77);
  const watermarks = new MemoryWatermarks();
  watermarks.write(A, { last: header(2), movedAtS: 77 });
  const logged: string[] = [];
  const observer: Observer = { ...SILENT, log: (_level, code) => logged.push(code) };
  const signing = new WatermarkedJournal({ journal, watermarks, observer, nowS: NOW_S, firstBlockId: () => '2000' });
  t.is(signing.movedAtS(A), 77);
  t.deepEqual(logged, []);
});

test('a wait is after the last header, although the clock is behind', (t) => {
  const behind = (
    options: Omit<ConstructorParameters<typeof WatermarkedJournal>[0], 'nowS' | 'observer' | 'firstBlockId'>,
  ) => new WatermarkedJournal({ ...options, observer: SILENT, nowS: 20, firstBlockId: () => '2000' }).heldSinceS(A);
  const copied = new MemoryJournal();
  copied.record(A, header(7));
  copied.isCopied = true;
  t.is(behind({ journal: copied, watermarks: undefined }), 71);
  copied.isCopied = true;
  copied.hold(A, 900);
  t.is(behind({ journal: copied, watermarks: undefined }), 900, 'a wait that ends later stays');
  const waiting = new MemoryJournal();
  waiting.record(A, header(2));
  waiting.hold(A, 30);
  const watermarks = new MemoryWatermarks();
  watermarks.write(A, { last: header(7) });
  t.is(behind({ journal: waiting, watermarks }), 71);
});

test('a copied folder whose delegates were handed over stays marked so, with and without a watermark', (t) => {
  for (const marked of [undefined, { last: header(2) }, { last: header(2), movedAtS: 77, isCopied: true as const }]) {
    const journal = new MemoryJournal();
    journal.record(A, header(2));
    journal.move(A, 77);
    journal.isCopied = true;
    const watermarks = new MemoryWatermarks();
    if (marked !== undefined) watermarks.write(A, marked);
    const options = { journal, watermarks, observer: SILENT, firstBlockId: () => '2000' };
    t.is(new WatermarkedJournal({ ...options, nowS: NOW_S }).movedAtS(A), 77);
    t.is(new WatermarkedJournal({ ...options, nowS: NOW_S + 100 }).movedAtS(A), 77);
  }
});

test('a node that signs by its folder alone ignores what the folder has from a watermark', (t) => {
  for (const marked of [{ last: header(7) }, { last: header(7), movedAtS: 77 }]) {
    const file = join(temporaryFolder(t), 'journal');
    const watermarks = new MemoryWatermarks();
    const opened = (isRisky: boolean, work: (signing: SigningJournal) => void): void => {
      const journal = openJournal(file, { spareLinesMax: 0 });
      const options = { journal, watermarks, observer: SILENT, nowS: NOW_S, firstBlockId: () => '2000' };
      try {
        work(createSigningJournal(isRisky, options));
      } finally {
        journal.close();
      }
    };
    opened(true, (signing) => signing.record(A, header(2)));
    watermarks.write(A, marked);
    opened(false, (signing) => t.deepEqual([signing.last(A), signing.movedAtS(A)], [header(7), marked.movedAtS]));
    // Before each of these three headers is written, the journal file has too many lines (`spareLinesMax` is 0). The
    // journal therefore first replaces the file with a file that contains only the newest values.
    opened(true, (signing) => {
      for (let height = 1; height < 4; height += 1) signing.record('bb'.repeat(32), header(height));
    });
    watermarks.remove(A);
    opened(false, (signing) => t.deepEqual([signing.last(A), signing.movedAtS(A)], [header(7), marked.movedAtS]));
    opened(true, (signing) => {
      t.deepEqual([signing.last(A), signing.movedAtS(A)], [header(2), undefined]);
      signing.record(A, header(3));
    });
    opened(false, (signing) => t.deepEqual([signing.last(A), signing.movedAtS(A)], [header(3), undefined]));
  }
});

test('a node that signs by its folder alone records the identity of its journal, unless the journal is a copy', (t) => {
  for (const isCopied of [false, true]) {
    const journal = new MemoryJournal();
    journal.isCopied = isCopied;
    let recorded = 0;
    journal.recordFileIdentity = () => (recorded += 1);
    const options = { journal, watermarks: undefined, observer: SILENT, nowS: NOW_S, firstBlockId: () => undefined };
    createSigningJournal(true, options);
    t.is(recorded, isCopied ? 0 : 1);
  }
});

test('a node that signs by its folder alone reads and creates no watermark, but updates an existing one', (t) => {
  const { journal, watermarks } = start([1], undefined);
  const signing = journalIgnoringWatermarks(journal, watermarks, () => '2000');
  signing.record(A, header(2));
  t.is(watermarks.read(A), undefined);
  watermarks.write(A, { last: header(9), movedAtS: 77 });
  t.deepEqual([signing.last(A), signing.movedAtS(A), signing.recalled(A)], [header(2), undefined, undefined]);
  signing.record(A, header(3));
  t.deepEqual(watermarks.read(A), { last: header(3), firstBlockId: '2000' });
});

test('two processes on a machine do not both sign for a delegate', (t) => {
  const { signing, watermarks, journal } = start([1, 2], { last: header(2) });
  watermarks.write(A, { last: header(3) });
  const error = t.throws(() => signing.record(A, header(4)), { code: 'SIGNED_ELSEWHERE' });
  t.regex(error?.message ?? '', /another process of this machine signed block 3/);
  t.deepEqual(journal.last(A), header(2));
});

test('a wait of a delegate with a header does not hide the signature of another process', (t) => {
  const { signing, watermarks } = start([1, 2], { last: header(2) });
  watermarks.write(A, { last: header(3) });
  signing.hold(A, 900);
  t.throws(() => signing.record(A, header(4)), { code: 'SIGNED_ELSEWHERE' });
});

test('a process learns that its delegate was exported in the meantime', (t) => {
  const { signing, watermarks } = start([1, 2], { last: header(2) });
  watermarks.write(A, { last: header(2), movedAtS: 77 });
  const error = t.throws(() => signing.record(A, header(4)), { code: 'SIGNED_ELSEWHERE' });
  t.regex(error?.message ?? '', /^the signing record of the delegate was exported at 1970-01-01T00:01:17\.000Z/);
});
