/** Computes the bytes and digests of transactions, and caches most of the results for each transaction object. */

import { idOf, sha256 } from '../../crypto/hash.ts';
import { assert, ProtocolError } from '../../primitives/errors.ts';
import { bytesOfHex } from '../../primitives/bytes.ts';
import type { SignatureCheck, Transaction, TransactionId } from '../types.ts';
import { SENDER_AT, type BasicFields, type TransactionLayout } from './transaction-type.ts';

/**
 * Computes the bytes of transactions. Each parameter `networkIdentifier` is the hexadecimal text (64 digits) of a
 * network identifier, which has 32 bytes.
 */
export interface TransactionBytes {
  /** Returns the layout of a transaction type. The caller must pass a type that the codec has accepted. */
  layoutOf(type: number): TransactionLayout;
  /** Returns the basic bytes: all bytes that the primary signature covers, except the network identifier. */
  basicBytes(fields: BasicFields): Buffer;
  /**
   * Returns the bytes of a transaction. The id of the transaction is the hash of these bytes. The payload hash of a
   * block is the hash of the bytes of all transactions in the block. The bytes include the primary and the second
   * signature, but not members' signatures.
   */
  transactionBytes(transaction: Transaction): Buffer;
  /**
   * Returns the bytes that the primary signature covers. If the layout is `networkBound`, these bytes begin with the
   * network identifier.
   */
  signedBytes(fields: BasicFields, networkIdentifier: string): Buffer;
  /** Returns the SHA-256 hash of `signedBytes`. The sender and the members of a group sign this digest. */
  signingDigest(transaction: Transaction, networkIdentifier: string): Buffer;
  /** Returns the digest that the holder of the second key signs. This digest also covers the primary signature. */
  secondSigningDigest(transaction: Transaction, networkIdentifier: string): Buffer;
  /**
   * Returns the check of the primary signature. All calls for one transaction return the same check object, because the
   * signature cache finds the result of the check by this object. Only two events lead to a new check object: a call of
   * `forget`, and a call of `primaryCheck`, `signingDigest` or `secondSigningDigest` for this transaction with another
   * network identifier.
   */
  primaryCheck(transaction: Transaction, networkIdentifier: string): SignatureCheck;
  /**
   * Computes the id of a transaction from the transaction's bytes. The function ignores the id that the transaction
   * states.
   */
  computedId(transaction: Transaction): TransactionId;
  /** Computes the id from the bytes of `draft`, and returns a copy of `draft` with this id. */
  withId(draft: Transaction): Transaction;
  /** Drops the cached results of all transactions. Later calls compute dropped results again. */
  forget(): void;
}

/**
 * The cached results for one transaction. `Known` is a class. If the code made these objects with an object literal
 * instead, V8 could allocate the objects in the old generation of its heap. Objects in the old generation stay in
 * memory long after their last use.
 */
class Known {
  /**
   * If the signatures cover the network identifier, the buffer contains 32 bytes for the identifier, followed by
   * `bytes`. The signed bytes are therefore in one piece of memory. If the signatures do not cover the network
   * identifier, the buffer has only `bytes`.
   */
  readonly whole: Buffer;
  /**
   * All bytes of the transaction without members' signatures: the basic bytes (`basicBytes`), then the primary
   * signature, and then the second signature, if there is one. The id is computed from these bytes.
   */
  readonly bytes: Buffer;
  readonly basicLength: number;
  /**
   * The network identifier of the last call of `boundTo` for this transaction. If the signatures cover the identifier,
   * `whole` begins with this identifier. The next call with the same identifier does not write the identifier again.
   */
  networkIdentifier: string | undefined;
  digest: Buffer | undefined;
  check: SignatureCheck | undefined;
  id: TransactionId | undefined;

  constructor(whole: Buffer, before: number, after: number) {
    this.whole = whole;
    this.bytes = whole.subarray(before);
    this.basicLength = whole.length - before - after;
    this.networkIdentifier = undefined;
    this.digest = undefined;
    this.check = undefined;
    this.id = undefined;
  }
}

const NETWORK_IDENTIFIER_BYTES = 32;
const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

export function createTransactionBytes(layouts: ReadonlyMap<number, TransactionLayout>): TransactionBytes {
  let known = new WeakMap<Transaction, Known>();
  /**
   * The network identifier that `writeIdentifier` last converted to bytes. A process usually serves one network, so
   * most calls need no conversion.
   */
  let identifier: { readonly text: string; readonly bytes: Buffer } | undefined;

  function layoutOf(type: number): TransactionLayout {
    const found = layouts.get(type);
    assert(found !== undefined, `transaction type ${type} is registered`);
    return found;
  }

  /**
   * Returns the number of signed bytes before the basic bytes. If the signatures cover the network identifier, this is
   * the length of the identifier. If the signatures do not cover the network identifier, the result is 0.
   */
  function identifierLength(type: number): number {
    return layoutOf(type).networkBound ? NETWORK_IDENTIFIER_BYTES : 0;
  }

  function knownOf(transaction: Transaction): Known {
    const facts = known.get(transaction);
    if (facts !== undefined) return facts;
    const computed = factsOf(transaction);
    known.set(transaction, computed);
    return computed;
  }

  function factsOf(transaction: Transaction): Known {
    const { type, signature, signSignature = '' } = transaction;
    const before = identifierLength(type);
    const after = (signature.length + signSignature.length) >> 1;
    const whole = layoutOf(type).encodeBasic(transaction, before, after);
    const signatureAt = whole.length - after;
    writeHex(whole, signature, signatureAt);
    writeHex(whole, signSignature, signatureAt + (signature.length >> 1));
    return new Known(whole, before, after);
  }

  function writeIdentifier(whole: Buffer, networkIdentifier: string): void {
    if (identifier?.text !== networkIdentifier) {
      const bytes = bytesOfHex(networkIdentifier);
      assert(bytes.length === NETWORK_IDENTIFIER_BYTES, 'a network identifier has 32 bytes');
      identifier = { text: networkIdentifier, bytes };
    }
    whole.set(identifier.bytes);
  }

  /**
   * Returns the cached results of a transaction for the given network identifier. If the signatures cover the
   * identifier, the function writes the identifier into the cached bytes.
   */
  function boundTo(transaction: Transaction, networkIdentifier: string): Known {
    const facts = knownOf(transaction);
    if (facts.networkIdentifier === networkIdentifier) return facts;
    if (facts.whole.length > facts.bytes.length) writeIdentifier(facts.whole, networkIdentifier);
    facts.networkIdentifier = networkIdentifier;
    facts.digest = undefined;
    facts.check = undefined;
    return facts;
  }

  function digestOf(facts: Known): Buffer {
    facts.digest ??= sha256(upToSignature(facts));
    return facts.digest;
  }

  function idOfKnown(facts: Known): TransactionId {
    facts.id ??= idOf(facts.bytes);
    return facts.id;
  }

  return {
    layoutOf,
    basicBytes: (fields) => layoutOf(fields.type).encodeBasic(fields, 0, 0),
    transactionBytes: (transaction) => knownOf(transaction).bytes,
    signedBytes: (fields, networkIdentifier) => {
      const before = identifierLength(fields.type);
      const bytes = layoutOf(fields.type).encodeBasic(fields, before, 0);
      if (before > 0) writeIdentifier(bytes, networkIdentifier);
      return bytes;
    },
    signingDigest: (transaction, networkIdentifier) => digestOf(boundTo(transaction, networkIdentifier)),
    secondSigningDigest: (transaction, networkIdentifier) =>
      sha256(upToSignature(boundTo(transaction, networkIdentifier), SIGNATURE_BYTES)),
    primaryCheck: (transaction, networkIdentifier) => {
      const facts = boundTo(transaction, networkIdentifier);
      const { bytes, basicLength } = facts;
      facts.check ??= {
        publicKey: bytes.subarray(SENDER_AT, SENDER_AT + PUBLIC_KEY_BYTES),
        message: digestOf(facts),
        signature: bytes.subarray(basicLength, basicLength + SIGNATURE_BYTES),
      };
      return facts.check;
    },
    computedId: (transaction) => idOfKnown(knownOf(transaction)),
    withId: (draft) => {
      const facts = factsOf(draft);
      const transaction = { ...draft, id: idOfKnown(facts) };
      known.set(transaction, facts);
      return transaction;
    },
    forget: () => {
      known = new WeakMap();
    },
  };
}

/** Returns the bytes that the primary signature covers, together with the next `more` bytes. */
function upToSignature({ whole, bytes, basicLength }: Known, more = 0): Buffer {
  return whole.subarray(0, whole.length - bytes.length + basicLength + more);
}

/** @throws ProtocolError `HEX_INVALID` if `hex` is not the hexadecimal text of whole bytes */
function writeHex(bytes: Buffer, hex: string, at: number): void {
  // `write` stops without an error at the first character that is not hexadecimal.
  if (bytes.write(hex, at, 'hex') * 2 !== hex.length) throw new ProtocolError('HEX_INVALID', { hex: hex.slice(0, 80) });
}
