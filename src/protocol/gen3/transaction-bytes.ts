/** Bytes and digests of transactions, computed once for each transaction object. */

import { sha256 } from '../../crypto/hash.ts';
import { assert } from '../../primitives/errors.ts';
import { bytesOfHex } from '../../primitives/bytes.ts';
import type { BasicFields, TransactionType } from '../tx/transaction-type.ts';
import type { SignatureCheck, Transaction } from '../types.ts';
import { GEN3_TYPES } from './transaction-types.ts';

interface Known {
  /** Basic bytes followed by the signatures that the id covers. */
  readonly bytes: Buffer;
  readonly basicLength: number;
  /** For the network identifier that it was asked for first; a process serves one network. */
  networkIdentifier?: string;
  digest?: Buffer;
  check?: SignatureCheck;
}

const known = new WeakMap<Transaction, Known>();

/** The registered type of a transaction that a codec has read. */
export function registeredType(type: number): TransactionType {
  const found = GEN3_TYPES.get(type);
  assert(found !== undefined, `transaction type ${type} is registered`);
  return found;
}

/** What the primary signature covers, network identifier apart. */
export function basicBytes(fields: BasicFields): Buffer {
  return registeredType(fields.type).encodeBasic(fields);
}

/** Bytes that the id and the payload hash of a block cover: with primary and second signature, without members'. */
export function transactionBytes(transaction: Transaction): Buffer {
  return knownOf(transaction).bytes;
}

/**
 * What the primary signature is made over, before hashing.
 *
 * @param networkIdentifier 32 bytes as hexadecimal text
 */
export function signedBytes(transaction: BasicFields, networkIdentifier: string): Buffer {
  const basic = basicBytes(transaction);
  const type = registeredType(transaction.type);
  return type.networkBound ? Buffer.concat([bytesOfHex(networkIdentifier), basic]) : basic;
}

/** Digest of `signedBytes`: what the sender and the members of a group sign. */
export function signingDigest(transaction: Transaction, networkIdentifier: string): Buffer {
  const facts = knownOf(transaction);
  if (facts.digest !== undefined && facts.networkIdentifier === networkIdentifier) return facts.digest;
  const basic = facts.bytes.subarray(0, facts.basicLength);
  facts.digest = sha256(...prefixOf(transaction, networkIdentifier), basic);
  facts.networkIdentifier = networkIdentifier;
  delete facts.check;
  return facts.digest;
}

/** Digest that the holder of the second key signs: it covers the primary signature too. */
export function secondSigningDigest(transaction: Transaction, networkIdentifier: string): Buffer {
  const { bytes, basicLength } = knownOf(transaction);
  return sha256(...prefixOf(transaction, networkIdentifier), bytes.subarray(0, basicLength + 64));
}

/** The question that the primary signature puts. The same object each time, so that an answer can be kept by it. */
export function primaryCheck(transaction: Transaction, networkIdentifier: string): SignatureCheck {
  const message = signingDigest(transaction, networkIdentifier);
  const facts = knownOf(transaction);
  facts.check ??= {
    publicKey: bytesOfHex(transaction.senderPublicKey),
    message,
    signature: facts.bytes.subarray(facts.basicLength, facts.basicLength + 64),
  };
  return facts.check;
}

function knownOf(transaction: Transaction): Known {
  const facts = known.get(transaction);
  if (facts !== undefined) return facts;
  const basic = basicBytes(transaction);
  const signatures = [bytesOfHex(transaction.signature)];
  if (transaction.signSignature !== undefined) signatures.push(bytesOfHex(transaction.signSignature));
  const computed: Known = { bytes: Buffer.concat([basic, ...signatures]), basicLength: basic.length };
  known.set(transaction, computed);
  return computed;
}

function prefixOf({ type }: Transaction, networkIdentifier: string): readonly Buffer[] {
  return registeredType(type).networkBound ? [bytesOfHex(networkIdentifier)] : [];
}
