import test from 'ava';

import { FRAME_BYTES_MAX } from '../../src/p2p/packets.ts';
import { BYTES_FREE, TURNS_MAX, unfinishedBytesMax, UnfinishedMessages } from '../../src/p2p/unfinished.ts';
import { VirtualTime } from '../sim/virtual-clock.ts';

const MB = 1_000_000;
const PIECE = 65_536;

function lines() {
  const time = new VirtualTime(0);
  const messages = new UnfinishedMessages<string>(time.clock());
  const givenUp: string[] = [];
  const held = new Set<string>();
  const arrived = (line: string, bytes: number): void => {
    messages.arrived(line, bytes, {
      hold: () => void held.add(line),
      release: () => void held.delete(line),
      giveUp: () => void givenUp.push(line),
    });
  };
  /** Lines that stand still, or send so many bytes in each second. */
  const pass = async (seconds: number, sending: readonly string[] = [], bytes = 1): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      for (const line of sending) if (!held.has(line) && !givenUp.includes(line)) arrived(line, bytes);
      await time.runUntil(time.nowMs + 1_000);
    }
  };
  return { messages, givenUp, held, arrived, pass };
}

const named = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, index) => `${name} ${index}`);

test('blocks of three megabytes that all lines bring at the same moment come to their end, with few of them in memory', (t) => {
  const { messages, givenUp, held, arrived } = lines();
  const left = new Map(named(100, 'line').map((line) => [line, FRAME_BYTES_MAX]));
  const inMemory = new Map<string, number>();
  let most = 0;
  for (let round = 0; left.size > 0 && round < 5_000; round += 1) {
    for (const [line, bytes] of left) {
      if (held.has(line)) continue;
      const piece = Math.min(PIECE, bytes);
      arrived(line, piece);
      left.set(line, bytes - piece);
      inMemory.set(line, (inMemory.get(line) ?? 0) + piece);
      most = Math.max(
        most,
        [...inMemory.values()].reduce((sum, each) => sum + each, 0),
      );
      if (bytes > piece) continue;
      messages.ended(line);
      left.delete(line);
      inMemory.delete(line);
    }
  }
  t.is(left.size, 0);
  t.deepEqual(givenUp, []);
  t.is(held.size, 0);
  t.true(most <= unfinishedBytesMax(100), `${most}`);
  t.true(most < 40 * MB, `${most}`);
});

test('a line that stands still keeps its turn while nobody waits, and loses it where others do', async (t) => {
  const { givenUp, held, arrived, pass } = lines();
  for (const line of named(TURNS_MAX, 'still')) arrived(line, 3 * MB);
  await pass(60);
  t.deepEqual(givenUp, []);
  arrived('late', 3 * MB);
  t.true(held.has('late'));
  await pass(5);
  t.deepEqual(givenUp, []);
  await pass(1);
  t.deepEqual(givenUp, ['still 0'], 'one makes room for one');
  t.false(held.has('late'));
  await pass(60);
  t.is(givenUp.length, 1);
});

test('who sends a byte now and then has no longer than the heartbeat gives, and who sends on keeps its turn until then', async (t) => {
  const { givenUp, arrived, pass } = lines();
  const slow = named(TURNS_MAX, 'slow');
  for (const line of slow) arrived(line, 100_000);
  for (const line of named(2, 'late')) arrived(line, 100_000);
  await pass(20, slow);
  t.deepEqual(givenUp, []);
  await pass(1, slow);
  t.deepEqual(givenUp, ['slow 0', 'slow 1']);
});

test('small messages wait for nobody', (t) => {
  const { held, arrived } = lines();
  for (const line of named(TURNS_MAX, 'large')) arrived(line, 3 * MB);
  for (const line of named(100, 'small')) arrived(line, BYTES_FREE);
  t.is(held.size, 0);
});

test('a message that ends while its line waits leaves nothing behind', (t) => {
  const { messages, held, givenUp, arrived } = lines();
  for (const line of named(TURNS_MAX, 'large')) arrived(line, MB);
  arrived('late', MB);
  messages.ended('late');
  messages.ended('late');
  t.is(held.size, 0);
  for (const line of named(TURNS_MAX, 'large')) messages.ended(line);
  for (const line of named(TURNS_MAX, 'next')) arrived(line, MB);
  t.is(held.size, 0);
  t.deepEqual(givenUp, []);
});

test('single bytes count as what memory takes for them', (t) => {
  const { givenUp, arrived } = lines();
  for (let piece = 0; piece < 8_000; piece += 1) arrived('line', 1);
  t.deepEqual(givenUp, ['line']);
});
