import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openJournal, type JournalFile } from '../../src/node/journal-file.ts';
import {
  checkNetwork,
  moveRecord,
  recordOf,
  recordOfText,
  takenOf,
  textOfRecord,
} from '../../src/node/signing-record.ts';
import type { SignedHeader } from '../../src/protocol/rules.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const A = 'aa'.repeat(32);
const B = 'bb'.repeat(32);
const NETWORK = { networkIdentifier: '11'.repeat(32) };
const MOVE = { exportedAtS: 1_700_000_000, isCopy: false };

function header(height: number, changes: Partial<SignedHeader> = {}): SignedHeader {
  return {
    blockId: `${height}00`,
    height,
    timestamp: height * 10,
    maxHeightPrevoted: height - 1,
    maxHeightPreviouslyForged: 0,
    ...changes,
  };
}

function journalIn(t: ExecutionContext): JournalFile {
  const journal = openJournal(join(temporaryFolder(t), 'journal'));
  t.teardown(() => journal.close());
  return journal;
}

test('a record is the same after a write and a read', (t) => {
  const journal = journalIn(t);
  journal.record(A, header(7));
  journal.hold(B, 123);
  const record = recordOf(journal, NETWORK, MOVE);
  t.deepEqual(recordOfText(textOfRecord(record), 'file'), record);
  t.deepEqual(record.delegates, [
    { publicKey: A, last: header(7) },
    { publicKey: B, heldSinceS: 123 },
  ]);
});

test('a record with a changed member, truncated or of another kind is refused with its file name', (t) => {
  const journal = journalIn(t);
  journal.record(A, header(7));
  const text = textOfRecord(recordOf(journal, NETWORK, MOVE));
  const broken = [
    text.replace('"height": 7', '"height": 6'),
    text.replace('"timestamp": 70', '"timestamp": 60'),
    text.replace(A, B),
    text.replace('"isCopy": false', '"isCopy": true'),
    text.replace('11111111', '11111112'),
    text.slice(0, -20),
    '{}',
    'null',
    text.replace('"height": 7', '"height": "7"'),
    text.replace(/"delegates": \[.*\]/s, '"delegates": {}'),
  ];
  for (const each of broken) {
    const { message } = t.throws(() => recordOfText(each, 'the-file')) ?? {};
    t.regex(message ?? '', /^the-file: /);
  }
});

test('an exported record stays marked as moved after a restart and a rewrite, until it is imported again', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file, { spareLinesMax: 0 });
  journal.record(A, header(7));
  t.is(journal.movedAtS(A), undefined);
  moveRecord(journal, recordOf(journal, NETWORK, MOVE));
  t.is(journal.movedAtS(A), MOVE.exportedAtS);
  for (let height = 1; height < 6; height += 1) journal.record(B, header(height));
  journal.close();
  const again = openJournal(file);
  t.is(again.movedAtS(A), MOVE.exportedAtS);
  t.deepEqual(again.last(A), header(7));
  again.take(takenOf(again, recordOf(again, NETWORK, MOVE), 500));
  t.is(again.movedAtS(A), undefined);
  t.deepEqual(again.last(A), header(7));
  again.close();
});

test('an import completes an empty record, but a delegate with an incomplete record stays incomplete', (t) => {
  const from = journalIn(t);
  from.record(A, header(7));
  from.hold(B, 50);
  const into = journalIn(t);
  // The importing node already ran with the delegate A before its operator imported the signing record.
  into.hold(A, 100);
  into.take(takenOf(into, recordOf(from, NETWORK, MOVE), 500));
  t.deepEqual(into.last(A), header(7));
  t.is(into.heldSinceS(A), 0);
  t.is(into.last(B), undefined);
  t.is(into.heldSinceS(B), 50);
});

test('of two headers the later one is kept, with the highest heights of both', (t) => {
  const from = journalIn(t);
  from.record(A, header(9, { timestamp: 70, maxHeightPreviouslyForged: 30 }));
  const into = journalIn(t);
  into.record(A, header(8, { timestamp: 80 }));
  const older = recordOf(from, NETWORK, MOVE);
  into.take(takenOf(into, older, 500));
  const merged = header(8, { timestamp: 80, maxHeightPrevoted: 8, maxHeightPreviouslyForged: 30 });
  t.deepEqual(into.last(A), merged);
  into.take(takenOf(into, older, 500));
  t.deepEqual(into.last(A), merged);
});

test('a copy does not count as a complete record of signatures', (t) => {
  const from = journalIn(t);
  from.record(A, header(7));
  const into = journalIn(t);
  into.take(takenOf(into, recordOf(from, NETWORK, { ...MOVE, isCopy: true }), 500));
  t.deepEqual(into.last(A), header(7));
  t.is(into.heldSinceS(A), 500);
});

test('a delegate that was handed over stays so after a wait has begun, until a record of it is imported', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const journal = openJournal(file);
  journal.hold(A, 50);
  journal.move([A], 77);
  journal.hold(A, 60);
  t.deepEqual([journal.movedAtS(A), journal.heldSinceS(A)], [77, 60]);
  const record = recordOf(journal, NETWORK, MOVE);
  t.deepEqual(record.delegates, [{ publicKey: A, heldSinceS: 60 }]);
  journal.close();
  const again = openJournal(file, { spareLinesMax: 0 });
  t.is(again.movedAtS(A), 77);
  again.take(takenOf(again, record, 500));
  t.deepEqual([again.movedAtS(A), again.heldSinceS(A)], [undefined, 60]);
  again.record(B, header(1));
  again.record(B, header(2));
  again.close();
  const last = openJournal(file);
  t.teardown(() => last.close());
  t.deepEqual([last.movedAtS(A), last.heldSinceS(A)], [undefined, 60]);
});

test('a copy waits although the clock is behind the header of the record', (t) => {
  const from = journalIn(t);
  from.record(A, header(7));
  const into = journalIn(t);
  const record = recordOf(from, NETWORK, { ...MOVE, isCopy: true });
  t.deepEqual(takenOf(into, record, 20), [{ publicKey: A, last: header(7), heldSinceS: 71, isCopy: true }]);
});

test('a delegate without a header stays a copy through restarts and rewrites, until its whole record is imported', (t) => {
  const from = journalIn(t);
  from.hold(A, 50);
  const file = join(temporaryFolder(t), 'journal');
  const whole = recordOf(from, NETWORK, MOVE);
  const opened = (work: (journal: JournalFile) => void): void => {
    const journal = openJournal(file, { spareLinesMax: 0 });
    try {
      work(journal);
    } finally {
      journal.close();
    }
  };
  opened((journal) => {
    journal.take(takenOf(journal, { ...whole, isCopy: true }, 500));
    for (let height = 1; height < 4; height += 1) journal.record(B, header(height));
  });
  opened((journal) => t.deepEqual([journal.isCopyFor(A), journal.heldSinceS(A)], [true, 500]));
  // The record has no header of the delegate. The record therefore does not prove that the journal contains the newest
  // header of the delegate. The entries of the journal about this delegate therefore still count as a possibly outdated
  // copy (`isCopyFor`).
  opened((journal) => journal.take(takenOf(journal, whole, 500)));
  opened((journal) => t.true(journal.isCopyFor(A)));
  from.record(A, header(60));
  opened((journal) => journal.take(takenOf(journal, recordOf(from, NETWORK, MOVE), 500)));
  opened((journal) => t.deepEqual([journal.isCopyFor(A), journal.last(A)], [false, header(60)]));
});

test('a delegate that a record calls a copy waits from the import on, and the others do not', (t) => {
  const from = journalIn(t);
  from.hold(A, 50);
  from.record(B, header(7));
  const record = recordOf(from, NETWORK, { ...MOVE, isBehind: (publicKey) => publicKey === A });
  t.deepEqual(takenOf(journalIn(t), record, 500), [
    { publicKey: A, heldSinceS: 500, isCopy: true },
    { publicKey: B, last: header(7), heldSinceS: 0, isCopy: false },
  ]);
});

test('an import keeps a wait that began with the block of another node after the header of the record', (t) => {
  const from = journalIn(t);
  from.record(A, header(7));
  const record = recordOf(from, NETWORK, MOVE);
  for (const [height, isCopy, foreignS, expected] of [
    [7, false, undefined, 0],
    [7, false, 75, 250],
    [7, true, 75, 250],
    [6, false, 75, 250],
    // In the next two cases, the timestamp of the block (70 or 65) is not later than the timestamp of the header in the
    // record (70). The exporting node itself therefore signed this block.
    [6, false, 70, 0],
    [6, false, 65, 0],
  ] as const) {
    const into = journalIn(t);
    into.record(A, header(height));
    into.hold(A, 250, isCopy, foreignS);
    // Neither of the next two calls makes the journal forget the timestamp of the other node's block (`foreignS`): a
    // call of `hold` without such a timestamp, and the import of a record that is marked as a copy (`isCopy`).
    into.hold(A, 250, isCopy);
    into.take(takenOf(into, { ...record, isCopy: true }, 240));
    t.is(takenOf(into, record, 500)[0]?.heldSinceS, expected, `${height} ${foreignS}`);
  }
});

test('a block of another node moves on with the records of its delegate', (t) => {
  const whole = journalIn(t);
  whole.record(A, header(7));
  const first = recordOf(whole, NETWORK, MOVE);
  const noted = journalIn(t);
  noted.record(A, header(7));
  noted.hold(A, 250, false, 75);
  const text = textOfRecord(recordOf(noted, NETWORK, MOVE));
  const moved = recordOfText(text, 'file');
  t.is(moved.delegates[0]?.foreignS, 75);
  t.throws(() => recordOfText(text.replace('"foreignS": 75', '"foreignS": 5'), 'file'), {
    code: 'SIGNING_RECORD_INVALID',
  });
  const into = journalIn(t);
  into.take(takenOf(into, moved, 240));
  t.is(into.foreignS(A), 75);
  // Another node has signed a block of the delegate with the timestamp 75. The record `first` has no header with this
  // or a later timestamp. An import of `first` therefore does not end the wait during which the importing node signs
  // nothing for the delegate.
  t.is(takenOf(into, first, 500)[0]?.heldSinceS, 250);
  whole.record(A, header(8));
  t.is(takenOf(into, recordOf(whole, NETWORK, MOVE), 500)[0]?.heldSinceS, 0, 'the record has a newer header');
});

test('a journal knows a block of another node after a rewrite, until the delegate signs again', (t) => {
  const file = join(temporaryFolder(t), 'journal');
  const opened = (work: (journal: JournalFile) => void): void => {
    const journal = openJournal(file, { spareLinesMax: 0 });
    try {
      work(journal);
    } finally {
      journal.close();
    }
  };
  opened((journal) => {
    for (const sinceS of [5, 15]) journal.hold(A, sinceS);
    for (let height = 1; height < 4; height += 1) journal.record(B, header(height));
  });
  opened((journal) => {
    journal.hold(A, 25);
    journal.record(A, header(7));
    journal.hold(A, 90, false, 80);
    for (let height = 1; height < 4; height += 1) journal.record(B, header(height));
  });
  opened((journal) => {
    t.is(journal.foreignS(A), 80);
    journal.record(A, header(12));
    t.is(journal.foreignS(A), undefined);
  });
  opened((journal) => t.is(journal.foreignS(A), undefined));
});

test('a record with a header that may not be the last one is taken for a copy', (t) => {
  const from = journalIn(t);
  from.record(A, header(7));
  from.hold(A, 100, true);
  const record = recordOf(from, NETWORK, MOVE);
  t.deepEqual(takenOf(journalIn(t), record, 500), [{ publicKey: A, last: header(7), heldSinceS: 500, isCopy: true }]);
});

test('a copy does not shorten a wait that ends later', (t) => {
  const from = journalIn(t);
  from.hold(A, 800);
  const into = journalIn(t);
  into.record(A, header(5));
  into.hold(A, 900);
  t.is(takenOf(into, recordOf(from, NETWORK, { ...MOVE, isCopy: true }), 20)[0]?.heldSinceS, 900);
});

test('a record that is older than the journal does not end the wait of the journal', (t) => {
  const from = journalIn(t);
  from.record(A, header(7));
  const into = journalIn(t);
  into.record(A, header(9));
  into.hold(A, 100);
  t.is(takenOf(into, recordOf(from, NETWORK, MOVE), 500)[0]?.heldSinceS, 100);
});

test('a record of another network is refused', (t) => {
  const from = journalIn(t);
  from.record(A, header(7));
  const record = recordOf(from, NETWORK, MOVE);
  t.throws(() => checkNetwork(record, { networkIdentifier: '22'.repeat(32) }), { message: /another network/ });
});
