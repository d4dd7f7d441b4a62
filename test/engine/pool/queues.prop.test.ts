import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { POOL_STATES, PoolQueues, type Pooled } from '../../../src/engine/pool/queues.ts';
import { transactionOf, TRANSFER } from '../../http/fake-node.ts';

const pooled = (id: string): Pooled => ({
  transaction: { ...transactionOf(3, TRANSFER), id },
  receivedAtMs: 0,
  group: 'none',
  announced: false,
});

test('for any operations, an id is in one queue only and the queues stay bounded', (t) => {
  const action = fc.record({
    kind: fc.constantFrom('add', 'addBeyondLimit', 'move', 'remove', 'replace'),
    id: fc.integer({ min: 1, max: 30 }).map(String),
    state: fc.constantFrom(...POOL_STATES),
  });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
      const queues = new PoolQueues(3);
      for (const { kind, id, state } of actions) {
        const sizeBefore = queues.size(state);
        if (kind === 'add' && queues.add(state, pooled(id))) t.true(sizeBefore < queues.perQueueMax);
        if (kind === 'addBeyondLimit') queues.addBeyondLimit(state, pooled(id));
        if (kind === 'move') queues.move(pooled(id), state);
        if (kind === 'remove') queues.remove(id);
        if (kind === 'replace') queues.replace(pooled(id));

        const ids = POOL_STATES.flatMap((each) => queues.list(each).map(({ transaction }) => transaction.id));
        t.is(new Set(ids).size, ids.length);
        t.is(ids.length, queues.total);
        t.true(queues.total <= queues.perQueueMax * POOL_STATES.length);
        for (const each of ids) t.is(queues.get(each)?.transaction.id, each);
      }
    }),
    { numRuns: 100 },
  );
});
