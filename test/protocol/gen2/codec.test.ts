import test from 'ava';
import { keyPairOfPassphrase } from '../../../src/crypto/keys.ts';
import { sha256 } from '../../../src/crypto/hash.ts';
import { pointsOf } from '../../../src/engine/peers/penalties.ts';
import { hexOf } from '../../../src/primitives/bytes.ts';
import { basicBytes, createGen2Codec, transactionBytes } from '../../../src/protocol/gen2/codec.ts';
import { secondSigningDigest, signingDigest } from '../../../src/protocol/gen2/transaction-bytes.ts';
import { NO_EXCEPTIONS, type ChainParams, type Exceptions } from '../../../src/protocol/params.ts';
import { createGen2Rules } from '../../../src/protocol/gen2/rules.ts';
import type { Block, Json, JsonObject, Transaction } from '../../../src/protocol/types.ts';
import { BlockRejected, TransactionRejected } from '../../../src/protocol/verdict.ts';
import { ChainMaker, LSK, makeNetwork, publicKeyOf, verify } from '../../support/chain-maker.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { signer } from '../../support/reference-transactions.ts';
import { json2Of, reference2Of, signedReference2 } from '../../support/reference-transactions-2.ts';

const paramsOf = (exceptions: Partial<Exceptions> = {}): ChainParams =>
  paramsWith({ generation: 2, exceptions: { ...NO_EXCEPTIONS, ...exceptions } });
const codec = createGen2Codec(paramsOf());
const precedent = { disableDappTransaction: 200, disableDappTransfer: 100, disableV1Transactions: 0 };
const oldNetwork = paramsOf({ precedent });
const oldCodec = createGen2Codec(oldNetwork);

const alice = signer('wear protect skill sentence lift enter wild sting lottery power floor neglect');
const second = keyPairOfPassphrase('inherit moon normal relief spring bargain hobby join baby flash fog blood');

/**
 * Returns the JSON of a transaction. The JSON has the members that transactions of every type have, with an invalid
 * signature. `changes` contains further members.
 */
function documentOf(type: number, changes: JsonObject): JsonObject {
  const fee = { 0: '10000000', 3: '100000000', 5: '2500000000', 6: '10000000', 7: '10000000' }[type] ?? '0';
  const signature = '11'.repeat(64);
  return { id: '1', type, timestamp: 1, fee, senderPublicKey: alice.publicKey, signature, ...changes };
}

const dappAsset = { dapp: { name: 'Käse', type: 0, category: 3, tags: 'a,b', link: 'https://x.test/a.zip' } };
const transferIn = documentOf(6, { amount: '300', asset: { inTransfer: { dappId: '12' } } });
const transferOut = documentOf(7, {
  amount: '300',
  recipientId: '7L',
  asset: { outTransfer: { dappId: '12', transactionId: '345' } },
});

test('an empty text of a transfer is signed as none, and stored as it was given, like in the reference', (t) => {
  const members = { amount: '123', fee: '10000000', recipientId: '1L' };
  const content = { type: 0, timestamp: 100, sender: alice } as const;
  const [empty, absent] = [{ data: '' }, {}].map((asset) =>
    json2Of(signedReference2({ ...content, members: { ...members, asset } })),
  );
  t.is(empty!['id'], absent!['id']);
  for (const json of [empty!, absent!]) {
    const transaction = codec.transactionFromJson(json);
    t.deepEqual(codec.transactionToJson(transaction)['asset'], json['asset']);
    t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
  }
  t.deepEqual(empty!['asset'], { data: '' });
});

test('a transfer has the published bytes, digests and ids', (t) => {
  const members = { amount: '123', fee: '10000000', recipientId: '18141291412139607230L', asset: { data: 'hi' } };
  const reference = signedReference2({ type: 0, timestamp: 100, sender: alice, members });
  const transaction = codec.transactionFromJson(json2Of(reference));
  t.is(
    hexOf(basicBytes(transaction)),
    '0064000000efaf1d977897cb60d7db9d30e8fd668dee070ac0db1fb8d184c06152a8b75f8d' +
      'fbc2d06c336d04be7b000000000000006869',
  );
  const digest = '87e86752b6117dff7d104d28d1f179100840df492eb047deaba61286616f8b5e';
  t.is(hexOf(signingDigest(transaction, paramsOf().networkIdentifier)), digest);
  t.is(transaction.id, '77117310928893429');
  const both = signedReference2(
    { type: 0, timestamp: 100, sender: alice, members },
    {
      ...alice,
      passphrase: 'inherit moon normal relief spring bargain hobby join baby flash fog blood',
      keyPair: second,
    },
  );
  const twice = codec.transactionFromJson(json2Of(both));
  t.is(twice.id, '14271555501503193060');
  const bytes = [basicBytes(twice), Buffer.from(twice.signature, 'hex')];
  t.deepEqual(secondSigningDigest(twice, ''), sha256(...bytes));
});

test('an application has the bytes of the reference package, and its texts survive storage', (t) => {
  for (const dapp of [
    dappAsset.dapp,
    { name: 'n', type: 1, category: 8, description: 'ein Ding', icon: 'https://x.test/a.png' },
  ]) {
    const json = documentOf(5, { asset: { dapp } });
    const transaction = oldCodec.transactionFromJson(json);
    const reference = reference2Of({ ...json, type: 5 });
    t.is(hexOf(transactionBytes(transaction)), hexOf(reference.getBytes()));
    t.deepEqual(transaction.payload, { kind: 'dapp', dapp });
    t.deepEqual(oldCodec.decodeTransaction(oldCodec.encodeTransaction(transaction)), transaction);
    t.deepEqual(oldCodec.transactionFromJson(oldCodec.transactionToJson(transaction)), transaction);
  }
});

test('transfers into and out of an application end with their ids as text, and survive storage', (t) => {
  const head = `01000000${alice.publicKey}`;
  const amount = '2c01000000000000';
  const into = oldCodec.transactionFromJson(transferIn);
  t.is(hexOf(basicBytes(into)), `06${head}${'00'.repeat(8)}${amount}3132`);
  const out = oldCodec.transactionFromJson(transferOut);
  t.is(hexOf(basicBytes(out)), `07${head}0000000000000007${amount}3132333435`);
  for (const transaction of [into, out]) {
    t.deepEqual(oldCodec.decodeTransaction(oldCodec.encodeTransaction(transaction)), transaction);
    t.deepEqual(oldCodec.transactionFromJson(oldCodec.transactionToJson(transaction)), transaction);
  }
});

test('transfers into and out of an application are refused for missing and invalid members', (t) => {
  const messages = (json: JsonObject): readonly string[] => {
    const error = t.throws(() => oldCodec.transactionFromJson(json), { instanceOf: TransactionRejected });
    return error?.errors.map(({ message, dataPath }) => `${dataPath} ${message}`) ?? [];
  };
  t.deepEqual(messages({ ...transferIn, amount: '0', recipientId: '7L', asset: {} }), [
    ".asset '.asset' should have required property 'inTransfer'",
    '.recipientId RecipientId is expected to be undefined.',
    '.amount Amount must be greater than 0',
  ]);
  t.deepEqual(messages({ ...transferOut, amount: '0', recipientId: null, asset: { outTransfer: { dappId: 'x' } } }), [
    `.outTransfer.dappId '.outTransfer.dappId' should match format "id"`,
    ".outTransfer '.outTransfer' should have required property 'transactionId'",
    '.amount Amount must be greater than zero for outTransfer transaction',
    '.recipientId RecipientId must be set for outTransfer transaction',
  ]);
  const unwritable = t.throws(() => oldCodec.transactionFromJson({ ...transferOut, recipientId: 'me' }));
  t.is(unwritable?.message, 'the transaction cannot be written as bytes');
  const withDapp = (dappId: string): JsonObject => ({
    ...transferOut,
    asset: { outTransfer: { dappId, transactionId: '345' } },
  });
  const longest = oldCodec.transactionFromJson(withDapp('7'.padStart(255, '0')));
  t.deepEqual(oldCodec.decodeTransaction(oldCodec.encodeTransaction(longest)), longest);
  const tooLong = t.throws(() => oldCodec.transactionFromJson(withDapp('7'.padStart(256, '0'))));
  t.is(tooLong?.message, 'the transaction cannot be written as bytes');
});

test('the recipient of a transfer out of an application is a number and any character, kept as text', (t) => {
  for (const [recipientId, bytes] of [
    ['1l', '0000000000000001'],
    ['+7x', '0000000000000007'],
    ['1e3L', '00000000000003e8'],
    ['18446744073709551616L', '0000000000000001'],
  ] as const) {
    const out = oldCodec.transactionFromJson({ ...transferOut, recipientId });
    t.is(hexOf(basicBytes(out)).slice(74, 90), bytes, recipientId);
    t.is((out.payload as { recipientId?: string }).recipientId, recipientId);
    t.deepEqual(oldCodec.decodeTransaction(oldCodec.encodeTransaction(out)), out);
  }
  for (const recipientId of ['L', '-1L', 'xL', '1.5L', `${'1'.repeat(22)}L`, '\u0000']) {
    t.throws(() => oldCodec.transactionFromJson({ ...transferOut, recipientId }), undefined, recipientId);
  }
});

test('a transfer into an application has no recipient key', (t) => {
  const json = { ...transferIn, recipientPublicKey: alice.publicKey };
  const error = t.throws(() => oldCodec.transactionFromJson(json), { instanceOf: TransactionRejected });
  t.deepEqual(
    error?.errors.map(({ message }) => message),
    ['RecipientPublicKey is expected to be undefined.'],
  );
});

test("the icon and link schemes of an application may contain a comma, as in the reference's validator", (t) => {
  const dapp = { ...dappAsset.dapp, link: 'a,b:.zip', icon: 'x,:.png' };
  t.notThrows(() => oldCodec.transactionFromJson(documentOf(5, { asset: { dapp } })));
  for (const icon of ['a b:.png', '//a.png', 'x;y:.png']) {
    t.throws(() => oldCodec.transactionFromJson(documentOf(5, { asset: { dapp: { ...dapp, icon } } })));
  }
});

test('types 5 to 7 exist only where the network names a height for them, and only below it', (t) => {
  const rules = createGen2Rules(oldNetwork);
  for (const [json, end] of [
    [documentOf(5, { asset: dappAsset }), 200],
    [transferIn, 100],
    [transferOut, 100],
  ] as const) {
    t.throws(() => codec.transactionFromJson(json), { code: 'TRANSACTION_TYPE_UNKNOWN' });
    const transaction = oldCodec.transactionFromJson(json);
    t.deepEqual(rules.typeErrors(transaction, { blockHeight: end - 1 }), []);
    const message = `Transaction type ${json['type'] as number} is currently not allowed.`;
    t.is(rules.typeErrors(transaction, { blockHeight: end })[0]?.message, message);
    t.is(rules.validateTransaction(transaction, {}, verify)[0]?.message, message);
  }
});

test('a recipient above the address range is written as in the reference and read back as its text', (t) => {
  for (const recipientId of ['18446744073709551616L', '442721857769029238784L', `${'9'.repeat(40)}L`, '0123L', '00L']) {
    const json = documentOf(0, { amount: '5', recipientId, asset: {} });
    const excepted = {
      recipientLeadingZero: new Map([['1', recipientId]]),
      recipientExceedingUint64: new Map([['1', recipientId]]),
    };
    const lenient = createGen2Codec(paramsOf(excepted));
    const transaction = lenient.transactionFromJson(json);
    t.is(hexOf(transactionBytes(transaction)), hexOf(reference2Of({ ...json, type: 0 }).getBytes()), recipientId);
    const stored = lenient.decodeTransaction(lenient.encodeTransaction(transaction));
    t.deepEqual(stored, transaction);
    t.is(stored.id, '1');
    t.throws(() => codec.transactionFromJson(json), { code: 'TRANSACTION_INVALID' });
  }
});

test('numbers in transactions may be JSON numbers when they are exact', (t) => {
  const json = documentOf(0, { amount: 5, fee: 10_000_000, recipientId: '7L' });
  const transaction = codec.transactionFromJson(json);
  t.deepEqual(transaction.payload, { kind: 'transfer', amount: 5n, recipientId: '7L' });
  t.is(transaction.fee, 10_000_000n);
  t.is(codec.transactionFromJson({ ...json, fee: null }).fee, 10_000_000n);
  t.throws(() => codec.transactionFromJson({ ...json, amount: 1_000_000_000_000_000 }), {
    code: 'TRANSACTION_INVALID',
    message: 'new BigNumber() number type has more than 15 significant digits: 1000000000000000',
  });
});

test('unknown members of assets are dropped', (t) => {
  const json = documentOf(0, { amount: '5', recipientId: '7L', asset: { data: 'x', other: 1 } });
  t.deepEqual(codec.transactionToJson(codec.transactionFromJson(json))['asset'], { data: 'x' });
});

test('an id with leading zeros matches no transaction', (t) => {
  const json = documentOf(0, { id: '007', amount: '5', recipientId: '7L' });
  const error = t.throws(() => codec.transactionFromJson(json), { instanceOf: TransactionRejected });
  t.is(error?.errors.at(-1)?.message, 'Invalid transaction id');
});

const network = makeNetwork({ generation: 2 });
const maker = new ChainMaker(network);
const [first, other] = network.accounts;
const paid: Transaction[] = first && other ? [maker.transfer(first, other, 12n * LSK)] : [];
const block = maker.build({ transactions: paid });

test('a block has the member names and numbers of gossip, in their order', (t) => {
  const json = maker.rules.codec.blockToJson(block);
  t.deepEqual(Object.keys(json), [
    'version',
    'totalAmount',
    'totalFee',
    'reward',
    'payloadHash',
    'timestamp',
    'numberOfTransactions',
    'payloadLength',
    'previousBlock',
    'generatorPublicKey',
    'transactions',
    'blockSignature',
    'height',
    'id',
  ]);
  t.is(json['version'], 1);
  t.is(json['totalAmount'], 1_200_000_000);
  t.is(json['totalFee'], 10_000_000);
  t.is(json['reward'], 0);
  t.is(json['previousBlock'], network.genesis.id);
  t.deepEqual(Object.keys((json['transactions'] as readonly JsonObject[])[0] ?? {}), [
    'id',
    'amount',
    'type',
    'timestamp',
    'senderPublicKey',
    'senderId',
    'recipientId',
    'fee',
    'signature',
    'signatures',
    'asset',
  ]);
  const { transactions: _, ...header } = json;
  t.deepEqual(maker.rules.codec.headerToJson(block), header);
  t.deepEqual(maker.rules.codec.blockFromJson(JSON.parse(JSON.stringify(json))), block);
});

test('a block may have text totals, missing defaults, nulls, unknown members and any id', (t) => {
  const json = maker.rules.codec.blockToJson(block);
  const texts = { totalAmount: '1200000000', totalFee: '10000000', reward: '0' };
  const strange = { id: '5', relays: 3, confirmations: 2, generatorId: '7L', totalForged: 0 };
  t.deepEqual(maker.rules.codec.blockFromJson({ ...json, ...texts, ...strange, reward: null }), block);
  const { numberOfTransactions: _, reward: __, ...sparse } = json;
  t.deepEqual(maker.rules.codec.blockFromJson(sparse), block);
  t.is(maker.rules.codec.blockFromJson({ ...json, numberOfTransactions: 7 }).numberOfTransactions, 7);
});

test('a total in a list of one is read as its value, and only a missing count gets the number of transactions', (t) => {
  const { codec: own } = maker.rules;
  const json = own.blockToJson(block);
  const totals = { totalAmount: ['1200000000'], totalFee: [['+1e7']], reward: [0] };
  t.deepEqual(own.blockFromJson({ ...json, ...totals }), block);
  for (const totalFee of [['1', '2'], [], {}, true, '1_0', [[]]]) {
    const read = (): Block => own.blockFromJson({ ...json, totalFee: totalFee as Json });
    t.throws(read, { code: 'BLOCK_MALFORMED' }, JSON.stringify(totalFee));
  }
  const { numberOfTransactions: _, transactions: __, ...bare } = json;
  t.is(own.blockFromJson(bare).numberOfTransactions, 0);
  t.is(own.blockFromJson({ ...bare, transactions: 0, numberOfTransactions: 0 }).transactions.length, 0);
  for (const uncounted of [
    { ...json, numberOfTransactions: null },
    { ...bare, transactions: 0 },
  ]) {
    t.throws(() => own.blockFromJson(uncounted), { code: 'BLOCK_MALFORMED' });
  }
});

test('totals too large for a JSON number are sent as text, and recomputed when they arrive as numbers', (t) => {
  const huge = 2n ** 53n + 1n;
  const transaction = maker.transfer(network.funder, network.generator, huge);
  const rich = maker.build({ transactions: [transaction] });
  const json = maker.rules.codec.blockToJson(rich);
  t.is(json['totalAmount'], '9007199254740993');
  t.deepEqual(maker.rules.codec.blockFromJson({ ...json, totalAmount: Number(huge) }), rich);
  t.throws(() => maker.rules.codec.blockFromJson({ ...json, totalAmount: 1e17 }), { code: 'BLOCK_MALFORMED' });
});

test('a total of more than 64 bits, which real nodes relay as a number, is refused without a penalty', (t) => {
  const most = 2n ** 63n - 1n;
  const transactions = [1, 2, 3].map(() => maker.transfer(network.funder, network.generator, most));
  const documents = transactions.map((each) => maker.rules.codec.transactionToJson(each));
  const json = maker.rules.codec.blockToJson(maker.build());
  const blockOf = (count: number): Block => {
    const totals = { numberOfTransactions: count, totalAmount: Number(BigInt(count) * most) };
    return maker.rules.codec.blockFromJson({ ...json, ...totals, transactions: documents.slice(0, count) });
  };
  t.is(blockOf(2).totalAmount, 2n * most);
  const error = t.throws(() => blockOf(3), { instanceOf: BlockRejected });
  t.is(error?.code, 'BLOCK_UNSTORABLE');
  t.is(pointsOf('BLOCK_UNSTORABLE'), 0);
});

test('values other than blocks are refused, and the error names the fault', (t) => {
  const json = maker.rules.codec.blockToJson(block);
  const cases: readonly (readonly [object | null, string])[] = [
    [null, 'BLOCK_VERSION_INVALID'],
    [{ version: 1 }, 'BLOCK_MALFORMED'],
    [{ ...json, version: 2 }, 'BLOCK_VERSION_INVALID'],
    [{ ...json, version: 0 }, 'BLOCK_VERSION_INVALID'],
    [{ ...json, version: '1' }, 'BLOCK_MALFORMED'],
    [{ ...json, height: -1 }, 'BLOCK_MALFORMED'],
    [{ ...json, height: undefined }, 'BLOCK_MALFORMED'],
    [{ ...json, timestamp: 1.5 }, 'BLOCK_MALFORMED'],
    [{ ...json, previousBlock: '01' }, 'BLOCK_MALFORMED'],
    [{ ...json, totalFee: -5 }, 'BLOCK_MALFORMED'],
    [{ ...json, totalFee: '1.5' }, 'BLOCK_MALFORMED'],
    [{ ...json, generatorPublicKey: 'ab' }, 'BLOCK_MALFORMED'],
    [{ ...json, transactions: {} }, 'BLOCK_MALFORMED'],
    [{ ...json, transactions: [{}] }, 'BLOCK_TRANSACTION_INVALID'],
    [{ ...json, transactions: [{ type: 8 }] }, 'BLOCK_TRANSACTION_INVALID'],
  ];
  for (const [document, code] of cases) {
    t.throws(() => maker.rules.codec.blockFromJson(document), { instanceOf: BlockRejected, code });
  }
});

test('blocks of version 0 are read in networks that have them', (t) => {
  const old = createGen2Codec(paramsOf({ blockVersions: new Map([[0, { start: 1, end: 9 }]]) }));
  t.is(old.blockFromJson({ ...codec.blockToJson(block), version: 0 }).version, 0);
});

test('headers survive storage, their unsigned height included', (t) => {
  const { transactions: _, ...header } = block;
  t.deepEqual(codec.decodeHeader(codec.encodeHeader(block)), header);
  t.is(codec.encodeHeader(block).length, 112 + 64 + 4);
});

test('a genesis block is read like its file: votes beyond limits, no recipient, its own fees and ids', (t) => {
  const genesis = codec.genesisFromJson(JSON.parse(JSON.stringify(network.genesisJson)));
  t.deepEqual(genesis, network.genesis);
  const [transfer] = network.genesisJson['transactions'] as readonly JsonObject[];
  const { id: _, fee: __, ...bare } = transfer ?? {};
  const [filled] = codec.genesisFromJson({ ...network.genesisJson, transactions: [bare] }).transactions;
  t.is(filled?.id, transfer?.['id'] as string);
  t.is(filled?.fee, 10_000_000n);
  const [renamed] = codec.genesisFromJson({
    ...network.genesisJson,
    transactions: [{ ...transfer, id: '77' }],
  }).transactions;
  t.is(renamed?.id, '77');
  t.deepEqual(renamed && codec.decodeTransaction(codec.encodeTransaction(renamed)), renamed);
  t.throws(() => codec.genesisFromJson({ ...network.genesisJson, version: 2 }), { code: 'BLOCK_MALFORMED' });
  t.throws(() => codec.genesisFromJson({ ...network.genesisJson, transactions: [{ type: 0 }] }), {
    code: 'BLOCK_TRANSACTION_INVALID',
  });
});

test('a genesis block is written like its file', (t) => {
  const json = network.genesisJson;
  t.is(json['version'], 0);
  t.is(json['previousBlock'], null);
  t.is(json['totalAmount'], (10n ** 16n + 10n * 10_000n * LSK).toString());
  const transactions = json['transactions'] as readonly JsonObject[];
  t.deepEqual(Object.keys(transactions[0] ?? {}), [
    'type',
    'amount',
    'fee',
    'timestamp',
    'recipientId',
    'senderId',
    'senderPublicKey',
    'asset',
    'signature',
    'id',
  ]);
  const registration = transactions.find(({ type }) => type === 2);
  t.is(registration?.['recipientId'], null);
  t.is(registration?.['amount'], '0');
  const vote = transactions.at(-1);
  t.is(vote?.['type'], 3);
  t.is(vote?.['senderPublicKey'], publicKeyOf(network.funder));
  t.is(vote?.['recipientId'], vote?.['senderId']);
});

test('minus zero in a document is read as zero: JSON has both, and bytes have one', (t) => {
  const members = { amount: '123', fee: '10000000', recipientId: '18141291412139607230L', asset: {} };
  const json = json2Of(signedReference2({ type: 0, timestamp: 0, sender: alice, members }));
  const transaction = codec.transactionFromJson({ ...json, timestamp: -0 });
  t.is(transaction.timestamp, 0);
  t.deepEqual(codec.decodeTransaction(Buffer.from(codec.encodeTransaction(transaction))), transaction);
  const application = documentOf(5, { asset: { dapp: { ...dappAsset.dapp, type: -0, category: -0 } } });
  const { payload } = oldCodec.transactionFromJson(application);
  t.deepEqual(payload.kind === 'dapp' && [payload.dapp.type, payload.dapp.category], [0, 0]);
});
