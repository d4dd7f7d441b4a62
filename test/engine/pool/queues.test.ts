import test from 'ava';
import { PoolQueues, type Pooled } from '../../../src/engine/pool/queues.ts';
import { transactionOf, TRANSFER } from '../../http/fake-node.ts';

function pooled(id: string, receivedAtMs = 0): Pooled {
  return { transaction: { ...transactionOf(3, TRANSFER), id }, receivedAtMs, group: 'none', announced: false };
}

const idsOf = (entries: readonly Pooled[]) => entries.map(({ transaction }) => transaction.id);

test('a queue lists its transactions in the order in which they entered it', (t) => {
  const queues = new PoolQueues(10);
  for (const id of ['3', '1', '2']) t.true(queues.add('received', pooled(id)));
  t.deepEqual(idsOf(queues.list('received')), ['3', '1', '2']);
  t.deepEqual(idsOf(queues.first('received', 2)), ['3', '1']);
  t.deepEqual(queues.first('received', 0), []);
  t.deepEqual(queues.first('received', -3), []);
});

test('an id in any queue is not added again', (t) => {
  const queues = new PoolQueues(10);
  queues.add('verified', pooled('1'));
  t.false(queues.add('received', pooled('1')));
  t.false(queues.add('verified', pooled('1')));
  t.is(queues.stateOf('1'), 'verified');
  t.is(queues.total, 1);
});

test('a full queue accepts nothing from outside while another queue still does', (t) => {
  const queues = new PoolQueues(2);
  t.true(queues.add('received', pooled('1')));
  t.true(queues.add('received', pooled('2')));
  t.true(queues.isFull('received'));
  t.false(queues.add('received', pooled('3')));
  t.true(queues.add('verified', pooled('3')));
});

test('a move puts the transaction at the end of the queue and ignores the limit', (t) => {
  const queues = new PoolQueues(1);
  queues.add('received', pooled('1', 7));
  queues.add('validated', pooled('2'));
  queues.move(pooled('1', 7), 'validated');
  t.deepEqual(idsOf(queues.list('validated')), ['2', '1']);
  t.is(queues.get('1')?.receivedAtMs, 7);
  t.is(queues.size('received'), 0);
});

test('an unknown transaction is neither moved nor replaced', (t) => {
  const queues = new PoolQueues(1);
  queues.move(pooled('1'), 'ready');
  queues.replace(pooled('1'));
  t.is(queues.remove('1'), undefined);
  t.is(queues.total, 0);
});

test('a replacement keeps its place', (t) => {
  const queues = new PoolQueues(5);
  for (const id of ['1', '2', '3']) queues.add('pending', pooled(id));
  queues.replace({ ...pooled('2'), group: 'ready' });
  t.deepEqual(idsOf(queues.list('pending')), ['1', '2', '3']);
  t.is(queues.get('2')?.group, 'ready');
});

test("all queues together are bounded, even for additions that may exceed a queue's limit", (t) => {
  const queues = new PoolQueues(2);
  for (let id = 1; id <= 10; id += 1) t.true(queues.addBeyondLimit('verified', pooled(String(id))));
  t.false(queues.addBeyondLimit('verified', pooled('11')));
  t.false(queues.add('received', pooled('11')));
  t.is(queues.total, 10);
});
