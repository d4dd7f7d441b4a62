import test from 'ava';
import { createGen2Rules } from '../../../src/protocol/gen2/rules.ts';
import { withId } from '../../../src/protocol/gen2/transaction-bytes.ts';
import { NO_EXCEPTIONS, type Exceptions } from '../../../src/protocol/params.ts';
import type { Rules } from '../../../src/protocol/rules.ts';
import { emptyAccount } from '../../../src/protocol/state.ts';
import type { KeyPair, Payload, Transaction } from '../../../src/protocol/types.ts';
import { TransactionRejected } from '../../../src/protocol/verdict.ts';
import {
  ChainMaker,
  LSK,
  addressOfPair,
  keyPairOf,
  makeNetwork,
  makeTransaction,
  publicKeyOf,
  signBlock,
  verify,
  type TransactionOptions,
} from '../../support/chain-maker.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { MemoryState } from '../../support/memory-state.ts';

const plainParams = paramsWith({ generation: 2 });
const [alice, bob, carol] = ['alice', 'bob', 'carol'].map(keyPairOf) as [KeyPair, KeyPair, KeyPair];

function rulesWith(exceptions: Partial<Exceptions>): Rules {
  return createGen2Rules({ ...plainParams, exceptions: { ...NO_EXCEPTIONS, ...exceptions } });
}

const strict = rulesWith({});

function send(payload: Payload, options: TransactionOptions = {}): Transaction {
  return makeTransaction(plainParams, alice, payload, options);
}

/** Returns a state in which Alice and Bob have 1,000 LSK each, and Bob is a delegate. */
function world(): MemoryState {
  const state = new MemoryState();
  const balance = 1_000n * LSK;
  state.setAccount({ ...emptyAccount(addressOfPair(alice)), balance });
  const [publicKey, address] = [publicKeyOf(bob), addressOfPair(bob)];
  state.setAccount({ ...emptyAccount(address), balance, publicKey, username: 'bob' });
  state.setDelegate({ publicKey, address, username: 'bob', voteWeight: 0n, pendingVoteWeight: 0n, rank: 0 });
  return state;
}

function statusOf(rules: Rules, state: MemoryState, transaction: Transaction): string {
  return rules.verifyTransaction(state, transaction, 1000, verify).status;
}

function isValid(rules: Rules, transaction: Transaction): boolean {
  const context = { blockHeight: 5, blockVersion: 1, blockTimestamp: 10 };
  return rules.validateTransaction(transaction, context, verify).length === 0;
}

/**
 * Returns true if three conditions hold. The codec accepts the JSON of the transaction. The transaction is valid. The
 * transaction does not change if the codec encodes it for the store and decodes it again.
 */
function isTaken(rules: Rules, transaction: Transaction): boolean {
  const { codec } = rules;
  try {
    const read = codec.transactionFromJson(JSON.parse(JSON.stringify(strict.codec.transactionToJson(transaction))));
    const stored = codec.decodeTransaction(codec.encodeTransaction(read));
    return (
      JSON.stringify(codec.transactionToJson(stored)) === JSON.stringify(codec.transactionToJson(read)) &&
      isValid(rules, read) &&
      isValid(rules, stored)
    );
  } catch (error) {
    if (error instanceof TransactionRejected) return false;
    throw error;
  }
}

const transfer = (changes: Partial<Extract<Payload, { kind: 'transfer' }>> = {}): Payload => ({
  kind: 'transfer',
  amount: LSK,
  recipientId: addressOfPair(carol),
  ...changes,
});
const vote = (changes: Partial<Extract<Payload, { kind: 'vote' }>> = {}): Payload => ({
  kind: 'vote',
  votes: [`+${publicKeyOf(bob)}`],
  amount: 0n,
  ...changes,
});

test("an excepted key of another account counts as the sender's", (t) => {
  const state = world();
  const account = { ...emptyAccount(addressOfPair(alice)), balance: 9n * LSK, publicKey: publicKeyOf(carol) };
  state.setAccount(account);
  const transaction = send(transfer());
  t.is(statusOf(strict, state, transaction), 'fail');
  t.is(statusOf(rulesWith({ senderPublicKey: new Set([transaction.id]) }), state, transaction), 'ok');
});

test("an excepted signature is valid, as the sender's and as the second one", (t) => {
  const transaction = withId({ ...send(transfer()), signature: '11'.repeat(64) });
  t.false(isTaken(strict, transaction));
  t.false(isTaken(rulesWith({ signatures: new Set(['5']) }), transaction));
  t.true(isTaken(rulesWith({ signatures: new Set([transaction.id]) }), transaction));

  const state = world();
  const account = { ...emptyAccount(addressOfPair(alice)), balance: 9n * LSK, secondPublicKey: publicKeyOf(carol) };
  state.setAccount(account);
  const second = send(transfer(), { second: bob });
  t.is(statusOf(strict, state, second), 'fail');
  t.is(statusOf(rulesWith({ signatures: new Set([second.id]) }), state, second), 'ok');
});

test('an excepted second signature may be given without a registered key', (t) => {
  const transaction = send(transfer(), { second: carol });
  t.is(statusOf(strict, world(), transaction), 'fail');
  t.is(statusOf(rulesWith({ signSignature: new Set([transaction.id]) }), world(), transaction), 'ok');
});

test('an excepted vote may move an amount, or vote again', (t) => {
  const generous = send(vote({ amount: 7n }));
  t.false(isTaken(strict, generous));
  const lenient = rulesWith({ votes: new Set([generous.id]) });
  t.true(isTaken(lenient, generous));
  const state = world();
  t.is(statusOf(lenient, state, generous), 'ok');

  const twice = send(vote());
  state.setAccount({ ...emptyAccount(addressOfPair(alice)), balance: 9n * LSK, votes: [publicKeyOf(bob)] });
  t.is(statusOf(strict, state, twice), 'fail');
  t.is(statusOf(rulesWith({ votes: new Set([twice.id]) }), state, twice), 'ok');
});

test('the text of an excepted transfer may hold a NUL', (t) => {
  for (const data of ['a\0b', 'U00000000']) {
    const transaction = send(transfer({ data }));
    t.false(isTaken(strict, transaction));
    t.true(isTaken(rulesWith({ transactionWithNullByte: new Set([transaction.id]) }), transaction));
  }
  // The exception of the network permits only the NUL in the text. It does not permit the amount 0, so the transaction
  // is invalid.
  const worse = send(transfer({ data: 'a\0b', amount: 0n }));
  t.false(isTaken(rulesWith({ transactionWithNullByte: new Set([worse.id]) }), worse));
});

test('an excepted group may need more signatures than it has members', (t) => {
  const keysgroup = [`+${publicKeyOf(bob)}`];
  const transaction = send({ kind: 'multisignature', min: 2, lifetime: 1, keysgroup }, { members: [bob] });
  t.false(isTaken(strict, transaction));
  t.true(isTaken(rulesWith({ multisignatures: new Set([transaction.id]) }), transaction));
});

test('an excepted recipient may be no address, but must equal the listed text', (t) => {
  for (const [key, recipientId] of [
    ['recipientLeadingZero', '0123L'],
    ['recipientExceedingUint64', '18446744073709551616L'],
  ] as const) {
    const transaction = send(transfer({ recipientId }));
    t.false(isTaken(strict, transaction));
    t.false(isTaken(rulesWith({ [key]: new Map([[transaction.id, '7L']]) }), transaction));
    const lenient = rulesWith({ [key]: new Map([[transaction.id, recipientId]]) });
    t.true(isTaken(lenient, transaction));
    // If the network has an exception for the malformed recipient of a transaction, the exception excuses the whole
    // transaction. `validateTransaction` then also ignores errors in the id, the fee and the signature of the
    // transaction.
    const odd = { ...transaction, signature: '22'.repeat(64) };
    t.true(isTaken(lenient, odd));
    t.is(statusOf(lenient, world(), transaction), 'ok');
  }
});

test('excepted signatures of members may occur twice', (t) => {
  const state = world();
  const members = [publicKeyOf(bob), publicKeyOf(carol)];
  const group = { min: 2, lifetime: 1, members };
  state.setAccount({ ...emptyAccount(addressOfPair(alice)), balance: 9n * LSK, group });
  const signed = send(transfer(), { members: [bob, carol] });
  const [signature = ''] = signed.signatures;
  const transaction = { ...signed, signatures: [...signed.signatures, signature] };
  t.false(isTaken(strict, transaction));
  const lenient = rulesWith({ duplicatedSignatures: new Map([[transaction.id, [signature]]]) });
  t.true(isTaken(lenient, transaction));
  t.is(statusOf(strict, state, transaction), 'fail');
  t.is(statusOf(lenient, state, transaction), 'ok');
  t.false(isTaken(lenient, { ...transaction, signatures: [...signed.signatures, 'no signature'] }));
});

test('inert transactions are counted in their block and change nothing', (t) => {
  const network = makeNetwork({ generation: 2 });
  const [rich, poor] = network.accounts as [KeyPair, KeyPair];
  const payment = makeTransaction(network.params, rich, transfer({ recipientId: addressOfPair(poor) }));
  const plain = new ChainMaker(network);
  const block = plain.build({ transactions: [payment] });
  const exceptions = { ...NO_EXCEPTIONS, inertTransactions: new Set([payment.id]) };
  const maker = new ChainMaker({ ...network, params: { ...network.params, exceptions } });
  maker.apply(block);
  t.is(maker.state.account(addressOfPair(poor))?.balance, 10_000n * LSK);
  t.true(maker.state.hasTransaction(payment.id));
  // An inert transaction has no effect on the state, but it must still be valid, for example have a valid signature.
  const forger = plain.nextSlot().keyPair;
  const broken = { ...payment, signature: '33'.repeat(64) };
  t.throws(
    () => {
      maker.rules.validateBlock(signBlock(block, { transactions: [broken] }, forger), verify);
    },
    { code: 'BLOCK_TRANSACTION_INVALID' },
  );
});

test('an inert transaction may be of a type that is no longer allowed at its height', (t) => {
  const description = { name: 'late', type: 0, category: 0 };
  const late = send({ kind: 'dapp', dapp: description });
  const precedent = { ...NO_EXCEPTIONS.precedent, disableDappTransaction: 5 };
  const isRefused = (inertTransactions: ReadonlySet<string>): boolean =>
    !isValid(rulesWith({ precedent, inertTransactions }), late);
  t.true(isRefused(new Set()));
  t.false(isRefused(new Set([late.id])));
});

test('an excepted vote does not subtract its own changes from the earlier votes', (t) => {
  const network = makeNetwork({ generation: 2 });
  const [voter] = network.accounts as [KeyPair];
  const [delegate] = network.delegates as [KeyPair];
  const payload = vote({ votes: [`+${publicKeyOf(delegate)}`] });
  const transaction = makeTransaction(network.params, voter, payload);
  const pendingOf = (exceptions: Partial<Exceptions>): bigint => {
    const params = { ...network.params, exceptions: { ...NO_EXCEPTIONS, ...exceptions } };
    const maker = new ChainMaker({ ...network, params });
    maker.forge({ transactions: [transaction] });
    return maker.state.delegate(publicKeyOf(delegate))?.pendingVoteWeight ?? 0n;
  };
  t.is(pendingOf({}), 9_999n * LSK);
  t.is(pendingOf({ roundVotes: new Set([transaction.id]) }), 9_998n * LSK);
});
