import test from 'ava';
import { NO_EXCEPTIONS } from '../../../src/protocol/params.ts';
import { LSK, TransactionWorld, messagesOf, nobody } from '../../support/transaction-world.ts';

const [alice, bob, carol, dave] = [nobody(0), nobody(1), nobody(2), nobody(3)];
const FEE = LSK / 10n;

test("a transfer moves the amount, takes the fee and stores the sender's key", (t) => {
  const world = new TransactionWorld();
  world.fund(alice, { balance: 5n * LSK });
  t.deepEqual(world.apply(world.transfer(alice, bob, 3n * LSK)), [{ status: 'ok' }]);
  t.like(world.state.account(alice.address), { balance: 2n * LSK - FEE, publicKey: alice.publicKey });
  t.like(world.state.account(bob.address), { balance: 3n * LSK });
  t.is(world.state.account(bob.address)?.publicKey, undefined);
});

test('a balance can be spent to the last beddow, and not below', (t) => {
  const world = new TransactionWorld();
  world.fund(alice, { balance: LSK });
  const text = `Account does not have enough LSK: ${alice.address}, balance: 1`;
  t.deepEqual(messagesOf(world.judge(world.transfer(alice, bob, LSK - FEE))), 'ok');
  t.deepEqual(messagesOf(world.judge(world.transfer(alice, bob, LSK - FEE + 1n))), [text]);
  t.deepEqual(messagesOf(world.judge(world.signed(9, alice, { publicKey: carol.publicKey }))), [text]);
});

test('an unknown account has nothing to spend', (t) => {
  const world = new TransactionWorld();
  const verdict = world.judge(world.transfer(alice, bob, 1n));
  t.deepEqual(messagesOf(verdict), [`Account does not have enough LSK: ${alice.address}, balance: 0`]);
});

test('a transfer to oneself costs only the fee', (t) => {
  const world = new TransactionWorld();
  world.fund(alice, { balance: LSK });
  world.apply(world.transfer(alice, alice, LSK / 2n));
  t.is(world.state.account(alice.address)?.balance, LSK - FEE);
});

test('no account can hold more than 2^63 - 1 beddows', (t) => {
  const world = new TransactionWorld();
  world.fund(alice);
  world.fund(bob, { balance: 2n ** 63n - 2n });
  t.deepEqual(messagesOf(world.judge(world.transfer(alice, bob, 1n))), 'ok');
  t.deepEqual(messagesOf(world.judge(world.transfer(alice, bob, 2n))), ['Invalid amount']);
});

test('an account keeps the first key that it used', (t) => {
  const world = new TransactionWorld();
  world.fund(alice, { publicKey: bob.publicKey });
  const verdict = world.judge(world.transfer(alice, bob, 1n));
  t.deepEqual(messagesOf(verdict), ['Invalid sender publicKey']);
});

test('a second key must sign everything after its registration, and an unregistered one cannot sign', (t) => {
  const world = new TransactionWorld();
  world.fund(alice);
  const registration = world.signed(9, alice, { publicKey: carol.publicKey });
  const unsigned = world.transfer(alice, bob, 1n);
  const signed = world.transfer(alice, bob, 1n, { second: carol });
  t.deepEqual(messagesOf(world.judge(signed)), ['Sender does not have a secondPublicKey']);
  t.deepEqual(messagesOf(world.judge(registration)), 'ok');
  t.deepEqual(world.apply(registration, unsigned, signed).map(messagesOf), ['ok', ['Missing signSignature'], 'ok']);
  const forged = world.transfer(alice, bob, 2n, { second: dave });
  t.deepEqual(messagesOf(world.judge(forged)), [`Failed to validate signature ${forged.signSignature}`]);
  t.deepEqual(messagesOf(world.judge(world.signed(9, alice, { publicKey: bob.publicKey }, { second: carol }))), [
    'Register second signature only allowed once per account.',
  ]);
});

test('a name and its delegate are registered together, once', (t) => {
  const world = new TransactionWorld();
  for (const person of [alice, bob]) world.fund(person);
  t.deepEqual(world.apply(world.signed(10, alice, { username: 'ann' })), [{ status: 'ok' }]);
  t.like(world.state.delegate(alice.publicKey), { address: alice.address, username: 'ann', voteWeight: 0n });
  t.is(world.state.delegateKeyByUsername('ann'), alice.publicKey);
  const messages = [
    world.signed(10, bob, { username: 'ann' }),
    world.signed(10, alice, { username: 'anna' }),
    world.signed(10, alice, { username: 'ann' }),
    world.signed(10, bob, { username: 'ben' }),
  ].map((transaction) => messagesOf(world.judge(transaction)));
  t.deepEqual(messages, [
    ['Username is not unique.'],
    ['Account is already a delegate'],
    ['Username is not unique.', 'Account is already a delegate'],
    'ok',
  ]);
});

test('each of two registrations of the same name is valid, but not both together', (t) => {
  const world = new TransactionWorld();
  for (const person of [alice, bob]) world.fund(person);
  const both = [alice, bob].map((person) => world.signed(10, person, { username: 'ann' }));
  t.deepEqual(
    both.map((transaction) => messagesOf(world.judge(transaction))),
    ['ok', 'ok'],
  );
  t.deepEqual(world.apply(...both).map(messagesOf), ['ok', ['Username is not unique.']]);
});

test('a vote can add only delegates that have no vote of the account, and remove only delegates that have one', (t) => {
  const world = new TransactionWorld();
  world.fund(alice);
  world.elect(bob, 'bob');
  world.elect(carol, 'carol');
  t.deepEqual(messagesOf(world.judge(world.vote(alice, `+${dave.publicKey}`))), [
    `${dave.publicKey} is not a delegate.`,
  ]);
  const shouted = bob.publicKey.toUpperCase();
  t.deepEqual(messagesOf(world.judge(world.vote(alice, `+${shouted}`))), [`${shouted} is not a delegate.`]);
  t.deepEqual(messagesOf(world.judge(world.vote(alice, `-${bob.publicKey}`))), [`${bob.publicKey} is not voted.`]);

  world.apply(world.vote(alice, `+${carol.publicKey}`, `+${bob.publicKey}`));
  t.deepEqual(world.state.account(alice.address)?.votes, [carol.publicKey, bob.publicKey]);
  t.deepEqual(messagesOf(world.judge(world.vote(alice, `+${bob.publicKey}`))), [`${bob.publicKey} is already voted.`]);

  world.apply(world.vote(alice, `-${carol.publicKey}`));
  t.deepEqual(world.state.account(alice.address)?.votes, [bob.publicKey]);
});

test('an account can hold at most 101 votes', (t) => {
  const world = new TransactionWorld();
  const keys = Array.from({ length: 101 }, (_, index) => index.toString(16).padStart(64, 'a'));
  for (const [index, publicKey] of keys.entries()) {
    world.elect({ ...bob, publicKey, address: `${index}L` }, `delegate_${index}`);
  }
  world.elect(carol, 'carol');
  world.fund(alice, { votes: keys.slice(0, 100) });
  t.deepEqual(messagesOf(world.judge(world.vote(alice, `+${keys[100]}`))), 'ok');
  t.deepEqual(messagesOf(world.judge(world.vote(alice, `+${keys[100]}`, `+${carol.publicKey}`))), [
    'Vote cannot exceed 101 but has 102.',
  ]);
  const exchange = world.vote(alice, `+${keys[100]}`, `+${carol.publicKey}`, `-${keys[0]}`);
  t.deepEqual(messagesOf(world.judge(exchange)), 'ok');
});

test('a group is registered with the signatures of all its members, in any order', (t) => {
  const world = new TransactionWorld();
  world.fund(alice);
  const asset = { min: 1, lifetime: 24, keysgroup: [`+${bob.publicKey}`, `+${carol.publicKey}`] };
  const registration = world.signed(12, alice, asset, { members: [carol, bob] });
  t.is(registration.fee, 15n * LSK);
  for (const members of [[], [bob], [dave]]) {
    const verdict = world.judge(world.signed(12, alice, asset, { members }));
    t.is(verdict.status, 'pending');
    t.deepEqual(messagesOf(verdict), ['Missing signatures']);
  }
  const foreign = world.signed(12, alice, asset, { members: [bob, dave] });
  t.deepEqual(messagesOf(world.judge(foreign)), [`Failed to validate signature ${foreign.signatures[1]}`]);
  t.deepEqual(world.apply(registration), [{ status: 'ok' }]);
  t.deepEqual(world.state.account(alice.address)?.group, {
    min: 1,
    lifetime: 24,
    members: [bob.publicKey, carol.publicKey],
  });
  t.is(world.state.account(carol.address)?.publicKey, carol.publicKey);
  const again = world.signed(12, alice, { ...asset, keysgroup: [`+${dave.publicKey}`] }, { members: [dave, bob] });
  t.true(messagesOf(world.judge(again)).includes('Register multisignature only allowed once per account.'));
});

test('a group cannot contain its own account', (t) => {
  const world = new TransactionWorld();
  world.fund(alice);
  const asset = { min: 1, lifetime: 1, keysgroup: [`+${alice.publicKey}`] };
  t.deepEqual(messagesOf(world.judge(world.signed(12, alice, asset, { members: [alice] }))), [
    'Invalid multisignature keysgroup. Can not contain sender',
  ]);
});

test('a group sends with enough member signatures, and more are allowed', (t) => {
  const world = new TransactionWorld();
  const members = [bob, carol, dave];
  world.fund(alice, { group: { min: 2, lifetime: 1, members: members.map(({ publicKey }) => publicKey) } });
  const judged = (...by: typeof members): ReturnType<TransactionWorld['judge']> =>
    world.judge(world.transfer(alice, bob, 1n, { members: by }));
  t.is(judged().status, 'pending');
  t.is(judged(dave).status, 'pending');
  t.is(judged(dave, bob).status, 'ok');
  t.is(judged(dave, bob, carol).status, 'ok');
  t.is(judged(dave, bob, alice).status, 'fail');
  t.is(judged(dave, alice).status, 'fail');
});

test('a pending transaction with another fault is refused', (t) => {
  const world = new TransactionWorld();
  world.fund(alice, { balance: 0n, group: { min: 1, lifetime: 1, members: [bob.publicKey] } });
  const verdict = world.judge(world.transfer(alice, bob, 1n));
  t.is(verdict.status, 'fail');
  t.deepEqual(messagesOf(verdict), [
    `Account does not have enough LSK: ${alice.address}, balance: 0`,
    'Missing signatures',
  ]);
});

test('a repeated signature is refused, and so are member signatures without a group', (t) => {
  const world = new TransactionWorld();
  world.fund(alice, { group: { min: 2, lifetime: 1, members: [bob.publicKey, carol.publicKey] } });
  const once = world.transfer(alice, bob, 1n, { members: [bob] });
  const twice = { ...once, signatures: [...once.signatures, ...once.signatures] };
  t.deepEqual(messagesOf(world.judge(twice)), ['Encountered duplicate signature in transaction']);
  world.fund(alice);
  t.deepEqual(messagesOf(world.judge(once)), ['Sender is not a multisignature account']);
});

test('an exception accepts a failed transaction only when its first error is the excepted one', (t) => {
  const plain = new TransactionWorld();
  const { id } = plain.transfer(alice, bob, 1n);
  const world = new TransactionWorld({ exceptions: { ...NO_EXCEPTIONS, senderPublicKey: new Set([id]) } });
  world.fund(alice, { publicKey: carol.publicKey });
  t.deepEqual(world.apply(world.transfer(alice, bob, 1n)), [{ status: 'ok' }]);
  t.is(world.state.account(bob.address)?.balance, 1n);
  t.is(world.judge(world.transfer(alice, bob, 2n)).status, 'fail');
  world.fund(alice, { balance: 0n });
  t.is(world.judge(world.transfer(alice, bob, 1n)).status, 'fail');
});

test('inert transactions change nothing', (t) => {
  const { id } = new TransactionWorld().transfer(alice, bob, 1n);
  const world = new TransactionWorld({ exceptions: { ...NO_EXCEPTIONS, inertTransactions: new Set([id]) } });
  const transaction = world.transfer(alice, bob, 1n);
  t.is(world.judge(transaction).status, 'ok');
  t.deepEqual(world.apply(transaction), [{ status: 'ok' }]);
  t.is(world.state.account(alice.address), undefined);
});

test('a delegate has the key of its account, whatever key signed an excepted registration', (t) => {
  const { id } = new TransactionWorld().signed(10, alice, { username: 'alice' });
  const world = new TransactionWorld({ exceptions: { ...NO_EXCEPTIONS, senderPublicKey: new Set([id]) } });
  world.fund(alice, { publicKey: bob.publicKey });
  t.deepEqual(world.apply(world.signed(10, alice, { username: 'alice' })), [{ status: 'ok' }]);
  t.is(world.state.delegateKeyByUsername('alice'), bob.publicKey);
  t.is(world.state.delegate(alice.publicKey), undefined);
  t.is(world.state.delegate(bob.publicKey)?.address, alice.address);
});
