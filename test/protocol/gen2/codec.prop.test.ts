import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { defaultEd25519 } from '../../../src/crypto/ed25519.ts';
import { sha256 } from '../../../src/crypto/hash.ts';
import { bytesOfHex, hexOf } from '../../../src/primitives/bytes.ts';
import { basicBytes, createGen2Codec, transactionBytes } from '../../../src/protocol/gen2/codec.ts';
import { createGen2Rules } from '../../../src/protocol/gen2/rules.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { anySigner } from '../../support/reference-transactions.ts';
import { anyGen2Content, json2Of, signedReference2 } from '../../support/reference-transactions-2.ts';

const params = paramsWith({ generation: 2 });
const codec = createGen2Codec(params);
const rules = createGen2Rules(params);
const ed25519 = defaultEd25519();

test('bytes, ids, signatures and JSON of transactions of types 0 to 4 are those of the reference package', (t) => {
  const seen = new Map<number, number>();
  fc.assert(
    fc.property(anyGen2Content, fc.option(anySigner, { nil: undefined }), (content, second) => {
      const reference = signedReference2(content, second);
      const json = json2Of(reference);
      const transaction = codec.transactionFromJson(json);
      t.is(transaction.id, reference.id);
      t.is(hexOf(transactionBytes(transaction)), hexOf(reference.getBytes()));
      t.deepEqual(reference.validate().errors, []);
      t.deepEqual(
        rules.validateTransaction(transaction, {}, (check) => ed25519.verify(check)),
        [],
      );

      const basic = basicBytes(transaction);
      t.is(hexOf(ed25519.sign(sha256(basic), content.sender.keyPair.privateKey)), transaction.signature);
      if (second !== undefined && content.type !== 1) {
        const digest = sha256(basic, bytesOfHex(transaction.signature));
        t.is(hexOf(ed25519.sign(digest, second.keyPair.privateKey)), transaction.signSignature ?? '');
      }

      t.deepEqual(codec.transactionToJson(transaction), json);
      t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
      seen.set(content.type, (seen.get(content.type) ?? 0) + 1);
    }),
    { numRuns: 600 },
  );
  t.deepEqual(
    [...seen.keys()].sort((a, b) => a - b),
    [0, 1, 2, 3, 4],
  );
});

test('members without effect survive storage and JSON', (t) => {
  const signature = fc.uint8Array({ minLength: 64, maxLength: 64 }).map((bytes) => hexOf(bytes));
  fc.assert(
    fc.property(anyGen2Content, fc.uniqueArray(signature, { maxLength: 15 }), anySigner, (content, members, to) => {
      const named = content.type === 0 ? { recipientId: to.address } : {};
      const reference = signedReference2({ ...content, members: { ...content.members, ...named } });
      const key = content.type === 0 ? { recipientPublicKey: to.publicKey } : {};
      const transaction = codec.transactionFromJson({ ...json2Of(reference), ...key, signatures: members });
      t.deepEqual(transaction.signatures, members);
      t.is(transaction.recipientPublicKey, content.type === 0 ? to.publicKey : undefined);
      t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(transaction)), transaction);
      t.deepEqual(codec.transactionFromJson(codec.transactionToJson(transaction)), transaction);
    }),
    { numRuns: 60 },
  );
});

test('no document makes the codec throw any error but a rejection', (t) => {
  const names = ['type', 'timestamp', 'senderPublicKey', 'signature', 'signatures', 'asset', 'votes', 'amount', 'id'];
  const key = fc.oneof(fc.constantFrom(...names, 'delegate', 'multisignature', 'dapp', 'recipientId'), fc.string());
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), fc.dictionary(key, tie('tree'), { noNullPrototype: true })),
  }));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 7 }), tree, fc.dictionary(key, tree), (type, asset, members) => {
      for (const read of [codec.transactionFromJson, codec.blockFromJson, codec.genesisFromJson]) {
        try {
          read({ ...members, type, asset, version: 1, transactions: [{ ...members, type, asset }] });
        } catch (error) {
          t.true(error instanceof Error && /Rejected$/.test(error.name), String(error));
        }
      }
    }),
    { numRuns: 400 },
  );
});
