import test from 'ava';
import { NO_EXCEPTIONS } from '../../../src/protocol/params.ts';
import type { KeyPair, Payload, Transaction } from '../../../src/protocol/types.ts';
import { BlockRejected } from '../../../src/protocol/verdict.ts';
import { ChainMaker, LSK, addressOfPair, makeNetwork, publicKeyOf } from '../../support/chain-maker.ts';

const precedent = { disableDappTransaction: 1000, disableDappTransfer: 1000, disableV1Transactions: 0 };
const network = makeNetwork({ generation: 2, exceptions: { ...NO_EXCEPTIONS, precedent } });
const [owner, sender, third] = network.accounts as [KeyPair, KeyPair, KeyPair];
const [delegate] = network.delegates as [KeyPair];
const app = { name: 'app', type: 0, category: 0, link: 'https://x.test/app.zip' };

const register = (changes: object = {}): Payload => ({ kind: 'dapp', dapp: { ...app, ...changes } });

/** Returns a chain in which the account `owner` has registered an application, and the id of this application. */
function setUpApplication(): { maker: ChainMaker; dappId: string } {
  const maker = new ChainMaker(network);
  const registration = maker.transaction(owner, register());
  maker.forge({ transactions: [registration] });
  return { maker, dappId: registration.id };
}

function messagesOf(maker: ChainMaker, ...transactions: readonly Transaction[]): readonly string[] {
  return maker.rules
    .processTransactions(maker.state, transactions, () => true)
    .flatMap((verdict) =>
      verdict.status === 'ok' ? [] : verdict.errors.map(({ message, dataPath }) => `${dataPath}: ${message}`),
    );
}

test('an application costs its fee, and its name and link are reserved from then on', (t) => {
  const { maker } = setUpApplication();
  t.is(maker.state.account(addressOfPair(owner))?.balance, 9_975n * LSK);
  t.deepEqual(messagesOf(maker, maker.transaction(sender, register())), [
    'app: Application name already exists: app',
    'https://x.test/app.zip: Application link already exists: https://x.test/app.zip',
  ]);
  const other = { name: 'other', link: 'https://x.test/other.zip' };
  t.deepEqual(messagesOf(maker, maker.transaction(sender, register(other))), []);
  // If two transactions in one call of `processTransactions` register the same application, the second gets two errors,
  // about the name and the link.
  const two = [maker.transaction(sender, register(other)), maker.transaction(third, register(other))];
  t.is(messagesOf(maker, ...two).length, 2);
});

test('an application without a link reserves no link', (t) => {
  const maker = new ChainMaker(network);
  const nameless = (name: string): Payload => ({ kind: 'dapp', dapp: { name, type: 0, category: 0 } });
  const both = [maker.transaction(owner, nameless('a')), maker.transaction(sender, nameless('b'))];
  t.is(maker.forge({ transactions: both }).transactions.length, 2);
});

test("a transfer to an application goes to its owner, and counts for the owner's votes", (t) => {
  const { maker, dappId } = setUpApplication();
  const vote: Payload = { kind: 'vote', votes: [`+${publicKeyOf(delegate)}`], amount: 0n };
  maker.forge({ transactions: [maker.transaction(owner, vote)] });
  const before = maker.state.delegate(publicKeyOf(delegate))?.pendingVoteWeight ?? 0n;
  const payment = maker.transaction(sender, { kind: 'inTransfer', amount: 3n * LSK, dappId });
  maker.forge({ transactions: [payment] });
  t.is(maker.state.account(addressOfPair(owner))?.balance, 9_977n * LSK);
  t.is(maker.state.account(addressOfPair(sender))?.balance, 9_997n * LSK - 10_000_000n);
  t.is(maker.state.delegate(publicKeyOf(delegate))?.pendingVoteWeight, before + 3n * LSK);
});

test('a transfer out of an application pays its recipient', (t) => {
  const { maker, dappId } = setUpApplication();
  const recipientId = addressOfPair(third);
  const out: Payload = { kind: 'outTransfer', amount: 3n * LSK, recipientId, dappId, transactionId: '5' };
  maker.forge({ transactions: [maker.transaction(sender, out)] });
  t.is(maker.state.account(recipientId)?.balance, 10_003n * LSK);
  t.is(maker.state.account(addressOfPair(sender))?.balance, 9_997n * LSK - 10_000_000n);
});

test('an unregistered application is not found', (t) => {
  const { maker } = setUpApplication();
  for (const dappId of ['12', '0'.repeat(5000)]) {
    const into: Payload = { kind: 'inTransfer', amount: LSK, dappId };
    t.deepEqual(messagesOf(maker, maker.transaction(sender, into)), [`${dappId}: Application not found: ${dappId}`]);
  }
  const recipientId = addressOfPair(third);
  const out: Payload = { kind: 'outTransfer', amount: LSK, recipientId, dappId: '12', transactionId: '5' };
  t.deepEqual(messagesOf(maker, maker.transaction(sender, out)), [
    '.asset.outTransfer.dappId: Application not found: 12',
  ]);
});

test('a transfer into an application cannot exceed the balance', (t) => {
  const { maker, dappId } = setUpApplication();
  const into: Payload = { kind: 'inTransfer', amount: 20_000n * LSK, dappId };
  t.deepEqual(messagesOf(maker, maker.transaction(sender, into)), [
    `.balance: Account does not have enough LSK: ${addressOfPair(sender)}, balance: 10000`,
  ]);
});

test('from the height that the network names, applications are refused', (t) => {
  const ended = { ...NO_EXCEPTIONS, precedent: { ...precedent, disableDappTransaction: 2 } };
  const maker = new ChainMaker({ ...network, params: { ...network.params, exceptions: ended } });
  const block = maker.build({ transactions: [maker.transaction(owner, register())] });
  const error = t.throws(
    () => {
      maker.rules.validateBlock(block, () => true);
    },
    { instanceOf: BlockRejected },
  );
  t.is(error?.transactionErrors[0]?.message, 'Transaction type 5 is currently not allowed.');
});
