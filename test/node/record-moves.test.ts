/** Tests the export and the import of signing records without the commands. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { journalFileOf, openJournal, type JournalFile } from '../../src/node/journal-file.ts';
import { prepareExport, writeRecord } from '../../src/node/record-export.ts';
import { importRecord, type Imported } from '../../src/node/record-import.ts';
import { recordOfText, type SigningRecord } from '../../src/node/signing-record.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { paramsWith } from '../support/fixtures.ts';

const A = 'a'.repeat(64);
const HEADER = { blockId: '17', height: 7, timestamp: 70, maxHeightPrevoted: 3, maxHeightPreviouslyForged: 2 };
const EXPORTED_AT_S = 1000;

/**
 * Creates a folder in which the test stores the data folders of nodes and the files with signing records (exported
 * signing journals). The signing journal in the data folder `from` already contains a signed header. There are no
 * watermarks (files with the newest signed header of each delegate, outside of the data folders).
 */
function setUp(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const withJournal = <T>(name: string, work: (journal: JournalFile) => T): T => {
    const journal = openJournal(journalFileOf(join(folder, name)));
    try {
      return work(journal);
    } finally {
      journal.close();
    }
  };
  const read = (file: string): SigningRecord => recordOfText(readFileSync(join(folder, file), 'utf8'), file);
  withJournal('from', (journal) => {
    journal.record(A, HEADER);
    journal.recordFileIdentity();
  });
  return {
    withJournal,
    read,
    exportTo: (file: string, isKept: boolean): SigningRecord =>
      withJournal('from', (journal) => {
        const exporting = { journal, params: paramsWith(), watermarks: undefined, isKept, exportedAtS: EXPORTED_AT_S };
        const { record, endSigning } = prepareExport(exporting);
        writeRecord(join(folder, file), record, endSigning);
        return read(file);
      }),
    importInto: (name: string, file: string): Imported =>
      withJournal(name, (journal) =>
        importRecord({
          ...{ journal, record: read(file), file: join(folder, file), into: join(folder, name) },
          ...{ watermarkFolder: undefined, watermarks: undefined, nowS: 500, unixS: EXPORTED_AT_S + 10 },
        }),
      ),
  };
}

test('a record is a copy if the node keeps signing, or if the delegate has moved before', (t) => {
  const { exportTo, withJournal } = setUp(t);
  t.true(exportTo('kept.json', true).isCopy);
  t.is(
    withJournal('from', (journal) => journal.movedAtS(A)),
    undefined,
  );
  t.false(exportTo('moved.json', false).isCopy);
  t.is(
    withJournal('from', (journal) => journal.movedAtS(A)),
    EXPORTED_AT_S,
  );
  t.true(exportTo('again.json', false).isCopy);
});

test('an import marks the file, so that a second import of the file waits', (t) => {
  const { exportTo, importInto, read, withJournal } = setUp(t);
  exportTo('record.json', false);
  t.like(importInto('first', 'record.json'), { kind: 'first', isMarked: true, waiting: 0 });
  t.true(read('record.json').isCopy);
  t.is(importInto('second', 'record.json').kind, 'copy');
  t.deepEqual(
    ['first', 'second'].map((name) => withJournal(name, (journal) => [journal.heldSinceS(A), journal.isCopyFor(A)])),
    [
      [0, false],
      [500, true],
    ],
  );
});
