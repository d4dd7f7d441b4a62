/**
 * The door through which the engine meets a generation. Everything behind it is pure and synchronous: bytes, parameters
 * and a state reader in, a decision or a rejection out. The engine knows no type number, byte layout or fork rule: when it
 * wants to, this interface lacks a member.
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

  /** The checks that `validateTransaction` will put to its oracle; lets somebody verify many of them ahead. */
  primarySignatureChecks(transaction: Transaction): readonly SignatureCheck[];

  /**
   * Seeks whose the other signatures are, which only the state can tell: those of members of a group, and of a second key. Lets
   * somebody verify them ahead, round by round. It is a hint: what is accepted does not depend on it.
   *
   * @param state state at a block near the transaction's own
   * @returns undefined for a transaction with no such signature
   */
  signatureSearch(state: StateReader, transaction: Transaction): SignatureSearch | undefined;

  /**
   * The isolation rule: not in the future, not confirmed, and applicable to `state` alone. `state` is
   * not changed.
   */
  verifyTransaction(
    state: StateReader,
    transaction: Transaction,
    nowS: number,
    verify: SignatureOracle,
  ): TransactionVerdict;

  /**
   * The spending and sequential rules over a batch in order, on a scratch copy of `state`: a verdict for each. Failing
   * and pending transactions leave no trace for later ones.
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
   * Where a transaction stands with the signatures of a group: `none` when its sender is no group and it registers none,
   * `pending` while signatures lack, `ready` when there are enough.
   */
  multisignatureStatus(
    state: StateReader,
    transaction: Transaction,
    verify: SignatureOracle,
  ): 'none' | 'pending' | 'ready';

  /**
   * Why the pool does not take a transaction that a block may hold: it is too large to wait in memory, or counts for an amount
   * that cannot be right; undefined when nothing is against it.
   */
  poolFault(transaction: Transaction): TransactionError | undefined;

  /** True for kinds that must be looked at again when another of the same kind is confirmed. */
  hasUniqueData(transaction: Transaction): boolean;

  // ---- blocks -------------------------------------------------------------------------------------------------------

  /** The checks that `validateBlock` will put to its oracle: the header's and every transaction's primary signature. */
  blockSignatureChecks(block: Block): readonly SignatureCheck[];

  /**
   * The part of `validateBlock` that costs one signature check: all but the transactions' own validity. Bounds what a block
   * costs that nobody had to work for.
   *
   * @param place as of `validateBlock`
   * @throws BlockRejected
   */
  screenBlock(block: Block, verify: SignatureOracle, place?: BlockPlace): void;

  /**
   * Everything that can be said of a block without its place in the chain: version, schema,
   * signature, payload, transactions.
   *
   * @param place where the block extends the tip: several faults are told then in the order of the reference, which looks at
   *   the reward (generation 3) or the slot (generation 2) in the midst of these
   * @throws BlockRejected
   */
  validateBlock(block: Block, verify: SignatureOracle, place?: BlockPlace): void;

  /**
   * Whether a block is by the owner of its slot, as far as that can be told before its parent is the tip. Cheap: strangers can
   * make any number of blocks that are valid but for this.
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

  /** Applies block 1, whose content is given: nothing is verified. */
  applyGenesis(state: StateWriter, genesis: Block): void;

  /** What a received block is to the tip. */
  forkStatus(tip: TipView, received: TipView): ForkStatus;

  /** Whether a tip that a peer announces is to be preferred to another, as far as an announcement can tell. */
  prefersTip(announced: AnnouncedTip, than: AnnouncedTip): boolean;

  /** Height that can never be reverted, as of `state`; 0 where a generation has no finality. */
  finalizedHeight(state: StateReader): number;

  /** Largest height with enough prevotes, as of `state`; 0 where a generation has no finality. */
  maxHeightPrevoted(state: StateReader): number;

  // ---- slots and rounds ---------------------------------------------------------------------------------------------

  /**
   * The forging order that holds for the next `activeDelegates` slots after the tip: entry `slot mod activeDelegates` forges. Shorter
   * when fewer delegates exist, empty when no list is known.
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
   * @param request.previouslyForged what the journal holds of this delegate, undefined for nothing
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

  /** What stands for the journal of a delegate that may have signed headers which the journal does not tell of. */
  handOver(state: StateReader, tip: BlockHeader, request: HandOverRequest): HandOver;
}

export interface HandOverRequest {
  readonly publicKey: PublicKey;
  /** Chain time in whole seconds after which the delegate certainly signed nowhere else. */
  readonly sinceS: number;
  /** What the journal does tell of. */
  readonly last: SignedHeader | undefined;
  /** Chain time in whole seconds. */
  readonly nowS: number;
}

/**
 * Either a header for `ForgeRequest.previouslyForged`, or why none may be signed yet and about until when (chain time), as far as
 * that can be foreseen.
 */
export type HandOver =
  | { readonly ready: true; readonly previouslyForged: SignedHeader | undefined }
  | { readonly ready: false; readonly reason: string; readonly untilS?: number };

/** Where a block that extends the tip is to stand. */
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

/** What peers say of their tips. */
export interface AnnouncedTip {
  readonly height: number;
  /** 0 where a generation does not announce it. */
  readonly maxHeightPrevoted: number;
}

/** What the journal keeps of a header that a delegate signed. */
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
   * @param id where it is known already: it costs a hash
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
  /** @param id where it is known already: it costs a hash */
  decodeHeader(bytes: Uint8Array, id?: BlockId): BlockHeader;
  /** Reads the genesis block of a network folder: content is given, so nothing but its shape is checked. */
  genesisFromJson(json: unknown): Block;
  /**
   * Lets go of bytes and digests, which are kept as long as their transactions. For who reads many blocks and is done with
   * each at once: to find out one by one that they are not needed any more is a good part of the work of the collector.
   */
  forgetTransactions(): void;
}
