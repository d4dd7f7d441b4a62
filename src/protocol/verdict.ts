/** Verdicts about foreign data: what was refused, why, in the words that clients of the family know. */

import { ProtocolError, type ErrorData } from '../primitives/errors.ts';
import type { TransactionId } from './types.ts';

/** One failed check of a transaction, as HTTP clients read it. */
export interface TransactionError {
  readonly name: 'TransactionError' | 'TransactionPendingError';
  readonly message: string;
  readonly id: TransactionId | '';
  /** For example `.asset.votes`; may be empty. */
  readonly dataPath: string;
  readonly actual?: string | number;
  readonly expected?: string | number;
}

/** The verdict about a transaction against a state. */
export type TransactionVerdict =
  | { readonly status: 'ok' }
  /** A group's transaction or registration that still lacks signatures. */
  | { readonly status: 'pending'; readonly errors: readonly TransactionError[] }
  | { readonly status: 'fail'; readonly errors: readonly TransactionError[] };

/** The reason why a member's signature was not added to a transaction. */
export interface MemberSignatureRefusal {
  readonly errors: readonly TransactionError[];
  /** `unfit`: of no member, or there already; nothing was verified. `false`: the named key did not make it. */
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

/** The transaction's timestamp lies in a slot that has not begun, by the clock of the reader. */
export function timestampInFuture(id: TransactionId): TransactionError {
  return transactionError(id, IN_FUTURE, '.timestamp');
}

/** The reference's text form: `Transaction: <id> failed at <dataPath>: <message>[, actual: ..][, expected: ..]`. */
export function textOfTransactionError(error: TransactionError): string {
  const actual = error.actual ? `, actual: ${error.actual}` : '';
  const expected = error.expected ? `, expected: ${error.expected}` : '';
  const tail = error.name === 'TransactionPendingError' ? ' ' : `${actual}${expected}`;
  return `Transaction: ${error.id} failed at ${error.dataPath}: ${error.message}${tail}`;
}

/** A transaction that cannot be taken, with every reason found. */
export class TransactionRejected extends ProtocolError {
  readonly errors: readonly TransactionError[];

  constructor(code: TransactionRejectionCode, errors: readonly TransactionError[], message?: string) {
    super(code, {}, message ?? errors.map(textOfTransactionError).join('; '));
    this.name = 'TransactionRejected';
    this.errors = errors;
  }
}

export type TransactionRejectionCode =
  /** No such type number on this network: `Transaction type not found.` */
  | 'TRANSACTION_TYPE_UNKNOWN'
  /** The type exists, but not at this height: `Transaction type <t> is currently not allowed.` */
  | 'TRANSACTION_TYPE_NOT_ALLOWED'
  /** Wrong shape, format or signature: can never become valid. Costs the peer that served it its place. */
  | 'TRANSACTION_INVALID'
  /** In a queue of the pool or in the chain already. */
  | 'TRANSACTION_KNOWN'
  /** Its timestamp lies in a later slot. */
  | 'TRANSACTION_IN_FUTURE'
  /** Does not fit the present state: funds, keys, names, votes. */
  | 'TRANSACTION_NOT_APPLICABLE'
  /** A signature for a pending transaction that is not by the member whose key it names. */
  | 'MEMBER_SIGNATURE_FALSE'
  /** `Transaction pool is full`. */
  | 'POOL_FULL'
  /** Not verified: the verification budget of the sender's address is used up. */
  | 'VERIFICATION_LIMIT';

/** The reasons for the refusal of a block. `engine/peers/penalties.ts` has the points of each code. */
export type BlockRejectionCode =
  /** The JSON or bytes are not a block. */
  | 'BLOCK_MALFORMED'
  /** Its version is not registered or not the one of its height. */
  | 'BLOCK_VERSION_INVALID'
  | 'BLOCK_SIGNATURE_INVALID'
  /** It does not follow the tip, or lacks or wrongly has a previous block. */
  | 'BLOCK_PREVIOUS_INVALID'
  /** Its slot is in the future or not after its parent's. */
  | 'BLOCK_TIMESTAMP_INVALID'
  | 'BLOCK_REWARD_INVALID'
  /** Count, totals, hash or size of the payload are wrong, or a transaction occurs twice. */
  | 'BLOCK_PAYLOAD_INVALID'
  /** The generator does not own the slot. */
  | 'BLOCK_FORGER_INVALID'
  /** A header field of the finality protocol contradicts the chain or an earlier header of the delegate. */
  | 'BLOCK_BFT_INVALID'
  /** The generator of a round's last block is not active in the next round: the reference refuses such blocks. */
  | 'BLOCK_FORGER_LEAVES'
  | 'BLOCK_KNOWN'
  /** The block is valid, but the reference cannot store it: it passes such a block on and then refuses it. */
  | 'BLOCK_UNSTORABLE'
  /** A transaction of it is invalid or does not fit the state. */
  | 'BLOCK_TRANSACTION_INVALID';

export class BlockRejected extends ProtocolError {
  declare readonly code: BlockRejectionCode;
  readonly transactionErrors: readonly TransactionError[];

  /** @param message the reference's text */
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

/** Whether only the clock of this node refused a block, so that honest nodes may have accepted it. */
export function isByClock({ code, transactionErrors }: BlockRejected): boolean {
  if (code === 'BLOCK_TIMESTAMP_INVALID') return true;
  const isLate = ({ message }: TransactionError): boolean => message === IN_FUTURE;
  return code === 'BLOCK_TRANSACTION_INVALID' && transactionErrors.length > 0 && transactionErrors.every(isLate);
}

/** The relation of a received block to the tip (LIP-0014; generation 2 uses the same values). */
export type ForkStatus =
  /** The tip itself: ignore. */
  | 'same'
  /** The next block: apply. */
  | 'extends'
  /** A second block of the tip's forger at the tip's place: ignore, warn. */
  | 'doubleForging'
  /** A rival of the tip that should replace it. */
  | 'tieBreak'
  /** The tip of a better chain: synchronise. */
  | 'betterChain'
  /** Anything else: ignore. */
  | 'discard';
