/** Accounts, delegates and multisignature groups as clients read them. */

import type { AccountEntry, DelegateEntry, GroupEntry } from '../../ports/queries.ts';
import type { Account } from '../../protocol/state.ts';
import type { Dialect } from '../dialect.ts';
import type { Schema } from '../schema.ts';
import * as shape from './shapes.ts';

type View = Readonly<Record<string, unknown>>;

/** An account, with its standing when it is a delegate. */
export function accountView(entry: AccountEntry, dialect: Dialect): View {
  const { account, delegate } = entry;
  return {
    address: account.address,
    publicKey: account.publicKey ?? '',
    balance: account.balance.toString(),
    secondPublicKey: account.secondPublicKey ?? '',
    asset: {},
    ...(delegate === undefined ? {} : { delegate: standingView(delegate, dialect) }),
  };
}

/** A delegate as the list of delegates shows it: with its account. */
export function delegateView(entry: DelegateEntry, dialect: Dialect): View {
  const { account } = entry;
  const accountPart = {
    address: account.address,
    publicKey: account.publicKey ?? '',
    secondPublicKey: account.secondPublicKey ?? '',
  };
  const { vote, voteWeight, rank, approval, productivity } = figuresOf(entry);
  if (dialect.generation === 2)
    return { ...nameAndBlocks(entry, { vote }), productivity, rank, account: accountPart, approval, voteWeight };
  return { ...nameAndBlocks(entry, { voteWeight }), productivity, account: accountPart, approval, vote, rank };
}

/** A multisignature account and its members. */
export function groupView(group: GroupEntry): View {
  const { account, members } = group;
  return {
    address: account.address,
    publicKey: account.publicKey ?? '',
    balance: account.balance.toString(),
    secondPublicKey: account.secondPublicKey ?? '',
    min: account.group?.min ?? 0,
    lifetime: account.group?.lifetime ?? 0,
    members: members.map(memberView),
  };
}

const DELEGATE_FIGURES: Readonly<Record<string, Schema>> = {
  username: shape.TEXT,
  vote: shape.AMOUNT,
  voteWeight: shape.AMOUNT,
  rewards: shape.AMOUNT,
  producedBlocks: shape.COUNT,
  missedBlocks: shape.COUNT,
  rank: shape.orNull({ type: 'integer', minimum: 1 }),
  productivity: shape.PERCENT,
  approval: shape.PERCENT,
};

const ACCOUNT_KEYS: Readonly<Record<string, Schema>> = {
  address: shape.ADDRESS,
  publicKey: shape.PUBLIC_KEY,
  secondPublicKey: shape.PUBLIC_KEY,
};

export const ACCOUNT_SHAPE: Schema = shape.objectOf(
  {
    ...ACCOUNT_KEYS,
    balance: shape.AMOUNT,
    asset: shape.ANY_OBJECT,
    delegate: shape.objectOf(DELEGATE_FIGURES),
  },
  ['delegate'],
);

export const DELEGATE_SHAPE: Schema = shape.objectOf({ ...DELEGATE_FIGURES, account: shape.objectOf(ACCOUNT_KEYS) });

export const GROUP_SHAPE: Schema = shape.objectOf({
  ...ACCOUNT_KEYS,
  balance: shape.AMOUNT,
  min: shape.COUNT,
  lifetime: shape.COUNT,
  members: shape.listOf(shape.objectOf(ACCOUNT_KEYS)),
});

function standingView(entry: DelegateEntry, dialect: Dialect): View {
  const { vote, voteWeight, rank, approval, productivity } = figuresOf(entry);
  if (dialect.generation === 2) return { ...nameAndBlocks(entry, { vote }), rank, productivity, approval, voteWeight };
  return { ...nameAndBlocks(entry, { voteWeight }), productivity, approval, vote, rank };
}

function figuresOf(entry: DelegateEntry) {
  const weight = entry.delegate.voteWeight.toString();
  return {
    vote: weight,
    voteWeight: weight,
    rank: entry.rank,
    approval: entry.approval,
    productivity: entry.productivity,
  };
}

function nameAndBlocks(entry: DelegateEntry, weight: View): View {
  return {
    username: entry.delegate.username,
    ...weight,
    rewards: entry.account.forgedRewards.toString(),
    producedBlocks: entry.account.producedBlocks,
    missedBlocks: entry.account.missedBlocks,
  };
}

function memberView(member: Account): View {
  return {
    address: member.address,
    publicKey: member.publicKey ?? '',
    secondPublicKey: member.secondPublicKey ?? '',
  };
}
