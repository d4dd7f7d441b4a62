import test from 'ava';

import {
  selectToDial,
  selectToEvict,
  selectToExchange,
  selectToList,
  selectForGossip,
  shuffled,
} from '../../../src/engine/peers/selection.ts';
import { connection, seeded } from './support.ts';

/** Options for peers that are in no netgroup. */
const ANYWHERE = { groupOf: () => undefined, taken: [] };

const ids = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index)}`);

test('with enough free places every candidate is dialled, and without a free place none', (t) => {
  t.deepEqual(selectToDial(ids('n', 2), ids('t', 2), 4, seeded(1), ANYWHERE).sort(), ['n0', 'n1', 't0', 't1']);
  t.deepEqual(selectToDial(ids('n', 2), ids('t', 2), 0, seeded(1), ANYWHERE), []);
  t.deepEqual(selectToDial(ids('n', 2), ids('t', 2), -3, seeded(1), ANYWHERE), []);
});

test('tried peers are drawn with the probability of their share, but at least half of the time', (t) => {
  const share = (fresh: number, tried: number): number => {
    let fromTried = 0;
    const random = seeded(7);
    for (let round = 0; round < 2_000; round += 1) {
      if (selectToDial(ids('n', fresh), ids('t', tried), 1, random, ANYWHERE)[0]?.startsWith('t')) fromTried += 1;
    }
    return fromTried / 2_000;
  };
  t.true(Math.abs(share(300, 50) - 0.5) < 0.05);
  t.true(Math.abs(share(900, 100) - 0.5) < 0.05);
  t.true(Math.abs(share(100, 300) - 0.75) < 0.05);
  t.true(Math.abs(share(10, 50) - 0.5) < 0.05, 'few tried peers are trusted no more than new ones');
});

test('a draw from an empty list uses the other list', (t) => {
  t.is(selectToDial([], ids('t', 5), 3, seeded(2), ANYWHERE).length, 3);
  t.is(selectToDial(ids('n', 5), [], 3, seeded(2), ANYWHERE).length, 3);
});

test('many addresses in one netgroup get more than one outbound connection only when no other address is left', (t) => {
  const peers = [...ids('a', 128), ...ids('b', 30)].map((id) => ({
    id,
    group: id.startsWith('a') ? 0 : Number(id.slice(1)) + 1,
  }));
  const draw = (free: number, taken: readonly number[] = []): string[] => {
    const spread = { groupOf: ({ group }: (typeof peers)[number]) => group, taken };
    return selectToDial(peers, [], free, seeded(3), spread).map(({ id }) => id.slice(0, 1));
  };
  const sameNetgroup = (drawn: readonly string[]): number => drawn.filter((id) => id === 'a').length;
  t.true(sameNetgroup(draw(20)) <= 1);
  t.is(sameNetgroup(draw(20, [0])), 0, 'it has its place already');
  t.is(sameNetgroup(draw(50)), 20, 'the other thirty come first');
});

test('the outbound peer to replace is from the netgroup with most peers', (t) => {
  const groupOf = (id: string): number | undefined => (id.startsWith('x') ? undefined : id.charCodeAt(0));
  const gone = new Set(
    Array.from({ length: 50 }, (_, seed) =>
      selectToExchange(['a1', 'b1', 'b2', 'c1', 'x1', 'x2', 'x3'], groupOf, seeded(seed)),
    ),
  );
  t.deepEqual([...gone].sort(), ['b1', 'b2']);
  const any = new Set(
    Array.from({ length: 50 }, (_, seed) => selectToExchange(['a1', 'b1', 'x1', 'x2'], groupOf, seeded(seed))),
  );
  t.is(any.size, 4);
  t.is(selectToExchange([], groupOf, seeded(1)), undefined);
});

test('half of each broadcast goes to the direction with fewer connections', (t) => {
  const inbound = ids('i', 30).map((id) => connection(id));
  const outbound = ids('o', 10).map((id) => connection(id, { direction: 'outbound' }));
  const split = (chosen: readonly string[]): [number, number] => [
    chosen.filter((id) => id.startsWith('i')).length,
    chosen.filter((id) => id.startsWith('o')).length,
  ];
  t.deepEqual(split(selectForGossip([...inbound, ...outbound], 16, seeded(1))), [8, 8]);
  t.deepEqual(split(selectForGossip([...inbound, ...outbound], 25, seeded(1))), [15, 10]);
  t.deepEqual(split(selectForGossip([...inbound, ...outbound.slice(0, 3)], 16, seeded(1))), [13, 3]);
  t.deepEqual(split(selectForGossip([...inbound.slice(0, 2), ...outbound], 16, seeded(1))), [2, 10]);
  t.deepEqual(selectForGossip([], 16, seeded(1)), []);
});

test('a peer list has all peers up to a hundred, above that a quarter to half of them, at most 1000', (t) => {
  t.is(selectToList(ids('p', 0), seeded(1)).length, 0);
  t.is(selectToList(ids('p', 1), seeded(1)).length, 1);
  t.is(selectToList(ids('p', 100), seeded(1)).length, 100);
  for (let seed = 0; seed < 20; seed += 1) {
    const some = selectToList(ids('p', 1_000), seeded(seed)).length;
    t.true(some >= 250 && some <= 500);
    t.true(selectToList(ids('p', 9_000), seeded(seed)).length <= 1_000);
  }
});

test('fast and old connections and rare netgroups are protected from eviction', (t) => {
  const inbound = ids('p', 100).map((id, index) =>
    connection(id, {
      sinceMs: index,
      latencyMs: index < 50 ? 500 : index,
      info: { ip: `9.${String(index)}.0.1`, wsPort: 1 },
    }),
  );
  const netgroup = (ip: string): number => Number(ip.split('.')[1]);
  for (let seed = 0; seed < 50; seed += 1) {
    const victim = Number(selectToEvict(inbound, netgroup, seeded(seed))?.slice(1));
    t.false(victim >= 96, 'rare netgroups stay');
    t.false(victim >= 50 && victim < 57, 'the fastest stay');
    t.false(victim < 44, 'the oldest half of the rest stays');
  }
});

test('an eviction closes a connection of the largest netgroup, even when its peers connected first', (t) => {
  const sameNetgroup = ids('c', 60).map((id, index) =>
    connection(id, { sinceMs: index, info: { ip: `7.7.${String(index)}.1`, wsPort: 1 } }),
  );
  const others = ids('o', 20).map((id, index) =>
    connection(id, { sinceMs: 100 + index, info: { ip: `9.${String(index)}.0.1`, wsPort: 1 } }),
  );
  const netgroup = (ip: string): number => Number(ip.split('.')[1]) + (ip.startsWith('7') ? 1_000 : 0);
  for (let seed = 0; seed < 50; seed += 1) {
    t.regex(selectToEvict([...sameNetgroup, ...others], netgroup, seeded(seed)) ?? '', /^c/);
  }
});

test('peers whose requests could be answered are protected from eviction', (t) => {
  const inbound = ids('p', 40).map((id, index) =>
    connection(id, { sinceMs: index, ...(index >= 37 ? { responsiveness: 1 } : {}) }),
  );
  for (let seed = 0; seed < 50; seed += 1) {
    t.false(Number(selectToEvict(inbound, () => 0, seeded(seed))?.slice(1)) >= 37);
  }
});

test('the youngest of a few connections is evicted, and nothing is evicted without connections', (t) => {
  const inbound = [connection('a', { sinceMs: 1 }), connection('c', { sinceMs: 3 }), connection('b', { sinceMs: 2 })];
  t.truthy(selectToEvict(inbound, () => 0, seeded(1)));
  t.is(
    selectToEvict(inbound.slice(0, 1), () => 0, seeded(1)),
    'a',
  );
  t.is(
    selectToEvict(inbound.slice(0, 2), () => 0, seeded(1)),
    'c',
  );
  t.is(
    selectToEvict([], () => 0, seeded(1)),
    undefined,
  );
});

test('shuffling keeps each item and does not change the given list', (t) => {
  const items = ids('x', 50);
  const mixed = shuffled(items, seeded(3));
  t.deepEqual([...mixed].sort(), [...items].sort());
  t.notDeepEqual(mixed, items);
  t.is(items[0], 'x0');
});
