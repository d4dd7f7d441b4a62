/** Tests the outbox: the file in which the notifier stores its events until they are delivered. */

import { appendFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { checkedLine } from '../../../src/node/checked-lines.ts';
import { EVENTS_MAX, Outbox, type OutboxEvent } from '../../../src/node/notify/outbox.ts';
import { SILENT, type Observer } from '../../../src/ports/observer.ts';
import { temporaryFolder } from '../../support/network-folder.ts';

const event = (id: string): OutboxEvent => ({
  ...{ id, code: 'OWN_SLOTS_MISSED', time: '2026-01-01T00:00:00.000Z', message: 'alice missed slot 7' },
  fields: { count: 1 },
});
const ids = (outbox: Outbox): readonly string[] => outbox.waiting().map(({ id }) => id);

function listening(): { readonly observer: Observer; readonly codes: string[] } {
  const codes: string[] = [];
  return { codes, observer: { ...SILENT, log: (_level, code) => codes.push(code) } };
}

test('undelivered events are kept over a restart, with the height that was searched for events', async (t) => {
  const file = join(temporaryFolder(t), 'deep', 'outbox');
  const first = await Outbox.open(file, SILENT);
  first.add(event('a'));
  first.add(event('b'));
  first.add(event('b'));
  first.delivered('a');
  first.moveTo({ height: 9, reportedSlots: { alice: 7 } });
  await first.close();
  const second = await Outbox.open(file, SILENT);
  t.deepEqual(second.waiting(), [event('b')]);
  t.deepEqual(second.place, { height: 9, reportedSlots: { alice: 7 } });
  second.delivered('b');
  await second.close();
  const third = await Outbox.open(file, SILENT);
  t.deepEqual(ids(third), []);
  await third.close();
});

test('the position in a file of an earlier version is read', async (t) => {
  const file = join(temporaryFolder(t), 'outbox');
  writeFileSync(file, checkedLine({ place: { height: 9, toldSlots: { alice: 7 } } }));
  const outbox = await Outbox.open(file, SILENT);
  t.deepEqual(outbox.place, { height: 9, reportedSlots: { alice: 7 } });
  await outbox.close();
});

test('wherever a kill cuts the file, each flushed event is there', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'outbox');
  const outbox = await Outbox.open(file, SILENT);
  const lengths: number[] = [];
  for (const id of ['a', 'b', 'c']) {
    outbox.add(event(id));
    await outbox.flush();
    lengths.push(statSync(file).size);
  }
  await outbox.close();
  const whole = readFileSync(file);
  for (let length = 0; length <= whole.length; length += 7) {
    const copy = join(folder, `copy-${length}`);
    writeFileSync(copy, whole);
    truncateSync(copy, length);
    const found = await Outbox.open(copy, SILENT);
    const flushed = lengths.filter((each) => each <= length).length;
    t.deepEqual(ids(found), ['a', 'b', 'c'].slice(0, flushed));
    // If the file ends with a partial line, the outbox must not append the next event to this line.
    found.add(event('d'));
    await found.close();
    const again = await Outbox.open(copy, SILENT);
    t.deepEqual(ids(again), [...['a', 'b', 'c'].slice(0, flushed), 'd']);
    await again.close();
  }
});

test('too many events drop the oldest ones, and the file stays bounded', async (t) => {
  const file = join(temporaryFolder(t), 'outbox');
  const outbox = await Outbox.open(file, SILENT);
  for (let number = 0; number < EVENTS_MAX + 5; number += 1) outbox.add(event(String(number)));
  await outbox.flush();
  t.is(outbox.waiting().length, EVENTS_MAX);
  t.is(outbox.waiting()[0]?.id, '5');
  t.is(outbox.dropped, 5);
  for (const { id } of outbox.waiting()) outbox.delivered(id);
  await outbox.flush();
  for (let round = 0; round < 30; round += 1) {
    for (let number = 0; number < 100; number += 1) {
      outbox.add(event(`${round}-${number}`));
      outbox.delivered(`${round}-${number}`);
    }
    await outbox.flush();
  }
  t.true(statSync(file).size < 400_000, String(statSync(file).size));
  await outbox.close();
});

test('damaged lines are skipped and reported, and an unreadable file is put aside', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'outbox');
  const outbox = await Outbox.open(file, SILENT);
  outbox.add(event('a'));
  await outbox.close();
  appendFileSync(file, 'no line of ours\n');
  const damaged = listening();
  const found = await Outbox.open(file, damaged.observer);
  t.deepEqual(ids(found), ['a']);
  t.deepEqual(damaged.codes, ['NOTIFY_OUTBOX_DAMAGED']);
  await found.close();

  const odd = join(folder, 'odd');
  mkdirSync(odd);
  const unreadable = listening();
  const empty = await Outbox.open(odd, unreadable.observer);
  t.deepEqual(ids(empty), []);
  t.deepEqual(unreadable.codes, ['NOTIFY_OUTBOX_UNREADABLE']);
  t.true(statSync(`${odd}.unreadable`).isDirectory());
  await empty.close();
});
