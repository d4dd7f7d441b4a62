import test from 'ava';
import { createChainLog } from '../../../src/store/chain/chain-log.ts';
import { chainStoreOver, openMemoryChainStore } from '../../../src/store/chain/open.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { Dice, nextStep } from '../world.ts';

const open = () => openMemoryChainStore({ codec: FAKE_CODEC, params: paramsWith() });
const noFinality = { finalizedHeight: () => 0 };

function appendTo(store: ReturnType<typeof open>, dice: Dice, count: number) {
  return Array.from({ length: count }, () => {
    const { block, apply } = nextStep(dice, store.tip());
    store.transact((writer) => writer.append(block, apply));
    return block;
  });
}

test('each applied or reverted block leaves a record, and the content of a reverted one is kept', (t) => {
  const store = open();
  const log = createChainLog(store, noFinality);
  const blocks = appendTo(store, new Dice(3), 4);
  store.transact((writer) => writer.revert());
  const records = log.records(1, 10);
  t.deepEqual(
    records.map(({ sequence, kind, height }) => [sequence, kind, height]),
    [
      [1, 'applied', 1],
      [2, 'applied', 2],
      [3, 'applied', 3],
      [4, 'applied', 4],
      [5, 'reverted', 4],
    ],
  );
  for (const record of records) t.deepEqual(log.block(record), blocks[record.height - 1]);
  t.is(log.last(), 5);
  t.is(log.floor(), 1);
});

test('a failed transaction leaves no record, and a reopened log continues', (t) => {
  const store = open();
  const first = createChainLog(store, noFinality);
  appendTo(store, new Dice(3), 2);
  const { block, apply } = nextStep(new Dice(4), store.tip());
  t.throws(() =>
    store.transact((writer) => {
      writer.append(block, apply);
      throw new Error('no');
    }),
  );
  t.is(first.last(), 2);
  const second = createChainLog(store, noFinality);
  t.is(second.last(), 2);
  appendTo(store, new Dice(5), 1);
  t.deepEqual(
    second.records(3, 5).map(({ height }) => height),
    [3],
  );
});

test('the finalized height in the records never decreases', (t) => {
  let finalized = 0;
  const store = open();
  const log = createChainLog(store, { finalizedHeight: () => finalized });
  const dice = new Dice(3);
  for (const height of [0, 2, 1]) {
    finalized = height;
    appendTo(store, dice, 1);
  }
  t.deepEqual(
    log.records(1, 5).map(({ finalizedBefore, finalizedAfter }) => [finalizedBefore, finalizedAfter]),
    [
      [0, 0],
      [0, 2],
      [2, 2],
    ],
  );
});

test('old records are deleted', (t) => {
  const store = open();
  const log = createChainLog(store, { ...noFinality, recordsMax: 3 });
  appendTo(store, new Dice(3), 8);
  t.is(log.floor(), 6);
  t.deepEqual(
    log.records(1, 10).map(({ sequence }) => sequence),
    [6, 7, 8],
  );
});

test('records from before a change without the log are deleted step by step', (t) => {
  const disk = new MemoryKeyValue();
  const openAgain = () => chainStoreOver(disk, { codec: FAKE_CODEC, params: paramsWith() }, 'test');
  const recordsOf = (store: ReturnType<typeof open>) => store.noteKeys('chain-log/').length;
  const dice = new Dice(3);
  const first = openAgain();
  createChainLog(first, noFinality);
  appendTo(first, dice, 150);
  t.is(recordsOf(first), 150);
  appendTo(openAgain(), dice, 1);
  const store = openAgain();
  createChainLog(store, noFinality);
  appendTo(store, dice, 1);
  t.is(recordsOf(store), 51, 'one transaction deletes a hundred records');
  appendTo(store, dice, 1);
  t.is(recordsOf(store), 2);
});

test('a change of the chain without the log shows as a number without a record', (t) => {
  const disk = new MemoryKeyValue();
  const openAgain = () => chainStoreOver(disk, { codec: FAKE_CODEC, params: paramsWith() }, 'test');
  const first = openAgain();
  createChainLog(first, noFinality);
  appendTo(first, new Dice(3), 2);
  appendTo(openAgain(), new Dice(4), 2);
  const store = openAgain();
  const log = createChainLog(store, noFinality);
  t.is(log.last(), 3);
  t.is(log.floor(), 4);
  t.deepEqual(log.records(1, 5), []);
  appendTo(store, new Dice(5), 1);
  t.deepEqual(
    log.records(1, 5).map(({ sequence, height }) => [sequence, height]),
    [[4, 5]],
  );
});
