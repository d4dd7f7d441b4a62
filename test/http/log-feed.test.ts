import test from 'ava';
import { AFTER_RECORD, placeOf, type EventPlace } from '../../src/http/events/event.ts';
import { LogFeed, type FedSubscriber } from '../../src/http/events/log-feed.ts';
import { storedEvents } from '../../src/http/events/stored-events.ts';
import type { ChainRecord } from '../../src/ports/chain-log.ts';
import type { NodeApi } from '../../src/ports/node-api.ts';
import { EventParser } from './event-subscribers.ts';
import { fakeNode, TIP, transactionOf, TRANSFER } from './fake-node.ts';

const FINAL_BLOCKS = 500;
const FIRST_FINAL = 11;
const LAST_FINAL = FIRST_FINAL + FINAL_BLOCKS - 1;

/** Creates a node whose newest record (number 2) made blocks 11 to 510 final. Each fifth block has a transaction. */
function nodeAfterLongWait(): { readonly api: NodeApi; readonly readHeights: number[] } {
  const readHeights: number[] = [];
  const { api } = fakeNode(3);
  const record = (sequence: number): ChainRecord => ({
    ...{ sequence, kind: 'applied', height: 900 + sequence, blockId: TIP.id },
    finalizedBefore: FIRST_FINAL - 1,
    finalizedAfter: sequence === 2 ? LAST_FINAL : FIRST_FINAL - 1,
  });
  const log: NodeApi['log'] = {
    last: () => 2,
    floor: () => 1,
    finalized: () => LAST_FINAL,
    records: (from, limit) => [record(1), record(2)].slice(Math.max(from, 1) - 1).slice(0, limit),
    firstRevert: () => undefined,
    block: () => undefined,
  };
  const blockByHeight: NodeApi['chain']['blockByHeight'] = (height) => {
    readHeights.push(height);
    return { ...TIP, height, transactions: height % 5 === 0 ? [transactionOf(3, TRANSFER)] : [] };
  };
  return { api: { ...api, log, chain: { ...api.chain, blockByHeight } }, readHeights };
}

interface Reader extends FedSubscriber {
  isFull: boolean;
  text: string;
}

const FINAL = { names: new Set<never>(), address: undefined, delegate: undefined, finality: 'final' } as const;

/** Creates a node with 30 records of one block each, on a network with the given maximum of transactions. */
function nodeWithRecords(transactionsPerBlockMax: number): {
  readonly api: NodeApi;
  readonly reads: { blocks: number };
} {
  const reads = { blocks: 0 };
  const { api } = fakeNode(3);
  const records = Array.from({ length: 30 }, (_, index): ChainRecord => ({
    ...{
      sequence: index + 1,
      kind: 'applied',
      height: index + 1,
      blockId: TIP.id,
      finalizedBefore: 0,
      finalizedAfter: 0,
    },
  }));
  const log: NodeApi['log'] = {
    last: () => records.length,
    floor: () => 1,
    finalized: () => 0,
    records: (from, limit) => records.slice(Math.max(from, 1) - 1).slice(0, limit),
    firstRevert: () => undefined,
    block: ({ height }) => {
      reads.blocks += 1;
      return { ...TIP, height, transactions: [] };
    },
  };
  return { api: { ...api, params: { ...api.params, transactionsPerBlockMax }, log }, reads };
}

/** @param after place of the last event that the reader has */
function setUpReader(api: NodeApi, after: EventPlace, takes = Infinity) {
  const reader: Reader = {
    filter: { ...FINAL, maySeeForging: false },
    place: after,
    isOfOtherLog: false,
    isFull: false,
    text: '',
  };
  let left = takes;
  const feed = new LogFeed<Reader>(api, { generation: 3, strict: false }, (subscriber, text) => {
    subscriber.text += text;
    left -= 1;
    subscriber.isFull = left === 0;
  });
  const continueTaking = (): void => {
    left = takes;
    reader.isFull = false;
  };
  return { feed, reader, continueTaking };
}

const eventsIn = (text: string) => new EventParser().read(text);
const indexOf = (id: string | undefined): number => Number(id?.split('.')[1]);

/** Reads until the end of the log; a connection that is full takes more data before the next call. */
function readAll({ feed, reader, continueTaking }: ReturnType<typeof setUpReader>) {
  for (let calls = 0; calls < 10_000; calls += 1) {
    const result = feed.feed(reader, Infinity);
    if (result === 'end') return eventsIn(reader.text);
    if (result === 'full') continueTaking();
  }
  throw new Error('the feed does not reach the end of the log');
}

test('a record that made hundreds of blocks final is read block by block', (t) => {
  const { api, readHeights } = nodeAfterLongWait();
  const { feed, reader } = setUpReader(api, { sequence: 1, index: 0 });
  t.is(feed.feed(reader, 0), 'more');
  t.is(feed.feed(reader, 0), 'more');
  t.deepEqual(readHeights, [FIRST_FINAL], 'a call whose time is over makes one step');
  feed.feed(reader, Infinity);
  t.true(readHeights.length <= 21, `${readHeights.length} blocks in one call`);
});

test('the events of such a record have consecutive indexes, each block comes once, and the new finalized height comes last', (t) => {
  const { api } = nodeAfterLongWait();
  const all = readAll(setUpReader(api, { sequence: 1, index: 0 }));
  t.deepEqual(
    all.map(({ id }) => indexOf(id)),
    all.map((_, index) => index),
  );
  const heights = all.filter(({ name }) => name === 'blocks/new').map(({ data }) => data['height']);
  t.deepEqual(
    heights,
    Array.from({ length: FINAL_BLOCKS }, (_, index) => FIRST_FINAL + index),
  );
  t.is(all.filter(({ name }) => name === 'transactions/included').length, FINAL_BLOCKS / 5);
  t.deepEqual(
    all.filter(({ name }) => name === 'finalized/change').map(({ data }) => data),
    [{ height: LAST_FINAL }],
  );
  t.is(all.at(-1)?.name, 'finalized/change');
});

test('a reader that takes few events at a time, or that returns in the middle, gets the same events', (t) => {
  const { api } = nodeAfterLongWait();
  const all = readAll(setUpReader(api, { sequence: 1, index: 0 }));
  for (const takes of [1, 7]) t.deepEqual(readAll(setUpReader(api, { sequence: 1, index: 0 }, takes)), all);
  for (const index of [0, 1, 250, all.length - 2, all.length - 1])
    t.deepEqual(readAll(setUpReader(api, { sequence: 2, index })), all.slice(index + 1));
});

test('a reader that starts at the end of the log reads no block', (t) => {
  const { api, readHeights } = nodeAfterLongWait();
  const { feed, reader } = setUpReader(api, { sequence: 2, index: Number.MAX_SAFE_INTEGER });
  t.is(feed.feed(reader, Infinity), 'end');
  t.deepEqual([reader.text, readHeights], ['', []]);
});

test('stored events of such a record are the same, and the first one needs one block', (t) => {
  const { api, readHeights } = nodeAfterLongWait();
  const query = 'finality=final&lastEventId=1.0';
  for (const event of storedEvents(api, query)) {
    t.is(event.event, 'blocks/new');
    break;
  }
  t.deepEqual(readHeights, [FIRST_FINAL]);
  const ids = readAll(setUpReader(api, { sequence: 1, index: 0 })).map(({ id }) => id);
  t.deepEqual(
    [...storedEvents(api, query)].map(({ id }) => id),
    ids,
  );
});

test('the feed caches fewer records if blocks can have more transactions', (t) => {
  const readsOfTwo = (transactionsPerBlockMax: number): number => {
    const { api, reads } = nodeWithRecords(transactionsPerBlockMax);
    const { feed, reader } = setUpReader(api, { sequence: 0, index: 0 });
    const filter = { ...reader.filter, finality: 'any' } as const;
    const readers: readonly Reader[] = [
      { ...reader, filter },
      { ...reader, filter },
    ];
    for (const each of readers) {
      t.is(feed.feed(each, Infinity), 'more');
      t.is(feed.feed(each, Infinity), 'end');
    }
    return reads.blocks;
  };
  t.is(readsOfTwo(25), 30, 'the second reader needs no block again');
  t.is(readsOfTwo(150), 60);
});

test('a block with many transactions is not read again each time its events fill the connection', (t) => {
  let reads = 0;
  const { api } = nodeWithRecords(25);
  const transactions = Array.from({ length: 300 }, () => transactionOf(3, TRANSFER));
  const blockByHeight = (height: number) => {
    reads += 1;
    return { ...TIP, height, transactions };
  };
  const chain = { ...api.chain, blockByHeight, tip: () => ({ ...TIP, height: 1 }) };
  const log = { ...api.log, last: () => 0, records: () => [] };
  const set = setUpReader({ ...api, chain, log }, { sequence: 0, height: 1, index: -1 }, 1);
  Object.assign(set.reader, { filter: { ...set.reader.filter, finality: 'any' } });
  const all = readAll(set);
  t.is(all.filter(({ name }) => name === 'transactions/included').length, 300);
  // The feed keeps the events of the block only in a cache with weak references. The garbage collection can remove the
  // events from this cache, and the feed then reads the block again. The test therefore allows more than one read.
  t.true(reads < 30, `${reads}`);
});

/** The id that `log/gap` names for a subscriber at this place, if the log has dropped the records after the place. */
function gapAfter(place: EventPlace): string {
  const api: NodeApi = {
    ...fakeNode(3).api,
    log: {
      last: () => 50,
      floor: () => 50,
      finalized: () => 0,
      records: (sequence) => [
        { sequence, kind: 'applied', height: sequence, blockId: TIP.id, finalizedBefore: 0, finalizedAfter: 0 },
      ],
      firstRevert: () => undefined,
      block: () => undefined,
    },
  };
  const sent: string[] = [];
  const feed = new LogFeed<FedSubscriber>(api, { generation: 3, strict: false }, (_, text) => void sent.push(text));
  const names = new Set(['log/gap'] as const);
  const filter = { names, address: undefined, delegate: undefined, finality: 'any', maySeeForging: false } as const;
  feed.feed({ filter, place, isOfOtherLog: false, isFull: false }, Number.POSITIVE_INFINITY);
  const [, data = '{}'] = /data: (.*)\n/.exec(sent.join('')) ?? [];
  return (JSON.parse(data) as { after: string }).after;
}

test('the id in log/gap is an id at which a stream can be resumed, also between two records', (t) => {
  t.is(gapAfter({ sequence: 12, index: 3 }), '12.3');
  t.is(gapAfter({ sequence: 12, tag: 7, height: 345, index: 6 }), '7000000012:345.6');
  for (const place of [
    { sequence: 12, index: AFTER_RECORD },
    { sequence: 13, index: -1 },
    { sequence: 0, index: AFTER_RECORD },
    { sequence: 0, index: -1 },
    { sequence: 12, tag: 7, height: 345, index: -1 },
  ]) {
    const after = gapAfter(place);
    const resumed = placeOf(after);
    t.truthy(resumed, after);
    // No event between the two places is sent twice or left out.
    const isSame = resumed?.sequence === place.sequence && resumed.height === place.height;
    const isBefore = (resumed?.sequence ?? 0) < place.sequence || (resumed?.height ?? 0) < (place.height ?? 0);
    t.true(isSame ? place.index === AFTER_RECORD || place.sequence === 0 : isBefore, after);
  }
});
