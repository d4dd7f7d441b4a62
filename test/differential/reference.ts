/**
 * The published packages of the reference, with one thing of ours in them: they ask our Ed25519, as their own without a native
 * library takes 15 ms a signature. Which signatures count is another suite's subject (`test/crypto`).
 */

import { createRequire } from 'node:module';
import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import type { Generation } from '../../src/protocol/params.ts';
import type { Json, JsonObject } from '../../src/protocol/types.ts';

/** An error of a transaction as the reference has it. */
export interface ReferenceError {
  readonly name?: string;
  readonly message: string;
  readonly dataPath?: string;
}

export interface ReferenceResponse {
  readonly id: string;
  /** 0 fails, 1 is right, 2 lacks signatures of members. */
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

/** What the reference's node uses of a transaction. */
export interface ReferenceTransaction {
  readonly id: string;
  readonly type: number;
  readonly senderId: string;
  readonly senderPublicKey: string;
  readonly timestamp: number;
  readonly fee: ReferenceNumber;
  /** Generation 2. */
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
  /** File that the package's name leads to. */
  readonly main: string;
  /** The class of a type, undefined for a type that the generation does not have. */
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

/** The package of transactions that is installed for tests. */
export function referencePackage(generation: Generation): ReferencePackage {
  const known = packages.get(generation);
  if (known !== undefined) return known;
  const made = loadPackage(generation, require.resolve(`lisk-transactions-${generation}`));
  packages.set(generation, made);
  return made;
}

/** @param main file of the package that its name leads to */
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

/** The reference's transaction of a document, as its node makes it. @throws Error for an unknown type and of the class */
export function referenceTransaction(
  { classOf, generation }: ReferencePackage,
  json: unknown,
  networkIdentifier: string,
): ReferenceTransaction {
  const Class = classOf((json as { type?: Json } | null)?.type);
  if (Class === undefined) throw new Error('Transaction type not found.');
  return new Class({ ...(json as object), ...(generation === 3 ? { networkIdentifier } : {}) });
}
