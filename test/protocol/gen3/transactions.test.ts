import test from 'ava';
import { NO_EXCEPTIONS } from '../../../src/protocol/params.ts';
import { ED25519_VECTORS } from '../../../src/crypto/ed25519-vectors.ts';
import { defaultEd25519 } from '../../../src/crypto/ed25519.ts';
import { hexOf } from '../../../src/primitives/bytes.ts';
import type { MemberSignature, Transaction } from '../../../src/protocol/types.ts';
import { fakeBlock } from '../../support/fake-codec.ts';
import { LSK, TransactionWorld, messagesOf, nobody, verify } from '../../support/transaction-world.ts';
import type { Signer } from '../../support/reference-transactions.ts';

const [alice, bob, carol, dave] = [nobody(0), nobody(1), nobody(2), nobody(3)];
const ed25519 = defaultEd25519();

test('the primary signature is checked for the network of the node', (t) => {
  const world = new TransactionWorld();
  const other = new TransactionWorld({ networkIdentifier: '22'.repeat(32) });
  const transaction = world.transfer(alice, bob, 1n);
  t.deepEqual(world.rules.validateTransaction(transaction, {}, verify), []);
  const [error] = other.rules.validateTransaction(transaction, {}, verify);
  t.like(error, { message: `Failed to validate signature ${transaction.signature}`, dataPath: '.signature' });
  t.is(error?.id, transaction.id);
});

test('an excepted transaction may have an invalid primary signature', (t) => {
  const wrong = { ...new TransactionWorld().transfer(alice, bob, 1n), id: '5' };
  const world = new TransactionWorld({
    networkIdentifier: '22'.repeat(32),
    exceptions: { ...NO_EXCEPTIONS, signatures: new Set(['5']) },
  });
  t.deepEqual(world.rules.validateTransaction(wrong, {}, verify), []);
  t.is(world.rules.validateTransaction({ ...wrong, id: '6' }, {}, verify).length, 1);
});

test('the announced check is the one that runs, as the same object each time', (t) => {
  const world = new TransactionWorld();
  const transaction = world.transfer(alice, bob, 1n);
  const [announced] = world.rules.primarySignatureChecks(transaction);
  t.true(announced !== undefined && verify(announced));
  world.rules.validateTransaction(transaction, {}, (check) => {
    t.is(check, announced ?? check);
    return true;
  });
  t.is(world.rules.primarySignatureChecks(transaction)[0], announced);
});

test('an Ed25519 edge case is not a valid primary signature', (t) => {
  const world = new TransactionWorld();
  const [vector] = ED25519_VECTORS;
  const { publicKey, signature } = vector ?? { publicKey: '', signature: '' };
  const json = {
    type: 8,
    timestamp: 1,
    senderPublicKey: publicKey,
    asset: { amount: '1', recipientId: '1L' },
    signature,
  };
  const transaction = world.codec.transactionFromJson(json);
  t.is(world.rules.validateTransaction(transaction, {}, verify).length, 1);
});

test('a transaction may be of the current slot, but not of a later one', (t) => {
  const world = new TransactionWorld({ blockTimeS: 10 });
  world.fund(alice);
  const judged = (timestamp: number): ReturnType<typeof messagesOf> =>
    messagesOf(world.judge(world.transfer(alice, bob, 1n, { timestamp }), 101));
  const late = 'Invalid transaction timestamp. Timestamp is in the future';
  t.is(judged(109), 'ok');
  t.is(judged(-5), 'ok');
  t.deepEqual(judged(110), [late]);
  world.fund(alice, { balance: 0n });
  t.deepEqual(judged(110), [`Account does not have enough LSK: ${alice.address}, balance: 0`, late]);
});

test('a confirmed transaction is refused by its id, whatever its signatures', (t) => {
  const world = new TransactionWorld();
  world.fund(alice);
  const transaction = world.transfer(alice, bob, 1n);
  world.state.append(fakeBlock(undefined, [transaction]), () => undefined);
  const message = [`Transaction is already confirmed: ${transaction.id}`];
  t.deepEqual(messagesOf(world.judge(transaction)), message);
  const fresh = world.transfer(alice, bob, 2n);
  const verdicts = world.rules.processTransactions(world.state, [fresh, transaction], verify);
  t.deepEqual(verdicts.map(messagesOf), ['ok', message]);
});

test('verification and processing do not change the state', (t) => {
  const world = new TransactionWorld();
  world.fund(alice);
  world.judge(world.transfer(alice, bob, 1n));
  world.rules.processTransactions(world.state, [world.transfer(alice, bob, 1n)], verify);
  t.is(world.state.account(alice.address)?.balance, 1000n * LSK);
  t.is(world.state.account(bob.address), undefined);
});

test('earlier transactions of a block do not make a later one valid alone', (t) => {
  const world = new TransactionWorld();
  world.fund(alice);
  const funding = world.transfer(alice, bob, 10n * LSK);
  const spending = world.transfer(bob, carol, LSK);
  t.is(world.judge(spending).status, 'fail');
  t.deepEqual(
    world.rules.processTransactions(world.state, [funding, spending], verify).map(({ status }) => status),
    ['ok', 'ok'],
  );
});

test('a sender cannot spend more in one batch than its balance before', (t) => {
  const world = new TransactionWorld();
  world.fund(alice, { balance: 10n * LSK });
  world.fund(bob, { balance: 100n * LSK });
  const batch = [
    world.transfer(bob, alice, 50n * LSK),
    world.transfer(alice, carol, 6n * LSK),
    world.transfer(alice, carol, 5n * LSK),
    world.transfer(alice, carol, 3n * LSK),
  ];
  const verdicts = world.rules.processTransactions(world.state, batch, verify);
  const text = 'Account does not have enough LSK for total spending. balance: 1000000000, spending: 1120000000';
  t.deepEqual(verdicts.map(messagesOf), ['ok', 'ok', [text], 'ok']);
  t.like(verdicts[2], { status: 'fail', errors: [{ dataPath: '.amount' }] });
});

test('the spending rule does not apply to a single transaction', (t) => {
  const world = new TransactionWorld();
  world.fund(alice, { balance: LSK });
  const [verdict] = world.rules.processTransactions(world.state, [world.transfer(alice, bob, 2n * LSK)], verify);
  t.deepEqual(messagesOf(verdict), [`Account does not have enough LSK: ${alice.address}, balance: 1`]);
});

test('a pending transaction in a batch does not affect the later ones', (t) => {
  const world = new TransactionWorld();
  for (const person of [alice, bob]) world.fund(person);
  const asset = { min: 1, lifetime: 1, keysgroup: [`+${carol.publicKey}`] };
  const verdicts = world.apply(world.signed(12, alice, asset), world.transfer(alice, bob, 1n));
  t.deepEqual(
    verdicts.map(({ status }) => status),
    ['pending', 'ok'],
  );
  t.is(world.state.account(alice.address)?.balance, 1000n * LSK - 1n - LSK / 10n);
  t.is(world.state.account(carol.address), undefined);
});

test('delegates and votes are checked again when others of their kind are confirmed', (t) => {
  const world = new TransactionWorld();
  const unique = [
    world.transfer(alice, bob, 1n),
    world.signed(9, alice, { publicKey: bob.publicKey }),
    world.signed(10, alice, { username: 'ann' }),
    world.vote(alice, `+${bob.publicKey}`),
    world.signed(12, alice, { min: 1, lifetime: 1, keysgroup: [`+${bob.publicKey}`] }),
  ].map((transaction) => world.rules.hasUniqueData(transaction));
  t.deepEqual(unique, [false, false, true, true, false]);
});

function memberSignature(world: TransactionWorld, transaction: Transaction, member: Signer): MemberSignature {
  const [check] = world.rules.primarySignatureChecks(transaction);
  const signature = hexOf(ed25519.sign(check?.message ?? new Uint8Array(), member.keyPair.privateKey));
  return { transactionId: transaction.id, publicKey: member.publicKey, signature };
}

for (const registers of [false, true]) {
  const what = registers ? 'registration of a group' : 'transfer of a group';

  test(`members sign a pending ${what} until it is complete`, (t) => {
    const world = new TransactionWorld();
    const members = [bob.publicKey, carol.publicKey];
    world.fund(alice, registers ? {} : { group: { min: 2, lifetime: 1, members } });
    const start = registers
      ? world.signed(12, alice, { min: 1, lifetime: 1, keysgroup: members.map((key) => `+${key}`) })
      : world.transfer(alice, dave, 1n);
    const add = (transaction: Transaction, signature: MemberSignature) =>
      world.rules.addMemberSignature(world.state, transaction, signature, verify);
    const firstError = (transaction: Transaction, signature: MemberSignature): string | undefined => {
      const outcome = add(transaction, signature);
      return 'errors' in outcome ? outcome.errors[0]?.message : undefined;
    };
    t.is(world.rules.multisignatureStatus(world.state, start, verify), 'pending');

    const [ofBob, ofCarol, ofDave] = [bob, carol, dave].map((member) => memberSignature(world, start, member));
    if (ofBob === undefined || ofCarol === undefined || ofDave === undefined) return t.fail();
    const owner = registers ? '' : ` for account '${alice.address}'`;
    t.is(firstError(start, ofDave), `Public Key '${dave.publicKey}' is not a member${owner}.`);
    const stolen = { ...ofBob, publicKey: carol.publicKey };
    const quoted = registers ? ofBob.signature : `'${ofBob.signature}'`;
    t.is(firstError(start, stolen), `Failed to add signature ${quoted}.`);

    const first = add(start, ofCarol);
    if ('errors' in first) return t.fail();
    t.false(first.complete);
    t.deepEqual(start.signatures, []);
    t.deepEqual(first.transaction.signatures, [ofCarol.signature]);
    t.is(first.transaction.id, start.id);
    const repeated = registers
      ? 'Encountered duplicate signature in transaction'
      : `Signature '${ofCarol.signature}' already present in transaction.`;
    t.is(firstError(first.transaction, ofCarol), repeated);

    const second = add(first.transaction, { ...ofBob, publicKey: bob.publicKey.toUpperCase() });
    if ('errors' in second) return t.fail();
    t.true(second.complete);
    t.is(world.rules.multisignatureStatus(world.state, second.transaction, verify), 'ready');
    return t.is(world.judge(second.transaction).status, 'ok');
  });
}

test('an account without a group needs no member signatures and accepts none', (t) => {
  const world = new TransactionWorld();
  world.fund(alice);
  const transaction = world.transfer(alice, bob, 1n);
  t.is(world.rules.multisignatureStatus(world.state, transaction, verify), 'none');
  const signature = memberSignature(world, transaction, carol);
  const outcome = world.rules.addMemberSignature(world.state, transaction, signature, verify);
  t.true('errors' in outcome && outcome.errors[0]?.message === 'Sender is not a multisignature account');
  const signed = { ...transaction, signatures: [signature.signature] };
  t.is(world.rules.multisignatureStatus(world.state, signed, verify), 'pending');
});

test('a block orders group registrations last, then by type, then by transfer amount', (t) => {
  const world = new TransactionWorld();
  for (const person of [alice, bob, carol, dave]) world.fund(person);
  const group = { min: 1, lifetime: 1, keysgroup: [`+${carol.publicKey}`] };
  const [registration, name, big, small, same] = [
    world.signed(12, alice, group, { members: [carol] }),
    world.signed(10, bob, { username: 'ben' }),
    world.transfer(carol, dave, 30n),
    world.transfer(dave, carol, 2n),
    world.transfer(carol, dave, 2n),
  ];
  const chosen = world.rules.selectTransactions(
    world.state,
    [registration, name, big, small, same] as Transaction[],
    {},
    verify,
  );
  t.deepEqual(
    chosen.map(({ id }) => id),
    [small, same, big, name, registration].map((each) => each?.id),
  );
});

test('a block takes transactions that are valid together, up to the maximum number', (t) => {
  const world = new TransactionWorld({ transactionsPerBlockMax: 3 });
  for (const person of [alice, bob]) world.fund(person);
  const [first, second] = [alice, bob].map((person) => world.signed(10, person, { username: 'ann' }));
  const poor = world.transfer(carol, alice, 1n);
  const transfers = [1n, 2n, 3n, 4n].map((amount) => world.transfer(alice, bob, amount));
  const choose = (...candidates: (Transaction | undefined)[]): readonly Transaction[] =>
    world.rules.selectTransactions(world.state, candidates as Transaction[], {}, verify);
  t.deepEqual(choose(second, first, poor), second === undefined ? [] : [second]);
  t.deepEqual(choose(...transfers), transfers.slice(0, 3));
  t.deepEqual(choose(), []);
});

test('transactions forged together can be applied in block order', (t) => {
  const world = new TransactionWorld();
  world.fund(alice, { balance: 10n * LSK });
  world.fund(bob);
  // Carol can send the second transfer only if she has received the first. But a block would contain the transfer with
  // the smaller amount first, when Carol has no funds yet. The node must therefore select only the first transfer.
  const candidates = [world.transfer(bob, carol, 20n * LSK), world.transfer(carol, bob, 1n)];
  const chosen = world.rules.selectTransactions(world.state, candidates, {}, verify);
  t.deepEqual(chosen, candidates.slice(0, 1));
});

test('a genesis block is applied without checks of signatures, limits and funds, votes after names', (t) => {
  const world = new TransactionWorld();
  const json = {
    version: 2,
    height: 1,
    timestamp: 0,
    payloadHash: '00'.repeat(32),
    generatorPublicKey: alice.publicKey,
    blockSignature: '00'.repeat(64),
    maxHeightPreviouslyForged: 0,
    maxHeightPrevoted: 0,
    transactions: [
      world.vote(bob, `+${carol.publicKey}`),
      world.transfer(alice, bob, 100n * LSK),
      world.signed(10, carol, { username: 'carol' }),
    ].map((transaction) => ({ ...world.codec.transactionToJson(transaction), signature: '11'.repeat(64) })),
  };
  world.rules.applyGenesisTransactions(world.state, world.codec.genesisFromJson(json));
  t.is(world.state.account(alice.address)?.balance, -100n * LSK);
  t.deepEqual(world.state.account(bob.address)?.votes, [carol.publicKey]);
  t.is(world.state.delegate(carol.publicKey)?.voteWeight, 100n * LSK);
});
