import test from 'ava';
import { confirmationOf } from '../../src/dashboard/confirmation.ts';

test('a transaction without a block is in the pool', (t) => {
  t.deepEqual(confirmationOf({ height: undefined, tip: 10, finalized: 10 }), { state: 'in the pool' });
});

test('a block counts as its own first confirmation, and is final up to the finalized height', (t) => {
  t.deepEqual(confirmationOf({ height: 10, tip: 10, finalized: 4 }), { state: 'confirmed', confirmations: 1 });
  t.deepEqual(confirmationOf({ height: 5, tip: 10, finalized: 4 }), { state: 'confirmed', confirmations: 6 });
  t.deepEqual(confirmationOf({ height: 4, tip: 10, finalized: 4 }), { state: 'final', confirmations: 7 });
});

test('a network without finality has no final block', (t) => {
  t.deepEqual(confirmationOf({ height: 1, tip: 900, finalized: 0 }), { state: 'confirmed', confirmations: 900 });
});

test('a block that is newer than the known tip has one confirmation', (t) => {
  t.deepEqual(confirmationOf({ height: 11, tip: 10, finalized: 4 }), { state: 'confirmed', confirmations: 1 });
});
