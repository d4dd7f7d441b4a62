import test from 'ava';
import { BoundedQueue, LruMap } from '../../src/primitives/bounded.ts';

test('a map never holds more than its maximum', (t) => {
  const map = new LruMap<number, number>(10);
  for (let key = 0; key < 1000; key += 1) {
    map.set(key, key);
    t.true(map.size <= 10);
  }
  t.is(map.get(999), 999);
  t.is(map.get(1), undefined);
});

test('an entry in use survives any number of new entries', (t) => {
  const map = new LruMap<string, number>(10);
  map.set('used', 1);
  for (let key = 0; key < 1000; key += 1) {
    map.set(`other ${key}`, key);
    t.is(map.get('used'), 1);
  }
});

test('an unused entry is evicted after the maximum number of new ones', (t) => {
  const map = new LruMap<string, number>(10);
  map.set('unused', 1);
  for (let key = 0; key < 10; key += 1) map.set(`other ${key}`, key);
  t.false(map.has('unused'));
});

test('an entry is kept when its own use ends a span of the map', (t) => {
  const map = new LruMap<string, number>(4);
  map.set('old', 1);
  map.set('b', 2);
  map.set('c', 3);
  map.set('d', 4);
  t.is(map.get('old'), 1);
  t.is(map.get('old'), 1);
  t.true(map.size <= 4);
});

test('removed entries leave room for new ones', (t) => {
  const map = new LruMap<number, number>(4);
  for (let key = 0; key < 100; key += 1) {
    map.set(-1, key);
    map.set(key, key);
    t.true(map.delete(key));
  }
  map.set(1, 1);
  t.is(map.get(-1), 99);
  t.is(map.get(1), 1);
});

test('a changed value replaces the old one in any span of the map', (t) => {
  const map = new LruMap<string, number>(4);
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  t.is(map.get('a'), 3);
  t.true(map.delete('a'));
  t.false(map.has('a'));
  t.false(map.delete('a'));
  map.clear();
  t.is(map.size, 0);
});

test('a full queue refuses an entry, and returns the oldest first', (t) => {
  const queue = new BoundedQueue<number>(3);
  t.deepEqual(
    [1, 2, 3, 4].map((item) => queue.push(item)),
    [true, true, true, false],
  );
  queue.filter((item) => item !== 2);
  t.deepEqual(queue.take(5), [1, 3]);
  t.is(queue.size, 0);
});
