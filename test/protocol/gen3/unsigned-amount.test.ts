import test, { type ExecutionContext } from 'ava';
import { parseJson } from '../../../src/p2p/frame-validation.ts';
import { sha256 } from '../../../src/crypto/hash.ts';
import { bytesOfHex, hexOf } from '../../../src/primitives/bytes.ts';
import { blockOfLine, lineOfBlock } from '../../../src/protocol/block/block-line.ts';
import { signedBytes } from '../../../src/protocol/gen3/codec.ts';
import { StateOverlay } from '../../../src/protocol/state.ts';
import type { Block, Json, JsonObject, KeyPair, Transaction } from '../../../src/protocol/types.ts';
import { BlockRejected, TransactionRejected, type BlockRejectionCode } from '../../../src/protocol/verdict.ts';
import { selectEd25519 } from '../../../src/crypto/ed25519.ts';
import {
  ChainMaker,
  keyPairOf,
  LSK,
  makeNetwork,
  publicKeyOf,
  signBlock,
  verify,
  withPayload,
} from '../../support/chain-maker.ts';

const network = makeNetwork();
const ed25519 = selectEd25519();
const [alice, bob] = network.accounts as [KeyPair, KeyPair];

/**
 * Makes a delegate registration whose asset also contains `members`. The rules define no such members, and the
 * signature does not cover them.
 */
function registration(maker: ChainMaker, sender: KeyPair, username: string, members: JsonObject): Transaction {
  const { codec, params } = maker.rules;
  const unsigned = {
    type: 10,
    timestamp: maker.tip.timestamp,
    senderPublicKey: publicKeyOf(sender),
    asset: { username, ...members },
    signature: '00'.repeat(64),
  };
  const bytes = signedBytes(codec.transactionFromJson(unsigned), params.networkIdentifier);
  const signature = hexOf(ed25519.sign(sha256(bytes), sender.privateKey));
  return codec.transactionFromJson({ ...unsigned, signature });
}

/**
 * Makes and signs the next block with these transactions. Its header contains the given total amount, which may be
 * wrong.
 */
function blockWith(maker: ChainMaker, totalAmount: bigint, ...transactions: readonly Transaction[]): Block {
  const { keyPair } = maker.nextSlot();
  return signBlock(withPayload(maker.build(), keyPair, transactions), { totalAmount }, keyPair);
}

function setUpChain(): ChainMaker {
  const maker = new ChainMaker(network);
  maker.growTo(3);
  return maker;
}

function apply(maker: ChainMaker, block: Block): StateOverlay {
  maker.rules.validateBlock(block, verify);
  const overlay = new StateOverlay(maker.state);
  maker.rules.applyBlock(overlay, block, { nowS: block.timestamp, verify });
  return overlay;
}

function refused(
  t: ExecutionContext,
  maker: ChainMaker,
  block: Block,
  code: BlockRejectionCode,
  message: RegExp,
): void {
  const error = t.throws(() => apply(maker, block), { instanceOf: BlockRejected, message });
  t.is(error.code, code);
}

test('an unsigned amount counts in the total of its block, but is not taken from the balance', (t) => {
  const maker = setUpChain();
  const transaction = registration(maker, alice, 'alice', { amount: '7' });
  t.notThrows(() => apply(maker, blockWith(maker, 7n, transaction)));
  refused(t, maker, blockWith(maker, 0n, transaction), 'BLOCK_PAYLOAD_INVALID', /^Invalid total amount$/);
  const before = maker.state.account(transaction.senderId)?.balance ?? 0n;
  const overlay = apply(maker, blockWith(maker, 7n, transaction));
  t.is(overlay.account(transaction.senderId)?.balance, before - transaction.fee);
});

test('a small amount is valid in any length; one beyond all numbers is invalid, not zero', (t) => {
  const maker = setUpChain();
  for (const amount of ['0e99999', `0.${'0'.repeat(1_100)}`, '-0e1001'])
    t.notThrows(() => apply(maker, blockWith(maker, 0n, registration(maker, alice, 'alice', { amount }))), amount);
  const long = registration(maker, alice, 'alice', { amount: `${'0'.repeat(1_100)}7` });
  t.notThrows(() => apply(maker, blockWith(maker, 7n, long)));
  for (const amount of [JSON.parse('1e400') as Json, JSON.parse('[-1e400]') as Json]) {
    const infinite = registration(maker, alice, 'alice', { amount });
    refused(t, maker, blockWith(maker, 0n, infinite), 'BLOCK_PAYLOAD_INVALID', /not a number/);
  }
});

test('amounts with fractions and signs are added before the comparison', (t) => {
  const maker = setUpChain();
  const half = registration(maker, alice, 'alice', { amount: '0.5' });
  const rest = registration(maker, bob, 'bob', { amount: [['-7.50e0']] });
  const moved = maker.transfer(keyPairOf('account 3'), bob, 100n);
  t.notThrows(() => apply(maker, blockWith(maker, 93n, half, rest, moved)));
  refused(t, maker, blockWith(maker, 0n, half), 'BLOCK_PAYLOAD_INVALID', /^Invalid total amount$/);
  const none = registration(maker, alice, 'alice', { amount: 'seven' });
  refused(t, maker, blockWith(maker, 0n, none), 'BLOCK_PAYLOAD_INVALID', /not a number/);
});

test('an unsigned amount reduces the sum that its sender may spend', (t) => {
  const maker = setUpChain();
  const balance = maker.state.account(maker.transfer(alice, bob, 1n).senderId)?.balance ?? 0n;
  const spent = 25n * LSK + LSK / 10n;
  const first = maker.transfer(alice, bob, 1n);
  const rest = balance - spent - 1n;
  const fits = registration(maker, alice, 'alice', { amount: rest.toString() });
  t.notThrows(() => apply(maker, blockWith(maker, rest + 1n, first, fits)));
  const exceeds = registration(maker, alice, 'alice', { amount: (rest + 1n).toString() });
  refused(t, maker, blockWith(maker, rest + 2n, first, exceeds), 'BLOCK_TRANSACTION_INVALID', /total spending/);
});

test("an unsigned amount reduces the weight of its sender's delegates, down to the storable minimum", (t) => {
  const maker = setUpChain();
  const voted = publicKeyOf(network.delegates[0] as KeyPair);
  maker.forge({ transactions: [maker.transaction(alice, { kind: 'vote', votes: [`+${voted}`], amount: 0n })] });
  const before = maker.state.delegate(voted)?.voteWeight ?? 0n;
  const plain = apply(maker, blockWith(maker, 0n, registration(maker, alice, 'alice', {}))).delegate(voted)?.voteWeight;
  const weighed = apply(maker, blockWith(maker, 7n, registration(maker, alice, 'alice', { amount: 7 })));
  t.is(plain, before - 25n * LSK);
  t.is(weighed.delegate(voted)?.voteWeight, before - 25n * LSK - 7n);
  const half = registration(maker, alice, 'alice', { amount: '0.5' });
  const other = registration(maker, bob, 'bob', { amount: '0.5' });
  refused(t, maker, blockWith(maker, 1n, half, other), 'BLOCK_UNSTORABLE', /weight/);
  const lot = registration(maker, alice, 'alice', { amount: '-9223372036854775807' });
  const back = registration(maker, bob, 'bob', { amount: '9223372036854775807' });
  refused(t, maker, blockWith(maker, 0n, lot, back), 'BLOCK_UNSTORABLE', /weight/);
});

test('unknown members survive JSON, the store and a chain file', (t) => {
  const maker = setUpChain();
  const members: JsonObject = { amount: 7, note: { a: ['💣', null, { b: 1.5 }] }, amount2: '7', length: 3 };
  const transaction = registration(maker, alice, 'alice', members);
  const { codec } = maker.rules;
  const asset = { username: 'alice', ...members };
  t.deepEqual(codec.transactionToJson(transaction)['asset'], asset);
  t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
  const block = blockWith(maker, 7n, transaction);
  const read = blockOfLine(lineOfBlock(block, codec), codec);
  t.is(read.fault, undefined);
  t.deepEqual(read.block, block);
  // If the totals in a line are JSON numbers, `blockOfLine` reads some numbers as text: the value of each member whose
  // whole name is `totalAmount`, `totalFee`, `reward`, `amount` or `fee`. A name that only contains such a word does
  // not count.
  const quoted = blockWith(maker, 0n, registration(maker, alice, 'alice', { 'my "amount': 5, 'my\\': 6 }));
  const numeric = lineOfBlock(quoted, codec).replace(/"totalFee":"([0-9]+)"/, '"totalFee":$1');
  t.deepEqual(blockOfLine(numeric, codec), { block: quoted, fault: undefined });
  const sent = codec.blockFromJson(JSON.parse(JSON.stringify(codec.blockToJson(block))));
  t.deepEqual(sent, block);
});

test('ordinary transactions are stored unchanged', (t) => {
  const maker = setUpChain();
  const plain = registration(maker, alice, 'alice', {});
  t.is(plain.written, undefined);
  t.is(maker.rules.codec.encodeTransaction(plain).length, 1 + 4 + 32 + 'alice'.length + 64 + 2);
});

test('a block whose assets the reference cannot store is refused without a penalty', (t) => {
  const maker = setUpChain();
  for (const note of ['\u0000', '\ud800', 'x\udc00y']) {
    const transaction = registration(maker, alice, 'alice', { note });
    refused(t, maker, blockWith(maker, 0n, transaction), 'BLOCK_UNSTORABLE', /./);
  }
  const named = registration(maker, alice, 'alice', { '\u0000': 1 });
  refused(t, maker, blockWith(maker, 0n, named), 'BLOCK_UNSTORABLE', /./);
  for (const note of ['\\u0000', '\ud83d\ude00', '\u0001']) {
    const transaction = registration(maker, alice, 'alice', { note });
    t.notThrows(() => apply(maker, blockWith(maker, 0n, transaction)));
  }
  const nested = (levels: number): Json => (levels === 0 ? 1 : [nested(levels - 1)]);
  // A node of lisk-sdk that has run for a long time can store assets with up to 3,141 nested levels. Bloomery accepts
  // up to 3,400 levels in a block.
  const deepest = registration(maker, alice, 'alice', { note: nested(3_399) });
  const block = blockWith(maker, 0n, deepest);
  t.notThrows(() => apply(maker, block));
  const { codec } = maker.rules;
  t.deepEqual(blockOfLine(lineOfBlock(block, codec), codec).block, block);
  const packet = { event: 'remote-message', data: { event: 'postBlock', data: { block: codec.blockToJson(block) } } };
  t.deepEqual(codec.blockFromJson((parseJson(JSON.stringify(packet)) as typeof packet).data.data.block), block);
  const deeper = registration(maker, alice, 'alice', { note: nested(3_400) });
  refused(t, maker, blockWith(maker, 0n, deeper), 'BLOCK_UNSTORABLE', /nest/);
});

test('an asset that cannot be written as JSON is refused with its member', (t) => {
  const maker = setUpChain();
  const { codec } = maker.rules;
  const note = JSON.parse(`${'{"0":'.repeat(3_000)}1${'}'.repeat(3_000)}`) as Json;
  const json = codec.transactionToJson(registration(maker, alice, 'alice', {}));
  const deep = { ...json, asset: { ...(json['asset'] as JsonObject), note } };
  const error = t.throws(() => codec.transactionFromJson(deep), { instanceOf: TransactionRejected });
  t.is(error?.code, 'TRANSACTION_INVALID');
  t.regex(error?.message ?? '', /nest deeper/);
});

test('unsigned amounts cancel out in a block, whatever their exponents', (t) => {
  const maker = setUpChain();
  for (const [amount, other, total] of [
    ['1e1001', '-1e1001', 0n],
    ['1e-1001', '-1e-1001', 0n],
    ['1e999999999', '-1e999999999', 0n],
    [`${'7'.repeat(100_000)}9`, `-${'7'.repeat(100_000)}0`, 9n],
  ] as const) {
    const first = registration(maker, alice, 'alice', { amount });
    const second = registration(maker, bob, 'bob', { amount: other });
    t.notThrows(() => apply(maker, blockWith(maker, total, first, second)), amount.slice(0, 20));
    refused(t, maker, blockWith(maker, total + 1n, first, second), 'BLOCK_PAYLOAD_INVALID', /^Invalid total amount$/);
  }
});

test('the pool accepts members that a block and a message can hold, and no impossible amount', (t) => {
  const { rules } = setUpChain();
  const maker = setUpChain();
  const faultOf = (members: JsonObject): string | undefined =>
    rules.poolFault(registration(maker, alice, 'alice', members))?.message;
  t.is(faultOf({ amount: '7', note: 'x'.repeat(8_000) }), undefined);
  t.regex(faultOf({ note: 'x'.repeat(8_200) }) ?? '', /longer than 8192 bytes/);
  // The pool accepts at most 256 nested levels. Each lisk-sdk node can store this number of levels: a process of
  // lisk-sdk that has just started can store up to 1,780 levels, and later the process can store even more levels.
  const nested = (levels: number): Json => (levels === 0 ? 1 : [nested(levels - 1)]);
  t.is(faultOf({ note: nested(255) }), undefined);
  t.regex(faultOf({ note: nested(256) }) ?? '', /nest deeper than 256 levels/);
  for (const amount of ['-1', '0.5', 'x', '1e30']) t.regex(faultOf({ amount }) ?? '', /not an amount of beddows/);
  t.regex(faultOf({ note: '\u0000' }) ?? '', /Unicode/);
});

test('a forger counts unsigned amounts, and leaves out those that no block could store', (t) => {
  const maker = setUpChain();
  const good = registration(maker, alice, 'alice', { amount: '7' });
  const bad = registration(maker, bob, 'bob', { amount: '-7' });
  const block = maker.build({ transactions: [good, bad] });
  t.deepEqual(
    block.transactions.map(({ id }) => id),
    [good.id],
  );
  t.is(block.totalAmount, 7n);
  t.notThrows(() => apply(maker, block));
});

test('the id does not cover the unsigned amount', (t) => {
  const maker = setUpChain();
  const [one, other] = [{ amount: '7' }, { amount: '8' }].map((each) => registration(maker, alice, 'alice', each));
  t.is(one?.id, other?.id);
  t.is(bytesOfHex(one?.signature ?? '').length, 64);
});
