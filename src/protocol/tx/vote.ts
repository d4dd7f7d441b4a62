/** Reads and applies vote transactions, which change the list of the delegates for which their sender votes. */

import { VOTES_PER_ACCOUNT_MAX } from '../params.ts';
import { emptyAccount, type StateWriter } from '../state.ts';
import type { Payload, PublicKey, Transaction } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import { boundedList, member } from './json.ts';
import { assetErrors, type ShapeCompiler } from './schema.ts';
import type { AssetReading } from './transaction-type.ts';
import { amountErrors } from './transfer.ts';

type Vote = Extract<Payload, { kind: 'vote' }>;

export const VOTE_SCHEMA = {
  type: 'object',
  required: ['votes'],
  properties: {
    votes: {
      type: 'array',
      minItems: 1,
      maxItems: 33,
      items: { type: 'string', format: 'signedPublicKey' },
      uniqueSignedPublicKeys: true,
    },
  },
} as const;

export function createVoteReader(compiler: ShapeCompiler): (asset: unknown, id: string) => AssetReading {
  const shape = compiler.compile(VOTE_SCHEMA);
  return (asset, id) => {
    const votes = boundedList(member(asset, 'votes'));
    const errors = assetErrors(shape, { votes }, id);
    return { errors, payload: isVoteList(votes) ? { kind: 'vote', votes, amount: 0n } : undefined };
  };
}

export function isVoteList(votes: unknown): votes is readonly string[] {
  return Array.isArray(votes) && votes.every((vote) => typeof vote === 'string' && /^[+-][0-9a-fA-F]{64}$/.test(vote));
}

/**
 * Returns the keys of the votes that have the given sign. The function removes the sign, and does not change the letter
 * case of the keys. A key with upper-case letters belongs to no delegate, because the keys of delegates are in lower
 * case.
 */
export function keysWithSign(votes: readonly string[], sign: '+' | '-'): PublicKey[] {
  return votes.filter((vote) => vote.startsWith(sign)).map((vote) => vote.slice(1));
}

export function applyVote(state: StateWriter, transaction: Transaction, payload: Vote): TransactionError[] {
  const sender = state.account(transaction.senderId) ?? emptyAccount(transaction.senderId);
  const errors = amountErrors(transaction, sender.balance, payload.amount);
  const refuse = (message: string, actual?: string, expected?: number): void => {
    errors.push(transactionError(transaction.id, message, '.asset.votes', actual, expected));
  };
  for (const vote of payload.votes) {
    if (state.delegate(vote.slice(1)) === undefined) refuse(`${vote.slice(1)} is not a delegate.`);
  }
  const held = new Set(sender.votes);
  for (const vote of payload.votes) {
    const key = vote.slice(1);
    if (vote.startsWith('+') && held.has(key)) refuse(`${key} is already voted.`);
    if (vote.startsWith('-') && !held.has(key)) refuse(`${key} is not voted.`);
  }
  const removed = new Set(keysWithSign(payload.votes, '-'));
  const votes = [...sender.votes, ...keysWithSign(payload.votes, '+')].filter((key) => !removed.has(key));
  if (votes.length > VOTES_PER_ACCOUNT_MAX) {
    const message = `Vote cannot exceed ${VOTES_PER_ACCOUNT_MAX} but has ${votes.length}.`;
    refuse(message, votes.length.toString(), VOTES_PER_ACCOUNT_MAX);
  }
  state.setAccount({ ...sender, balance: sender.balance - payload.amount, votes });
  return errors;
}
