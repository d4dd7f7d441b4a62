import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import { AssertionFailed } from '../../../src/primitives/errors.ts';
import { emptyAccount, type Account, type Delegate } from '../../../src/protocol/state.ts';
import { TABLES } from '../../../src/store/tables/layout.ts';
import { orderedBigint, orderedBigintBytes } from '../../../src/store/tables/ordered-bytes.ts';
import {
  decodeAccount,
  decodeDelegate,
  decodeKeys,
  encodeAccount,
  encodeDelegate,
  encodeKeys,
} from '../../../src/store/tables/records.ts';
import { decodeUndo, encodeUndo } from '../../../src/store/chain/undo.ts';

const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'));
const keys = fc.array(key, { maxLength: 5 });
const amount = fc.oneof(
  fc.bigInt({ min: -(1n << 100n), max: 1n << 100n }),
  fc.constantFrom(0n, 1n, -1n, 255n, 256n, (1n << 63n) - 1n, 1n << 63n, (1n << 64n) - 1n, 1n << 64n, -(1n << 64n)),
);
const address = fc.oneof(
  fc.constantFrom('0L', '0001L', '18446744073709551616L', ''),
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }).map((number) => `${number}L`),
);
const name = fc.string({ unit: 'grapheme', maxLength: 20 });
const count = fc.maxSafeNat();

const account = fc.record<
  Account,
  'address' | 'balance' | 'votes' | 'producedBlocks' | 'missedBlocks' | 'forgedFees' | 'forgedRewards'
>(
  {
    address,
    publicKey: key,
    secondPublicKey: key,
    username: name,
    balance: amount,
    group: fc.record({ min: count, lifetime: count, members: keys }),
    votes: keys,
    producedBlocks: count,
    missedBlocks: count,
    forgedFees: amount,
    forgedRewards: amount,
  },
  {
    requiredKeys: ['address', 'balance', 'votes', 'producedBlocks', 'missedBlocks', 'forgedFees', 'forgedRewards'],
    noNullPrototype: true,
  },
);

const delegate = fc.record<Delegate>(
  { publicKey: key, address, username: name, voteWeight: amount, pendingVoteWeight: amount, rank: count },
  { noNullPrototype: true },
);

test('an account is decoded as it was encoded', (t) => {
  fc.assert(
    fc.property(account, (one) => {
      t.deepEqual(
        decodeAccount(one.address, encodeAccount(one), () => one.votes),
        one,
      );
    }),
  );
});

test('a delegate is decoded as it was encoded', (t) => {
  fc.assert(
    fc.property(delegate, (one) => {
      t.deepEqual(decodeDelegate(one.publicKey, encodeDelegate(one)), one);
    }),
  );
});

test('lists of keys are decoded as they were encoded', (t) => {
  fc.assert(
    fc.property(keys, (list) => {
      t.deepEqual(decodeKeys(encodeKeys(list)), list);
    }),
  );
});

test('undo records are decoded as keys with their previous values', (t) => {
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
  const entry = fc.record({ key: bytes, before: fc.oneof(fc.constant(undefined), bytes) }, { noNullPrototype: true });
  fc.assert(
    fc.property(
      fc.array(account, { maxLength: 4 }),
      fc.array(delegate, { maxLength: 4 }),
      fc.array(entry, { maxLength: 4 }),
      fc.array(fc.boolean()),
      (accounts, delegates, others, wereThere) => {
        const before = <T>(value: T, index: number): T | undefined => (wereThere[index] === true ? value : undefined);
        const undo = encodeUndo({
          accounts: accounts.map((each, index) => ({ address: each.address, before: before(each, index) })),
          delegates: delegates.map((each, index) => ({ publicKey: each.publicKey, before: before(each, index) })),
          others,
        });
        t.deepEqual(decodeUndo(undo), [
          ...accounts.map((each, index) => ({
            key: TABLES.accounts.key(each.address),
            before: before(encodeAccount(each), index),
          })),
          ...delegates.map((each, index) => ({
            key: TABLES.delegates.key(each.publicKey),
            before: before(encodeDelegate(each), index),
          })),
          ...others,
        ]);
      },
    ),
  );
});

test('amounts are ordered like their bytes, for any sign and size', (t) => {
  fc.assert(
    fc.property(amount, amount, (a, b) => {
      t.is(Buffer.compare(orderedBigint(a), orderedBigint(b)), a < b ? -1 : a > b ? 1 : 0);
      t.is(orderedBigintBytes(orderedBigint(a), 0), orderedBigint(a).length);
    }),
    { numRuns: 1000 },
  );
});

test('bytes that are not a record count as a damaged store', (t) => {
  const bytes = encodeDelegate({
    publicKey: '00'.repeat(32),
    address: '1L',
    username: 'a',
    voteWeight: 5n,
    pendingVoteWeight: 0n,
    rank: 1,
  });
  const decode = (broken: Buffer) => () => decodeDelegate('00'.repeat(32), broken);
  t.throws(decode(bytes.subarray(0, -1)), { instanceOf: AssertionFailed });
  t.throws(decode(Buffer.concat([bytes, Buffer.from([0])])), { instanceOf: AssertionFailed });
  t.throws(() => decodeKeys(Buffer.alloc(33)), { instanceOf: AssertionFailed });
  t.throws(() => encodeKeys(['abc']), { instanceOf: AssertionFailed });
});

test('a damaged member count is reported as a damaged store, however large it is', (t) => {
  const account = { ...emptyAccount('1L'), group: { min: 1, lifetime: 1, members: ['00'.repeat(32)] } };
  const bytes = encodeAccount(account);
  const count = bytes.length - 33;
  t.is(bytes[count], 1);
  for (const digits of [6, 9, 200]) {
    const large = Buffer.concat([bytes.subarray(0, count), Buffer.alloc(digits, 255), bytes.subarray(count)]);
    t.throws(() => decodeAccount('1L', large, () => []), { instanceOf: AssertionFailed });
  }
});
