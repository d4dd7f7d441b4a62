import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { createSignatureObject } from 'lisk-transactions-3';
import type { TransactionJSON } from 'lisk-transactions-3';
import { defaultEd25519 } from '../../../src/crypto/ed25519.ts';
import { sha256 } from '../../../src/crypto/hash.ts';
import { bytesOfHex, hexOf } from '../../../src/primitives/bytes.ts';
import { createGen3Codec, signedBytes, transactionBytes } from '../../../src/protocol/gen3/codec.ts';
import { createTransactionRules } from '../../../src/protocol/gen3/transactions.ts';
import type { BlockHeader } from '../../../src/protocol/types.ts';
import {
  NETWORK_IDENTIFIER,
  anyContent,
  anySigner,
  jsonOf,
  signedReference,
} from '../../support/reference-transactions.ts';
import { paramsWith } from '../../support/fixtures.ts';

const params = paramsWith({ networkIdentifier: NETWORK_IDENTIFIER });
const codec = createGen3Codec(params);
const rules = createTransactionRules(params, codec);
const ed25519 = defaultEd25519();

test('bytes, ids, signatures and JSON of transactions of every type are those of the reference package', (t) => {
  const seen = new Map<number, number>();
  fc.assert(
    fc.property(anyContent, fc.option(anySigner, { nil: undefined }), (content, second) => {
      const reference = signedReference(content, second);
      const json = jsonOf(reference);
      const transaction = codec.transactionFromJson(json);
      t.is(transaction.id, reference.id);
      t.is(hexOf(transactionBytes(transaction)), hexOf(reference.getBytes()));
      t.deepEqual(
        rules.validateTransaction(transaction, {}, (check) => ed25519.verify(check)),
        [],
      );

      const signed = sha256(signedBytes(transaction, NETWORK_IDENTIFIER));
      t.is(hexOf(ed25519.sign(signed, content.sender.keyPair.privateKey)), transaction.signature);
      if (second !== undefined && content.type !== 9) {
        const digest = sha256(signedBytes(transaction, NETWORK_IDENTIFIER), bytesOfHex(transaction.signature));
        t.is(hexOf(ed25519.sign(digest, second.keyPair.privateKey)), transaction.signSignature ?? '');
      }

      t.deepEqual(codec.transactionToJson(transaction), json);
      t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
      seen.set(content.type, (seen.get(content.type) ?? 0) + 1);
    }),
    { numRuns: 500 },
  );
  t.deepEqual(
    [...seen.keys()].sort((a, b) => a - b),
    [8, 9, 10, 11, 12],
  );
});

test('signatures of group members are those of the reference package', (t) => {
  fc.assert(
    fc.property(anyContent, anySigner, (content, member) => {
      const json = jsonOf(signedReference(content));
      const { signature } = createSignatureObject({
        transaction: json as unknown as TransactionJSON,
        passphrase: member.passphrase,
        networkIdentifier: NETWORK_IDENTIFIER,
      });
      const signed = sha256(signedBytes(codec.transactionFromJson(json), NETWORK_IDENTIFIER));
      t.is(hexOf(ed25519.sign(signed, member.keyPair.privateKey)), signature);
    }),
    { numRuns: 50 },
  );
});

test('member signatures survive storage and JSON', (t) => {
  const signature = fc.uint8Array({ minLength: 64, maxLength: 64 }).map((bytes) => hexOf(bytes));
  const signatures = fc.uniqueArray(signature, { maxLength: 15 });
  fc.assert(
    fc.property(anyContent, signatures, (content, members) => {
      const transaction = codec.transactionFromJson({ ...jsonOf(signedReference(content)), signatures: members });
      t.deepEqual(transaction.signatures, members);
      t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
      t.deepEqual(codec.transactionFromJson(codec.transactionToJson(transaction)), transaction);
    }),
    { numRuns: 50 },
  );
});

test('headers survive storage and JSON', (t) => {
  const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  const hex = (length: number): fc.Arbitrary<string> =>
    fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => hexOf(bytes));
  const anyHeader: fc.Arbitrary<BlockHeader> = fc.record({
    id: fc.constant(''),
    version: fc.constant(2),
    height: u32,
    timestamp: u32,
    previousBlockId: u64.filter((id) => id > 0n).map(String),
    numberOfTransactions: fc.constant(0),
    totalAmount: u64,
    totalFee: u64,
    reward: u64,
    payloadLength: u32,
    payloadHash: hex(32),
    generatorPublicKey: hex(32),
    blockSignature: hex(64),
    maxHeightPreviouslyForged: u32,
    maxHeightPrevoted: u32,
  });
  fc.assert(
    fc.property(anyHeader, (header) => {
      const stored = codec.decodeHeader(codec.encodeHeader(header));
      t.deepEqual(stored, { ...header, id: stored.id });
      const block = codec.blockFromJson(JSON.parse(JSON.stringify(codec.blockToJson({ ...stored, transactions: [] }))));
      t.deepEqual(block, { ...stored, transactions: [] });
    }),
  );
});

test('no document makes the codec throw any error but a rejection', (t) => {
  const names = ['type', 'timestamp', 'senderPublicKey', 'signature', 'signatures', 'asset', 'votes', 'amount', 'id'];
  const key = fc.oneof(fc.constantFrom(...names), fc.string());
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), fc.dictionary(key, tie('tree'), { noNullPrototype: true })),
  }));
  fc.assert(
    fc.property(fc.constantFrom(8, 9, 10, 11, 12), tree, fc.dictionary(key, tree), (type, asset, members) => {
      for (const read of [codec.transactionFromJson, codec.blockFromJson, codec.genesisFromJson]) {
        try {
          read({ ...members, type, asset, version: 2 });
        } catch (error) {
          t.true(error instanceof Error && /Rejected$/.test(error.name), String(error));
        }
      }
    }),
    { numRuns: 300 },
  );
});
