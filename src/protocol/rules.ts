/**
 * The interface of a generation to the engine. Its implementations are pure and synchronous: they take bytes, parameters and a
 * state reader, and return a decision or a rejection. The engine knows no type number, byte layout or fork rule. If it seems to
 * need one, this interface lacks a member.
 */

import type { ChainParams } from './params.ts';
import type { StateReader, StateWriter } from './state.ts';
import type {
  Address,
  Block,
  BlockHeader,
  BlockId,
  JsonObject,
  KeyPair,
  MemberSignature,
  PublicKey,
  SignatureCheck,
  SignatureOracle,
  SignatureSearch,
  Transaction,
  TransactionId,
} from './types.ts';
import type { ForkStatus, MemberSignatureRefusal, TransactionError, TransactionVerdict } from './verdict.ts';

export interface Rules {
  readonly params: ChainParams;
  readonly codec: Codec;

  // ---- transactions -------------------------------------------------------------------------------------------------

  /**
   * Checks that need no state and are not part of parsing: the matcher of the type at a height, the primary signature, and
   * what the transaction says of itself (generation 2 documents state their id and fee).
   *
   * @param context height, version and timestamp of the block, or of the tip for the pool; undefined fields where the
   *   reference passes none, which refuses every type that has a matcher
   */
  validateTransaction(
    transaction: Transaction,
    context: TransactionContext,
    verify: SignatureOracle,
  ): readonly TransactionError[];

  /** The matcher of the type alone: why a transaction of this type must not occur in a context. */
  typeErrors(transaction: Transaction, context: TransactionContext): readonly TransactionError[];

  /** The checks that `validateTransaction` asks its oracle for, so that many of them can be made ahead. */
  primarySignatureChecks(transaction: Transaction): readonly SignatureCheck[];

  /**
   * Finds the keys of the other signatures, those of group members and of a second key; only the state has these keys. The
   * search asks for checks in rounds, so that they can be made ahead. It is a hint: no decision depends on it.
   *
   * @param state state at a block near the transaction's own
   * @returns undefined for a transaction with no such signature
   */
  signatureSearch(state: StateReader, transaction: Transaction): SignatureSearch | undefined;

  /**
   * The isolation rule: the transaction is not in the future, not confirmed, and applicable to `state` alone. `state` does not
   * change.
   */
  verifyTransaction(
    state: StateReader,
    transaction: Transaction,
    nowS: number,
    verify: SignatureOracle,
  ): TransactionVerdict;

  /**
   * Applies the spending and sequential rules to a batch in order, on a scratch copy of `state`. Returns a verdict for each
   * transaction. Failing and pending transactions do not affect later ones.
   */
  processTransactions(
    state: StateReader,
    transactions: readonly Transaction[],
    verify: SignatureOracle,
  ): readonly TransactionVerdict[];

  /**
   * Adds a member's signature to a pending transaction.
   *
   * @returns the transaction with it and its verdict on signatures alone, or the errors that refuse it
   */
  addMemberSignature(
    state: StateReader,
    transaction: Transaction,
    signature: MemberSignature,
    verify: SignatureOracle,
  ): { readonly transaction: Transaction; readonly complete: boolean } | MemberSignatureRefusal;

  /**
   * The state of a transaction's group signatures: `none` if its sender is no group and it registers none, `pending` while
   * signatures are missing, `ready` when there are enough.
   */
  multisignatureStatus(
    state: StateReader,
    transaction: Transaction,
    verify: SignatureOracle,
  ): 'none' | 'pending' | 'ready';

  /**
   * The reason why the pool does not take a transaction that a block may hold: it is too large for the memory, or counts for an
   * impossible amount. Undefined if the pool may take it.
   */
  poolFault(transaction: Transaction): TransactionError | undefined;

  /** True for kinds that must be verified again when another transaction of the same kind is confirmed. */
  hasUniqueData(transaction: Transaction): boolean;

  // ---- blocks -------------------------------------------------------------------------------------------------------

  /** The checks that `validateBlock` asks its oracle for: the signature of the header and each primary signature. */
  blockSignatureChecks(block: Block): readonly SignatureCheck[];

  /**
   * The part of `validateBlock` that costs one signature check: everything except the validity of the transactions. It bounds
   * the cost of a block that anybody can make up.
   *
   * @param place as of `validateBlock`
   * @throws BlockRejected
   */
  screenBlock(block: Block, verify: SignatureOracle, place?: BlockPlace): void;

  /**
   * Checks all of a block that does not depend on its place in the chain: version, schema, signature, payload, transactions.
   *
   * @param place given if the block extends the tip. Then several faults are reported in the order of the reference, which
   *   checks the reward (generation 3) or the slot (generation 2) in between
   * @throws BlockRejected
   */
  validateBlock(block: Block, verify: SignatureOracle, place?: BlockPlace): void;

  /**
   * Checks that a block is by its slot owner, as far as that is known before its parent is the tip. The check is cheap:
   * strangers can make any number of blocks that are valid except for the slot owner.
   *
   * @param state state at the parent or at a rival of the block
   * @throws BlockRejected `BLOCK_FORGER_INVALID`
   */
  verifySlotOwner(state: StateReader, block: BlockHeader): void;

  /**
   * Verifies a validated block against the state of its parent and applies it: position, slot, forger, reward, finality,
   * the isolation, spending and sequential rules, round end. Writes nothing about the block itself (the store keeps it).
   *
   * @param state state at the parent; holds partial writes when this throws, so the caller must drop it
   * @throws BlockRejected
   */
  applyBlock(state: StateWriter, block: Block, context: ApplyContext): void;

  /** Applies block 1 without verification: its content is given. */
  applyGenesis(state: StateWriter, genesis: Block): void;

  /** The relation of a received block to the tip. */
  forkStatus(tip: TipView, received: TipView): ForkStatus;

  /** Whether a tip that a peer announces is better than another one, judged by the announcement alone. */
  prefersTip(announced: AnnouncedTip, than: AnnouncedTip): boolean;

  /** Height that can never be reverted, as of `state`; 0 where a generation has no finality. */
  finalizedHeight(state: StateReader): number;

  /** Largest height with enough prevotes, as of `state`; 0 where a generation has no finality. */
  maxHeightPrevoted(state: StateReader): number;

  // ---- slots and rounds ---------------------------------------------------------------------------------------------

  /**
   * The forging order that holds for the next `activeDelegates` slots after the tip: entry `slot mod activeDelegates` forges.
   * Shorter when fewer delegates exist, empty when no list is known.
   *
   * @param height height of the block to be forged
   */
  forgers(state: StateReader, height: number): readonly PublicKey[];

  // ---- forging ------------------------------------------------------------------------------------------------------

  /** Picks and orders transactions of a block from candidates. */
  selectTransactions(
    state: StateReader,
    candidates: readonly Transaction[],
    context: TransactionContext,
    verify: SignatureOracle,
  ): readonly Transaction[];

  /**
   * Builds and signs the next block.
   *
   * @param request.previouslyForged the last header of this delegate in the journal; undefined without one
   * @throws ProtocolError `FORGING_CONTRADICTS`, before anything is signed, when the header would contradict that one
   * @throws ProtocolError `FORGER_LEAVES` when the reference would refuse the block
   */
  forge(state: StateReader, tip: BlockHeader, request: ForgeRequest): Block;

  /**
   * Whether two headers of one delegate must not both be signed.
   *
   * @returns the sentence that says why, or undefined when they may
   */
  contradiction(earlier: SignedHeader, header: SignedHeader): string | undefined;

  /** Replaces the journal of a delegate that may have signed headers which are not in the journal. */
  handOver(state: StateReader, tip: BlockHeader, request: HandOverRequest): HandOver;
}

export interface HandOverRequest {
  readonly publicKey: PublicKey;
  /** Chain time in whole seconds after which the delegate certainly signed nowhere else. */
  readonly sinceS: number;
  /** The last header in the journal. */
  readonly last: SignedHeader | undefined;
  /** Chain time in whole seconds. */
  readonly nowS: number;
}

/**
 * Either a header for `ForgeRequest.previouslyForged`, or the reason why none may be signed yet, with the probable end of the
 * wait (chain time) if it is known.
 */
export type HandOver =
  | { readonly ready: true; readonly previouslyForged: SignedHeader | undefined }
  | { readonly ready: false; readonly reason: string; readonly untilS?: number };

/** The place of a block that extends the tip. */
export interface BlockPlace {
  /** State at the parent. */
  readonly state: StateReader;
  /** Present chain time in whole seconds since the epoch. */
  readonly nowS: number;
}

export interface TransactionContext {
  readonly blockHeight?: number;
  readonly blockVersion?: number;
  readonly blockTimestamp?: number;
}

export interface ApplyContext {
  /** Present chain time in whole seconds since the epoch. */
  readonly nowS: number;
  readonly verify: SignatureOracle;
}

/** A tip as fork choice sees it. */
export interface TipView {
  readonly header: BlockHeader;
  /** Chain time of receipt in whole seconds; undefined when forged, synced or loaded, which counts as in time. */
  readonly receivedAtS?: number;
}

/** The tip of a peer as it announces it. */
export interface AnnouncedTip {
  readonly height: number;
  /** 0 where a generation does not announce it. */
  readonly maxHeightPrevoted: number;
}

/** The members of a signed header that the journal keeps. */
export interface SignedHeader {
  readonly blockId: string;
  readonly height: number;
  /** Whole seconds since the epoch. */
  readonly timestamp: number;
  readonly maxHeightPrevoted: number;
  readonly maxHeightPreviouslyForged: number;
}

export interface ForgeRequest {
  readonly keyPair: KeyPair;
  /** Whole seconds since the epoch: the start of the slot. */
  readonly timestamp: number;
  readonly transactions: readonly Transaction[];
  readonly previouslyForged: SignedHeader | undefined;
}

/** Bytes and JSON of a generation's blocks and transactions. */
export interface Codec {
  /**
   * Reads a transaction from JSON with all static checks but the signature.
   *
   * @throws TransactionRejected `TRANSACTION_TYPE_UNKNOWN` or `TRANSACTION_INVALID` with every error found
   */
  transactionFromJson(json: unknown): Transaction;
  /** The generation's own JSON members and nothing else: what is gossiped and served to peers. */
  transactionToJson(transaction: Transaction): JsonObject;
  /** Stored form: the signed bytes, then what they do not cover. */
  encodeTransaction(transaction: Transaction): Uint8Array;
  /**
   * @param id if it is known already, which saves a hash
   * @param senderId likewise
   */
  decodeTransaction(bytes: Uint8Array, id?: TransactionId, senderId?: Address): Transaction;
  /**
   * Reads a block from JSON; ids are computed, never believed.
   *
   * @throws BlockRejected `BLOCK_MALFORMED`, `BLOCK_VERSION_INVALID` or `BLOCK_TRANSACTION_INVALID`
   */
  blockFromJson(json: unknown): Block;
  /** The generation's wire members, amounts and totals as the generation sends them. */
  blockToJson(block: Block): JsonObject;
  /** Members of a header alone, as an answer to a common-block question. */
  headerToJson(header: BlockHeader): JsonObject;
  /** Stored form of a header: the signed bytes, the signature, and the height where it is not signed. */
  encodeHeader(header: BlockHeader): Uint8Array;
  /** @param id if it is known already, which saves a hash */
  decodeHeader(bytes: Uint8Array, id?: BlockId): BlockHeader;
  /** Reads the genesis block of a network folder: content is given, so nothing but its shape is checked. */
  genesisFromJson(json: unknown): Block;
  /**
   * Frees bytes and digests, which otherwise live as long as their transactions. A caller that reads many blocks, each only for
   * a moment, saves the garbage collector much work with it.
   */
  forgetTransactions(): void;
}
