/** Bytes and digests of transactions, computed once for each transaction object. */

import { idOf, sha256 } from '../../crypto/hash.ts';
import { assert, ProtocolError } from '../../primitives/errors.ts';
import { bytesOfHex } from '../../primitives/bytes.ts';
import type { SignatureCheck, Transaction, TransactionId } from '../types.ts';
import { SENDER_AT, type BasicFields, type TransactionLayout } from './transaction-type.ts';

/** The bytes of the transactions that a set of layouts knows. Network identifiers are 32 bytes as hexadecimal text. */
export interface TransactionBytes {
  /** The layout of a type that a codec has let through. */
  layoutOf(type: number): TransactionLayout;
  /** What the primary signature covers, network identifier apart. */
  basicBytes(fields: BasicFields): Buffer;
  /** Bytes that the id and the payload hash of a block cover: with primary and second signature, without members'. */
  transactionBytes(transaction: Transaction): Buffer;
  /** What the primary signature is made over, before hashing. */
  signedBytes(fields: BasicFields, networkIdentifier: string): Buffer;
  /** Digest of `signedBytes`: what the sender and the members of a group sign. */
  signingDigest(transaction: Transaction, networkIdentifier: string): Buffer;
  /** Digest that the holder of the second key signs: it covers the primary signature too. */
  secondSigningDigest(transaction: Transaction, networkIdentifier: string): Buffer;
  /** The question that the primary signature puts. The same object each time, so that an answer can be kept by it. */
  primaryCheck(transaction: Transaction, networkIdentifier: string): SignatureCheck;
  /** The id that follows from the bytes, whatever id the transaction has. */
  computedId(transaction: Transaction): TransactionId;
  /** The transaction with the id that follows from its bytes. */
  withId(draft: Transaction): Transaction;
  /** Lets go of what was computed of all transactions met so far. Asked again, it is computed again. */
  forget(): void;
}

/**
 * What is computed of a transaction. A class, as the engine may decide of objects that are written out that they live long,
 * after a first look at a few, and then gives them a place where they stay long after they are forgotten.
 */
class Known {
  /** Room for the network identifier where one is signed, then `bytes`: so what is signed stands in one piece. */
  readonly whole: Buffer;
  /** Basic bytes followed by the signatures that the id covers. */
  readonly bytes: Buffer;
  readonly basicLength: number;
  /** The one that was asked for last, which stands in `whole`; a process serves one network. */
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
  /** The network identifier asked for last, as bytes: a process serves one network. */
  let identifier: { readonly text: string; readonly bytes: Buffer } | undefined;

  function layoutOf(type: number): TransactionLayout {
    const found = layouts.get(type);
    assert(found !== undefined, `transaction type ${type} is registered`);
    return found;
  }

  /** Bytes that signatures cover in front of the basic bytes. */
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

  /** What is known of the transaction, with the network identifier in its place. */
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

/** What the sender signs, and so many bytes behind it. */
function upToSignature({ whole, bytes, basicLength }: Known, more = 0): Buffer {
  return whole.subarray(0, whole.length - bytes.length + basicLength + more);
}

/** @throws ProtocolError `HEX_INVALID` */
function writeHex(bytes: Buffer, hex: string, at: number): void {
  // The writer stops silently at the first character that it does not know.
  if (bytes.write(hex, at, 'hex') * 2 !== hex.length) throw new ProtocolError('HEX_INVALID', { hex: hex.slice(0, 80) });
}
