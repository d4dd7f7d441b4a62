/**
 * Makes the JSON objects that show accounts, delegates and multisignature groups to clients of the HTTP API, and their
 * schemas.
 */

import type { AccountEntry, DelegateEntry, GroupEntry } from '../../ports/queries.ts';
import type { Account } from '../../protocol/state.ts';
import { extendedMembers, extendedShape, type HttpDialect } from '../dialect.ts';
import type { Schema } from '../schema.ts';
import * as shape from './shapes.ts';

type View = Readonly<Record<string, unknown>>;

/**
 * Makes the JSON object for an account. If the account is registered as a delegate, the member `delegate` describes the
 * delegate.
 */
export function accountView(entry: AccountEntry, dialect: HttpDialect): View {
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

/**
 * Makes the JSON object for a delegate in the list of delegates. The member `account` describes the account of the
 * delegate.
 */
export function delegateView(entry: DelegateEntry, dialect: HttpDialect): View {
  const { account } = entry;
  const accountPart = {
    address: account.address,
    publicKey: account.publicKey ?? '',
    secondPublicKey: account.secondPublicKey ?? '',
  };
  const { vote, voteWeight, rank, approval, productivity } = figuresOf(entry);
  if (dialect.generation === 2) {
    const own = { ...nameAndBlocks(entry, { vote }), productivity, rank, account: accountPart, approval };
    return extendedMembers(dialect, own, { voteWeight });
  }
  const own = { ...nameAndBlocks(entry, { voteWeight }), productivity, account: accountPart, approval };
  return extendedMembers(dialect, own, { vote, rank });
}

/** Makes the JSON object for a multisignature account and the members of its group. */
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

const FIGURES_2: Readonly<Record<string, Schema>> = {
  vote: shape.AMOUNT,
  rank: shape.orNull({ type: 'integer', minimum: 1 }),
};
const FIGURES_3: Readonly<Record<string, Schema>> = { voteWeight: shape.AMOUNT };
const FIGURES: Readonly<Record<string, Schema>> = {
  username: shape.TEXT,
  rewards: shape.AMOUNT,
  producedBlocks: shape.COUNT,
  missedBlocks: shape.COUNT,
  productivity: shape.PERCENT,
  approval: shape.PERCENT,
};

const ACCOUNT_KEYS: Readonly<Record<string, Schema>> = {
  address: shape.ADDRESS,
  publicKey: shape.PUBLIC_KEY,
  secondPublicKey: shape.PUBLIC_KEY,
};

export function accountShape(dialect: HttpDialect): Schema {
  const delegate = figuresShape(dialect);
  return shape.objectOf({ ...ACCOUNT_KEYS, balance: shape.AMOUNT, asset: shape.ANY_OBJECT, delegate }, ['delegate']);
}

export function delegateShape(dialect: HttpDialect): Schema {
  return figuresShape(dialect, { account: shape.objectOf(ACCOUNT_KEYS) });
}

function figuresShape(dialect: HttpDialect, more: Readonly<Record<string, Schema>> = {}): Schema {
  const [own, other] = dialect.generation === 2 ? [FIGURES_2, FIGURES_3] : [FIGURES_3, FIGURES_2];
  return extendedShape(dialect, { ...FIGURES, ...own, ...more }, other);
}

export const GROUP_SHAPE: Schema = shape.objectOf({
  ...ACCOUNT_KEYS,
  balance: shape.AMOUNT,
  min: shape.COUNT,
  lifetime: shape.COUNT,
  members: shape.listOf(shape.objectOf(ACCOUNT_KEYS)),
});

function standingView(entry: DelegateEntry, dialect: HttpDialect): View {
  const { vote, voteWeight, rank, approval, productivity } = figuresOf(entry);
  if (dialect.generation === 2)
    return extendedMembers(
      dialect,
      { ...nameAndBlocks(entry, { vote }), rank, productivity, approval },
      { voteWeight },
    );
  return extendedMembers(dialect, { ...nameAndBlocks(entry, { voteWeight }), productivity, approval }, { vote, rank });
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
