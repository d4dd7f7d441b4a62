import test from 'ava';
import { pointsOf } from '../../../src/engine/peers/penalties.ts';
import { sha256 } from '../../../src/crypto/hash.ts';
import { defaultEd25519 } from '../../../src/crypto/ed25519.ts';
import { bytesOfHex, hexOf } from '../../../src/primitives/bytes.ts';
import { createGen3Codec, headerBytes, signedBytes, transactionBytes } from '../../../src/protocol/gen3/codec.ts';
import type { JsonObject, Transaction } from '../../../src/protocol/types.ts';
import { BlockRejected, TransactionRejected } from '../../../src/protocol/verdict.ts';
import { NO_EXCEPTIONS } from '../../../src/protocol/params.ts';
import { NETWORK_IDENTIFIER, SIGNERS, jsonOf, signedReference, signer } from '../../support/reference-transactions.ts';
import { headerWith, paramsWith } from '../../support/fixtures.ts';

const params = paramsWith({ networkIdentifier: NETWORK_IDENTIFIER });
const codec = createGen3Codec(params);
const ed25519 = defaultEd25519();
const [alice = signer('a'), bob = signer('b')] = SIGNERS;

const owner = signer('wear protect skill sentence lift enter wild sting lottery power floor neglect');
const second = signer('inherit moon normal relief spring bargain hobby join baby flash fog blood');

// A published example of a transaction: a transfer of 123 beddows with the text "hi" on the public devnet.
const WORKED = {
  type: 8,
  timestamp: 100,
  senderPublicKey: owner.publicKey,
  asset: { amount: '123', recipientId: '18141291412139607230L', data: 'hi' },
  signature:
    'c4bf29c9abbdd9d92feffa30c6cab124764e85863a866cefd39e3a81e9a72c7f3ae6e4677265fa519aec10610530c9faee1f9716daea2333741767632766ed09',
};
const WORKED_SECOND =
  'a4bca9f4425b00d1583a3ec99c8350747fdb856bac7619604adc38f9e0b71ef200ebf33490d9ad60c525566972965988704b6cbb70b1f7475722bceb25ba1b04';

function transfer(changes: Partial<Transaction> = {}): Transaction {
  return { ...codec.transactionFromJson(WORKED), ...changes };
}

test('the published example of a transfer has its published bytes, digest, signatures and ids', (t) => {
  const transaction = codec.transactionFromJson(WORKED);
  const basic =
    '0800000064efaf1d977897cb60d7db9d30e8fd668dee070ac0db1fb8d184c06152a8b75f8d000000000000007bfbc2d06c336d04be6869';
  t.is(hexOf(transactionBytes(transaction)), `${basic}${WORKED.signature}`);
  const signed = signedBytes(transaction, NETWORK_IDENTIFIER);
  t.is(hexOf(signed), `${NETWORK_IDENTIFIER}${basic}`);
  t.is(hexOf(sha256(signed)), '3ec439ee92910fef17024a7f33593bd5c1baf26a3587af6fe8ead795cd4f415d');
  t.is(hexOf(ed25519.sign(sha256(signed), owner.keyPair.privateKey)), WORKED.signature);
  t.is(transaction.id, '9208799289866039173');

  const both = codec.transactionFromJson({ ...WORKED, signSignature: WORKED_SECOND });
  t.is(both.id, '5328427554708431285');
  const covered = sha256(signed, bytesOfHex(WORKED.signature));
  t.is(hexOf(ed25519.sign(covered, second.keyPair.privateKey)), WORKED_SECOND);
});

test('members of a transaction are written in the order of the network', (t) => {
  const json = codec.transactionToJson(codec.transactionFromJson({ ...WORKED, signSignature: WORKED_SECOND }));
  t.deepEqual(Object.keys(json), [
    'id',
    'type',
    'timestamp',
    'senderPublicKey',
    'senderId',
    'fee',
    'signature',
    'signSignature',
    'signatures',
    'asset',
  ]);
  t.deepEqual(Object.keys(json['asset'] as object), ['data', 'amount', 'recipientId']);
  t.is(json['fee'], '10000000');
  t.is(json['senderId'], '2129300327344985743L');
});

test('the id, fee and sender address in a document are ignored', (t) => {
  const json = { ...WORKED, id: '5', fee: '1', senderId: '1L', receivedAt: 'never', anything: [1] };
  t.deepEqual(codec.transactionFromJson(json), codec.transactionFromJson(WORKED));
});

test('keys and signatures are accepted in any letter case, and the case of the key is stored with it', (t) => {
  const shouted = {
    ...WORKED,
    senderPublicKey: owner.publicKey.toUpperCase(),
    signature: WORKED.signature.toUpperCase(),
  };
  const written = { senderPublicKey: shouted.senderPublicKey };
  t.deepEqual(codec.transactionFromJson(shouted), { ...codec.transactionFromJson(WORKED), written });
});

test('leading zeros of an amount are dropped', (t) => {
  const asset = { ...WORKED.asset, amount: '000123' };
  t.deepEqual(codec.transactionFromJson({ ...WORKED, asset }), codec.transactionFromJson(WORKED));
});

test('an empty text is signed as none, and stored as it was given, like in the reference', (t) => {
  const asset = { amount: '1', recipientId: '1L' };
  const content = { type: 8, timestamp: 7, sender: SIGNERS[0]! } as const;
  const [empty, absent] = [{ ...asset, data: '' }, asset].map((each) => signedReference({ ...content, asset: each }));
  t.is(jsonOf(empty!)['id'], jsonOf(absent!)['id']);
  for (const reference of [empty!, absent!]) {
    const json = jsonOf(reference);
    const transaction = codec.transactionFromJson(json);
    t.deepEqual(codec.transactionToJson(transaction)['asset'], json['asset']);
    t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
  }
  t.deepEqual((jsonOf(empty!)['asset'] as JsonObject)['data'], '');
});

test('half a surrogate pair is stored as its bytes decode', (t) => {
  const transaction = codec.transactionFromJson({ ...WORKED, asset: { ...WORKED.asset, data: 'a\ud800b' } });
  t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
});

test('prototype members and accessors are not read', (t) => {
  const inherited = Object.create(WORKED) as object;
  t.throws(() => codec.transactionFromJson(inherited), { instanceOf: TransactionRejected });
  const accessor = { ...WORKED };
  Object.defineProperty(accessor, 'signature', { get: () => t.fail('the accessor ran') as unknown, enumerable: true });
  t.throws(() => codec.transactionFromJson(accessor), { message: /required property 'signature'/ });
  const poisoned = JSON.parse(`{"__proto__":${JSON.stringify(WORKED)}}`) as object;
  t.throws(() => codec.transactionFromJson(poisoned), { message: 'Transaction type not found.' });
});

for (const type of [undefined, null, '8', 0, 3, 7, 13, 8.5, NaN, {}]) {
  test(`type ${typeof type} ${String(type)} is not found`, (t) => {
    const error = t.throws(() => codec.transactionFromJson({ ...WORKED, type }), { instanceOf: TransactionRejected });
    t.is(error.code, 'TRANSACTION_TYPE_UNKNOWN');
    t.is(error.message, 'Transaction type not found.');
  });
}

for (const odd of [undefined, null, 5, 'text', true, [], [[]]]) {
  test(`${JSON.stringify(odd) ?? 'undefined'} is neither a transaction nor a block`, (t) => {
    t.throws(() => codec.transactionFromJson(odd), { instanceOf: TransactionRejected });
    t.throws(() => codec.blockFromJson(odd), { instanceOf: BlockRejected });
    t.throws(() => codec.genesisFromJson(odd), { instanceOf: BlockRejected });
  });
}

test('endless lists are refused after a part of them', (t) => {
  const votes = Array.from({ length: 1_000_000 }, () => 'x');
  const vote = { ...WORKED, type: 11, asset: { votes } };
  const error = t.throws(() => codec.transactionFromJson(vote), { instanceOf: TransactionRejected });
  t.true(error.errors.length < 300);
  t.true(error.errors.some(({ message }) => message === "'.votes' should NOT have more than 33 items"));
  const amount = '9'.repeat(1_000_000);
  const rich = { ...WORKED, asset: { amount, recipientId: '1L' } };
  const refused = t.throws(() => codec.transactionFromJson(rich), { instanceOf: TransactionRejected });
  t.true(String(refused.errors[0]?.actual).length <= 100);
});

test('a fee that differs from the fee of the type survives storage', (t) => {
  for (const fee of [0n, 1n, 2n ** 64n - 1n]) {
    const transaction = transfer({ fee });
    t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
  }
});

test('stored bytes begin with the bytes that the id covers', (t) => {
  const transaction = transfer({ signSignature: WORKED_SECOND, signatures: ['ab'.repeat(64), 'cd'.repeat(64)] });
  const stored = codec.encodeTransaction(transaction);
  const covered = transactionBytes(transaction);
  t.is(hexOf(stored.subarray(0, covered.length)), hexOf(covered));
  t.is(stored.length, covered.length + 2 * 64 + 2);
});

test('bytes that are not a stored transaction are refused', (t) => {
  const stored = codec.encodeTransaction(transfer());
  const broken = [
    Buffer.alloc(0),
    Buffer.alloc(3),
    stored.subarray(0, 90),
    Buffer.concat([Buffer.from([99]), stored.subarray(1)]),
    Buffer.concat([stored.subarray(0, -1), Buffer.from([0x80])]),
    Buffer.concat([stored.subarray(0, -2), Buffer.from([200, 0])]),
  ];
  for (const bytes of broken) t.throws(() => codec.decodeTransaction(bytes), { code: 'TRANSACTION_BYTES_INVALID' });
  const key = codec.encodeTransaction(
    codec.transactionFromJson(
      jsonOf(signedReference({ type: 9, timestamp: 1, sender: alice, asset: { publicKey: bob.publicKey } })),
    ),
  );
  t.throws(() => codec.decodeTransaction(key.subarray(1)), { code: 'TRANSACTION_BYTES_INVALID' });
  const shorter = Buffer.concat([key.subarray(0, 40), key.subarray(41)]);
  t.throws(() => codec.decodeTransaction(shorter), { message: /second signature without a key, length: 31\)/ });
  const cut = (from: number): Buffer => Buffer.concat([stored.subarray(0, from), stored.subarray(-66)]);
  t.throws(() => codec.decodeTransaction(cut(20)), { message: /too short, length: 20\)/ });
  t.throws(() => codec.decodeTransaction(cut(45)), { message: /transfer without recipient, length: 8\)/ });
});

test('a header of version 2 has the published bytes and id', (t) => {
  // The genesis block of the public devnet of generation 3.
  const header = headerWith({
    version: 2,
    height: 1,
    timestamp: 0,
    numberOfTransactions: 103,
    totalAmount: 10_000_000_000_000_000n,
    payloadLength: 17_987,
    payloadHash: '23ce0366ef0a14a91e5fd4b1591fc880ffbef9d988ff8bebf8f3666b0c09597d',
    generatorPublicKey: 'edf5786bef965f1836b8009e2c566463d62b6edd94e9cced49c1f098c972b92b',
    blockSignature:
      'e58b12174bb1d3680cd7b94a1cdd643f24dc74a305a6ca427d7252ffb6896a3432e79c3104e7a4800cea1a32377860c9a3738813d478995fa36600cba8cf3e05',
  });
  const { previousBlockId: _, ...genesis } = header;
  t.is(
    hexOf(headerBytes(genesis)),
    '02000000000000000000000000000000010000000000000000000000670000000000c16ff2862300000000000000000000000000000000004346000023ce0366ef0a14a91e5fd4b1591fc880ffbef9d988ff8bebf8f3666b0c09597dedf5786bef965f1836b8009e2c566463d62b6edd94e9cced49c1f098c972b92b',
  );
  t.is(codec.decodeHeader(codec.encodeHeader(genesis)).id, '10620616195853047363');
});

test('a header of version 1 has the published bytes, and its height is stored with them', (t) => {
  const payloadHash = '702d068f79ae56bc591c5e01b090df97ee71a593bdfb78a7e203d8c582d18e3f';
  const { previousBlockId: _, ...header } = headerWith({
    version: 1,
    height: 77,
    timestamp: 20,
    numberOfTransactions: 1,
    totalAmount: 4_000_000_000n,
    totalFee: 10_000_000n,
    payloadLength: 117,
    payloadHash,
    generatorPublicKey: 'addb0e15a44b0fdc6ff291be28d8c98f5551d0cd9218d749e30ddb87c6e31ca9',
  });
  t.is(
    hexOf(headerBytes(header)),
    `010000001400000000000000000000000100000000286bee000000008096980000000000000000000000000075000000${payloadHash}addb0e15a44b0fdc6ff291be28d8c98f5551d0cd9218d749e30ddb87c6e31ca9`,
  );
  const decoded = codec.decodeHeader(codec.encodeHeader(header));
  t.deepEqual(decoded, { ...header, id: decoded.id });
});

test('bytes that are not a stored header are refused', (t) => {
  const stored = codec.encodeHeader(headerWith());
  for (const bytes of [Buffer.alloc(0), stored.subarray(1), Buffer.concat([stored, Buffer.alloc(1)])]) {
    t.throws(() => codec.decodeHeader(bytes), { code: 'HEADER_BYTES_INVALID' });
  }
});

function blockJson(changes: object = {}): Record<string, unknown> {
  const block = { ...headerWith({ numberOfTransactions: 1 }), transactions: [transfer()] };
  return { ...codec.blockToJson(block), ...changes };
}

test('a block survives JSON, and its id is computed', (t) => {
  const block = codec.blockFromJson(blockJson({ id: '1', receivedAt: 5, somethingElse: {} }));
  t.is(block.transactions[0]?.id, '9208799289866039173');
  t.deepEqual(codec.blockFromJson(JSON.parse(JSON.stringify(codec.blockToJson(block)))), block);
  const { transactions: _, ...header } = block;
  t.deepEqual(codec.decodeHeader(codec.encodeHeader(block)), header);
});

test('members of a block and its transactions are written in the order of the network', (t) => {
  const block = codec.blockFromJson(blockJson());
  const json = codec.blockToJson(block);
  const names = [
    ...['version', 'totalAmount', 'totalFee', 'reward', 'payloadHash', 'timestamp', 'numberOfTransactions'],
    ...['payloadLength', 'previousBlockId', 'generatorPublicKey', 'transactions', 'height'],
    ...['maxHeightPreviouslyForged', 'maxHeightPrevoted', 'blockSignature', 'id'],
  ];
  t.deepEqual(Object.keys(json), names);
  const [transaction] = json['transactions'] as Record<string, unknown>[];
  t.deepEqual(Object.keys(transaction ?? {}).slice(0, 3), ['id', 'blockId', 'type']);
  t.is(transaction?.['blockId'], block.id);
  t.deepEqual(
    Object.keys(codec.headerToJson(block)),
    names.filter((name) => name !== 'transactions'),
  );
});

test('block totals may be missing or numbers, and the count of transactions is computed', (t) => {
  const json = blockJson({ totalAmount: 123, totalFee: undefined, reward: null, payloadLength: undefined });
  const block = codec.blockFromJson({ ...json, numberOfTransactions: 40 });
  t.like(block, { totalAmount: 123n, totalFee: 0n, reward: 0n, payloadLength: 0, numberOfTransactions: 1 });
  t.is(codec.blockFromJson(blockJson({ transactions: undefined })).numberOfTransactions, 0);
});

for (const [about, change, message] of [
  ['a negative timestamp', { timestamp: -1 }, /'\.timestamp' should be >= 0/],
  ['a timestamp with a fraction', { timestamp: 1.5 }, /'\.timestamp' should be integer/],
  ['no timestamp', { timestamp: undefined }, /'\.timestamp' is required/],
  ['a height above 32 bits', { height: 2 ** 32 }, /'\.height'/],
  ['no height', { height: undefined }, /'\.height' is required/],
  ['no maxHeightPrevoted', { maxHeightPrevoted: undefined }, /'\.maxHeightPrevoted' is required/],
  ['a height as text', { maxHeightPreviouslyForged: '5' }, /'\.maxHeightPreviouslyForged' should be integer/],
  ['a negative total', { totalAmount: '-1' }, /'\.totalAmount'/],
  ['a total above 64 bits', { totalFee: (2n ** 64n).toString() }, /'\.totalFee'/],
  ['an inexact total', { reward: 2 ** 53 }, /'\.reward'/],
  ['a total that is an object', { reward: {} }, /'\.reward'/],
  ['a previous block with leading zeros', { previousBlockId: '09' }, /'\.previousBlockId'/],
  ['a previous block above 64 bits', { previousBlockId: (2n ** 64n).toString() }, /'\.previousBlockId'/],
  ['a previous block as number', { previousBlockId: 9 }, /'\.previousBlockId'/],
  ['a short hash', { payloadHash: 'ab' }, /'\.payloadHash'/],
  ['a generator that is not a key', { generatorPublicKey: 'x'.repeat(64) }, /'\.generatorPublicKey'/],
  ['no signature', { blockSignature: undefined }, /'\.blockSignature'/],
  ['transactions that are not a list', { transactions: {} }, /'\.transactions' should be array/],
  ['too many transactions', { transactions: Array.from({ length: 151 }) }, /more than 150 items/],
] as const) {
  test(`a block with ${about} is malformed`, (t) => {
    const error = t.throws(() => codec.blockFromJson(blockJson(change)), { instanceOf: BlockRejected, message });
    t.is(error.code, 'BLOCK_MALFORMED');
  });
}

test('a total that unsigned amounts can produce, but no node can store, is not malformed', (t) => {
  for (const totalAmount of ['0.5', '18446744073709551616', '1e+25', '1e1001', '1e-1001', 'Infinity', 'NaN']) {
    const error = t.throws(() => codec.blockFromJson(blockJson({ totalAmount })), { instanceOf: BlockRejected });
    t.is(error.code, 'BLOCK_UNSTORABLE', totalAmount);
    t.is(pointsOf(error.code), 0);
  }
  for (const totalAmount of ['-0.5', '-1e25', '-Infinity', 'seven', {}, ['7', '8']]) {
    const error = t.throws(() => codec.blockFromJson(blockJson({ totalAmount })), { instanceOf: BlockRejected });
    t.is(error.code, 'BLOCK_MALFORMED', String(totalAmount));
  }
});

test('a block with a malformed transaction is refused with its errors', (t) => {
  const json = blockJson({ transactions: [WORKED, { ...WORKED, signature: 'ab' }] });
  const error = t.throws(() => codec.blockFromJson(json), { instanceOf: BlockRejected });
  t.is(error.code, 'BLOCK_TRANSACTION_INVALID');
  t.is(error.data['index'], 1);
  t.is(error.transactionErrors[0]?.message, `'.signature' should match format "signature"`);
});

test('old versions are registered where the network used them', (t) => {
  for (const version of [0, 1, 3, undefined]) {
    const error = t.throws(() => codec.blockFromJson(blockJson({ version })), { instanceOf: BlockRejected });
    t.is(error.code, 'BLOCK_VERSION_INVALID');
    t.is(error.message, 'Block processing version is not registered');
  }
  const blockVersions = new Map([[1, { start: 1, end: 5 }]]);
  const old = createGen3Codec({ ...params, exceptions: { ...NO_EXCEPTIONS, blockVersions } });
  const block = old.blockFromJson(blockJson({ version: 1, maxHeightPrevoted: 7 }));
  t.like(block, { version: 1, height: 10, maxHeightPrevoted: 0, maxHeightPreviouslyForged: 0 });
  t.throws(() => old.blockFromJson(blockJson({ version: 0 })), { instanceOf: BlockRejected });
});

test('a genesis block may exceed limits, pays no fees and survives storage', (t) => {
  const votes = Array.from({ length: 101 }, (_, index) => `+${index.toString(16).padStart(64, '0')}`);
  const many = { ...WORKED, type: 11, asset: { votes } };
  const genesis = codec.genesisFromJson({
    ...blockJson({ version: 2, height: 1, previousBlockId: null, transactions: [WORKED, many] }),
    communityIdentifier: 'Test',
  });
  t.is(genesis.previousBlockId, undefined);
  t.is(codec.blockToJson(genesis)['previousBlockId'], null);
  t.deepEqual(
    genesis.transactions.map(({ fee }) => fee),
    [0n, 0n],
  );
  for (const transaction of genesis.transactions) {
    t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
  }
  t.throws(() => codec.transactionFromJson(many), { message: /more than 33 items/ });
  t.throws(() => codec.genesisFromJson(blockJson({ version: 3 })), { message: "'.version' should be <= 2" });
  const broken = blockJson({ transactions: [{ ...WORKED, asset: { amount: '0', recipientId: '1L' } }] });
  t.throws(() => codec.genesisFromJson(broken), { instanceOf: BlockRejected });
});

test('a timestamp of minus zero is zero: JSON has both, and bytes have one', (t) => {
  const document = JSON.parse(JSON.stringify(WORKED).replace('"timestamp":100', '"timestamp":-0')) as object;
  const transaction = codec.transactionFromJson(document);
  t.is(transaction.timestamp, 0);
  t.deepEqual(codec.decodeTransaction(Buffer.from(codec.encodeTransaction(transaction))), transaction);
});
