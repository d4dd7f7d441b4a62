import test from 'ava';

import { inTurns } from '../../src/engine/serving-lane.ts';
import type { PeerRequest } from '../../src/ports/transport.ts';
import { FakeClock, settle } from './peers/support.ts';

const TIP = { kind: 'tip' } as const satisfies PeerRequest;

test('peers take turns: who asks much waits behind nobody but itself', async (t) => {
  const order: string[] = [];
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const answer = inTurns(async (peerId) => {
    order.push(peerId);
    if (order.length === 1) await gate;
  }, new FakeClock());
  const all = [...Array.from({ length: 5 }, () => 'busy'), 'calm'].map((peerId) => answer(peerId, TIP));
  open();
  await Promise.all(all);
  t.deepEqual(order, ['busy', 'busy', 'calm', 'busy', 'busy', 'busy']);
});

test('answers that take long leave as much time for everything else', async (t) => {
  const clock = new FakeClock();
  let answers = 0;
  let nowMs = clock.nowMs();
  const slow = { nowMs: () => nowMs, after: clock.after.bind(clock) };
  const answer = inTurns(() => {
    answers += 1;
    nowMs += 10;
    return Promise.resolve();
  }, slow);
  for (let index = 0; index < 10; index += 1) void answer('a', TIP);
  await settle();
  t.is(answers, 2, 'two answers of 10 ms fill a slice');
  await clock.advance(19);
  t.is(answers, 2);
  await clock.advance(1);
  t.is(answers, 4);
  await clock.advance(100);
  t.is(answers, 10);
});

test('an answer that fails fails for its asker alone', async (t) => {
  const answer = inTurns(
    (peerId) => (peerId === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve('yes')),
    new FakeClock(),
  );
  const [bad, good] = [answer('bad', TIP), answer('good', TIP)];
  await t.throwsAsync(bad, { message: 'no' });
  t.is(await good, 'yes');
});
