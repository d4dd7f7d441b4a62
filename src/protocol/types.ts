/**
 * What blocks and transactions are, for both generations. Bytes and type numbers are the business of a generation's
 * codec; everything above it reads these values only.
 */

/** Lower-case hexadecimal text of 32 bytes. */
export type PublicKey = string;
/** Lower-case hexadecimal text of 64 bytes. */
export type Signature = string;
/** Decimal text of an unsigned 64-bit integer, followed by `L`. */
export type Address = string;
/** Canonical decimal text of an unsigned 64-bit integer. */
export type BlockId = string;
/** Canonical decimal text of an unsigned 64-bit integer. */
export type TransactionId = string;
/** Any value that came out of `JSON.parse`. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** What a transaction does. The kinds are common to both generations; their type numbers and bytes are not. */
export type Payload =
  | { readonly kind: 'transfer'; readonly amount: bigint; readonly recipientId: Address; readonly data?: string }
  | { readonly kind: 'secondSignature'; readonly publicKey: PublicKey }
  | { readonly kind: 'delegate'; readonly username: string }
  | {
      readonly kind: 'vote';
      /** `+` or `-` followed by a public key as the sender wrote it: order and letter case are signed. */
      readonly votes: readonly string[];
      /** Generation 2 only, and 0 except for an exception transaction. */
      readonly amount: bigint;
      /** Generation 2 votes name a recipient; undefined in generation 3. */
      readonly recipientId?: Address;
    }
  | {
      readonly kind: 'multisignature';
      readonly min: number;
      readonly lifetime: number;
      /** `+` followed by a public key as the sender wrote it. */
      readonly keysgroup: readonly string[];
    }
  | { readonly kind: 'dapp'; readonly dapp: DappDescription }
  | {
      readonly kind: 'inTransfer';
      readonly amount: bigint;
      readonly dappId: TransactionId;
      readonly recipientId?: Address;
    }
  | {
      readonly kind: 'outTransfer';
      readonly amount: bigint;
      readonly recipientId: Address;
      readonly dappId: TransactionId;
      readonly transactionId: TransactionId;
    };

export type PayloadKind = Payload['kind'];

/** Application registration of the early generation 2 history. */
export interface DappDescription {
  readonly category: number;
  readonly name: string;
  readonly description?: string;
  readonly tags?: string;
  readonly type: number;
  readonly link?: string;
  readonly icon?: string;
}

/** A transaction that passed its generation's static checks, signatures apart. */
export interface Transaction {
  readonly id: TransactionId;
  readonly type: number;
  /** Whole seconds since the network's epoch; any signed 32-bit integer. */
  readonly timestamp: number;
  readonly senderPublicKey: PublicKey;
  readonly senderId: Address;
  /** Beddows. */
  readonly fee: bigint;
  readonly payload: Payload;
  readonly signature: Signature;
  readonly signSignature?: Signature;
  /**
   * Member signatures of a multisignature group; outside the signed bytes and the id. In the letter case that they were written
   * in: the network tells two by their text.
   */
  readonly signatures: readonly Signature[];
  /** Generation 2: informational key of the recipient, never signed. */
  readonly recipientPublicKey?: PublicKey;
  /** Undefined for nearly all. */
  readonly written?: Written;
}

/** What the network keeps of how a sender wrote a transaction, although it follows from nothing that was signed. */
export interface Written {
  /** The key with capitals, where it has some. Inside its block the network compares keys by their text. */
  readonly senderPublicKey?: string;
  /** JSON of the asset where members of it are unknown or written otherwise than nodes write them. */
  readonly asset?: string;
}

/** A block without its transactions. Heights count from 1 (genesis). */
export interface BlockHeader {
  readonly id: BlockId;
  readonly version: number;
  readonly height: number;
  /** Whole seconds since the network's epoch. */
  readonly timestamp: number;
  /** Undefined on the genesis block only. */
  readonly previousBlockId?: BlockId;
  readonly numberOfTransactions: number;
  /** Beddows. */
  readonly totalAmount: bigint;
  /** Beddows. */
  readonly totalFee: bigint;
  /** Beddows. */
  readonly reward: bigint;
  /** Declared bytes of the payload: signed, bounded, never compared with the real length. */
  readonly payloadLength: number;
  /** SHA-256 of the transactions' bytes in block order, hexadecimal. */
  readonly payloadHash: string;
  readonly generatorPublicKey: PublicKey;
  readonly blockSignature: Signature;
  /** Generation 3, version 2; 0 in older blocks. */
  readonly maxHeightPreviouslyForged: number;
  /** Generation 3, version 2; 0 in older blocks. */
  readonly maxHeightPrevoted: number;
}

export interface Block extends BlockHeader {
  readonly transactions: readonly Transaction[];
}

/** Signature of one group member over a pending transaction. */
export interface MemberSignature {
  readonly transactionId: TransactionId;
  readonly publicKey: PublicKey;
  readonly signature: Signature;
}

/** One Ed25519 question: is `signature` (64 bytes) of `publicKey` (32 bytes) over `message` (a 32-byte digest)? */
export interface SignatureCheck {
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** Answers a check at once, from memory or by computing it. */
export type SignatureOracle = (check: SignatureCheck) => boolean;

/** Questions in rounds: each yields checks and takes their answers, in order. */
export type SignatureSearch = Generator<readonly SignatureCheck[], void, readonly boolean[]>;

/** Ed25519 key pair: 32-byte public key, 64-byte private key (seed followed by the public key). */
export interface KeyPair {
  readonly publicKey: Uint8Array;
  readonly privateKey: Uint8Array;
}
