import test from 'ava';
import { actionsFor, delayOf, faultLines, lossOf, offsetOf, transferOf } from '../../src/dashboard/devnet.ts';

test('a transfer needs an address and an amount above 0', (t) => {
  t.deepEqual(transferOf({ address: ' 17 ', amount: '1 000.5' }), {
    value: { address: '17L', amount: '100050000000' },
  });
  t.regex(JSON.stringify(transferOf({ address: 'alice', amount: '1' })), /alice.* is not an address/);
  for (const amount of ['', '0', '-1', '0.000000001', '1e3', 'much'])
    t.regex(JSON.stringify(transferOf({ address: '17L', amount })), /is not an amount/, amount);
});

test('faults have the bounds that the supervisor enforces', (t) => {
  t.deepEqual([delayOf('0'), delayOf('60000')], [{ value: 0 }, { value: 60_000 }]);
  for (const text of ['', '60001', '-1', '1.5', '1s']) t.true('problem' in delayOf(text), text);
  t.deepEqual([lossOf('5'), lossOf('100'), lossOf('0.5')], [{ value: 0.05 }, { value: 1 }, { value: 0.005 }]);
  for (const text of ['', '101', '-1', '5%']) t.true('problem' in lossOf(text), text);
  t.deepEqual([offsetOf('-3'), offsetOf('+0.25'), offsetOf('0')], [{ value: -3000 }, { value: 250 }, { value: 0 }]);
  for (const text of ['', '86401', '3s']) t.true('problem' in offsetOf(text), text);
});

test('each fault is shown as a sentence', (t) => {
  t.deepEqual(faultLines({ parts: [], nodes: [] }), []);
  t.deepEqual(
    faultLines({
      parts: [[2], [0, 1]],
      nodes: [
        { node: 1, delayMs: 150, loss: 0.05, skewMs: 0 },
        { node: 2, delayMs: 0, loss: 0, skewMs: -3000 },
      ],
    }),
    [
      'The network is cut into 2 | 0, 1.',
      'Node 1: messages 150 ms late, 5 % of messages lost.',
      'Node 2: clock 3 s behind.',
    ],
  );
});

test('the page of a node offers the operations that its state allows', (t) => {
  t.deepEqual(actionsFor({ state: 'running' }), ['pause', 'restart', 'kill']);
  t.deepEqual(actionsFor({ state: 'paused' }), ['resume', 'kill']);
  for (const state of ['killed', 'ended', 'dead'] as const) t.deepEqual(actionsFor({ state }), ['restart'], state);
});
