import {
  appendFileSync,
  cpSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openTransactionJournal, transactionJournalOf } from '../../src/node/transaction-journal-file.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import type { JournaledTransaction } from '../../src/ports/transaction-journal.ts';
import { temporaryFolder } from '../support/network-folder.ts';

function entry(id: number, more: Partial<JournaledTransaction> = {}): JournaledTransaction {
  return {
    id: String(id),
    json: { amount: `${id}` },
    receivedAtMs: 1000 + id,
    isOfGroup: false,
    signatures: [],
    ...more,
  };
}

const SIGNATURE = { transactionId: '1', publicKey: 'ab'.repeat(32), signature: 'cd'.repeat(64) };

function listener(): { readonly logged: string[]; readonly observer: Observer } {
  const logged: string[] = [];
  return { logged, observer: { ...SILENT, log: (_level, code) => void logged.push(code) } };
}

test('flushed entries are there when the journal is opened again', async (t) => {
  const file = transactionJournalOf(temporaryFolder(t));
  const journal = await openTransactionJournal(file, SILENT);
  journal.add(entry(1, { isOfGroup: true }));
  journal.add(entry(2));
  journal.addSignature(SIGNATURE);
  await journal.flush();
  journal.remove(['2']);
  await journal.close();
  const again = await openTransactionJournal(file, SILENT);
  t.deepEqual([...again.entries()], [entry(1, { isOfGroup: true, signatures: [SIGNATURE] })]);
  await again.close();
});

test('lines are on the disk when a flush resolves, and many calls share one flush', async (t) => {
  const file = transactionJournalOf(temporaryFolder(t));
  const journal = await openTransactionJournal(file, SILENT);
  const sizes = new Set<number>();
  await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      journal.add(entry(index + 1));
      await journal.flush();
      t.true(readFileSync(file, 'utf8').includes(`"id":"${index + 1}"`));
      sizes.add(statSync(file).size);
    }),
  );
  t.true(sizes.size < 20, `${sizes.size} writes`);
  await journal.close();
});

test('a file that was removed, replaced, emptied or changed while open is complete when a flush resolves', async (t) => {
  const folder = temporaryFolder(t);
  const file = transactionJournalOf(folder);
  const { logged, observer } = listener();
  const journal = await openTransactionJournal(file, observer);
  journal.add(entry(1));
  await journal.flush();
  const harms: readonly (() => void)[] = [
    () => rmSync(file),
    () => {
      renameSync(file, join(folder, 'backup'));
      writeFileSync(file, 'something else');
    },
    () => truncateSync(file, 10),
    () => appendFileSync(file, 'half a line'),
  ];
  for (const [index, harm] of harms.entries()) {
    harm();
    journal.add(entry(index + 2));
    await journal.flush();
    const text = readFileSync(file, 'utf8');
    for (let id = 1; id <= index + 2; id += 1) t.true(text.includes(`"id":"${id}"`), `${id} after harm ${index}`);
  }
  t.deepEqual(
    logged,
    Array.from({ length: harms.length }, () => 'TRANSACTION_JOURNAL_REPLACED'),
  );
  t.is(readFileSync(`${file}.replaced`, 'utf8'), 'something else');
  journal.add(entry(9));
  await journal.flush();
  t.is(logged.length, harms.length, 'it is logged once each time');
  rmSync(file);
  await journal.close();
  const again = await openTransactionJournal(file, SILENT);
  t.is([...again.entries()].length, harms.length + 2, 'also without anything new before the stop');
  await again.close();
});

test('a journal without its folder refuses entries, and accepts them when the folder is back', async (t) => {
  const folder = join(temporaryFolder(t), 'data');
  const file = transactionJournalOf(folder);
  const journal = await openTransactionJournal(file, SILENT);
  journal.add(entry(1));
  await journal.flush();
  renameSync(folder, `${folder}-aside`);
  journal.add(entry(2));
  const error = await t.throwsAsync(journal.flush(), { code: 'TRANSACTION_JOURNAL_TAKEN_OVER' });
  t.regex(error.message, /the lock of this process is gone, so no transaction may be accepted/);
  // Copy the folder back to its place. The copy contains the lock file of this process.
  cpSync(`${folder}-aside`, folder, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  journal.add(entry(3));
  await journal.flush();
  t.true(readFileSync(file, 'utf8').includes('"id":"3"'));
  await journal.close();
});

test('a half line from a kill is skipped, and the lines after it are read', async (t) => {
  const file = transactionJournalOf(temporaryFolder(t));
  const { logged, observer } = listener();
  const journal = await openTransactionJournal(file, observer);
  journal.add(entry(1));
  await journal.close();
  appendFileSync(file, '0123456789abcdef {"transaction":{"id":"2","js');
  const torn = await openTransactionJournal(file, observer);
  t.is(torn.get('2'), undefined);
  torn.add(entry(3));
  await torn.close();
  const again = await openTransactionJournal(file, observer);
  t.deepEqual(
    [...again.entries()].map(({ id }) => id),
    ['1', '3'],
  );
  await again.close();
  t.deepEqual(logged, []);
});

test('damaged lines are reported and skipped', async (t) => {
  const file = transactionJournalOf(temporaryFolder(t));
  const { logged, observer } = listener();
  const journal = await openTransactionJournal(file, observer);
  for (const id of [1, 2, 3]) journal.add(entry(id));
  await journal.close();
  const lines = readFileSync(file, 'utf8').split('\n');
  writeFileSync(file, [lines[0], lines[1]?.replace('"2"', '"9"'), lines[2], ''].join('\n'));
  const again = await openTransactionJournal(file, observer);
  t.deepEqual(
    [...again.entries()].map(({ id }) => id),
    ['1', '3'],
  );
  t.deepEqual(logged, ['TRANSACTION_JOURNAL_DAMAGED']);
  again.add(entry(4));
  await again.close();
  const mended = await openTransactionJournal(file, observer);
  t.deepEqual(
    [...mended.entries()].map(({ id }) => id),
    ['1', '3', '4'],
  );
  await mended.close();
  t.is(logged.length, 1, 'the damage is gone');
});

test('an unreadable file is put aside, and the node starts', async (t) => {
  const folder = temporaryFolder(t);
  const file = transactionJournalOf(folder);
  const { logged, observer } = listener();
  const { mkdirSync } = await import('node:fs');
  mkdirSync(file);
  const journal = await openTransactionJournal(file, observer);
  journal.add(entry(1));
  await journal.close();
  t.deepEqual(logged, ['TRANSACTION_JOURNAL_UNREADABLE']);
  t.true(readdirSync(folder).includes('transaction-journal.unreadable'));
});

test('the file is rewritten when most of it is obsolete', async (t) => {
  const file = transactionJournalOf(temporaryFolder(t));
  const journal = await openTransactionJournal(file, SILENT);
  const json = { data: 'x'.repeat(50_000) };
  journal.add(entry(1));
  for (let id = 2; id < 100; id += 1) {
    journal.add(entry(id, { json }));
    await journal.flush();
    journal.remove([`${id}`]);
    await journal.flush();
    t.true(statSync(file).size < 1_300_000);
  }
  await journal.close();
  const again = await openTransactionJournal(file, SILENT);
  t.deepEqual([...again.entries()], [entry(1)]);
  await again.close();
});

test('a second process is refused, and a journal that lost its lock accepts nothing', async (t) => {
  const folder = temporaryFolder(t);
  const file = transactionJournalOf(folder);
  const journal = await openTransactionJournal(file, SILENT);
  await t.throwsAsync(openTransactionJournal(file, SILENT), { code: 'TRANSACTION_JOURNAL_IN_USE' });
  const { rmSync } = await import('node:fs');
  for (const name of readdirSync(folder)) if (name.includes('in-use')) rmSync(join(folder, name));
  journal.add(entry(1));
  await t.throwsAsync(journal.flush(), { code: 'TRANSACTION_JOURNAL_TAKEN_OVER' });
  await t.throwsAsync(journal.close());
});
