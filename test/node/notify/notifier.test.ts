/**
 * Tests how the notifier delivers events to a receiver that fails. The notifier repeats the delivery of an event,
 * always with the same id.
 */

import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Channel, Notice } from '../../../src/node/notify/channels.ts';
import { Notifier } from '../../../src/node/notify/notifier.ts';
import { Outbox } from '../../../src/node/notify/outbox.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { SILENT, type LogFields, type Observer } from '../../../src/ports/observer.ts';
import { temporaryFolder } from '../../support/network-folder.ts';

const ALICE = 'aa'.repeat(32);

interface Receiver extends Channel {
  readonly taken: Notice[];
  /** The receiver lets this number of the following deliveries fail. */
  fail: number;
}

function receiver(): Receiver {
  const taken: Notice[] = [];
  return {
    ...{ name: 'webhook', taken, fail: 0 },
    async deliver(notice) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.fail > 0) {
        this.fail -= 1;
        throw new Error('it answered 500');
      }
      taken.push(notice);
    },
  };
}

/** A clock whose timers the test fires. The clock records the delays of its timers. */
function handClock() {
  const delays: number[] = [];
  let due: (() => void)[] = [];
  const clock: Clock = {
    nowMs: () => 1_767_225_600_000,
    after: (delayMs, work) => {
      delays.push(delayMs);
      due.push(work);
      return { cancel: () => (due = due.filter((each) => each !== work)) };
    },
  };
  const fire = (): void => {
    const works = due;
    due = [];
    for (const work of works) work();
  };
  return { clock, delays, fire };
}

async function notifierIn(
  folder: string,
  channel: Channel,
  clock: Clock,
  codes: ReadonlySet<string> | 'all' = 'all',
  observer: Observer = SILENT,
) {
  const outbox = await Outbox.open(join(folder, 'outbox'), SILENT);
  const notifier = new Notifier({
    ...{
      channels: [{ channel, outbox }],
      codes,
      nodeName: 'mine',
      networkName: 'devnet',
      version: '1.2.3',
      nonce: 'n1',
    },
    ...{ clock, random: { fraction: () => 0.5 }, observer },
  });
  notifier.start();
  return { notifier, outbox };
}

const paused = (number: number) => ({
  ...{ code: 'FORGING_PAUSED', message: 'forging is paused', timeMs: 1_767_225_600_000 },
  fields: { slot: number },
});
const missed = (...slots: number[]) => ({ kind: 'missed' as const, delegate: ALICE, slots, height: 100 });

async function settled(t: ExecutionContext, isDone: () => boolean): Promise<void> {
  for (let turns = 0; !isDone(); turns += 1) {
    if (turns > 2000) t.fail('it did not come to an end');
    if (turns > 2000) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('events arrive in order, each once, without those that were not subscribed', async (t) => {
  const channel = receiver();
  const { notifier } = await notifierIn(temporaryFolder(t), channel, handClock().clock, new Set(['FORGING_PAUSED']));
  notifier.take(paused(1));
  notifier.take({ ...paused(2), code: 'PEER_BANNED' });
  notifier.takeSlots(missed(5), 'alice');
  notifier.take(paused(3));
  await settled(t, () => channel.taken.length === 2);
  t.deepEqual(
    channel.taken.map(({ fields }) => fields['slot']),
    [1, 3],
  );
  t.is(new Set(channel.taken.map(({ id }) => id)).size, 2);
  t.is(channel.taken[0]?.network, 'devnet');
  t.is(channel.taken[0]?.node, 'mine');
  await notifier.close();
});

test('a failing receiver is retried each second at first, then with growing delays, and gets all events in order', async (t) => {
  const channel = receiver();
  const { clock, delays, fire } = handClock();
  const { notifier } = await notifierIn(temporaryFolder(t), channel, clock);
  channel.fail = 42;
  notifier.take(paused(1));
  notifier.take(paused(2));
  for (let tries = 1; tries <= 42; tries += 1) {
    await settled(t, () => delays.length === tries);
    fire();
  }
  await settled(t, () => channel.taken.length === 2);
  t.deepEqual(new Set(delays.slice(0, 30)), new Set([1000]));
  t.deepEqual(delays.slice(30, 33), [2000, 4000, 8000]);
  t.is(Math.max(...delays), 300_000);
  t.deepEqual(
    channel.taken.map(({ fields }) => fields['slot']),
    [1, 2],
  );
  await notifier.close();
});

test('events that one run could not deliver are delivered by the next, under the same id', async (t) => {
  const folder = temporaryFolder(t);
  const channel = receiver();
  const { clock, delays } = handClock();
  const first = await notifierIn(folder, channel, clock);
  channel.fail = 1;
  first.notifier.takeSlots(missed(7), 'alice');
  await settled(t, () => delays.length === 1);
  await first.notifier.close();
  t.deepEqual(channel.taken, []);
  const second = await notifierIn(folder, channel, clock);
  await settled(t, () => channel.taken.length === 1);
  t.is(channel.taken[0]?.id, `OWN_SLOTS_MISSED-${ALICE}-7`);
  t.is(channel.taken[0]?.message, 'alice missed slot 7');
  await second.notifier.close();
});

test('slots reported by an earlier run are not reported again when their blocks are checked once more', async (t) => {
  const folder = temporaryFolder(t);
  const channel = receiver();
  const { clock } = handClock();
  const first = await notifierIn(folder, channel, clock);
  first.notifier.recordExamined(100);
  first.notifier.takeSlots(missed(7), 'alice');
  await settled(t, () => channel.taken.length === 1);
  await first.notifier.close();
  const second = await notifierIn(folder, channel, clock);
  t.is(second.notifier.examinedHeight, 100);
  second.notifier.takeSlots(missed(7), 'alice');
  second.notifier.takeSlots(missed(6, 7, 108, 209), 'alice');
  await settled(t, () => channel.taken.length === 2);
  const [, latest] = channel.taken;
  t.deepEqual(
    [latest?.fields['count'], latest?.fields['firstSlot'], latest?.fields['lastSlot'], latest?.message],
    [2, 108, 209, 'alice missed 2 slots up to 209'],
  );
  await second.notifier.close();
  t.is(channel.taken.length, 2);
});

test('an unreachable receiver is logged at once and then now and then, with the queue and its last success', async (t) => {
  const channel = receiver();
  const hand = handClock();
  let nowMs = 1_767_225_600_000;
  const logged: [code: string, fields: LogFields][] = [];
  const observer: Observer = {
    ...SILENT,
    log: (_level, code, _message, fields = {}) => void logged.push([code, fields]),
  };
  const clock = { ...hand.clock, nowMs: () => nowMs };
  const { notifier } = await notifierIn(temporaryFolder(t), channel, clock, 'all', observer);
  notifier.take(paused(1));
  await settled(t, () => channel.taken.length === 1);
  nowMs += 60_000;
  channel.fail = 30;
  for (let tries = 1; tries <= 30; tries += 1) {
    notifier.take(paused(1 + tries));
    await settled(t, () => hand.delays.length === tries);
    nowMs += 300_000;
    hand.fire();
  }
  await settled(t, () => channel.taken.length === 31);
  t.deepEqual(
    logged.map(([code, { waiting }]) => [code, waiting]),
    [
      ['NOTIFY_FAILED', 1],
      ['NOTIFY_FAILED', 13],
      ['NOTIFY_FAILED', 25],
      ['NOTIFY_RECOVERED', undefined],
    ],
  );
  t.is(logged[1]?.[1]['lastDelivered'], '2026-01-01T00:00:00.000Z');
  t.is(logged[1]?.[1]['failingSince'], '2026-01-01T00:01:00.000Z');
  await notifier.close();
});
