/** Tests a reading process while its node does not respond. */

import test from 'ava';
import { LimitClient } from '../../../src/node/readers/limit-client.ts';
import {
  LIMIT_ANSWER_MS_MAX,
  LIMIT_ASKS_WAITING_MAX,
  READ_ANSWER_MS_MAX,
  WRITES_AT_ONCE,
  type FromReader,
} from '../../../src/node/readers/messages.ts';
import { NodeRpcClient } from '../../../src/node/readers/node-rpc-client.ts';

/** Returns a clock that the test moves forward with `pass`, and a list of the messages that were sent with `send`. */
function setUpChannels() {
  let nowMs = 0;
  const timers = new Map<object, { readonly atMs: number; readonly work: () => void }>();
  const clock = {
    after: (delayMs: number, work: () => void) => {
      const timer = { cancel: () => void timers.delete(timer) };
      timers.set(timer, { atMs: nowMs + delayMs, work });
      return timer;
    },
  };
  const pass = (ms: number): void => {
    nowMs += ms;
    for (const [timer, { atMs, work }] of timers) if (atMs <= nowMs && timers.delete(timer)) work();
  };
  const sent: FromReader[] = [];
  return { clock, pass, sent, send: (message: FromReader) => void sent.push(message), timers };
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown }).code;

test('requests about limits time out while the node is silent, later ones at once, and leave nothing behind', async (t) => {
  const { clock, pass, sent, send, timers } = setUpChannels();
  const channel = new LimitClient(send, clock);
  const asked = channel.arrive('203.0.113.1').catch(codeOf);
  const waiting = Array.from({ length: LIMIT_ASKS_WAITING_MAX }, (_, at) => channel.take(`c${at}`, 1).catch(codeOf));
  pass(LIMIT_ANSWER_MS_MAX - 1);
  t.is(timers.size, LIMIT_ASKS_WAITING_MAX + 1);
  pass(1);
  t.deepEqual(new Set(await Promise.all([asked, ...waiting])), new Set(['NODE_SILENT']));
  t.is(await channel.take('late', 1).catch(codeOf), 'NODE_SILENT');
  t.is(timers.size, 0);
  // The late answer of the node shows that the node has counted the connection from `203.0.113.1`. The reader has
  // already refused this connection, so it reports the end of the connection to the node. It does not repeat the
  // requests that have timed out.
  channel.answered([null]);
  pass(10);
  const last = sent.at(-1);
  t.deepEqual(last, {
    kind: 'limits',
    report: { trusted: 0, left: [['203.0.113.1', 1]], replaysEnded: [], asks: [], refused: [], shutOut: [] },
  });
  channel.answered([]);
  pass(10);
  const again = channel.arrive('203.0.113.2');
  channel.answered([null]);
  t.is(await again, undefined);
});

test('reads time out while the node is silent, later ones at once, and are sent again afterwards', async (t) => {
  const { clock, pass, sent, send, timers } = setUpChannels();
  const channel = new NodeRpcClient(send, clock);
  const first = channel.read('status').catch(codeOf);
  const second = channel.read('peers').catch(codeOf);
  pass(READ_ANSWER_MS_MAX);
  t.deepEqual([await first, await second], ['NODE_SILENT', 'NODE_SILENT']);
  // After a read has timed out, further reads fail immediately until the node answers. An HTTP request that needs
  // several reads therefore waits for only one timeout.
  t.is(await channel.read('peers').catch(codeOf), 'NODE_SILENT');
  t.is(timers.size, 0);
  channel.answered([{ value: 'late' }]);
  pass(10);
  t.is(sent.length, 1);
  const again = channel.read('status');
  t.is(sent.length, 2);
  channel.answered([{ value: 'now' }]);
  t.is(await again, 'now');
});

test('a write whose arguments cannot be sent fails, and does not count as unanswered', async (t) => {
  const { clock } = setUpChannels();
  const refuse = (): never => {
    throw new RangeError('too deep');
  };
  const channel = new NodeRpcClient(refuse, clock);
  for (let count = 0; count <= WRITES_AT_ONCE; count += 1)
    await t.throwsAsync(channel.write('submitTransaction', {}), { message: 'too deep' });
});
