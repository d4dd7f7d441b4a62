import test from 'ava';

import { REQUESTS_WAITING_MAX, FairAnswerQueue } from '../../src/engine/fair-answer-queue.ts';
import { WorkShare } from '../../src/primitives/work-share.ts';
import type { PeerRequest, TransportHandlers } from '../../src/ports/transport.ts';
import { FakeClock, settle } from './peers/support.ts';

const TIP = { kind: 'tip' } as const satisfies PeerRequest;

/** A queue with its own clock. With `spend`, a test simulates the time that an answer takes. */
function queueOf(answer: TransportHandlers['answer'], isNamed: (peerId: string) => boolean = () => false) {
  const timers = new FakeClock();
  let workedMs = 0;
  const clock = { nowMs: () => timers.nowMs() + workedMs, after: timers.after.bind(timers) };
  const share = new WorkShare({ clock, share: 0.5, burstMs: 10 });
  return {
    answers: new FairAnswerQueue(answer, { share, isNamed }),
    share,
    timers,
    spend: (ms: number) => (workedMs += ms),
    nowMs: clock.nowMs,
  };
}

/** An answer function. The first answer waits until the test calls `open`. */
function gated() {
  const order: string[] = [];
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const answer = async (peerId: string): Promise<void> => {
    order.push(peerId);
    if (order.length === 1) await gate;
  };
  return { order, answer, open: () => open() };
}

test('peers take turns: a busy peer waits behind its own requests, and a named one behind no stranger', async (t) => {
  const { order, answer, open } = gated();
  const { answers } = queueOf(answer, (peerId) => peerId === 'named');
  const askers = [...Array.from({ length: 5 }, () => 'busy'), 'calm', 'named'];
  const all = askers.map((peerId) => answers.answer(peerId, TIP));
  open();
  await Promise.all(all);
  t.deepEqual(order, ['busy', 'named', 'busy', 'calm', 'busy', 'busy', 'busy']);
});

test('answers and other work for strangers share half of the time', async (t) => {
  let answers = 0;
  const queue = queueOf(() => {
    answers += 1;
    queue.spend(10);
    return Promise.resolve();
  });
  const startMs = queue.nowMs();
  for (const peerId of ['a', 'b', 'c', 'd', 'e']) {
    for (let index = 0; index < 4; index += 1) void queue.answers.answer(peerId, TIP);
  }
  let others = 0;
  const work = (): void => {
    const charge = queue.share.begin();
    others += 1;
    queue.spend(10);
    charge();
    queue.share.whenFree(work);
  };
  queue.share.whenFree(work);
  const isDone = (): boolean => answers === 20;
  for (let step = 0; !isDone(); step += 1) {
    if (step > 10_000) return t.fail('no more answers');
    await settle();
    await queue.timers.advance(1);
  }
  const spentMs = queue.nowMs() - startMs;
  const workedMs = (answers + others) * 10;
  t.true(others >= 15, `${others} others got their turn`);
  t.true(workedMs <= spentMs / 2 + 30, `${workedMs} of ${spentMs} ms`);
});

test('the requests of a peer that leaves are dropped, and those of others are answered', async (t) => {
  const { order, answer, open } = gated();
  const { answers } = queueOf(answer);
  const gone = Array.from({ length: 5 }, () => answers.answer('gone', TIP));
  const stays = answers.answer('stays', TIP);
  answers.leave('gone');
  t.is(answers.waiting, 1);
  open();
  const results = await Promise.allSettled(gone);
  t.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'rejected', 'rejected'],
  );
  await stays;
  t.deepEqual(order, ['gone', 'stays']);
});

test('the number of waiting requests is limited; a peer without one may always ask', async (t) => {
  const { answer, open } = gated();
  const { answers, share, timers } = queueOf(answer);
  const asked = Array.from({ length: REQUESTS_WAITING_MAX + 1 }, (_, index) =>
    answers.answer(`peer ${index % 4}`, TIP),
  );
  t.is(answers.waiting, REQUESTS_WAITING_MAX);
  await t.throwsAsync(answers.answer('peer 1', TIP), { code: 'TOO_MANY_REQUESTS' });
  for (let refusal = 0; refusal < 200; refusal += 1) await t.throwsAsync(answers.answer('peer 1', TIP));
  t.false(share.isFree, 'refusals are charged, too');
  asked.push(answers.answer('newcomer', TIP));
  open();
  for (let step = 0; step < 10_000 && answers.waiting > 0; step += 1) await timers.advance(1);
  await Promise.all(asked);
});

test('an answer that fails affects only its own peer', async (t) => {
  const { answers } = queueOf((peerId) =>
    peerId === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve('yes'),
  );
  const [bad, good] = [answers.answer('bad', TIP), answers.answer('good', TIP)];
  await t.throwsAsync(bad, { message: 'no' });
  t.is(await good, 'yes');
});
