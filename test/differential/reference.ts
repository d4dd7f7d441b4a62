/**
 * The published packages of the reference (lisk-sdk), with one replacement: they verify signatures with our Ed25519.
 * Without a native library, the Ed25519 of these packages takes 15 ms for each signature. `test/crypto` tests our
 * Ed25519.
 */

import { createRequire } from 'node:module';
import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import type { Generation } from '../../src/protocol/params.ts';
import type { Json, JsonObject } from '../../src/protocol/types.ts';

/** An error of a transaction in the format of the reference (lisk-sdk). */
export interface ReferenceError {
  readonly name?: string;
  readonly message: string;
  readonly dataPath?: string;
}

export interface ReferenceResponse {
  readonly id: string;
  /** 0 means failed, 1 means ok, 2 means that signatures of members are missing. */
  status: number;
  errors: readonly ReferenceError[];
}

export interface ReferenceNumber {
  plus(other: unknown): ReferenceNumber;
  sub(other: unknown): ReferenceNumber;
  lt(other: ReferenceNumber): boolean;
  toBuffer(options: { readonly size: number; readonly endian: 'little' | 'big' }): Buffer;
  equals(other: unknown): boolean;
  toString(): string;
}

/** The members of a transaction that the node of the reference (lisk-sdk) uses. */
export interface ReferenceTransaction {
  readonly id: string;
  readonly type: number;
  readonly senderId: string;
  readonly senderPublicKey: string;
  readonly timestamp: number;
  readonly fee: ReferenceNumber;
  /** Only generation 2 has this member. In generation 3, the asset contains the amount. */
  readonly amount?: ReferenceNumber;
  readonly recipientId?: string;
  readonly asset: { readonly amount?: unknown; readonly recipientId?: string; readonly votes?: readonly string[] };
  readonly signatures: readonly string[];
  validate(): ReferenceResponse;
  prepare(store: unknown): Promise<void>;
  apply(store: unknown): ReferenceResponse;
  getBytes(): Buffer;
  getBasicBytes(): Buffer;
  toJSON(): JsonObject;
}

export type TransactionClass = new (json: object) => ReferenceTransaction;

export interface ReferencePackage {
  readonly generation: Generation;
  /** File to which the name of the package resolves. */
  readonly main: string;
  /** Class of a transaction type. Undefined for a type that the generation does not have. */
  classOf(type: unknown): TransactionClass | undefined;
  number(value: unknown): ReferenceNumber;
}

const require = createRequire(import.meta.url);
const CLASS_NAMES = [
  'TransferTransaction',
  'SecondSignatureTransaction',
  'DelegateTransaction',
  'VoteTransaction',
  'MultisignatureTransaction',
];

const packages = new Map<Generation, ReferencePackage>();

/** Returns the transactions package of a generation from `node_modules` of this project. */
export function referencePackage(generation: Generation): ReferencePackage {
  const known = packages.get(generation);
  if (known !== undefined) return known;
  const made = loadPackage(generation, require.resolve(`lisk-transactions-${generation}`));
  packages.set(generation, made);
  return made;
}

/** @param main file to which the name of the package resolves */
export function loadPackage(generation: Generation, main: string): ReferencePackage {
  const own = createRequire(main);
  answerSignatures(own('@liskhq/lisk-cryptography/dist-node/nacl') as Nacl);
  const exported = own(main) as Record<string, TransactionClass>;
  const first = generation === 2 ? 0 : 8;
  const classes = new Map(CLASS_NAMES.map((each, index) => [first + index, exported[each]]));
  const BigNum = own('@liskhq/bignum') as new (value: unknown) => ReferenceNumber;
  return {
    generation,
    main,
    classOf: (type) => classes.get(type as number),
    number: (value) => new BigNum(value),
  };
}

interface Nacl {
  verifyDetached: (message: Buffer, signature: Buffer, publicKey: Buffer) => boolean;
}

function answerSignatures(nacl: Nacl): void {
  const own = nacl.verifyDetached;
  const ed25519 = defaultEd25519();
  nacl.verifyDetached = (message, signature, publicKey) =>
    message.length === 32 && signature.length === 64 && publicKey.length === 32
      ? ed25519.verify({ message, signature, publicKey })
      : own(message, signature, publicKey);
}

/**
 * Creates a transaction of the reference (lisk-sdk) from a document, as a lisk-sdk node does. @throws Error for an
 * unknown type; errors of the constructor
 */
export function referenceTransaction(
  { classOf, generation }: ReferencePackage,
  json: unknown,
  networkIdentifier: string,
): ReferenceTransaction {
  const Class = classOf((json as { type?: Json } | null)?.type);
  if (Class === undefined) throw new Error('Transaction type not found.');
  return new Class({ ...(json as object), ...(generation === 3 ? { networkIdentifier } : {}) });
}
