/** Builds a signed registration of a second key. */

import { addressOf } from '../crypto/keys.ts';
import { defaultEd25519 } from '../crypto/ed25519.ts';
import { hexOf } from '../primitives/bytes.ts';
import { assert } from '../primitives/errors.ts';
import { FEES, type Generation } from '../protocol/params.ts';
import type { Rules } from '../protocol/rules.ts';
import type { JsonObject, KeyPair, PublicKey, Transaction } from '../protocol/types.ts';

const TYPES: Readonly<Record<Generation, number>> = { 2: 1, 3: 9 };

/** @param timestamp whole seconds since the epoch @returns the transaction in its generation's own JSON members */
export function secondSignatureJson(
  rules: Rules,
  keyPair: KeyPair,
  secondPublicKey: PublicKey,
  timestamp: number,
): JsonObject {
  const senderPublicKey = hexOf(keyPair.publicKey);
  const draft: Transaction = {
    id: '0',
    type: TYPES[rules.params.generation],
    timestamp,
    senderPublicKey,
    senderId: addressOf(senderPublicKey),
    fee: FEES.secondSignature,
    payload: { kind: 'secondSignature', publicKey: secondPublicKey },
    signature: '00'.repeat(64),
    signatures: [],
  };
  const [check] = rules.primarySignatureChecks(draft);
  assert(check !== undefined, 'a transaction is signed over a message');
  const signature = hexOf(defaultEd25519().sign(check.message, keyPair.privateKey));
  // The stored form is without the id: reading it computes that.
  return rules.codec.transactionToJson(
    rules.codec.decodeTransaction(rules.codec.encodeTransaction({ ...draft, signature })),
  );
}
