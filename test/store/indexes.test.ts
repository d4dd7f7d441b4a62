import test from 'ava';

import { emptyAccount, type Account } from '../../src/protocol/state.ts';
import { accountEntryChanges, transactionLists } from '../../src/store/indexes.ts';
import { keyOf, nextStep, Dice } from './world.ts';

const account: Account = { ...emptyAccount('5L'), balance: 7n };

/** How many entries come and go. */
function changes(before: Account | undefined, after: Account | undefined): readonly [number, number] {
  const { removed, added } = accountEntryChanges(before, after);
  return [removed.length, added.length];
}

test('an account that comes has its entries put, one that goes has them removed', (t) => {
  const whole: Account = {
    ...account,
    publicKey: keyOf('a'),
    secondPublicKey: keyOf('b'),
    votes: [keyOf('c'), keyOf('d')],
    group: { min: 2, lifetime: 24, members: [keyOf('e'), keyOf('f'), keyOf('g')] },
  };
  t.deepEqual(changes(undefined, whole), [0, 1 + 1 + 2 + 3]);
  t.deepEqual(changes(whole, undefined), [1 + 1 + 2 + 3, 0]);
  t.deepEqual(accountEntryChanges(undefined, whole).added, accountEntryChanges(whole, undefined).removed);
  t.deepEqual(changes(whole, { ...whole, votes: [...whole.votes] }), [0, 0]);
});

test('a change touches only the entries that depend on it', (t) => {
  t.deepEqual(changes(account, { ...account, producedBlocks: 1, forgedFees: 5n }), [0, 0]);
  t.deepEqual(changes(account, { ...account, balance: 8n }), [1, 1]);
  t.deepEqual(changes(account, { ...account, secondPublicKey: keyOf('a') }), [0, 1]);
  t.deepEqual(changes(account, { ...account, publicKey: keyOf('a') }), [0, 0]);
});

test('a voter whose key becomes known moves to the place of its key', (t) => {
  const voter = { ...account, votes: [keyOf('c')] };
  t.deepEqual(changes(voter, { ...voter, publicKey: keyOf('a') }), [1, 1]);
});

test('a transaction stands in the lists of its type, its sender and, where it has one, its recipient', (t) => {
  const dice = new Dice(3);
  for (let i = 0; i < 20; i += 1) {
    for (const transaction of nextStep(dice, undefined).block.transactions) {
      t.is(transactionLists(transaction).length, transaction.payload.kind === 'transfer' ? 3 : 2);
    }
  }
});
