import test from 'ava';

import { FRAME_BYTES_MAX } from '../../src/p2p/frame-validation.ts';
import { BYTES_FREE, TURNS_MAX, unfinishedBytesMax, UnfinishedMessages } from '../../src/p2p/unfinished-messages.ts';
import { VirtualTime } from '../sim/virtual-clock.ts';

const MB = 1_000_000;
const CHUNK = 65_536;

function unfinishedMessages() {
  const time = new VirtualTime(0);
  const messages = new UnfinishedMessages<string>(time.clock());
  const givenUp: string[] = [];
  const held = new Set<string>();
  const arrived = (connection: string, bytes: number): void => {
    messages.arrived(connection, bytes, {
      hold: () => void held.add(connection),
      release: () => void held.delete(connection),
      giveUp: () => void givenUp.push(connection),
    });
  };
  /**
   * Moves the time forward. In each second, `bytes` bytes arrive on each connection in `sending`, unless the connection
   * is in `held` or `givenUp`.
   */
  const pass = async (seconds: number, sending: readonly string[] = [], bytes = 1): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      for (const connection of sending) {
        if (!held.has(connection) && !givenUp.includes(connection)) arrived(connection, bytes);
      }
      await time.runUntil(time.nowMs + 1_000);
    }
  };
  return { messages, givenUp, held, arrived, pass };
}

const named = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, index) => `${name} ${index}`);

test('three-megabyte blocks that all connections bring at once are completed, with few of them in memory', (t) => {
  const { messages, givenUp, held, arrived } = unfinishedMessages();
  const left = new Map(named(100, 'connection').map((connection) => [connection, FRAME_BYTES_MAX]));
  const inMemory = new Map<string, number>();
  let most = 0;
  for (let round = 0; left.size > 0 && round < 5_000; round += 1) {
    for (const [connection, bytes] of left) {
      if (held.has(connection)) continue;
      const chunk = Math.min(CHUNK, bytes);
      arrived(connection, chunk);
      left.set(connection, bytes - chunk);
      inMemory.set(connection, (inMemory.get(connection) ?? 0) + chunk);
      most = Math.max(
        most,
        [...inMemory.values()].reduce((sum, each) => sum + each, 0),
      );
      if (bytes > chunk) continue;
      messages.ended(connection);
      left.delete(connection);
      inMemory.delete(connection);
    }
  }
  t.is(left.size, 0);
  t.deepEqual(givenUp, []);
  t.is(held.size, 0);
  t.true(most <= unfinishedBytesMax(100), `${most}`);
  t.true(most < 40 * MB, `${most}`);
});

test('a stalled connection keeps its turn while nobody waits; otherwise it is held, and later closed', async (t) => {
  const { messages, givenUp, held, arrived, pass } = unfinishedMessages();
  const still = named(TURNS_MAX, 'still');
  for (const connection of still) arrived(connection, 100_000);
  await pass(60);
  t.deepEqual(givenUp, []);
  arrived('late', 100_000);
  await pass(3, ['late'], 500_000);
  t.deepEqual([...held], ['late']);
  await pass(1);
  t.deepEqual([...held], ['still 0'], 'one makes room for one');
  await pass(1, ['late'], MB);
  t.deepEqual([...held], ['still 1'], 'the one that was held has another turn');
  messages.ended('late');
  t.is(held.size, 0);
  for (let other = 1; other < 40; other += 1) {
    arrived(`late ${other}`, 100_000);
    await pass(8, [`late ${other}`], 400_000);
    messages.ended(`late ${other}`);
  }
  t.deepEqual(givenUp, ['still 0'], 'then there is a turn for each, and nobody waits');
});

test('when others wait too long, the slowest connection loses its turn, one at a time, and resumes', async (t) => {
  const { messages, givenUp, held, arrived, pass } = unfinishedMessages();
  const slow = named(TURNS_MAX, 'slow');
  for (const connection of slow) arrived(connection, 100_000);
  arrived('late 0', 100_000);
  arrived('late 1', 100_000);
  for (let second = 0; second < 8; second += 1) {
    for (const connection of slow) arrived(connection, connection === 'slow 5' ? 150_000 : 200_000);
    await pass(1);
  }
  t.is(held.size, 2, 'nobody loses a turn before');
  await pass(1, slow, 200_000);
  t.deepEqual([...held], ['late 1', 'slow 5']);
  messages.ended('late 0');
  messages.ended('slow 0');
  t.is(held.size, 0);
  t.deepEqual(givenUp, []);
});

test('the held data of connections that lost their turn is limited: those without room are closed', async (t) => {
  const { givenUp, held, arrived, pass } = unfinishedMessages();
  for (const connection of named(TURNS_MAX, 'large')) arrived(connection, 3 * MB);
  for (const connection of named(TURNS_MAX, 'late')) arrived(connection, 100_000);
  await pass(4);
  t.is(givenUp.length, TURNS_MAX - 2);
  t.is([...held].filter((connection) => connection.startsWith('large')).length, 2);
});

test('eight connections that drip at any rate do not delay messages of three megabytes too long', async (t) => {
  for (const drip of [1, 15_000, 20_000, 60_000]) {
    const { messages, held, arrived, pass } = unfinishedMessages();
    const drips = named(TURNS_MAX, 'drip');
    for (const connection of drips) arrived(connection, BYTES_FREE + 1);
    for (let block = 0; block < 10; block += 1) {
      const name = `block ${block}`;
      arrived(name, CHUNK);
      let seconds = 0;
      for (let bytes = CHUNK; bytes < FRAME_BYTES_MAX; seconds += 1) {
        await pass(1, drips, drip);
        if (held.has(name)) continue;
        arrived(name, MB);
        bytes += MB;
      }
      messages.ended(name);
      // A peer cannot answer a heartbeat while its message is unfinished. When the message starts, the last answer of
      // the peer may be 8 s old. The node would close the connection when this answer is 20 s old, so the message may
      // take at most 12 s.
      t.true(seconds <= 12, `${drip}: ${seconds}`);
      await pass(1, drips, drip);
    }
  }
});

test('bytes that arrive with the end of the previous message, and during a wait, stay within the memory budget', async (t) => {
  const { messages, held, givenUp, arrived, pass } = unfinishedMessages();
  const all = named(164, 'connection');
  const inMemory = new Map<string, number>();
  const bring = (connection: string, bytes: number): void => {
    inMemory.set(connection, (inMemory.get(connection) ?? 0) + bytes);
    arrived(connection, bytes);
  };
  const sum = (): number =>
    [...inMemory].reduce((total, [connection, bytes]) => total + (givenUp.includes(connection) ? 0 : bytes), 0);
  for (const connection of all) {
    arrived(connection, CHUNK);
    messages.ended(connection);
    // The chunk that ended the message also contained the first `CHUNK - 6` bytes of the next message.
    inMemory.set(connection, CHUNK - 6);
    bring(connection, BYTES_FREE);
  }
  for (const connection of all) bring(connection, CHUNK);
  for (let round = 0; round < 60; round += 1) {
    for (const connection of all) {
      const isReading = !held.has(connection) && !givenUp.includes(connection);
      if (isReading && (inMemory.get(connection) ?? 0) < 3 * MB) bring(connection, CHUNK);
    }
    if (round % 2 === 0) await pass(1);
    t.true(sum() <= unfinishedBytesMax(all.length), `${sum()}`);
  }
  t.true(sum() > all.length * (BYTES_FREE + CHUNK), 'more than a chunk of each');
});

test('small messages do not wait', (t) => {
  const { held, arrived } = unfinishedMessages();
  for (const connection of named(TURNS_MAX, 'large')) arrived(connection, 3 * MB);
  for (const connection of named(100, 'small')) arrived(connection, BYTES_FREE);
  t.is(held.size, 0);
});

test('a message that ends while its connection waits leaves nothing behind', (t) => {
  const { messages, held, givenUp, arrived } = unfinishedMessages();
  for (const connection of named(TURNS_MAX, 'large')) arrived(connection, MB);
  arrived('late', MB);
  messages.ended('late');
  messages.ended('late');
  t.is(held.size, 0);
  for (const connection of named(TURNS_MAX, 'large')) messages.ended(connection);
  for (const connection of named(TURNS_MAX, 'next')) arrived(connection, MB);
  t.is(held.size, 0);
  t.deepEqual(givenUp, []);
});

test('single bytes count with the memory that they take', (t) => {
  const { givenUp, arrived } = unfinishedMessages();
  for (let chunk = 0; chunk < 8_000; chunk += 1) arrived('connection', 1);
  t.deepEqual(givenUp, ['connection']);
});
