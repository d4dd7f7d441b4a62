import { join } from 'node:path';
import test from 'ava';
import { openJournal } from '../../src/node/journal-file.ts';
import type { FolderJournal } from '../../src/ports/journal.ts';
import type { SignedHeader } from '../../src/protocol/rules.ts';
import { MemorySigningJournal } from '../../src/testing/memory-journal.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const A = 'aa'.repeat(32);
const B = 'bb'.repeat(32);

type Step = readonly [name: string, work: (journal: FolderJournal) => void];

const STEPS: readonly Step[] = [
  ['A waits for the first time', (journal) => journal.hold(A, 5)],
  ['A signs', (journal) => journal.record(A, header(1))],
  ['A waits because of a copy', (journal) => journal.hold(A, 15, true, 12)],
  ['A signs within its wait', (journal) => journal.record(A, header(1.2))],
  ['A waits because of a copy again', (journal) => journal.hold(A, 25, true, 22)],
  ['A signs after its wait', (journal) => journal.record(A, header(3))],
  ['B gets the header of a watermark', (journal) => journal.copyFrom(B, { last: header(2) })],
  ['B waits because of a copy', (journal) => journal.hold(B, 30, true)],
  ['B adopts the header of a watermark', (journal) => journal.adopt(B, header(4))],
  ['B gets the move of a watermark', (journal) => journal.copyFrom(B, { last: header(5), movedAtS: 70 })],
  ['B signs', (journal) => journal.record(B, header(6))],
];

function header(height: number): SignedHeader {
  return {
    blockId: `${height}00`,
    height,
    timestamp: height * 10,
    maxHeightPrevoted: height - 1,
    maxHeightPreviouslyForged: 0,
  };
}

/** What a journal says about the two delegates. */
function answersOf(journal: FolderJournal): readonly object[] {
  return [A, B].map((publicKey) => ({
    last: journal.last(publicKey),
    heldSinceS: journal.heldSinceS(publicKey),
    isCopy: journal.isCopyFor(publicKey),
    movedAtS: journal.movedAtS(publicKey),
    foreignS: journal.foreignS(publicKey),
    own: journal.own(publicKey),
    outside: journal.outside(publicKey),
    recalled: journal.recalled(publicKey),
    delegates: journal.delegates(),
  }));
}

test('a journal in memory answers like a journal file after the same steps', (t) => {
  const file = openJournal(join(temporaryFolder(t), 'journal'));
  t.teardown(() => file.close());
  const memory = new MemorySigningJournal();
  for (const [name, work] of STEPS) {
    work(file);
    work(memory);
    t.deepEqual(answersOf(memory), answersOf(file), name);
    t.deepEqual(answersOf(memory.copy()), answersOf(file), `copy: ${name}`);
  }
});
