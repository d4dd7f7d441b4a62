import test from 'ava';
import { payloadHashOf } from '../../../src/protocol/block/validate.ts';
import { createGen2Codec } from '../../../src/protocol/gen2/codec.ts';
import { createGen3Codec, headerBytes, transactionBytes } from '../../../src/protocol/gen3/codec.ts';
import { NO_EXCEPTIONS, type Exceptions } from '../../../src/protocol/params.ts';
import { rewardAt } from '../../../src/protocol/rewards.ts';
import { createGen3Rules } from '../../../src/protocol/gen3/rules.ts';
import { amountOf } from '../../../src/protocol/tx/amounts.ts';
import type { Block, Json, JsonObject, KeyPair, Payload, Transaction } from '../../../src/protocol/types.ts';
import { TransactionRejected } from '../../../src/protocol/verdict.ts';
import {
  ChainMaker,
  LSK,
  addressOfPair,
  makeNetwork,
  makeTransaction,
  publicKeyOf,
  signBlock,
  verify,
} from '../../support/chain-maker.ts';

/**
 * The highest block of version 1 has this height. The genesis block has version 0, and the blocks above `LAST_OLD` have
 * version 2.
 */
const LAST_OLD = 150;

const exceptions: Exceptions = {
  ...NO_EXCEPTIONS,
  blockVersions: new Map([
    [0, { start: 1, end: 1 }],
    [1, { start: 2, end: LAST_OLD }],
  ]),
  precedent: { disableDappTransaction: 90, disableDappTransfer: 80, disableV1Transactions: LAST_OLD + 1 },
};
const network = makeNetwork({ exceptions, rewards: { milestones: [400n], offset: 1, distance: 1000 } });
const [alice, bob, carol, dave, erin] = network.accounts as [KeyPair, KeyPair, KeyPair, KeyPair, KeyPair];
const [delegate] = network.delegates as [KeyPair];
const { params } = network;
const codec = createGen3Codec(params);
const FORMAT = { headerBytes, transactionBytes };

/** Makes the next block of the chain, with version 1 (the format of generation 2). */
function oldBlock(maker: ChainMaker, transactions: readonly Transaction[] = []): Block {
  const { slot, keyPair } = maker.nextSlot();
  const height = maker.tip.height + 1;
  const block: Block = {
    ...maker.tip,
    version: 1,
    height,
    timestamp: slot * params.blockTimeS,
    previousBlockId: maker.tip.id,
    numberOfTransactions: transactions.length,
    totalAmount: transactions.reduce((sum, transaction) => sum + amountOf(transaction), 0n),
    totalFee: transactions.reduce((sum, { fee }) => sum + fee, 0n),
    reward: rewardAt(height, params.rewards),
    payloadLength: 0,
    payloadHash: payloadHashOf(transactions, FORMAT),
    transactions,
  };
  return signBlock(block, {}, keyPair);
}

function old(sender: KeyPair, payload: Payload, members: readonly KeyPair[] = []): Transaction {
  return makeTransaction(params, sender, payload, { isOld: true, members });
}

const registration = old(alice, { kind: 'dapp', dapp: { name: 'app', type: 0, category: 1, tags: 'a' } });
const keysgroup = [`+${publicKeyOf(bob)}`, `+${publicKeyOf(carol)}`];

/**
 * Each element contains the transactions of one block. Together they contain each type of transaction. Their order is
 * such that each transaction is valid in its block.
 */
const HISTORY: readonly (readonly Transaction[])[] = [
  [
    old(alice, { kind: 'transfer', amount: 5n * LSK, recipientId: addressOfPair(bob), data: 'hällo' }),
    old(bob, { kind: 'vote', votes: [`+${publicKeyOf(delegate)}`], amount: 0n }),
  ],
  [registration, old(carol, { kind: 'delegate', username: 'carol' })],
  [
    old(dave, { kind: 'secondSignature', publicKey: publicKeyOf(alice) }),
    old(erin, { kind: 'multisignature', min: 1, lifetime: 2, keysgroup }, [bob, carol]),
  ],
  [
    old(bob, { kind: 'inTransfer', amount: LSK, dappId: registration.id }),
    old(alice, {
      kind: 'outTransfer',
      amount: LSK,
      recipientId: addressOfPair(bob),
      dappId: registration.id,
      transactionId: '7',
    }),
  ],
];

/**
 * Makes a chain of the given height. The blocks up to `LAST_OLD` have the format of generation 2, and the blocks above
 * have the format of generation 3.
 */
function grown(height: number): ChainMaker {
  const maker = new ChainMaker(network);
  for (const transactions of HISTORY) maker.apply(oldBlock(maker, transactions));
  while (maker.tip.height < Math.min(height, LAST_OLD)) maker.apply(oldBlock(maker));
  maker.growTo(height);
  return maker;
}

test('a chain from generation 2 continues in generation 3, and final blocks follow', (t) => {
  const maker = grown(LAST_OLD);
  t.is(maker.state.header(1)?.version, 0);
  t.is(maker.tip.version, 1);
  t.is(maker.rules.finalizedHeight(maker.state), 1);
  maker.forge({ transactions: [maker.transfer(alice, bob, LSK)] });
  t.is(maker.tip.version, 2);
  t.is(maker.tip.transactions[0]?.type, 8);
  maker.growTo(420);
  t.true(maker.rules.finalizedHeight(maker.state) > LAST_OLD + 100);
  // The state still has Erin's group and Dave's second key, which transactions in blocks of version 1 (the format of
  // generation 2) registered.
  t.is(maker.state.account(addressOfPair(erin))?.group?.min, 1);
  t.is(maker.state.account(addressOfPair(dave))?.secondPublicKey, publicKeyOf(alice));
});

test('weights are exact and change at once, even in the older history', (t) => {
  const maker = grown(210);
  t.is(maker.state.delegate(publicKeyOf(delegate))?.pendingVoteWeight, 0n);
  const balances = new Map<string, bigint>();
  for (const { votes, balance } of maker.state.accounts()) {
    for (const key of votes) balances.set(key, (balances.get(key) ?? 0n) + balance);
  }
  for (const { publicKey, voteWeight } of maker.state.delegates()) t.is(voteWeight, balances.get(publicKey) ?? 0n);
});

test('older blocks forge with the list of their own round, newer ones with an earlier list', (t) => {
  const maker = grown(120);
  // All three heights are in round 2. Blocks of version 1 (up to height 150) use the list of round 2, and blocks of
  // version 2 use the list of round 1. Both lists contain the same delegates, because the new delegate Carol has no
  // votes. Their order is different, because Bob's vote has changed the weights.
  t.deepEqual(maker.rules.forgers(maker.state, 120), maker.rules.forgers(maker.state, 150));
  t.notDeepEqual(maker.rules.forgers(maker.state, 150), maker.rules.forgers(maker.state, 151));
});

test('the whole history survives JSON unchanged, from the genesis block on', (t) => {
  const maker = grown(230);
  const copy = new ChainMaker({ ...network, genesis: codec.genesisFromJson(codec.blockToJson(network.genesis)) });
  t.is(copy.tip.id, network.genesis.id);
  for (let height = 2; height <= 230; height += 1) {
    const block = maker.state.block(height);
    const json = JSON.parse(JSON.stringify(codec.blockToJson(block as Block))) as JsonObject;
    copy.apply(codec.blockFromJson(json));
  }
  t.is(copy.tip.id, maker.tip.id);
  const sorted = (chain: ChainMaker): unknown[] =>
    [...chain.state.accounts()].sort((a, b) => (a.address < b.address ? -1 : 1));
  t.deepEqual(sorted(copy), sorted(maker));
  t.deepEqual(copy.state.bftState(), maker.state.bftState());
});

test("older types have the bytes of generation 2 without a network, and this generation's documents", (t) => {
  const own = createGen2Codec({ ...params, generation: 2 });
  for (const transaction of HISTORY.flat()) {
    t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
    t.deepEqual(own.decodeTransaction(own.encodeTransaction(transaction)), transaction);
    const json = codec.transactionToJson(transaction);
    t.false('recipientId' in json);
    t.deepEqual(codec.transactionFromJson(json), transaction);
    const foreign = createGen3Rules({ ...params, networkIdentifier: '77'.repeat(32) });
    t.deepEqual(foreign.validateTransaction(transaction, { blockHeight: 5 }, verify), []);
  }
  const assets = HISTORY.flat().map((transaction) => codec.transactionToJson(transaction)['asset']);
  t.deepEqual(assets, [
    { data: 'hällo', amount: '500000000', recipientId: addressOfPair(bob) },
    { votes: [`+${publicKeyOf(delegate)}`], amount: '0', recipientId: addressOfPair(bob) },
    { dapp: { name: 'app', type: 0, category: 1, tags: 'a' } },
    { username: 'carol' },
    { publicKey: publicKeyOf(alice) },
    { min: 1, lifetime: 2, keysgroup },
    { amount: '100000000', inTransfer: { dappId: registration.id } },
    {
      amount: '100000000',
      recipientId: addressOfPair(bob),
      outTransfer: { dappId: registration.id, transactionId: '7' },
    },
  ]);
});

test('unknown members are kept where the older types accepted whole objects', (t) => {
  for (const transaction of HISTORY.flat()) {
    const json = codec.transactionToJson(transaction);
    const asset = json['asset'] as Record<string, Json>;
    const [name] = ['inTransfer', 'outTransfer'].filter((each) => each in asset);
    if (name === undefined) continue;
    const inner = { ...(asset[name] as JsonObject), note: ['x'] };
    const read = codec.transactionFromJson({ ...json, asset: { ...asset, [name]: inner, dropped: 1 } });
    t.is(read.id, transaction.id);
    t.deepEqual((codec.transactionToJson(read)['asset'] as JsonObject)[name], inner);
    t.false('dropped' in (codec.transactionToJson(read)['asset'] as JsonObject));
    t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(read)), read);
  }
});

test('a vote of older history without a recipient gets its sender as the recipient', (t) => {
  const [, vote] = HISTORY[0] ?? [];
  const json = codec.transactionToJson(vote as Transaction);
  const { recipientId: _, amount: __, ...asset } = json['asset'] as JsonObject;
  t.deepEqual(codec.transactionFromJson({ ...json, asset }), vote);
});

test('older types are refused from the height that the network names, and always outside a block', (t) => {
  const rules = createGen3Rules(params);
  for (const transaction of HISTORY.flat()) {
    const end = { 5: 90, 6: 80, 7: 80 }[transaction.type] ?? LAST_OLD + 1;
    t.deepEqual(rules.typeErrors(transaction, { blockHeight: end - 1 }), []);
    const message = `Transaction type ${transaction.type} is currently not allowed.`;
    t.is(rules.typeErrors(transaction, { blockHeight: end })[0]?.message, message);
    t.is(rules.typeErrors(transaction, {})[0]?.message, message);
  }
});

test('a network without older history does not know its types', (t) => {
  const young = createGen3Codec({ ...params, exceptions: NO_EXCEPTIONS });
  for (const transaction of HISTORY.flat()) {
    t.throws(() => young.transactionFromJson(codec.transactionToJson(transaction)), {
      code: 'TRANSACTION_TYPE_UNKNOWN',
    });
  }
});

test('documents of older types are refused with the error texts of this generation', (t) => {
  const messages = (type: number, asset: unknown): readonly string[] => {
    const json = {
      type,
      timestamp: 1,
      senderPublicKey: publicKeyOf(alice),
      signature: '11'.repeat(64),
      asset,
    };
    const error = t.throws(() => codec.transactionFromJson(json), { instanceOf: TransactionRejected });
    return error?.errors.map(({ message, dataPath }) => `${dataPath} ${message}`) ?? [];
  };
  t.deepEqual(messages(0, { amount: '0', recipientId: '7L' }), [
    '.amount Amount must be a valid number in string format.',
  ]);
  t.deepEqual(messages(0, { amount: '5', recipientId: '07L' }), [
    `.recipientId '.recipientId' should match format "address"`,
  ]);
  t.deepEqual(messages(3, { votes: [], recipientId: 'x' }), [
    `.recipientId '.recipientId' should match format "address"`,
    ".votes '.votes' should NOT have fewer than 1 items",
  ]);
  t.deepEqual(messages(4, { min: 2, lifetime: 1, keysgroup: keysgroup.slice(1) }), [
    '.asset.min Invalid multisignature min. Must be less than or equal to keysgroup size',
  ]);
  t.deepEqual(messages(5, { dapp: { name: 'a', type: 0, category: 0, link: 'https://x.test/a.tar' } }), [
    '.asset.dapp.link Dapp icon must have suffix .zip',
  ]);
  t.deepEqual(messages(6, { amount: '0' }), [
    ".asset '.asset' should have required property 'inTransfer'",
    '.amount Amount must be greater than 0',
  ]);
  t.deepEqual(messages(7, { amount: '0', recipientId: '7L', outTransfer: { dappId: '1' } }), [
    ".outTransfer '.outTransfer' should have required property 'transactionId'",
    '.amount Amount must be greater than zero for outTransfer transaction',
  ]);
});

test('excepted transactions of older history are read unchanged, under their own id', (t) => {
  const json = {
    id: '42',
    type: 0,
    timestamp: 1,
    senderPublicKey: publicKeyOf(alice),
    signature: '11'.repeat(64),
    asset: { amount: '5', recipientId: '0123L' },
  };
  t.throws(() => codec.transactionFromJson(json), { code: 'TRANSACTION_INVALID' });
  const listed = { ...params, exceptions: { ...exceptions, recipientLeadingZero: new Map([['42', '0123L']]) } };
  const rules = createGen3Rules(listed);
  const transaction = rules.codec.transactionFromJson(json);
  t.is(transaction.id, '42');
  t.deepEqual(rules.codec.decodeTransaction(rules.codec.encodeTransaction(transaction)), transaction);
  t.deepEqual(rules.validateTransaction(transaction, { blockHeight: 5 }, verify), []);
});
