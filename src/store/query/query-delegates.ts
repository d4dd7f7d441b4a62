/**
 * Answers queries for delegates. A network has at most a few thousand delegates. In generation 3, the rank of each
 * delegate depends on all delegates. The node therefore keeps in memory all delegates in the state at the current tip.
 */

import type { Cursor, DelegateEntry, DelegateQuery, Direction, Page, PageRequest } from '../../ports/queries.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { ChainParams } from '../../protocol/params.ts';
import { supplyAt } from '../../protocol/rewards.ts';
import { emptyAccount, type Account, type Delegate } from '../../protocol/state.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';
import type { StoredChain } from '../chain/stored-chain.ts';
import { codePoints, LikePattern } from './like.ts';
import { compareTexts, compareValues, compareWithUnknown, directed, firstOf, listPage, type Compare } from './pages.ts';

export class DelegateQueries {
  readonly #store: StoredChain;
  readonly #params: ChainParams;
  #view: { readonly tip: BlockHeader | undefined; readonly entries: ReadonlyMap<PublicKey, DelegateEntry> } | undefined;

  /**
   * Caches the sorted lists of all delegates for the tip `#view.tip`. The cache has one list for each sort order that
   * was requested with this tip.
   */
  readonly #sorted = new Map<string, readonly DelegateEntry[]>();

  constructor(store: StoredChain, params: ChainParams) {
    this.#store = store;
    this.#params = params;
  }

  entry(publicKey: PublicKey): DelegateEntry | undefined {
    return this.#entries().get(publicKey);
  }

  /** Returns the delegates whose usernames match a LIKE pattern. */
  named(pattern: string): readonly DelegateEntry[] {
    return [...this.#entries().values()].filter(FILTERS.usernamePattern(pattern));
  }

  delegates(query: DelegateQuery): Page<DelegateEntry> {
    const { field, direction } = query.sort;
    const predicates = predicatesOf(query);
    if (predicates.length === 0) return pageOf(this.#all(field, direction), query);
    const found = [...this.#entries().values()].filter((entry) => predicates.every((fits) => fits(entry)));
    return pageOf(found.sort(orderOf(field, direction)), query);
  }

  /** Returns all delegates in a sort order. The list stays in memory until the tip changes. */
  #all(field: SortField, direction: Direction): readonly DelegateEntry[] {
    const entries = this.#entries();
    const key = `${field}:${direction}`;
    const kept = this.#sorted.get(key) ?? [...entries.values()].sort(orderOf(field, direction));
    this.#sorted.set(key, kept);
    return kept;
  }

  #entries(): ReadonlyMap<PublicKey, DelegateEntry> {
    const tip = this.#store.tip();
    if (this.#view === undefined || this.#view.tip?.id !== tip?.id) {
      this.#sorted.clear();
      this.#view = { tip, entries: entriesOf(this.#store, this.#params, tip?.height ?? 0) };
    }
    return this.#view.entries;
  }
}

const byAddress: Compare<DelegateEntry> = (a, b) => compareValues(a.delegate.address, b.delegate.address);

type SortField = DelegateQuery['sort']['field'];

const ORDERS: Readonly<Record<SortField, Compare<DelegateEntry>>> = {
  username: (a, b) => compareTexts(a.delegate.username, b.delegate.username),
  rank: (a, b) => compareWithUnknown<number>(compareValues)(a.rank, b.rank),
  voteWeight: (a, b) => compareValues(a.delegate.voteWeight, b.delegate.voteWeight),
  productivity: (a, b) => compareValues(a.productivity, b.productivity),
  missedBlocks: (a, b) => compareValues(a.account.missedBlocks, b.account.missedBlocks),
  producedBlocks: (a, b) => compareValues(a.account.producedBlocks, b.account.producedBlocks),
};

function orderOf(field: SortField, direction: Direction): Compare<DelegateEntry> {
  return firstOf(directed(ORDERS[field], direction), byAddress);
}

type DelegateFilters = Omit<DelegateQuery, keyof PageRequest | 'sort'>;
type DelegatePredicate = (entry: DelegateEntry) => boolean;

/** The predicate of each filter. Because of the type of this constant, the compiler reports a missing filter. */
const FILTERS: {
  readonly [F in keyof Required<DelegateFilters>]: (value: NonNullable<DelegateFilters[F]>) => DelegatePredicate;
} = {
  address:
    (address) =>
    ({ delegate }) =>
      delegate.address === address,
  publicKey: (text) => {
    const key = text.toLowerCase();
    return ({ delegate }) => delegate.publicKey === key;
  },
  secondPublicKey: (text) => {
    const key = text.toLowerCase();
    return ({ account }) => account.secondPublicKey === key;
  },
  username:
    (username) =>
    ({ delegate }) =>
      delegate.username === username,
  usernamePattern: (pattern) => {
    const like = new LikePattern(codePoints(pattern));
    return ({ delegate }) => like.matches(codePoints(delegate.username));
  },
};

function predicatesOf(query: DelegateFilters): readonly DelegatePredicate[] {
  const predicatesFor = <F extends keyof DelegateFilters>(name: F): readonly DelegatePredicate[] => {
    const filter: (value: NonNullable<DelegateFilters[F]>) => DelegatePredicate = FILTERS[name];
    const value = query[name];
    return value === undefined ? [] : [filter(value)];
  };
  return (Object.keys(FILTERS) as (keyof DelegateFilters)[]).flatMap((name) => predicatesFor(name));
}

function pageOf(entries: readonly DelegateEntry[], query: DelegateQuery): Page<DelegateEntry> {
  const { field, direction } = query.sort;
  return listPage(entries, query, {
    cursorOf: (entry) => ({ value: textOf(entry, field), tie: entry.delegate.address }),
    compareWith: (cursor) => {
      const order = orderOf(field, direction);
      const target = entryAt(cursor, field);
      return (entry) => order(entry, target);
    },
  });
}

/**
 * Returns the value of the field `field` of a delegate, as text. The text is empty if the field is `rank` and the rank
 * is unknown (null).
 */
function textOf({ delegate, account, rank, productivity }: DelegateEntry, field: SortField): string {
  const { username, voteWeight } = delegate;
  const { missedBlocks, producedBlocks } = account;
  const values = { username, voteWeight, rank: rank ?? '', productivity, missedBlocks, producedBlocks };
  return values[field].toString();
}

/**
 * Returns an artificial entry with the sort value and the address of a cursor. The sort functions compare real entries
 * with this entry.
 * @throws ProtocolError `CURSOR_INVALID`
 */
function entryAt({ value, tie }: Cursor, field: SortField): DelegateEntry {
  const isNumber = /^-?[0-9]{1,30}(?:\.[0-9]{1,2})?$/.test(value) || (field === 'rank' && value === '');
  if (field !== 'username' && !isNumber) throw new ProtocolError('CURSOR_INVALID', { value });
  if (field === 'voteWeight' && value.includes('.')) throw new ProtocolError('CURSOR_INVALID', { value });
  const number = Number(value);
  const delegate = {
    publicKey: '',
    address: tie,
    username: value,
    voteWeight: field === 'voteWeight' ? BigInt(value) : 0n,
    pendingVoteWeight: 0n,
    rank: 0,
  };
  const account = { ...emptyAccount(tie), missedBlocks: number, producedBlocks: number };
  return { delegate, account, rank: value === '' ? null : number, productivity: number, approval: 0 };
}

function entriesOf(store: StoredChain, params: ChainParams, height: number): ReadonlyMap<PublicKey, DelegateEntry> {
  const supply = supplyAt(height, params.rewards);
  const delegates = [...store.delegates()].sort(
    firstOf<Delegate>(
      (a, b) => compareValues(b.voteWeight, a.voteWeight),
      (a, b) => compareValues(a.publicKey, b.publicKey),
    ),
  );
  return new Map(
    delegates.map((delegate, index) => {
      const account = store.account(delegate.address) ?? emptyAccount(delegate.address);
      // Generation 3 stores no rank, so the rank is the position in the list. The highest vote weight comes first.
      const rank = params.generation === 3 ? index + 1 : delegate.rank === 0 ? null : delegate.rank;
      const entry: DelegateEntry = {
        delegate,
        account,
        rank,
        productivity: productivityOf(account),
        approval: percentOf(delegate.voteWeight, supply),
      };
      return [delegate.publicKey, entry];
    }),
  );
}

function productivityOf({ producedBlocks, missedBlocks }: Account): number {
  const slots = producedBlocks + missedBlocks;
  return slots === 0 ? 0 : percentOf(BigInt(producedBlocks), BigInt(slots));
}

/**
 * Returns `part` as a percentage of `whole`, rounded to two decimals. A value exactly halfway between two hundredths is
 * rounded away from zero. The function computes with integers, because a vote weight can exceed 2^53.
 */
function percentOf(part: bigint, whole: bigint): number {
  const size = part < 0n ? -part : part;
  const hundredths = Number((size * 20_000n + whole) / (2n * whole));
  return (part < 0n ? -hundredths : hundredths) / 100;
}
