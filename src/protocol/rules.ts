/**
 * Defines the interface through which the engine uses the rules of a generation. All functions are synchronous. The
 * functions do not read files, the network or the clock. They get all data, such as the state, as arguments. Code of
 * the engine must not depend on type numbers, byte layouts or fork rules. If the engine needs one of these details, add
 * a member to the interface.
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
   * Makes the checks of a transaction that need no state. The function does not repeat checks that the parser of the
   * transaction has made. The function checks the primary signature (the signature of the sender's first key). The
   * function also checks whether a block with the height, version and timestamp in `context` is allowed to contain this
   * type of transaction. In generation 2, the function also checks the id and the fee that the transaction states.
   *
   * @param context height, version and timestamp of the block; for a transaction of the pool, the values of the tip. If
   *   the same check in lisk-sdk does not get one of the three values, this value is undefined here, too. If the height
   *   is undefined, the function refuses all types that are limited to a range of heights
   */
  validateTransaction(
    transaction: Transaction,
    context: TransactionContext,
    verify: SignatureOracle,
  ): readonly TransactionError[];

  /**
   * Returns a list with one error if a block with the height, version and timestamp in `context` is not allowed to
   * contain this type of transaction. Returns an empty list if the block is allowed to contain this type.
   */
  typeErrors(transaction: Transaction, context: TransactionContext): readonly TransactionError[];

  /**
   * Returns the signature checks that `validateTransaction` makes. The node can let other threads make these checks
   * before it calls `validateTransaction`.
   */
  primarySignatureChecks(transaction: Transaction): readonly SignatureCheck[];

  /**
   * Creates a search for the keys with which a transaction was signed. The search covers the second signature and the
   * members' signatures (signatures by members of a multisignature account). The search does not cover the primary
   * signature. The search takes the possible keys from the state. If the transaction registers a multisignature account
   * (a group), the search takes the members' keys from the transaction. The search yields signature checks in several
   * steps, so that other threads can make the checks before the transaction is verified. The search returns no value.
   * The search only makes the later verification faster: after the search, the signature cache has the results of the
   * checks. If the search found a member for each signature of a member, the verification also tries the right
   * member's key first. No verdict on the transaction depends on the search.
   *
   * @param state the state from which the search takes the keys, usually the state at the tip. The state need not be
   *   the state directly before the block that will contain the transaction
   * @returns undefined if the transaction has only its primary signature
   */
  signatureSearch(state: StateReader, transaction: Transaction): SignatureSearch | undefined;

  /**
   * Verifies one transaction against `state`, without changing `state`. The function makes three checks: the slot of
   * the transaction's timestamp is not in the future, the transaction is not in the chain, and the transaction can be
   * applied to `state`. An inert transaction (a transaction that the exceptions of the network list in
   * `inertTransactions`) always gets the verdict `ok`.
   *
   * @param nowS current chain time in whole seconds since the epoch of the network
   */
  verifyTransaction(
    state: StateReader,
    transaction: Transaction,
    nowS: number,
    verify: SignatureOracle,
  ): TransactionVerdict;

  /**
   * Applies the transactions of a batch, one after another, to a copy of `state`. Returns a verdict for each
   * transaction. A transaction with the verdict `fail` or `pending` does not change the copy. A transaction also fails
   * if the chain already has this transaction, or if `poolFault` returns an error for the transaction. In generation 2,
   * a transaction also fails if `forgingFault` (`gen2/transactions.ts`) returns an error.
   *
   * If a sender has several transactions in the batch, the balance that the sender had before the batch limits the
   * total of the amounts and fees of these transactions. Three kinds of transactions do not count in this total. The
   * first kind is transactions that the chain already has. The second kind is inert transactions (transactions without
   * effect that the exceptions of the network list in `inertTransactions`). The third kind is transactions whose asset
   * has an unknown member `amount` (the transaction type does not define it) with a value that is not a number. A
   * transaction that would exceed the limit fails, and this transaction does not count in the total. A transaction that
   * is pending, or that fails for another reason, counts in the total.
   */
  processTransactions(
    state: StateReader,
    transactions: readonly Transaction[],
    verify: SignatureOracle,
  ): readonly TransactionVerdict[];

  /**
   * Adds a signature of a group member to a pending transaction. The function also removes the invalid signatures that
   * it finds among the members' signatures of the transaction.
   *
   * @returns the transaction with the added signature. The member `complete` of the result is true if this transaction
   *   has all signatures that it needs. If the function refuses the signature, it returns the refusal instead
   */
  addMemberSignature(
    state: StateReader,
    transaction: Transaction,
    signature: MemberSignature,
    verify: SignatureOracle,
  ): { readonly transaction: Transaction; readonly complete: boolean } | MemberSignatureRefusal;

  /**
   * Returns whether a transaction has enough signatures of group members. A transaction needs these signatures if its
   * sender is a multisignature account (a group), or if the transaction registers a group.
   *
   * - `none`: The transaction needs no member's signature, and has none.
   * - `ready`: The transaction has enough members' signatures, and all of them are valid.
   * - `pending`: The transaction has too few members' signatures, or its list `signatures` has a faulty entry. An entry
   *   is faulty if the signature belongs to no member, if the signature occurs twice in the list, or if an earlier
   *   entry is another signature of the same member.
   */
  multisignatureStatus(
    state: StateReader,
    transaction: Transaction,
    verify: SignatureOracle,
  ): 'none' | 'pending' | 'ready';

  /**
   * The reason why the pool refuses a transaction although a block is allowed to contain the transaction; undefined if
   * the pool accepts the transaction. The cause of a refusal is always an unknown JSON member of the asset (a member
   * that the transaction type does not define). The pool refuses the transaction in three cases:
   *
   * - The member makes the asset too large, or has too many levels of nested arrays and objects.
   * - lisk-sdk cannot store the member.
   * - The name of the member is `amount`, and the value is not a whole number of beddows in the range from 0 to 200
   *   million LSK.
   */
  poolFault(transaction: Transaction): TransactionError | undefined;

  /**
   * True if lisk-sdk marks the type of the transaction as a type with unique data (`containsUniqueData`). For example,
   * usernames are unique: two delegates cannot register the same username. After a block with a transaction of such a
   * type, the node verifies all transactions of this type in the pool again.
   */
  hasUniqueData(transaction: Transaction): boolean;

  // ---- blocks -------------------------------------------------------------------------------------------------------

  /** The signature checks of `validateBlock`: the header's signature, and the primary signature of each transaction. */
  blockSignatureChecks(block: Block): readonly SignatureCheck[];

  /**
   * Makes all checks of `validateBlock` except the checks of single transactions (`validateTransaction`). Screening a
   * block needs only one signature check. A peer that sends invalid blocks therefore costs the node little time.
   *
   * @param context as in `validateBlock`
   * @throws BlockRejected
   */
  screenBlock(block: Block, verify: SignatureOracle, context?: BlockContext): void;

  /**
   * Checks everything in a block that does not depend on the other blocks of its chain. The checks cover version,
   * signature, payload and transactions, and whether the block names a previous block. In generation 2, the checks also
   * cover the reward.
   *
   * @param context present if the block extends the tip. If `context` is present, the function makes one more check: it
   *   checks the reward (generation 3) or the slot (generation 2). The function makes this additional check together
   *   with the other checks, as lisk-sdk does. The message for a block with several faults is therefore the same as in
   *   lisk-sdk. In generation 2, the function accepts a block whose only fault is a wrong slot, and `applyBlock`
   *   refuses the block later. If a block with a wrong slot also has other faults, the function adds the wrong slot to
   *   the message
   * @throws BlockRejected
   */
  validateBlock(block: Block, verify: SignatureOracle, context?: BlockContext): void;

  /**
   * Checks that the generator of a block owns the slot of the block. The function also works for a block whose parent
   * is not the tip. If the delegate list of the round changes with each block (`ignoreDelegateListCacheForRounds`), the
   * function checks nothing. Anybody can create a key pair, and sign any number of blocks whose only fault is that the
   * generator does not own the slot. The node refuses these blocks with this check, which costs little time.
   *
   * @param state the state after the parent of the block, or the state after a rival of the block (another block with
   *   the same parent)
   * @throws BlockRejected `BLOCK_FORGER_INVALID`
   */
  verifySlotOwner(state: StateReader, block: BlockHeader): void;

  /**
   * Verifies a block against the state of its parent, and applies the block. The block must have passed `validateBlock`
   * before. The checks cover parent, slot, forger and transactions. In generation 3, the checks also cover the reward,
   * `maxHeightPreviouslyForged` and `maxHeightPrevoted`. Each transaction must be valid in two states: the state of the
   * parent, and the state after the earlier transactions of the block. For the last block of a round, the function also
   * makes the changes at the end of the round. The function does not store the block.
   *
   * @param state the state after the parent of the block. If the function throws an error, the caller must discard this
   *   state, because it is possible that the function has written changes to this state
   * @throws BlockRejected
   */
  applyBlock(state: StateWriter, block: Block, context: ApplyContext): void;

  /** Applies block 1 without verification, because the network defines the content of block 1. */
  applyGenesis(state: StateWriter, genesis: Block): void;

  /** Returns the relation of a received block to the tip, for example that the block extends the tip. */
  forkStatus(tip: TipView, received: TipView): ForkStatus;

  /**
   * True if an announced tip is better than the tip `than`. The function compares only the members of `AnnouncedTip`.
   */
  prefersTip(announced: AnnouncedTip, than: AnnouncedTip): boolean;

  /**
   * True if blocks become final (BFT). If blocks become final, the protocol forbids that a delegate signs two headers
   * that contradict each other. If blocks do not become final, the protocol has no such rule.
   */
  readonly hasFinality: boolean;

  /**
   * Returns the height of the highest final block. The function reads this height from `state`. Returns 0 if the
   * generation has no finality. In a generation with finality, the genesis block (height 1) is always final.
   */
  finalizedHeight(state: StateReader): number;

  /**
   * Returns the largest height whose block has prevotes from at least two thirds of the active delegates. The function
   * does not count the prevotes, but reads this height from `state`. Returns 0 if the generation has no finality.
   */
  maxHeightPrevoted(state: StateReader): number;

  // ---- slots and rounds ---------------------------------------------------------------------------------------------

  /**
   * Returns the public keys of the delegates that are allowed to forge in the round of a block, in the order of the
   * delegates' slots. Entry `slot mod activeDelegates` is the owner of the slot. The result has fewer than
   * `activeDelegates` entries if fewer delegates exist. The result is empty if the state has no delegate list for the
   * round.
   *
   * @param height height of the block to be forged; `state` must be the state after the parent of this block
   */
  forgers(state: StateReader, height: number): readonly PublicKey[];

  // ---- forging ------------------------------------------------------------------------------------------------------

  /** Chooses transactions for a block from the candidates, and returns them in the order of the block. */
  selectTransactions(
    state: StateReader,
    candidates: readonly Transaction[],
    context: TransactionContext,
    verify: SignatureOracle,
  ): readonly Transaction[];

  /**
   * Builds and signs the next block.
   *
   * @param request.previouslyForged the delegate's last header in the signing journal (`request.keyPair` is the key
   *   pair of the delegate). If the engine called `handOver`, the value is the header that `handOver` returned. With
   *   the option `riskDoubleForging`, the value can be another header (see `handOver`). Undefined if there is no header
   * @throws ProtocolError `FORGING_CONTRADICTS` if the new header would contradict `previouslyForged`, or if the two
   *   headers have the same slot. The function throws this error before it signs anything
   * @throws ProtocolError `FORGER_LEAVES`, `FORGER_NOT_IN_TURN`, `FORGER_SLOT_TAKEN`, `FORGING_CONTRADICTS` or
   *   `FORGE_REFUSED` if `applyBlock` would refuse the block. `FORGE_REFUSED` also if the height requires an older
   *   block version, or if the payload has a fault (`payloadFaults`). The function throws this error before it signs
   *   anything
   */
  forge(state: StateReader, tip: BlockHeader, request: ForgeRequest): Block;

  /**
   * Checks whether two headers of one delegate contradict each other.
   *
   * @returns the reason as a sentence; undefined if the delegate is allowed to sign both headers
   */
  contradiction(earlier: SignedHeader, header: SignedHeader): string | undefined;

  /**
   * The engine calls this function if it is possible that the delegate has signed headers that are not in the signing
   * journal. The function finds the header that the engine then passes to `forge` as `previouslyForged`. If the engine
   * does not call this function, `previouslyForged` is the delegate's last header in the journal, with one exception.
   *
   * The exception exists only with the option `riskDoubleForging`, with which the engine never calls this function. If
   * another node signed the delegate's newest block on the chain, the new header must contradict neither the header of
   * this block nor the last header in the journal. The engine then makes `previouslyForged` from both headers: it takes
   * the height and the timestamp of the newer header, and raises `maxHeightPrevoted` and `maxHeightPreviouslyForged` as
   * far as the older header requires.
   */
  handOver(state: StateReader, tip: BlockHeader, request: HandOverRequest): HandOver;
}

export interface HandOverRequest {
  readonly publicKey: PublicKey;
  /**
   * Chain time (see `slots.ts`) in whole seconds. All headers of the delegate that are not in the signing journal are
   * older than this time.
   */
  readonly sinceS: number;
  /**
   * The delegate's last header in the signing journal. If the journal has no header of the delegate, the value is the
   * header in the delegate's watermark (a record of the delegate's newest signed header, stored outside of the data
   * folder), but only if this header belongs to the chain of this node. Undefined if there is no such header.
   */
  readonly last: SignedHeader | undefined;
  /**
   * True if the delegate need not wait until a block that is newer than `sinceS` is final. There are two cases. In the
   * first case, no branch that contains the newest final block of this node can contain a header of the delegate that
   * the signing journal lacks. In the second case, this node made all blocks after the genesis block of a young chain
   * (a chain on which only the genesis block is final).
   */
  readonly isWaitNeedless: boolean;
  /**
   * True if the chain is young (only its genesis block is final), and this node made all blocks after the genesis
   * block. In this case, this node knows no block that another node signed on this chain.
   */
  readonly hasMadeAllBlocks: boolean;
  /**
   * In an unused slot, this node did not sign for the delegate, because perhaps another node signs for the delegate. A
   * counted slot is an unused slot that counts as a sign that no other node signs for the delegate (`isCounted` in
   * `WatchedSlots` of the engine). The value is the end of the delegate's last counted slot, as chain time in whole
   * seconds, or 0 if the delegate has no counted slot. Perhaps another node has signed a header in this slot, on a
   * branch that the network has abandoned. The new header must not contradict the header of the other node.
   */
  readonly coveredUntilS: number;
  /** Current chain time in whole seconds. */
  readonly nowS: number;
}

/**
 * Either the value for `ForgeRequest.previouslyForged`, or the reason why the delegate must not sign yet. `untilS` is
 * the chain time at which the wait will probably end. `untilS` is absent if this time is not known.
 */
export type HandOver =
  | { readonly ready: true; readonly previouslyForged: SignedHeader | undefined }
  | { readonly ready: false; readonly reason: string; readonly untilS?: number };

/** The context of a block that extends the tip. */
export interface BlockContext {
  /** The state after the parent of the block. */
  readonly state: StateReader;
  /** Current chain time in whole seconds since the epoch of the network. */
  readonly nowS: number;
}

export interface TransactionContext {
  readonly blockHeight?: number;
  readonly blockVersion?: number;
  readonly blockTimestamp?: number;
}

export interface ApplyContext {
  /** Current chain time in whole seconds since the epoch of the network. */
  readonly nowS: number;
  readonly verify: SignatureOracle;
}

/** A tip with the data that fork choice needs. */
export interface TipView {
  readonly header: BlockHeader;
  /**
   * Chain time in whole seconds at which the node received the block from a peer. The time is undefined in four cases:
   * the node forged the block, downloaded the block in a sync, loaded the block from the store, or reverted later
   * blocks so that this block became the tip again. A block without this time counts as received in the block's own
   * slot.
   */
  readonly receivedAtS?: number;
}

/** The tip of a peer's chain, as the peer announces the tip. */
export interface AnnouncedTip {
  readonly height: number;
  /** The peer's value of `Rules.maxHeightPrevoted`; 0 if nodes of the generation do not announce this value. */
  readonly maxHeightPrevoted: number;
}

/** A part of a signed header. The signing journal stores only these members of each header. */
export interface SignedHeader {
  readonly blockId: string;
  readonly height: number;
  /** Chain time in whole seconds since the epoch of the network. */
  readonly timestamp: number;
  readonly maxHeightPrevoted: number;
  readonly maxHeightPreviouslyForged: number;
}

export interface ForgeRequest {
  readonly keyPair: KeyPair;
  /** Start of the slot in whole seconds since the epoch of the network. */
  readonly timestamp: number;
  readonly transactions: readonly Transaction[];
  readonly previouslyForged: SignedHeader | undefined;
}

/** Converts the blocks and transactions of a generation to bytes and to JSON, and back. */
export interface Codec {
  /**
   * Reads a transaction from JSON. Makes all checks that need no state, except the checks of `validateTransaction`.
   *
   * @throws TransactionRejected `TRANSACTION_TYPE_UNKNOWN` or `TRANSACTION_INVALID` with all errors
   */
  transactionFromJson(json: unknown): Transaction;
  /** Writes a transaction in the JSON form in which nodes of the generation send it. */
  transactionToJson(transaction: Transaction): JsonObject;
  /**
   * Writes the stored form of a transaction. The stored form has two parts: first the bytes from which the id of the
   * transaction is computed, then the data that these bytes do not contain.
   */
  encodeTransaction(transaction: Transaction): Uint8Array;
  /**
   * @param id the id of the transaction, if the caller knows it; the function then computes no hash for the id
   * @param senderId the sender's address, if the caller knows it; the function then computes no hash for the address
   * @throws ProtocolError `TRANSACTION_BYTES_INVALID`
   */
  decodeTransaction(bytes: Uint8Array, id?: TransactionId, senderId?: Address): Transaction;
  /**
   * Reads a block from JSON. The function computes the id of the block, and ignores the member `id` in the JSON of the
   * block.
   *
   * @throws BlockRejected `BLOCK_MALFORMED`, `BLOCK_UNSTORABLE`, `BLOCK_VERSION_INVALID` or `BLOCK_TRANSACTION_INVALID`
   */
  blockFromJson(json: unknown): Block;
  /**
   * Writes a block in the JSON form in which nodes of the generation send it. Amounts and totals have the JSON types
   * that these nodes use.
   */
  blockToJson(block: Block): JsonObject;
  /**
   * Writes a header in the JSON form, without the transactions of the block. The node uses this form when a peer asks
   * for the highest block that the peer's chain and the chain of this node have in common. The node answers with the
   * header of this block.
   */
  headerToJson(header: BlockHeader): JsonObject;
  /**
   * Writes the stored form of a header: the signed bytes, then the signature. If the signed bytes do not contain the
   * height, the height comes after the signature.
   */
  encodeHeader(header: BlockHeader): Uint8Array;
  /**
   * @param id the id of the block, if the caller knows it; the function then computes no hash
   * @throws ProtocolError `HEADER_BYTES_INVALID`
   */
  decodeHeader(bytes: Uint8Array, id?: BlockId): BlockHeader;
  /**
   * Reads the genesis block of a network from JSON. The network defines the content of this block, so the function
   * checks only the form of the block.
   *
   * @throws BlockRejected `BLOCK_MALFORMED`, `BLOCK_UNSTORABLE` or `BLOCK_TRANSACTION_INVALID`
   */
  genesisFromJson(json: unknown): Block;
  /**
   * Frees the cached bytes and digests of all transactions. Without this call, the cached data of a transaction stays
   * in memory as long as the transaction. A caller that handles many blocks, each for a short time, can call the
   * function to reduce the work of the garbage collector.
   */
  forgetTransactions(): void;
}
