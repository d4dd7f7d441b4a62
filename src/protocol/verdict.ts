/**
 * Defines verdicts about data from peers and clients. The errors `TransactionRejected` and `BlockRejected` contain an
 * error code of Bloomery, such as `POOL_FULL`. If lisk-sdk has a message for the reason of the refusal, the error also
 * contains this message.
 */

import { ProtocolError, type ErrorData } from '../primitives/errors.ts';
import type { TransactionId } from './types.ts';

/** One failed check of a transaction, in the form that HTTP clients get. */
export interface TransactionError {
  readonly name: 'TransactionError' | 'TransactionPendingError';
  readonly message: string;
  readonly id: TransactionId | '';
  /** Path of the refused member in the JSON of the transaction, for example `.asset.votes`. The path can be empty. */
  readonly dataPath: string;
  readonly actual?: string | number;
  readonly expected?: string | number;
}

/** The verdict about a transaction for a given state. */
export type TransactionVerdict =
  | { readonly status: 'ok' }
  /** The transaction still lacks signatures of members of a multisignature group, and has no other error. */
  | { readonly status: 'pending'; readonly errors: readonly TransactionError[] }
  | { readonly status: 'fail'; readonly errors: readonly TransactionError[] };

/** The reason why a single signature that was sent as the signature of a member was not added to a transaction. */
export interface MemberSignatureRefusal {
  readonly errors: readonly TransactionError[];
  /**
   * `unfit` has three cases. First, the sender of the transaction is not a multisignature account, and the transaction
   * does not register one. Second, the key of the signature belongs to no member. Third, the transaction already has
   * the signature. In these cases, the node does not verify the signature. `false`: the signature is invalid for the
   * key.
   */
  readonly kind: 'unfit' | 'false';
}

export function transactionError(
  id: TransactionId | '',
  message: string,
  dataPath: string,
  actual?: string | number,
  expected?: string | number,
): TransactionError {
  return {
    name: 'TransactionError',
    message,
    id,
    dataPath,
    ...(actual === undefined ? {} : { actual }),
    ...(expected === undefined ? {} : { expected }),
  };
}

const IN_FUTURE = 'Invalid transaction timestamp. Timestamp is in the future';

/** Creates the error of a transaction whose timestamp is in a future slot, by the clock of this node. */
export function timestampInFuture(id: TransactionId): TransactionError {
  return transactionError(id, IN_FUTURE, '.timestamp');
}

/**
 * Converts an error to a text in the form of lisk-sdk: `Transaction: <id> failed at <dataPath>: <message>[, actual:
 * ..][, expected: ..]`.
 */
export function textOfTransactionError(error: TransactionError): string {
  const actual = error.actual ? `, actual: ${error.actual}` : '';
  const expected = error.expected ? `, expected: ${error.expected}` : '';
  const tail = error.name === 'TransactionPendingError' ? ' ' : `${actual}${expected}`;
  return `Transaction: ${error.id} failed at ${error.dataPath}: ${error.message}${tail}`;
}

/**
 * The error for a refused transaction. The list `errors` has all reasons of the refusal. If the list is empty, only the
 * message has the reason.
 */
export class TransactionRejected extends ProtocolError {
  readonly errors: readonly TransactionError[];

  constructor(code: TransactionRejectionCode, errors: readonly TransactionError[], message?: string) {
    super(code, {}, message ?? errors.map(textOfTransactionError).join('; '));
    this.name = 'TransactionRejected';
    this.errors = errors;
  }
}

export type TransactionRejectionCode =
  /** The network has no transaction type with this number: `Transaction type not found.` */
  | 'TRANSACTION_TYPE_UNKNOWN'
  /**
   * Only old blocks of the network are allowed to contain the type: `Transaction type <t> is currently not allowed.`
   */
  | 'TRANSACTION_TYPE_NOT_ALLOWED'
  /**
   * The transaction fails a check that needs no state, such as a check of its format or signature. A peer that sends an
   * invalid transaction loses its whole reputation. Only a named peer (a fixed, seed or whitelisted peer of the
   * configuration) loses no reputation. The code also applies to a single signature for a transaction of a
   * multisignature group, if the pool refuses the signature without verifying it. The pool refuses a signature in this
   * way in three cases: no pending transaction has the `transactionId` of the signature, the key of the signature
   * belongs to no member, or this member has already signed the transaction. In these cases, the peer that sent the
   * signature loses no reputation.
   */
  | 'TRANSACTION_INVALID'
  /** The transaction is already in a queue of the pool or in the chain. */
  | 'TRANSACTION_KNOWN'
  /** The timestamp of the transaction is in a future slot, by the clock of this node. */
  | 'TRANSACTION_IN_FUTURE'
  /**
   * The transaction is not valid in the current state, for example because the sender cannot pay the fee. The code also
   * applies to a transaction that the pool refuses although a block is allowed to contain it (`Rules.poolFault`).
   */
  | 'TRANSACTION_NOT_APPLICABLE'
  /**
   * The signature of a member of a multisignature group for a pending transaction is invalid for the key of this
   * member.
   */
  | 'MEMBER_SIGNATURE_FALSE'
  /** The pool has no room: `Transaction pool is full`. */
  | 'POOL_FULL'
  /**
   * The node did not verify a transaction, or a single signature of a member of a multisignature group, because a
   * verification budget is used up. A verification budget limits the share of a processor core that the node spends on
   * checking signatures. Each address of a peer or client has a verification budget, and each group of addresses
   * (`BudgetGroup`) has one, too.
   */
  | 'VERIFICATION_LIMIT';

/** The reasons to refuse a block. `engine/peers/penalties.ts` states how many points of reputation each code costs. */
export type BlockRejectionCode =
  /** The received JSON or the received bytes do not have the form of a block. */
  | 'BLOCK_MALFORMED'
  /** The version of the block is unknown, or is not the version that blocks at this height must have. */
  | 'BLOCK_VERSION_INVALID'
  | 'BLOCK_SIGNATURE_INVALID'
  /**
   * The block does not follow the tip, or the block is above height 1 and names no previous block. In generation 3,
   * this error code has two more causes: a block at height 1 names a previous block, or a block above height 1 has the
   * id of the genesis block.
   */
  | 'BLOCK_PREVIOUS_INVALID'
  /** The block's slot is in the future, or is not after the slot of the block's parent. */
  | 'BLOCK_TIMESTAMP_INVALID'
  | 'BLOCK_REWARD_INVALID'
  /**
   * The transactions do not match the number, the totals or the hash that the header states. The code also applies if
   * the block has too many transactions, states too large a size, or contains a transaction twice.
   */
  | 'BLOCK_PAYLOAD_INVALID'
  /** The generator does not own the slot. */
  | 'BLOCK_FORGER_INVALID'
  /** A header field of the finality protocol contradicts the chain or an earlier header of the block's generator. */
  | 'BLOCK_BFT_INVALID'
  /**
   * The generator of a round's last block is not active in the next round. Nodes of lisk-sdk 3.0.2 refuse such a
   * block.
   */
  | 'BLOCK_FORGER_LEAVES'
  | 'BLOCK_KNOWN'
  /**
   * The block is valid, but lisk-sdk cannot store it. Nodes of lisk-sdk first pass such a block on to their peers, and
   * then refuse the block.
   */
  | 'BLOCK_UNSTORABLE'
  /**
   * A transaction of the block is invalid, is already in the chain, or cannot be applied at its position in the block.
   */
  | 'BLOCK_TRANSACTION_INVALID';

export class BlockRejected extends ProtocolError {
  declare readonly code: BlockRejectionCode;
  readonly transactionErrors: readonly TransactionError[];

  /**
   * @param message the message with which lisk-sdk refuses the same block; if lisk-sdk has no such message, a message
   * of Bloomery
   */
  constructor(
    code: BlockRejectionCode,
    message: string,
    data: ErrorData = {},
    transactionErrors: readonly TransactionError[] = [],
  ) {
    super(code, data, message);
    this.name = 'BlockRejected';
    this.transactionErrors = transactionErrors;
  }
}

/**
 * Returns true if perhaps a wrong clock of this node caused the refusal of a block. If the result is true, perhaps
 * honest nodes with correct clocks have accepted the block, and perhaps the peer that sent the block is honest. A block
 * with the code `BLOCK_TIMESTAMP_INVALID` has a slot in the future, or a slot that is not after the slot of the block's
 * parent. Only the first fault, a slot in the future, depends on the clock.
 */
export function isByClock({ code, data, transactionErrors }: BlockRejected): boolean {
  if (code === 'BLOCK_TIMESTAMP_INVALID') return Number(data['slot']) > Number(data['currentSlot']);
  const isLate = ({ message }: TransactionError): boolean => message === IN_FUTURE;
  return code === 'BLOCK_TRANSACTION_INVALID' && transactionErrors.length > 0 && transactionErrors.every(isLate);
}

/** The relation of a received block to the tip (LIP-0014). Generation 2 uses the same values. */
export type ForkStatus =
  /** The block is the tip itself. The node ignores the block. */
  | 'same'
  /** The block follows the tip. The node verifies and applies the block. */
  | 'extends'
  /**
   * The forger of the tip made a second block with the same parent (in generation 3, also with the same
   * `maxHeightPrevoted`). The node ignores the second block and logs a warning. In generation 2, the status is
   * `tieBreak` instead if fork choice prefers the second block.
   */
  | 'doubleForging'
  /**
   * The block has the same parent as the tip, and fork choice prefers the block. If the tip is not final, the block
   * replaces the tip.
   */
  | 'tieBreak'
  /**
   * The block is the tip of a better chain. If the generator of the block is not a registered delegate, the node
   * ignores the block. Otherwise, the node screens the block (`Rules.screenBlock`). If the block passes, and if its
   * slot has begun, the node synchronises.
   */
  | 'betterChain'
  /** The block has any other relation to the tip. The node ignores the block. */
  | 'discard';
