/** Builds a signed transaction that registers a second public key for the account of its sender. */

import { defaultEd25519 } from '../crypto/ed25519.ts';
import type { Rules } from '../protocol/rules.ts';
import { createSigner } from '../protocol/sign.ts';
import type { JsonObject, KeyPair, PublicKey } from '../protocol/types.ts';

/**
 * @param timestamp whole seconds since the epoch of the network
 * @returns the transaction as JSON, in the form of the network's generation
 */
export function secondSignatureJson(
  { params }: Rules,
  keyPair: KeyPair,
  secondPublicKey: PublicKey,
  timestamp: number,
): JsonObject {
  const signer = createSigner(params, defaultEd25519());
  return signer.toJson(
    signer.sign({ payload: { kind: 'secondSignature', publicKey: secondPublicKey }, timestamp, keyPair }),
  );
}
