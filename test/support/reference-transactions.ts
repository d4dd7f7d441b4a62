/**
 * Transactions made by the reference package. Tests compare the bytes, ids and refusals of Bloomery with those of the
 * reference.
 */

import { fc } from './fast-check.ts';
import {
  type BaseTransaction,
  DelegateTransaction,
  MultisignatureTransaction,
  SecondSignatureTransaction,
  TransferTransaction,
  VoteTransaction,
} from 'lisk-transactions-3';
import { addressOf, keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import type { KeyPair } from '../../src/protocol/types.ts';

/** Network identifier of the devnet of lisk-sdk, under the protocol of generation 3. */
export const NETWORK_IDENTIFIER = '11a254dc30db5eb1ce4001acde35fd5a14d62584f886d30df161e4e883220eb7';

export interface Signer {
  readonly passphrase: string;
  readonly keyPair: KeyPair;
  readonly publicKey: string;
  readonly address: string;
}

export function signer(passphrase: string): Signer {
  const keyPair = keyPairOfPassphrase(passphrase);
  const publicKey = hexOf(keyPair.publicKey);
  return { passphrase, keyPair, publicKey, address: addressOf(publicKey) };
}

export const SIGNERS: readonly Signer[] = Array.from({ length: 8 }, (_, index) => signer(`signer number ${index}`));

export const anySigner: fc.Arbitrary<Signer> = fc.constantFrom(...SIGNERS);

const CLASSES = {
  8: TransferTransaction,
  9: SecondSignatureTransaction,
  10: DelegateTransaction,
  11: VoteTransaction,
  12: MultisignatureTransaction,
} as const;

export type Gen3Type = keyof typeof CLASSES;

/** The content of a transaction without signatures. */
export interface Content {
  readonly type: Gen3Type;
  readonly timestamp: number;
  readonly sender: Signer;
  readonly asset: object;
}

/** Makes the reference's transaction object from a valid or invalid JSON document. */
export function referenceOf(json: { readonly type: Gen3Type; readonly [member: string]: unknown }): BaseTransaction {
  const Class = CLASSES[json.type];
  return new Class({ networkIdentifier: NETWORK_IDENTIFIER, ...json });
}

/** A transaction that the reference signed. A registration of a second key is never signed with a second key. */
export function signedReference(content: Content, second?: Signer): BaseTransaction {
  const { type, timestamp, asset, sender } = content;
  const transaction = referenceOf({ type, timestamp, asset, senderPublicKey: sender.publicKey });
  transaction.sign(sender.passphrase, type === 9 ? undefined : second?.passphrase);
  return transaction;
}

/**
 * The transaction as a node receives it: the result of converting the transaction to JSON text and parsing this text.
 */
export function jsonOf(transaction: BaseTransaction): Record<string, unknown> {
  return JSON.parse(JSON.stringify(transaction.toJSON())) as Record<string, unknown>;
}

const timestamp = fc.integer({ min: -2_147_483_648, max: 2_147_483_647 });
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const hexKey = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((key) => hexOf(key));
const cased = (key: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(key, fc.boolean()).map(([text, upper]) => (upper ? text.toUpperCase() : text));

const data = fc
  .string({ unit: 'grapheme', maxLength: 64 })
  .filter((text) => Buffer.byteLength(text) <= 64 && !/\0|\\u0000|\\x00/.test(text));

const transferAsset = fc.record(
  {
    amount: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String),
    recipientId: u64.map((value) => `${value}L`),
    data,
  },
  { requiredKeys: ['amount', 'recipientId'] },
);

const delegateAsset = fc.record({
  username: fc
    .string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789!@$&_.'), minLength: 1, maxLength: 20 })
    .filter((name) => !/^[0-9]+l$/.test(name)),
});

const voteAsset = fc.record({
  votes: fc
    .uniqueArray(hexKey, { minLength: 1, maxLength: 33 })
    .chain((keys) => fc.tuple(...keys.map((key) => fc.tuple(fc.constantFrom('+', '-'), cased(fc.constant(key))))))
    .map((votes) => votes.map(([sign, key]) => `${sign}${key}`)),
});

const multisignatureAsset = fc.uniqueArray(hexKey, { minLength: 1, maxLength: 15 }).chain((keys) =>
  fc.record({
    min: fc.integer({ min: 1, max: keys.length }),
    lifetime: fc.integer({ min: 1, max: 72 }),
    keysgroup: fc.constant(keys.map((key) => `+${key}`)),
  }),
);

const content = (type: Gen3Type, asset: fc.Arbitrary<object>): fc.Arbitrary<Content> =>
  fc.record({ type: fc.constant(type), timestamp, sender: anySigner, asset });

/** Generates valid content of a transaction of any type. */
export const anyContent: fc.Arbitrary<Content> = fc.oneof(
  content(8, transferAsset),
  content(9, fc.record({ publicKey: hexKey })),
  content(10, delegateAsset),
  content(11, voteAsset),
  content(12, multisignatureAsset),
);
