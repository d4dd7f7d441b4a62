/** Bytes and digests of transactions, computed once for each transaction object. */

import { idOf, sha256 } from '../../crypto/hash.ts';
import { assert, ProtocolError } from '../../primitives/errors.ts';
import { bytesOfHex } from '../../primitives/bytes.ts';
import type { SignatureCheck, Transaction } from '../types.ts';
import type { BasicFields, TransactionLayout } from './transaction-type.ts';

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
  /** The transaction with the id that follows from its bytes. */
  withId(draft: Transaction): Transaction;
}

interface Known {
  /** Basic bytes followed by the signatures that the id covers. */
  readonly bytes: Buffer;
  readonly basicLength: number;
  /** For the network identifier that it was asked for first; a process serves one network. */
  networkIdentifier?: string;
  digest?: Buffer;
  check?: SignatureCheck;
}

export function createTransactionBytes(layouts: ReadonlyMap<number, TransactionLayout>): TransactionBytes {
  const known = new WeakMap<Transaction, Known>();
  /** The network identifier asked for last, as bytes: a process serves one network. */
  let prefix: { readonly networkIdentifier: string; readonly parts: readonly Buffer[] } | undefined;

  function layoutOf(type: number): TransactionLayout {
    const found = layouts.get(type);
    assert(found !== undefined, `transaction type ${type} is registered`);
    return found;
  }

  function basicBytes(fields: BasicFields): Buffer {
    return layoutOf(fields.type).encodeBasic(fields);
  }

  function knownOf(transaction: Transaction): Known {
    const facts = known.get(transaction);
    if (facts !== undefined) return facts;
    const computed = factsOf(transaction);
    known.set(transaction, computed);
    return computed;
  }

  function factsOf(transaction: Transaction): Known {
    const basic = basicBytes(transaction);
    const { signature, signSignature = '' } = transaction;
    const bytes = Buffer.allocUnsafe(basic.length + (signature.length + signSignature.length) / 2);
    bytes.set(basic);
    writeHex(bytes, signature, basic.length);
    writeHex(bytes, signSignature, basic.length + signature.length / 2);
    return { bytes, basicLength: basic.length };
  }

  function prefixOf({ type }: BasicFields, networkIdentifier: string): readonly Buffer[] {
    if (!layoutOf(type).networkBound) return [];
    if (prefix?.networkIdentifier !== networkIdentifier) {
      prefix = { networkIdentifier, parts: [bytesOfHex(networkIdentifier)] };
    }
    return prefix.parts;
  }

  function signingDigest(transaction: Transaction, networkIdentifier: string): Buffer {
    const facts = knownOf(transaction);
    if (facts.digest !== undefined && facts.networkIdentifier === networkIdentifier) return facts.digest;
    const basic = facts.bytes.subarray(0, facts.basicLength);
    facts.digest = sha256(...prefixOf(transaction, networkIdentifier), basic);
    facts.networkIdentifier = networkIdentifier;
    delete facts.check;
    return facts.digest;
  }

  return {
    layoutOf,
    basicBytes,
    transactionBytes: (transaction) => knownOf(transaction).bytes,
    signedBytes: (fields, networkIdentifier) =>
      Buffer.concat([...prefixOf(fields, networkIdentifier), basicBytes(fields)]),
    signingDigest,
    secondSigningDigest: (transaction, networkIdentifier) => {
      const { bytes, basicLength } = knownOf(transaction);
      return sha256(...prefixOf(transaction, networkIdentifier), bytes.subarray(0, basicLength + 64));
    },
    primaryCheck: (transaction, networkIdentifier) => {
      const message = signingDigest(transaction, networkIdentifier);
      const facts = knownOf(transaction);
      facts.check ??= {
        publicKey: bytesOfHex(transaction.senderPublicKey),
        message,
        signature: facts.bytes.subarray(facts.basicLength, facts.basicLength + 64),
      };
      return facts.check;
    },
    withId: (draft) => {
      const facts = factsOf(draft);
      const transaction = { ...draft, id: idOf(facts.bytes) };
      known.set(transaction, facts);
      return transaction;
    },
  };
}

/** @throws ProtocolError `HEX_INVALID` */
function writeHex(bytes: Buffer, hex: string, at: number): void {
  // The writer stops silently at the first character that it does not know.
  if (bytes.write(hex, at, 'hex') * 2 !== hex.length) throw new ProtocolError('HEX_INVALID', { hex: hex.slice(0, 80) });
}
