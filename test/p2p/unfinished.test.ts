import test from 'ava';

import { UnfinishedMessages } from '../../src/p2p/unfinished.ts';

const MB = 1_000_000;

function lines() {
  const messages = new UnfinishedMessages<string>();
  const givenUp: string[] = [];
  const arrived = (line: string, bytes: number): void => messages.arrived(line, bytes, () => givenUp.push(line));
  return { messages, givenUp, arrived };
}

test('where unfinished messages have too many bytes together, the one that began first is given up', (t) => {
  const { givenUp, arrived } = lines();
  for (let line = 0; line < 8; line += 1) arrived(`line ${line}`, 3 * MB);
  t.deepEqual(givenUp, []);
  arrived('line 8', 1);
  t.deepEqual(givenUp, ['line 0']);
  arrived('line 8', 3 * MB);
  t.deepEqual(givenUp, ['line 0', 'line 1']);
});

test('a message that ended makes room and counts no more', (t) => {
  const { messages, givenUp, arrived } = lines();
  for (let line = 0; line < 8; line += 1) arrived(`line ${line}`, 3 * MB);
  messages.ended('line 0');
  messages.ended('line 0');
  arrived('line 0', 3 * MB);
  t.deepEqual(givenUp, []);
  // It began anew, so the next one is the oldest.
  arrived('line 8', 1);
  t.deepEqual(givenUp, ['line 1']);
});

test('who has sent little of a message is not given up for what others send', (t) => {
  const { givenUp, arrived } = lines();
  for (let line = 0; line < 100; line += 1) arrived(`modest ${line}`, 0.25 * MB);
  t.deepEqual(givenUp, []);
  arrived('large', MB);
  t.deepEqual(givenUp, ['large']);
});

test('single bytes count as what memory takes for them', (t) => {
  const { givenUp, arrived } = lines();
  for (let piece = 0; piece < 47_000; piece += 1) arrived('line', 1);
  t.deepEqual(givenUp, ['line']);
});
