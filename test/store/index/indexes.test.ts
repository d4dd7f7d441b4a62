import test from 'ava';

import { emptyAccount, type Account } from '../../../src/protocol/state.ts';
import type { Transaction } from '../../../src/protocol/types.ts';
import type { StoredChain } from '../../../src/store/chain/stored-chain.ts';
import { accountEntryChanges } from '../../../src/store/index/indexes.ts';
import { type TableName, TABLES } from '../../../src/store/tables/layout.ts';
import { fakeBlock } from '../../support/fake-codec.ts';
import { dump, withStore } from '../backends.ts';
import { keyOf, nextStep, Dice } from '../world.ts';

const account: Account = { ...emptyAccount('5L'), balance: 7n };

/** Returns how many index entries the change of an account removes, and how many it adds. */
function changes(before: Account | undefined, after: Account | undefined): readonly [number, number] {
  const { removed, added } = accountEntryChanges(before, after);
  return [removed.length, added.length];
}

test('a new account adds its entries, and a removed one removes them', (t) => {
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

test('a change of an account updates only the index entries that depend on the changed member', (t) => {
  t.deepEqual(changes(account, { ...account, producedBlocks: 1, forgedFees: 5n }), [0, 0]);
  t.deepEqual(changes(account, { ...account, balance: 8n }), [1, 1]);
  t.deepEqual(changes(account, { ...account, secondPublicKey: keyOf('a') }), [0, 1]);
  t.deepEqual(changes(account, { ...account, publicKey: keyOf('a') }), [0, 0]);
});

test("a voter whose key becomes known moves to its key's position", (t) => {
  const voter = { ...account, votes: [keyOf('c')] };
  t.deepEqual(changes(voter, { ...voter, publicKey: keyOf('a') }), [1, 1]);
});

test('a transaction is in the lists of its type, its sender and, if it has one, its recipient', async (t) => {
  const dice = new Dice(3);
  await withStore('memory', (store) => {
    const expected = { types: 0, recipients: 0 };
    for (let i = 0; i < 20; i += 1) {
      const { block, apply } = nextStep(dice, store.tip());
      store.transact((writer) => writer.append(block, apply));
      expected.types += block.transactions.length;
      expected.recipients += block.transactions.filter(({ payload }) => payload.kind === 'transfer').length;
    }
    t.true(expected.recipients > 0 && expected.recipients < expected.types);
    t.is(itemsOf(store, 'transactionsByType'), expected.types);
    t.is(itemsOf(store, 'transactionsBySender'), expected.types);
    t.is(itemsOf(store, 'transactionsByRecipient'), expected.recipients);
  });
});

test('a revert removes each entry of a transaction from an address to itself, also from its long lists', async (t) => {
  const toItself = (id: number): Transaction => ({
    id: String(id),
    type: 8,
    timestamp: 10,
    senderPublicKey: keyOf('a'),
    senderId: '1L',
    fee: 1n,
    payload: { kind: 'transfer', amount: BigInt(id % 3), recipientId: '1L' },
    signature: 'ab'.repeat(64),
    signatures: [],
  });
  await withStore(
    'memory',
    (store) => {
      const dumps: (readonly string[])[] = [];
      for (let id = 1; id <= 8; id += 1) {
        store.transact((writer) => writer.append(fakeBlock(writer.tip(), [toItself(id)]), () => undefined));
        dumps.push(dump(store));
      }
      while (dumps.length > 1) {
        t.deepEqual(dump(store), dumps.pop());
        store.transact((writer) => writer.revert());
      }
      t.deepEqual(dump(store), dumps[0]);
    },
    { shortListMax: 3 },
  );
});

test('lists continue at their end even when more addresses were used than the cache holds', async (t) => {
  const transactions = Array.from({ length: 5000 }, (_, i): Transaction => ({
    id: String(i + 1),
    type: 8,
    timestamp: 10,
    senderPublicKey: keyOf('a'),
    senderId: `${i + 1}L`,
    fee: 1n,
    payload: { kind: 'transfer', amount: 1n, recipientId: `${5000 - i}L` },
    signature: 'ab'.repeat(64),
    signatures: [],
  }));
  await withStore(
    'memory',
    (store) => {
      const grow = (from: number): void => {
        const own = transactions.map((transaction, i) => ({ ...transaction, id: String(from + i) }));
        const block = fakeBlock(store.tip(), own, {});
        store.transact((writer) => writer.append(block, () => undefined));
      };
      grow(1);
      const once = dump(store);
      grow(10_001);
      for (const table of ['transactionsByType', 'transactionsBySender', 'transactionsByRecipient'] as const) {
        t.is(itemsOf(store, table), 10_000);
      }
      store.transact((writer) => writer.revert());
      t.deepEqual(dump(store), once);
      t.deepEqual(store.block(1)?.transactions, transactions);
      for (const index of [0, 255, 256, 4999]) {
        t.deepEqual(store.transaction({ height: 1, index }), transactions[index], `transaction ${index}`);
      }
      t.is(store.transaction({ height: 1, index: 5000 }), undefined);
    },
    { shortListMax: 100_000 },
  );
});

function itemsOf(store: StoredChain, table: TableName): number {
  return store.tables.count(TABLES[table].all);
}
