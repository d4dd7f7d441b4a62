/** Creates the rules of generation 2 for single transactions and for batches (lists) of transactions. */

import { addressOf } from '../../crypto/keys.ts';
import type { ChainParams } from '../params.ts';
import type { StateReader } from '../state.ts';
import { GEN2_DIALECT } from '../tx/apply-context.ts';
import { membersOf } from '../tx/multisignature.ts';
import * as shared from '../tx/transaction-rules.ts';
import type { Address, Transaction } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import type { Gen2Codec } from './codec.ts';
import * as bytes from './transaction-bytes.ts';
import { isExceptedShape, statedErrors } from './transaction-json.ts';

export function createTransactionRules(params: ChainParams, codec: Gen2Codec): shared.TransactionRules {
  return shared.createTransactionRules(params, {
    dialect: GEN2_DIALECT,
    bytes,
    isAllowed: ({ type }, context) => codec.types.get(type)?.matches?.(context) ?? codec.types.has(type),
    statedErrors: (transaction) => statedErrors(transaction, codec.types),
    isExceptedShape: (transaction) => isExceptedShape(transaction, codec.types, params.exceptions),
    forgingFault,
    uniqueKinds: new Set(['delegate', 'vote', 'dapp', 'outTransfer']),
    voteWeightFault,
  });
}

/**
 * The reason why this node drops a transaction from its pool and never puts it into a block; undefined if there is no
 * such reason. The function returns a reason only for a vote whose recipient and sender are different accounts. The
 * reference (lisk-sdk) can apply such a vote only in a block for which it also loads the recipient's account
 * (`voteWeightFault`). The vote could therefore wait in the pool for hours, and displace other transactions.
 */
export function forgingFault({ id, payload, senderId }: Transaction): TransactionError | undefined {
  if (payload.kind !== 'vote' || payload.recipientId === senderId) return undefined;
  const message = 'RecipientId of a vote must be its sender';
  return transactionError(id, message, '.recipientId', payload.recipientId, senderId);
}

/**
 * The error of a vote whose recipient lisk-sdk cannot find. The reference (lisk-sdk) looks for the recipient only among
 * the accounts that were loaded for the transactions of the block. If the recipient is not among these accounts,
 * lisk-sdk cannot apply the block, although the vote does not change the recipient.
 */
function voteWeightFault(
  state: StateReader,
  { id, payload }: Transaction,
  batch: readonly Transaction[],
): TransactionError | undefined {
  if (payload.kind !== 'vote' || payload.recipientId === undefined) return undefined;
  const { recipientId } = payload;
  const isLoaded = batch.some((transaction) => accountsOf(transaction).includes(recipientId));
  if (isLoaded && state.account(recipientId) !== undefined) return undefined;
  return transactionError(
    id,
    'No transaction of the block concerns the recipient of the vote',
    '.recipientId',
    recipientId,
  );
}

/** The accounts that lisk-sdk loads for a transaction. */
function accountsOf({ senderId, payload }: Transaction): readonly Address[] {
  switch (payload.kind) {
    case 'transfer':
    case 'outTransfer':
      return [senderId, payload.recipientId];
    case 'vote':
      return [senderId, ...payload.votes.map((vote) => addressOf(vote.slice(1)))];
    case 'multisignature':
      return [senderId, ...membersOf(payload.keysgroup).map((member) => addressOf(member))];
    default:
      return [senderId];
  }
}
