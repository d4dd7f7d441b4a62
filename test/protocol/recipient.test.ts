/**
 * Tests transfers to the recipient `NaNL`. This text is not an address, but nodes of the reference accept it. The test
 * compares Bloomery with the transaction packages of the reference.
 */

import test from 'ava';
import { createGen2Codec } from '../../src/protocol/gen2/codec.ts';
import { createGen2Rules } from '../../src/protocol/gen2/rules.ts';
import { createGen3Codec } from '../../src/protocol/gen3/codec.ts';
import { createGen3Rules } from '../../src/protocol/gen3/rules.ts';
import type { Codec, Rules } from '../../src/protocol/rules.ts';
import type { JsonObject } from '../../src/protocol/types.ts';
import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import { paramsWith } from '../support/fixtures.ts';
import { jsonOf, NETWORK_IDENTIFIER, signedReference, signer } from '../support/reference-transactions.ts';
import { json2Of, signedReference2 } from '../support/reference-transactions-2.ts';

const alice = signer('alice');
const ed25519 = defaultEd25519();

interface GenerationFixture {
  readonly codec: Codec;
  readonly rules: Rules;
  /** Makes a transfer to a recipient. Returns its JSON, and whether the reference accepts the transfer (`isTaken`). */
  transferTo(recipientId: string): { readonly json: JsonObject; readonly isTaken: boolean };
}

const params2 = paramsWith({ generation: 2 });
const params3 = paramsWith({ generation: 3, networkIdentifier: NETWORK_IDENTIFIER });
const FIXTURES: Readonly<Record<2 | 3, GenerationFixture>> = {
  2: {
    codec: createGen2Codec(params2),
    rules: createGen2Rules(params2),
    transferTo(recipientId) {
      const members = { amount: '5', recipientId, fee: '10000000', asset: {} };
      const transaction = signedReference2({ type: 0, timestamp: 5, sender: alice, members });
      return { json: json2Of(transaction) as JsonObject, isTaken: transaction.validate().errors.length === 0 };
    },
  },
  3: {
    codec: createGen3Codec(params3),
    rules: createGen3Rules(params3),
    transferTo(recipientId) {
      const transaction = signedReference({
        type: 8,
        timestamp: 5,
        sender: alice,
        asset: { amount: '5', recipientId },
      });
      return { json: jsonOf(transaction) as JsonObject, isTaken: transaction.validate().errors.length === 0 };
    },
  },
};

for (const generation of [2, 3] as const) {
  const { codec, rules, transferTo } = FIXTURES[generation];

  test(`generation ${generation}: a transfer to NaNL is accepted as in the reference, and is not one to 10L`, (t) => {
    const { json, isTaken } = transferTo('NaNL');
    t.true(isTaken);
    const transaction = codec.transactionFromJson(json);
    t.is(transaction.id, String(json['id']));
    t.deepEqual(
      rules.validateTransaction(transaction, { blockHeight: 5 }, (check) => ed25519.verify(check)),
      [],
    );
    const other = codec.transactionFromJson(transferTo('10L').json);
    t.is(other.id, transaction.id);
    t.is(other.signature, transaction.signature);

    // Both transfers have the same signed bytes, and therefore the same id. `encodeTransaction` returns the bytes for
    // the store and for other threads. These bytes must differ between the two transfers, so that each transfer keeps
    // its recipient.
    for (const each of [transaction, other]) t.deepEqual(codec.decodeTransaction(codec.encodeTransaction(each)), each);
    t.deepEqual(codec.transactionToJson(transaction)['asset'], json['asset']);
    t.like(transaction.payload, { recipientId: 'NaNL' });
    t.like(other.payload, { recipientId: '10L' });
  });

  for (const recipientId of ['NaN', 'nanL', 'NANL', 'NaNl', ' NaNL', '+NaNL', '-NaNL', 'InfinityL', 'NaNLL'])
    test(`generation ${generation}: a similar recipient is refused: ${recipientId}`, (t) => {
      const { json } = transferTo('10L');
      const changed = generation === 2 ? { ...json, recipientId } : { ...json, asset: { amount: '5', recipientId } };
      t.throws(() => codec.transactionFromJson(changed));
    });
}
