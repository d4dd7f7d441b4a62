/**
 * Creates and checks transactions for wallets and tools, in both generations. A signer reads no state, so the signer
 * does not know whether a node would accept a transaction.
 */

import type { Ed25519 } from '../crypto/ed25519.ts';
import { addressOf } from '../crypto/keys.ts';
import { bytesOfHex, hexOf } from '../primitives/bytes.ts';
import { assert, ProtocolError } from '../primitives/errors.ts';
import * as gen2Bytes from './gen2/transaction-bytes.ts';
import * as gen2Json from './gen2/transaction-json.ts';
import { GEN2_TYPES } from './gen2/transaction-types.ts';
import * as gen3Bytes from './gen3/transaction-bytes.ts';
import * as gen3Json from './gen3/transaction-json.ts';
import { GEN3_TYPES } from './gen3/transaction-types.ts';
import { NO_EXCEPTIONS, type ChainParams, type Generation } from './params.ts';
import type { TransactionBytes } from './tx/transaction-bytes.ts';
import { decodeTransaction } from './tx/transaction-record.ts';
import type { TransactionLayout } from './tx/transaction-type.ts';
import type { JsonObject, KeyPair, MemberSignature, Payload, PublicKey, Signature, Transaction } from './types.ts';
import type { TransactionError } from './verdict.ts';

/** The properties of a network that determine the signatures and the bytes of the network's transactions. */
export type SigningNetwork = Pick<ChainParams, 'generation' | 'networkIdentifier'>;

interface SigningRequest {
  readonly payload: Payload;
  /** Chain time in whole seconds since the epoch of the network. */
  readonly timestamp: number;
  readonly keyPair: KeyPair;
  /** Second key pair of the sender; undefined if the sender has not registered a second key. */
  readonly secondKeyPair?: KeyPair;
}

export interface TransactionSigner {
  /**
   * Signs a transaction, and computes its fee and id. The function does not check the content of the transaction. A
   * caller can check the content with `read`.
   */
  sign(request: SigningRequest): Transaction;
  /**
   * Signs a transaction as a member of a multisignature group. The sender must have signed the transaction before the
   * members. The reason is that the result contains the id of the transaction, and this id depends on the sender's
   * signature.
   */
  signAsMember(transaction: Transaction, keyPair: KeyPair): MemberSignature;
  /** Converts a transaction to JSON in the form that the generation uses. */
  toJson(transaction: Transaction): JsonObject;
  /**
   * Reads a signed transaction from JSON. Checks the form and the primary signature of the transaction (the signature
   * of the sender's first key). In generation 2, the function also checks the id and the fee.
   *
   * @throws TransactionRejected if no node accepts the form of the transaction
   * @throws ProtocolError `TRANSACTION_INVALID` for a wrong id, fee or signature, for example for a signature made for
   *   another network
   */
  read(json: unknown): Transaction;
  /**
   * Reads a transaction without checking id, fee and signature.
   *
   * @throws TransactionRejected if no node accepts the form of the transaction
   * @throws ProtocolError `TRANSACTION_TYPE_UNKNOWN` if the network has no such transaction type
   */
  parse(json: unknown): Transaction;
  /**
   * Returns the faults of a transaction that the signer finds without reading the state. Each fault is a text. In
   * generation 3, the only such fault is a wrong primary signature. In generation 2, the faults are a wrong primary
   * signature, a wrong id and a wrong fee.
   */
  faultsOf(transaction: Transaction): readonly string[];
  /**
   * Returns whether the second signature is valid for the key `publicKey`. Returns false if the transaction has no
   * second signature.
   */
  isSignedBySecond(transaction: Transaction, publicKey: PublicKey): boolean;
  /** Returns each key of `publicKeys` for which the transaction has a valid member's signature. */
  signersAmong(transaction: Transaction, publicKeys: readonly PublicKey[]): readonly PublicKey[];
  /**
   * Returns the bytes from which the id of a transaction is computed. The bytes include the signatures of the sender,
   * but no signatures of members.
   */
  toBytes(transaction: Transaction): Uint8Array;
  /**
   * Returns the transactions for which `toBytes` returns the given bytes. The returned transactions have no members'
   * signatures. The list is empty if the function cannot read a transaction from the bytes. For example, the function
   * cannot read transactions of types 5 and 7. The list has two transactions if the last 128 bytes have two possible
   * meanings: 64 bytes of the payload (for example, transfer data) and one signature, or two signatures.
   */
  fromBytes(bytes: Uint8Array): readonly Transaction[];
}

interface GenerationParts {
  readonly bytes: TransactionBytes;
  readonly types: ReadonlyMap<number, TransactionLayout>;
  toJson(transaction: Transaction): JsonObject;
  fromJson(json: unknown): Transaction;
  statedErrors(transaction: Transaction): readonly TransactionError[];
}

const GENERATIONS: Readonly<Record<Generation, GenerationParts>> = {
  2: {
    bytes: gen2Bytes,
    types: GEN2_TYPES,
    toJson: (transaction) => gen2Json.transactionToJson(transaction, GEN2_TYPES),
    fromJson: (json) => gen2Json.transactionFromJson(json, GEN2_TYPES, NO_EXCEPTIONS),
    statedErrors: (transaction) => gen2Json.statedErrors(transaction, GEN2_TYPES),
  },
  3: {
    bytes: gen3Bytes,
    types: GEN3_TYPES,
    toJson: (transaction) => gen3Json.transactionToJson(transaction, GEN3_TYPES),
    fromJson: (json) => gen3Json.transactionFromJson(json, GEN3_TYPES, NO_EXCEPTIONS),
    statedErrors: () => [],
  },
};

export function createSigner({ generation, networkIdentifier }: SigningNetwork, ed25519: Ed25519): TransactionSigner {
  const { bytes, types, toJson, fromJson, statedErrors } = GENERATIONS[generation];

  /**
   * @throws ProtocolError `TRANSACTION_TYPE_UNKNOWN` if the network has no transaction type with the number in `json`
   */
  const parse = (json: unknown): Transaction => {
    const number: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, 'type') : undefined;
    if (typeof number === 'number' && types.has(number)) return fromJson(json);
    const fault = number === undefined ? 'has no `type`' : `has the \`type\` ${JSON.stringify(number)}`;
    const known = `the transactions of generation ${generation} have the types ${[...types.keys()].join(', ')}`;
    throw new ProtocolError('TRANSACTION_TYPE_UNKNOWN', {}, `the document ${fault}; ${known}`);
  };

  const sign = ({ payload, timestamp, keyPair, secondKeyPair }: SigningRequest): Transaction => {
    const type = [...types.values()].find(({ kind }) => kind === payload.kind);
    assert(type !== undefined, `generation ${generation} has ${payload.kind} transactions`);
    const senderPublicKey = hexOf(keyPair.publicKey);
    const draft: Transaction = {
      id: '',
      type: type.type,
      timestamp,
      senderPublicKey,
      senderId: addressOf(senderPublicKey),
      fee: type.fee(payload),
      payload,
      signature: '',
      signatures: [],
    };
    const digest = bytes.signingDigest(draft, networkIdentifier);
    const signed = { ...draft, signature: hexOf(ed25519.sign(digest, keyPair.privateKey)) };
    if (secondKeyPair === undefined) return bytes.withId(signed);
    const secondDigest = bytes.secondSigningDigest(signed, networkIdentifier);
    const signSignature = hexOf(ed25519.sign(secondDigest, secondKeyPair.privateKey));
    return bytes.withId({ ...signed, signSignature });
  };

  const faultsOf = (transaction: Transaction): readonly string[] => {
    const faults = statedErrors(transaction).map(({ message }) => message);
    const isSigned = ed25519.verify(bytes.primaryCheck(transaction, networkIdentifier));
    return isSigned ? faults : [...faults, 'the sender did not make the signature, or made it for another network'];
  };

  const read = (json: unknown): Transaction => {
    const transaction = parse(json);
    const faults = faultsOf(transaction);
    if (faults.length === 0) return transaction;
    throw new ProtocolError('TRANSACTION_INVALID', { id: transaction.id }, faults.join('; '));
  };

  return {
    sign,
    signAsMember: (transaction, keyPair) => ({
      transactionId: transaction.id,
      publicKey: hexOf(keyPair.publicKey),
      signature: hexOf(ed25519.sign(bytes.signingDigest(transaction, networkIdentifier), keyPair.privateKey)),
    }),
    toJson,
    read,
    parse,
    faultsOf,
    isSignedBySecond: (transaction, publicKey) =>
      transaction.signSignature !== undefined &&
      isSignedBy(publicKey, transaction.signSignature, bytes.secondSigningDigest(transaction, networkIdentifier)),
    signersAmong: (transaction, publicKeys) => {
      const digest = bytes.signingDigest(transaction, networkIdentifier);
      const hasSigned = (publicKey: PublicKey): boolean =>
        transaction.signatures.some((signature) => isSignedBy(publicKey, signature, digest));
      return publicKeys.filter(hasSigned);
    },
    toBytes: bytes.transactionBytes,
    fromBytes: (given) =>
      [WITHOUT_SECOND, WITH_SECOND].flatMap((trailer) => {
        try {
          const transaction = decodeTransaction(Buffer.concat([given, trailer]), types);
          return bytes.transactionBytes(transaction).equals(given) ? [transaction] : [];
        } catch {
          return [];
        }
      }),
  };

  function isSignedBy(publicKey: PublicKey, signature: Signature, message: Uint8Array): boolean {
    return ed25519.verify({ publicKey: bytesOfHex(publicKey), message, signature: bytesOfHex(signature) });
  }
}

/**
 * A stored transaction (`tx/transaction-record.ts`) ends with two bytes: the number of members' signatures, and flags.
 * Each of the two constants has these two bytes. In both constants, the number of members' signatures is 0. The only
 * difference between the constants is the flag that states whether the transaction has a second signature.
 */
const WITHOUT_SECOND = Buffer.from([0, 0]);
const WITH_SECOND = Buffer.from([0, 1]);

/**
 * Creates the payload of a vote transaction. In generation 2, the recipient of a vote transaction is the sender of the
 * transaction.
 */
export function votePayload(network: SigningNetwork, votes: readonly string[], sender: KeyPair): Payload {
  const payload = { kind: 'vote', votes, amount: 0n } as const;
  return network.generation === 3 ? payload : { ...payload, recipientId: addressOf(hexOf(sender.publicKey)) };
}
