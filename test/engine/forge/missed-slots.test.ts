import test from 'ava';
import { lastHeightOf, roundOf } from '../../../src/protocol/rounds.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import { ACTIVE_DELEGATES } from '../../../src/protocol/params.ts';
import { setUpForging, type LoggedEvent } from './forging-fixture.ts';

const slotsOf = (logged: readonly LoggedEvent[], code: string): readonly unknown[] =>
  logged.filter((each) => each.code === code).map(({ fields }) => fields['slot']);

test('a running node forges in its slots and misses none', async (t) => {
  const { scheduler, pass, logged } = setUpForging();
  scheduler.start();
  await pass(20);
  await scheduler.stop();
  t.deepEqual(new Set(logged.map(({ code }) => code)), new Set(['BLOCK_FORGED']));
});

test('a slot without a block because forging is not ready is logged once with the reason', async (t) => {
  const { scheduler, pass, logged, hinder, ownSlots, currentSlot } = setUpForging();
  scheduler.start();
  await pass(10);
  logged.length = 0;
  hinder('synchronising with the network');
  const from = currentSlot() + 1;
  await pass(15);
  await scheduler.stop();
  // The last slot has only begun, and the scheduler still waits for a late block of the slot before.
  t.deepEqual(slotsOf(logged, 'FORGING_PAUSED'), ownSlots(from, currentSlot()));
  t.true(logged.every(({ fields }) => fields['reason'] === 'synchronising with the network'));
});

test('before the network has begun, a fault of the node is logged although its slot had a normal reason first', async (t) => {
  const { scheduler, pass, logged, hinder, fillDisk, ownSlots, currentSlot } = setUpForging();
  const [first = 0, second = 0] = ownSlots(currentSlot() + 1, currentSlot() + 20);
  scheduler.start();
  fillDisk(true);
  await pass(first - currentSlot() + 0.6);
  hinder('no peer is connected');
  await pass(second - first);
  hinder(undefined);
  scheduler.check();
  await pass(0.1);
  hinder('no peer is connected');
  await pass(1);
  await scheduler.stop();
  const ofSlot = logged.filter(({ fields }) => fields['slot'] === second);
  t.deepEqual(
    ofSlot.map(({ code, fields }) => [code, fields['cause']]),
    [['FORGING_PAUSED', 'STORE_WRITE_FAILED']],
  );
});

test('a slot that is used in the end is not logged as missed, although forging was not ready before', async (t) => {
  const { scheduler, pass, logged, hinder, ownSlots, currentSlot } = setUpForging();
  scheduler.start();
  await pass(10);
  logged.length = 0;
  const [slot = 0] = ownSlots(currentSlot() + 1, currentSlot() + 20);
  hinder('synchronising with the network');
  await pass(slot - currentSlot() + 0.8);
  hinder(undefined);
  scheduler.check();
  await pass(2);
  await scheduler.stop();
  t.true(logged.some(({ code, fields }) => code === 'BLOCK_FORGED' && fields['slot'] === slot));
  t.deepEqual(slotsOf(logged, 'FORGING_PAUSED'), []);
});

test('a node that stops in its own slot logs why it did not use the slot', async (t) => {
  const { scheduler, pass, logged, hinder, ownSlots, currentSlot } = setUpForging();
  scheduler.start();
  await pass(10);
  const [slot = 0] = ownSlots(currentSlot() + 1, currentSlot() + 20);
  hinder('synchronising with the network');
  await pass(slot - currentSlot() + 0.8);
  await scheduler.stop();
  t.deepEqual(slotsOf(logged, 'FORGING_PAUSED'), [slot]);
});

test('a missed slot is logged with its delegate, and with a note when its order may be outdated', async (t) => {
  const { scheduler, chain, pass, logged, hinder, currentSlot } = setUpForging();
  scheduler.start();
  await pass(10);
  const { height, timestamp } = chain.tip.header;
  const { params } = chain.rules;
  // The round can end in slot `lastCertain` at the earliest. After this slot, the order of delegates is uncertain.
  const lastCertain = slotAt(timestamp, params) + params.activeDelegates - height;
  hinder('synchronising with the network');
  logged.length = 0;
  await pass(params.activeDelegates + 10);
  await scheduler.stop();
  t.true(logged.length > 30);
  t.true(Number(logged.at(-1)?.fields['slot']) > lastCertain && currentSlot() > lastCertain);
  for (const { fields } of logged) {
    t.regex(String(fields['delegate']), /^[0-9a-f]{64}$/);
    t.is(fields['orderOfHeight'], Number(fields['slot']) > lastCertain ? height + 1 : undefined, `${fields['slot']}`);
  }
});

test('a network that has not begun has no missed slots', async (t) => {
  const { scheduler, pass, logged, hinder } = setUpForging();
  hinder('no peer has reported its tip yet');
  scheduler.start();
  await pass(10);
  hinder(undefined);
  await pass(10);
  await scheduler.stop();
  t.true(logged.some(({ code }) => code === 'FORGING_NOT_BEGUN'));
  t.deepEqual(slotsOf(logged, 'FORGING_PAUSED'), []);
  t.true(logged.some(({ code }) => code === 'BLOCK_FORGED'));
});

test('slots missed while the machine slept are logged after it wakes, each with its delegate', async (t) => {
  const { scheduler, pass, logged, sleep, ownSlots, currentSlot, chain } = setUpForging();
  scheduler.start();
  await pass(10);
  const forged = chain.tip.header.height;
  const asleepFrom = currentSlot() + 1;
  sleep(60);
  const missed = ownSlots(asleepFrom, currentSlot());
  t.true(missed.length > 5);
  await pass(3);
  await scheduler.stop();
  t.deepEqual(slotsOf(logged, 'FORGING_SLOT_SLEPT'), missed);
  t.is(
    new Set(logged.filter(({ code }) => code === 'FORGING_SLOT_SLEPT').map(({ fields }) => fields['delegate'])).size,
    missed.length,
  );
  t.true(chain.tip.header.height > forged);
});

test('a slept slot in which a later round may have begun is logged with the height of its order', async (t) => {
  const { scheduler, pass, logged, sleep, chain } = setUpForging();
  scheduler.start();
  await pass(10);
  const { params } = chain.rules;
  const { height, timestamp } = chain.tip.header;
  const certainUntil = slotAt(timestamp, params) + lastHeightOf(roundOf(height + 1, params), params) - height;
  sleep(150);
  await pass(1);
  await scheduler.stop();
  const slept = logged.filter(({ code }) => code === 'FORGING_SLOT_SLEPT').map(({ fields }) => fields);
  const [certain, uncertain] = [
    slept.filter(({ slot }) => Number(slot) <= certainUntil),
    slept.filter(({ slot }) => Number(slot) > certainUntil),
  ];
  t.true(certain.length > 0 && uncertain.length > 0, `${certain.length} ${uncertain.length}`);
  t.true(certain.every((fields) => !('orderOfHeight' in fields)));
  t.true(uncertain.every(({ orderOfHeight }) => orderOfHeight === height + 1));
});

test('slots missed in a sleep are logged even when a later block of another node arrives first', async (t) => {
  const { scheduler, pass, logged, sleep, ownSlots, currentSlot, chain, receiveBlockOf } = setUpForging();
  scheduler.start();
  await pass(10);
  const asleepFrom = currentSlot() + 1;
  sleep(30);
  const missed = ownSlots(asleepFrom, currentSlot());
  const gap = Array.from({ length: 20 }, (_, index) => asleepFrom + 10 + index);
  const filled = gap.find((slot) => !missed.includes(slot)) ?? 0;
  t.is((await receiveBlockOf(filled)).kind, 'applied');
  t.is(slotAt(chain.tip.header.timestamp, chain.rules.params), filled);
  await pass(3);
  await scheduler.stop();
  t.true(missed.some((slot) => slot < filled) && missed.length > 5);
  t.deepEqual(slotsOf(logged, 'FORGING_SLOT_SLEPT'), missed);
});

test('after a very long sleep at most one round of slots is logged', async (t) => {
  const { scheduler, pass, logged, sleep } = setUpForging();
  scheduler.start();
  await pass(5);
  sleep(100_000);
  await pass(3);
  await scheduler.stop();
  const count = slotsOf(logged, 'FORGING_SLOT_SLEPT').length;
  t.true(count > 20 && count <= ACTIVE_DELEGATES, `${count}`);
});
