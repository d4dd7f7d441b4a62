import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { hexOf } from '../../../src/primitives/bytes.ts';
import { BASE_SHAPE, isPlainDocument } from '../../../src/protocol/gen2/transaction-json.ts';
import { GEN2_SHAPES } from '../../../src/protocol/gen2/transaction-types.ts';
import { GEN3_SHAPES } from '../../../src/protocol/gen3/transaction-types.ts';
import { canonicalDigits } from '../../../src/protocol/tx/json.ts';
import { assetErrors, baseErrors, BASE_PROPERTIES, isPlainlyWritten } from '../../../src/protocol/tx/schema.ts';
import { createTransferReader, TRANSFER_DATA } from '../../../src/protocol/tx/transfer.ts';

const hex = (bytes: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((each) => hexOf(each));
/**
 * Replaces one character of a text by a wrong one. The low bytes of `\u0161` and `\u0130` are hexadecimal digits, so a
 * decoder that reads only the low byte of a character would accept them.
 */
const corrupted = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(text, fc.nat({ max: 200 }), fc.constantFrom('A', 'g', '\u0161', '\u0130', '\0', '', ' ', '+', '0', '00'))
    .map(([whole, at, by]) => whole.slice(0, at % whole.length) + by + whole.slice((at % whole.length) + 1));
const odd = fc.constantFrom<unknown>(undefined, null, '', 0, -1, 1.5, -0, NaN, Infinity, 2 ** 53, true, [], {}, ['x']);
const mostly = (usual: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: usual, weight: 12 }, { arbitrary: odd, weight: 1 });
const texts = (usual: fc.Arbitrary<string>): fc.Arbitrary<unknown> =>
  mostly(fc.oneof({ arbitrary: usual, weight: 6 }, { arbitrary: corrupted(usual), weight: 1 }));

const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n + 3n }).map(String);
const perhaps = (usual: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => fc.oneof(fc.constant(undefined), usual);

const anyMembers = fc.record({
  id: perhaps(texts(u64)),
  blockId: perhaps(texts(u64)),
  height: perhaps(mostly(fc.nat())),
  confirmations: perhaps(mostly(fc.nat())),
  type: fc.nat({ max: 12 }),
  timestamp: fc.oneof(fc.integer(), fc.double(), fc.constantFrom(2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 2 ** 31 - 1)),
  senderPublicKey: texts(hex(32)),
  signature: texts(hex(64)),
  signSignature: perhaps(texts(hex(64))),
  signatures: fc.oneof(
    { arbitrary: fc.constant([]), weight: 6 },
    { arbitrary: fc.array(texts(hex(64))), weight: 1 },
    { arbitrary: odd, weight: 1 },
  ),
  asset: fc.oneof({ arbitrary: fc.constant({}), weight: 6 }, { arbitrary: odd, weight: 1 }),
});

for (const [generation, shapes] of [
  [2, GEN2_SHAPES],
  [3, GEN3_SHAPES],
] as const) {
  test(`a schema of generation ${generation} finds no fault in plain members`, (t) => {
    const shape = shapes.compile({
      type: 'object',
      required: ['type', 'senderPublicKey', 'timestamp', 'asset', 'signature'],
      properties: BASE_PROPERTIES,
    });
    const seen = { plain: 0, faulty: 0 };
    fc.assert(
      fc.property(anyMembers, (members) => {
        const errors = baseErrors(shape, members, '');
        const isPlain = isPlainlyWritten(members);
        if (isPlain) t.deepEqual(errors, []);
        seen.plain += Number(isPlain);
        seen.faulty += Number(errors.length > 0);
      }),
      { numRuns: 2000 },
    );
    t.true(seen.plain > 100 && seen.faulty > 100);
  });
}

test('the base schema of generation 2 finds no fault in a plain document', (t) => {
  const text = (usual: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.oneof({ arbitrary: usual, weight: 12 }, { arbitrary: corrupted(usual), weight: 1 });
  const amounts = fc.bigInt({ min: 0n, max: 2n ** 64n + 3n }).map(String);
  const addresses = u64.map((digits) => `${digits}L`);
  const ownMembers = fc.record({
    id: texts(u64).filter((id) => Boolean(id)),
    amount: text(amounts),
    fee: text(fc.oneof(fc.constant('10000000'), amounts)),
    senderId: texts(addresses),
    recipientId: texts(fc.oneof(fc.constant(''), addresses)),
    recipientPublicKey: fc.oneof({ arbitrary: fc.constant(undefined), weight: 6 }, { arbitrary: odd, weight: 1 }),
  });
  const seen = { plain: 0, faulty: 0 };
  fc.assert(
    fc.property(anyMembers, ownMembers, (members, own) => {
      const document = { ...members, ...own };
      const errors = baseErrors(BASE_SHAPE, document, '');
      const isPlain = isPlainDocument(document);
      if (isPlain) t.deepEqual(errors, []);
      seen.plain += Number(isPlain);
      seen.faulty += Number(errors.length > 0);
    }),
    { numRuns: 4000 },
  );
  t.true(seen.plain > 100 && seen.faulty > 100);
});

test('a transfer that is read without its schema has no schema fault', (t) => {
  const shape = GEN3_SHAPES.compile({
    type: 'object',
    required: ['recipientId', 'amount'],
    properties: {
      recipientId: { type: 'string', format: 'address' },
      amount: { type: 'string', format: 'amount' },
      data: TRANSFER_DATA,
    },
  });
  const read = createTransferReader(GEN3_SHAPES);
  const anyAsset = fc.record({
    amount: texts(fc.bigInt({ min: 0n, max: 2n ** 63n + 1n }).map(String)),
    recipientId: texts(u64.map((digits) => `${digits}L`)),
    data: perhaps(mostly(fc.string({ unit: 'grapheme', maxLength: 70 }))),
  });
  const seen = { right: 0, faulty: 0 };
  fc.assert(
    fc.property(anyAsset, (asset) => {
      const { errors, payload } = read(asset, '1');
      const amount = canonicalDigits(asset.amount) ?? '0';
      const schema = assetErrors(shape, { ...asset, amount }, '1');
      if (errors.length === 0) t.deepEqual(schema, []);
      else t.deepEqual(errors.slice(0, schema.length), schema);
      if (schema.length === 0 && amount !== '0' && BigInt(amount) < 2n ** 63n) {
        t.like(payload, { amount: BigInt(amount), recipientId: asset.recipientId as string });
      }
      seen.right += Number(errors.length === 0);
      seen.faulty += Number(errors.length > 0);
    }),
    { numRuns: 2000 },
  );
  t.true(seen.right > 100 && seen.faulty > 100);
});
