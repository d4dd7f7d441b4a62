/**
 * Combines the filters of a query for transactions. The functions of this module return a predicate, bounds of the
 * value by which the query sorts, a set of candidates (`candidates.ts`), and several lists. Each of these lists
 * contains all matching transactions. The set of candidates is the smallest of all sets of candidates for the query.
 */

import { assert } from '../../primitives/errors.ts';
import type { TransactionQuery, TransactionSort } from '../../ports/queries.ts';
import type { StoredChain } from '../chain/stored-chain.ts';
import { afterPrefix } from '../tables/key-value.ts';
import { TABLES, TRANSACTION_ORDERS } from '../tables/layout.ts';
import { bytesOf } from '../tables/sort-values.ts';
import { inList, inRange, NOTHING, type Candidates } from './candidates.ts';
import type { ValueBounds } from './ordered-keys.ts';
import type { ListFilter } from './ordered-places.ts';
import { filtersInUse, type Predicate, type ValueRange } from './transaction-filters.ts';

/**
 * Returns a predicate that is true for each transaction that matches all filters of the query. The result is undefined
 * if one of the filters can match no transaction.
 */
export function predicateOf(store: StoredChain, query: TransactionQuery): Predicate | undefined {
  const predicates = filtersInUse(store, query).map(({ predicate }) => predicate);
  const possible = predicates.filter((predicate) => predicate !== undefined);
  if (possible.length < predicates.length) return undefined;
  return (transaction, place) => possible.every((matches) => matches(transaction, place));
}

/**
 * Returns several lists. Each list contains all transactions that match the query, and perhaps other transactions. The
 * store can have each of these lists in several sort orders. The last list of the result is the list of all
 * transactions.
 */
export function listFiltersOf(store: StoredChain, query: TransactionQuery): readonly ListFilter[] {
  const lists = filtersInUse(store, query).flatMap(({ containingList }) => containingList?.list ?? []);
  return [...lists, { kind: 'all' }];
}

/**
 * Returns the list that contains exactly the transactions that match the filters. The function ignores the filters that
 * limit the amount or the timestamp. If no other filter is in use, the result is the list of all transactions. If one
 * other filter is in use, and its list contains no transactions that do not match this filter (`isExact`), the result
 * is this list. In all other cases, the result is undefined.
 */
export function exactListOf(store: StoredChain, query: TransactionQuery): ListFilter | undefined {
  const withoutRange = filtersInUse(store, query).filter(({ valueRange }) => valueRange === undefined);
  const [first] = withoutRange;
  if (first === undefined) return { kind: 'all' };
  return withoutRange.length === 1 && first.containingList?.isExact === true ? first.containingList.list : undefined;
}

/**
 * Returns the bounds that the filters set for the value by which the query sorts. The result is undefined if a filter
 * limits the amount or the timestamp, but the query sorts by another value. The result is also undefined if a bound
 * excludes all values that keys can represent.
 */
export function boundsOf(store: StoredChain, query: TransactionQuery): ValueBounds | undefined {
  const ranges = filtersInUse(store, query).flatMap(({ valueRange }) => valueRange ?? []);
  if (ranges.some(({ order }) => order !== query.sort.field)) return undefined;
  return bytesOfRanges(query.sort.field, ranges);
}

/**
 * Returns the smallest of several sets of candidates. Some filters have their own set (`candidates`). For a filter that
 * has no own set but a list (`containingList`), the set contains the transactions of the list. All filters that limit
 * the amount have one common set. All filters that limit the timestamp have another common set. One more set contains
 * all transactions.
 */
export function candidatesOf(store: StoredChain, query: TransactionQuery): Candidates {
  const filters = filtersInUse(store, query);
  const ranges = filters.flatMap(({ valueRange }) => valueRange ?? []);
  const choices = [
    ...filters.flatMap(
      ({ candidates, containingList }) =>
        candidates ?? (containingList === undefined ? [] : inList(store, containingList.list)),
    ),
    ...[...new Set(ranges.map(({ order }) => order))].map((order) =>
      inAllRanges(
        store,
        order,
        ranges.filter((range) => range.order === order),
      ),
    ),
  ];
  const all = inList(store, { kind: 'all' });
  return choices.reduce<Candidates>((best, choice) => (choice.size < best.size ? choice : best), all);
}

function inAllRanges(store: StoredChain, order: TransactionSort, ranges: readonly ValueRange[]): Candidates {
  const { table } = TRANSACTION_ORDERS[order];
  assert(table !== undefined, 'ranges are of a sort order of all transactions');
  const bounds = bytesOfRanges(order, ranges);
  if (bounds === undefined) return NOTHING;
  const { start, all } = TABLES[table];
  const { from, to } = bounds;
  return inRange(store, {
    gte: from === undefined ? all.gte : Buffer.concat([start, from]),
    lt: to === undefined ? all.lt : afterPrefix(Buffer.concat([start, to])),
  });
}

/**
 * Combines the bounds of all ranges, and returns them as bytes. The result is undefined if a bound excludes all values
 * that keys can represent. The caller must pass at most one range with a lower bound, and at most one range with an
 * upper bound.
 */
function bytesOfRanges(order: TransactionSort, ranges: readonly ValueRange[]): ValueBounds | undefined {
  const kind = TRANSACTION_ORDERS[order].value;
  let found: ValueBounds = {};
  for (const { from, to } of ranges) {
    if (from !== undefined) {
      const nearest = kind.nearest(from);
      if (nearest < from) return undefined;
      found = { ...found, from: bytesOf(kind, nearest) };
    }
    if (to !== undefined) {
      const nearest = kind.nearest(to);
      if (nearest > to) return undefined;
      found = { ...found, to: bytesOf(kind, nearest) };
    }
  }
  return found;
}
