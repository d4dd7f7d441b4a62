/**
 * Combines the filters of a query for transactions. The results are a predicate, an index, and the shortest list of
 * candidates.
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
import { filtersInUse, type Predicate, type FilterBound } from './transaction-filters.ts';

/** All filters as one predicate; undefined if no transaction can match. */
export function predicateOf(store: StoredChain, query: TransactionQuery): Predicate | undefined {
  const predicates = filtersInUse(store, query).map(({ predicate }) => predicate);
  const possible = predicates.filter((predicate) => predicate !== undefined);
  if (possible.length < predicates.length) return undefined;
  return (transaction, place) => possible.every((fits) => fits(transaction, place));
}

/** Lists that contain all matching transactions and may be stored in sorted orders. The whole chain comes last. */
export function listFiltersOf(store: StoredChain, query: TransactionQuery): readonly ListFilter[] {
  const lists = filtersInUse(store, query).flatMap(({ list }) => (list === undefined ? [] : [list.list]));
  return [...lists, { kind: 'all' }];
}

/**
 * The list that has exactly the transactions that the filters select, apart from bounds; undefined if no list has
 * exactly these transactions.
 */
export function exactListOf(store: StoredChain, query: TransactionQuery): ListFilter | undefined {
  const naming = filtersInUse(store, query).filter(({ bound }) => bound === undefined);
  const [first] = naming;
  if (first === undefined) return { kind: 'all' };
  return naming.length === 1 && first.list?.isExact === true ? first.list.list : undefined;
}

/**
 * Bounds for the value by which the query sorts. Undefined if there are bounds for another value, or if no value can
 * match.
 */
export function boundsOf(store: StoredChain, query: TransactionQuery): ValueBounds | undefined {
  const bounds = filtersInUse(store, query).flatMap(({ bound }) => bound ?? []);
  if (bounds.some(({ order }) => order !== query.sort.field)) return undefined;
  return bytesOfBounds(query.sort.field, bounds);
}

/** The smallest set of candidates that a single filter gives. */
export function candidatesOf(store: StoredChain, query: TransactionQuery): Candidates {
  const filters = filtersInUse(store, query);
  const bounds = filters.flatMap(({ bound }) => bound ?? []);
  const choices = [
    ...filters.flatMap(({ list, among }) => among ?? (list === undefined ? [] : inList(store, list.list))),
    ...[...new Set(bounds.map(({ order }) => order))].map((order) =>
      betweenBounds(
        store,
        order,
        bounds.filter((bound) => bound.order === order),
      ),
    ),
  ];
  const all = inList(store, { kind: 'all' });
  return choices.reduce<Candidates>((best, choice) => (choice.size < best.size ? choice : best), all);
}

function betweenBounds(store: StoredChain, order: TransactionSort, bounds: readonly FilterBound[]): Candidates {
  const { table } = TRANSACTION_ORDERS[order];
  assert(table !== undefined, 'bounds are of an order of all transactions');
  const between = bytesOfBounds(order, bounds);
  if (between === undefined) return NOTHING;
  const { start, all } = TABLES[table];
  const { from, to } = between;
  return inRange(store, {
    gte: from === undefined ? all.gte : Buffer.concat([start, from]),
    lt: to === undefined ? all.lt : afterPrefix(Buffer.concat([start, to])),
  });
}

/** Bounds as bytes; undefined if no possible value lies between the bounds. */
function bytesOfBounds(order: TransactionSort, bounds: readonly FilterBound[]): ValueBounds | undefined {
  const kind = TRANSACTION_ORDERS[order].value;
  let found: ValueBounds = {};
  for (const { from, to } of bounds) {
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
