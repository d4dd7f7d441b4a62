/**
 * Defines the types of blocks and transactions. Both generations use the same types. The codec of each generation
 * converts values of these types to the bytes and JSON of the protocol, and back. Only the codecs depend on the byte
 * layout of the protocol.
 */

/**
 * Hexadecimal text of 32 bytes, in lower case, with two exceptions. First, the key in a `MemberSignature` can have
 * upper-case letters. Second, `Account.publicKey` can have upper-case letters while the node applies a block, because
 * later transactions of the account in the block must contain the key in the same letter case (`tx/apply.ts`).
 */
export type PublicKey = string;
/** Hexadecimal text of 64 bytes, in lower case except in `Transaction.signatures` and `MemberSignature`. */
export type Signature = string;
/**
 * Decimal text of an unsigned 64-bit integer, followed by `L`. A recipient can also be `NaNL` (`tx/recipient.ts`). In
 * exceptions of a network, and in old transfers out of an application, a recipient can also be another text.
 */
export type Address = string;
/** Decimal text of an unsigned 64-bit integer, without leading zeros. */
export type BlockId = string;
/**
 * Decimal text of an unsigned 64-bit integer, without leading zeros. The ids in payloads and in `MemberSignature` can
 * have another form, for example leading zeros.
 */
export type TransactionId = string;
/** Any value that `JSON.parse` returns. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/**
 * The content of a transaction; the member `kind` names the kind of the transaction. Both generations have the first
 * five kinds, with different type numbers and bytes. Only generation 2 has the last three kinds. The old blocks of a
 * generation-3 chain that began as a generation-2 chain have the kinds, type numbers and bytes of generation 2.
 */
export type Payload =
  | { readonly kind: 'transfer'; readonly amount: bigint; readonly recipientId: Address; readonly data?: string }
  | { readonly kind: 'secondSignature'; readonly publicKey: PublicKey }
  | { readonly kind: 'delegate'; readonly username: string }
  | {
      readonly kind: 'vote';
      /**
       * Each vote is `+` or `-`, followed by a public key in the letter case that the sender wrote. The signatures
       * cover the order of the votes and the letter case of the keys.
       */
      readonly votes: readonly string[];
      /**
       * The amount, in beddows. The amount of a vote transaction of type 11 is always 0. The rules of generation 2
       * refuse a vote transaction of type 3 whose amount is not 0. These rules accept such a transaction only in the
       * genesis block, or if the exceptions of the network list the transaction (`Exceptions` in `params.ts`). The
       * rules of generation 3 do not require the amount 0 in type 3.
       */
      readonly amount: bigint;
      /**
       * The recipient of a vote transaction of type 3. This type occurs in generation 2, and in old blocks of
       * generation 3. The recipient of a vote transaction of type 11 is undefined. Type 11 occurs only in generation 3.
       */
      readonly recipientId?: Address;
    }
  | {
      readonly kind: 'multisignature';
      readonly min: number;
      readonly lifetime: number;
      /** Each entry is `+`, followed by a member's public key in the letter case that the sender wrote. */
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

/**
 * The registration of an application (dapp). Only old blocks are allowed to contain a registration of this kind
 * (`Exceptions.precedent`).
 */
export interface DappDescription {
  readonly category: number;
  readonly name: string;
  readonly description?: string;
  readonly tags?: string;
  readonly type: number;
  readonly link?: string;
  readonly icon?: string;
}

/**
 * A transaction that passed the checks of its generation's codec (`Codec.transactionFromJson`). The codec does not
 * check the signatures. In generation 2, the codec also does not check the id and the fee. The members that the codec
 * does not check can still be wrong. For transactions of the genesis block, and for transactions in the exceptions of
 * the network, the codec also omits some of its other checks.
 */
export interface Transaction {
  readonly id: TransactionId;
  readonly type: number;
  /** Whole seconds since the network's epoch. The timestamp can be any signed 32-bit integer. */
  readonly timestamp: number;
  readonly senderPublicKey: PublicKey;
  readonly senderId: Address;
  /** Fee in beddows. */
  readonly fee: bigint;
  readonly payload: Payload;
  /** The primary signature, which is made with the sender's key. */
  readonly signature: Signature;
  /** The second signature, which is made with the second key that the sender has registered. */
  readonly signSignature?: Signature;
  /**
   * Signatures of members of a multisignature group. Nodes refuse a transaction whose list contains the same signature
   * twice. For this check, nodes compare the hexadecimal texts, so the letter case counts. Signatures that arrived with
   * the transaction therefore keep their letter case. Neither the signed bytes nor the id include the signatures of
   * group members.
   */
  readonly signatures: readonly Signature[];
  /**
   * A transaction of generation 2 can state the public key of its recipient here. In a transfer or a vote, the
   * recipient must be the address of this key. The key has no other effect, and no signature covers the key.
   */
  readonly recipientPublicKey?: PublicKey;
  /**
   * The original JSON of some members. This value exists only if the node cannot compute this JSON from the other
   * members of the transaction. The value is undefined for nearly all transactions.
   */
  readonly written?: OriginalJson;
}

/**
 * Members of a transaction in the form in which the sender wrote them in JSON. No signature covers this form, but nodes
 * pass these members on in this form.
 */
export interface OriginalJson {
  /**
   * The sender's public key with the upper-case letters that the sender wrote; undefined for a lower-case key. Nodes
   * accept upper-case letters only in the block in which the account gets its public key (`tx/apply.ts`).
   */
  readonly senderPublicKey?: string;
  /**
   * The JSON text of the asset, if the asset has unknown members, or members in an unusual form. The node cannot
   * compute the text of such an asset from the payload. For every other asset, the value is undefined.
   */
  readonly asset?: string;
}

/** A block without its transactions. The genesis block has height 1. */
export interface BlockHeader {
  readonly id: BlockId;
  readonly version: number;
  readonly height: number;
  /** Whole seconds since the network's epoch. */
  readonly timestamp: number;
  /** Id of the previous block. In a validated block, the id is undefined only for the genesis block. */
  readonly previousBlockId?: BlockId;
  readonly numberOfTransactions: number;
  /** Total amount of the transactions of the block, in beddows. */
  readonly totalAmount: bigint;
  /** Total fee of the transactions of the block, in beddows. */
  readonly totalFee: bigint;
  /** Reward of the block in beddows, as the header states it. */
  readonly reward: bigint;
  /**
   * Number of bytes of the payload, as the generator states this number. The generator signs this number, and nodes
   * refuse a number above `PAYLOAD_BYTES_MAX`. However, no node compares the number with the real size.
   */
  readonly payloadLength: number;
  /** SHA-256 of the bytes of all transactions in their order, hexadecimal. */
  readonly payloadHash: string;
  readonly generatorPublicKey: PublicKey;
  readonly blockSignature: Signature;
  /**
   * The greatest height at which the generator has signed a header before, as the generator itself states this height
   * (LIP-0014). Only blocks of version 2 (generation 3) contain this height. For blocks of earlier versions, the value
   * is 0.
   */
  readonly maxHeightPreviouslyForged: number;
  /**
   * The largest height that has enough prevotes in the chain below this block, as the generator states this height
   * (LIP-0014). Only blocks of version 2 (generation 3) contain this height. For blocks of earlier versions, the value
   * is 0.
   */
  readonly maxHeightPrevoted: number;
}

export interface Block extends BlockHeader {
  readonly transactions: readonly Transaction[];
}

/** Signature of a group member for a pending transaction. Key and signature can have upper-case letters. */
export interface MemberSignature {
  readonly transactionId: TransactionId;
  readonly publicKey: PublicKey;
  readonly signature: Signature;
}

/**
 * The input of an Ed25519 check. The check finds out whether `signature` (64 bytes) is valid for the key `publicKey`
 * (32 bytes) and for `message` (a digest of 32 bytes).
 */
export interface SignatureCheck {
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** Returns the result of a check synchronously, either from the signature cache or by verifying the signature. */
export type SignatureOracle = (check: SignatureCheck) => boolean;

/**
 * A search for the keys with which a transaction was signed. Each step yields checks. The caller passes their results,
 * in the same order, to the next step.
 */
export type SignatureSearch = Generator<readonly SignatureCheck[], void, readonly boolean[]>;

/** Ed25519 key pair: a public key of 32 bytes, and a private key of 64 bytes (the seed followed by the public key). */
export interface KeyPair {
  readonly publicKey: Uint8Array;
  readonly privateKey: Uint8Array;
}
