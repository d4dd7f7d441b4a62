/** Builds a signed registration of a second key. */

import { addressOf } from '../crypto/keys.ts';
import { defaultEd25519 } from '../crypto/ed25519.ts';
import { hexOf } from '../primitives/bytes.ts';
import * as gen2Bytes from '../protocol/gen2/transaction-bytes.ts';
import * as gen3Bytes from '../protocol/gen3/transaction-bytes.ts';
import { FEES } from '../protocol/params.ts';
import type { Rules } from '../protocol/rules.ts';
import type { JsonObject, KeyPair, PublicKey, Transaction } from '../protocol/types.ts';

const BY_GENERATION = { 2: { type: 1, bytes: gen2Bytes }, 3: { type: 9, bytes: gen3Bytes } } as const;

/** @param timestamp whole seconds since the epoch @returns the transaction in its generation's own JSON members */
export function secondSignatureJson(
  { params, codec }: Rules,
  keyPair: KeyPair,
  secondPublicKey: PublicKey,
  timestamp: number,
): JsonObject {
  const { type, bytes } = BY_GENERATION[params.generation];
  const senderPublicKey = hexOf(keyPair.publicKey);
  const draft: Transaction = {
    id: '',
    type,
    timestamp,
    senderPublicKey,
    senderId: addressOf(senderPublicKey),
    fee: FEES.secondSignature,
    payload: { kind: 'secondSignature', publicKey: secondPublicKey },
    signature: '',
    signatures: [],
  };
  const digest = bytes.signingDigest(draft, params.networkIdentifier);
  const signature = hexOf(defaultEd25519().sign(digest, keyPair.privateKey));
  return codec.transactionToJson(bytes.withId({ ...draft, signature }));
}
