/** Places in the dashboard, as addresses: `#/blocks/123`. */

export const VIEWS = [
  'glance',
  'blocks',
  'transactions',
  'pool',
  'accounts',
  'delegates',
  'peers',
  'nodes',
  'charts',
  'forging',
  'diagnostics',
] as const;

export type View = (typeof VIEWS)[number];

export interface Place {
  readonly view: View;
  /** Id, height, address or name; undefined for a list. */
  readonly item: string | undefined;
  /** Page of a list, from 1. */
  readonly page: number;
  /** The filters and the order of a list; only names that the view knows. */
  readonly filters: Filters;
}

export type Filters = Readonly<Record<string, string>>;

/** Names of filters, in the order in which an address has them. */
const FILTERS: Partial<Readonly<Record<View, readonly string[]>>> = {
  blocks: ['delegate', 'sort'],
  transactions: ['kind', 'from', 'to', 'min', 'max', 'text', 'sort'],
  accounts: ['sort'],
  delegates: ['name', 'sort'],
  charts: ['span'],
};

const HOME: Place = { view: 'glance', item: undefined, page: 1, filters: {} };

/** @returns the overview for a hash that names no place */
export function placeOfHash(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?');
  const [name, item] = path.split('/');
  const view = VIEWS.find((known) => known === name);
  if (view === undefined) return HOME;
  const given = new URLSearchParams(query);
  const page = Number(given.get('page'));
  const filters = (FILTERS[view] ?? []).flatMap((filter) => {
    const value = given.get(filter)?.trim() ?? '';
    return value === '' ? [] : [[filter, value] as const];
  });
  return {
    view,
    item: decoded(item),
    page: Number.isInteger(page) && page > 1 ? page : 1,
    filters: Object.fromEntries(filters),
  };
}

/** The address of a place. Filters that are empty, or that the view does not know, are left out. */
export function hashOf(view: View, item?: string, page = 1, filters: Filters = {}): string {
  if (view === 'glance') return '#/';
  const path = item === undefined ? view : `${view}/${encodeURIComponent(item)}`;
  const query = new URLSearchParams();
  for (const filter of FILTERS[view] ?? []) {
    const value = filters[filter]?.trim() ?? '';
    if (value !== '') query.set(filter, value);
  }
  if (page > 1) query.set('page', String(page));
  const text = query.toString();
  return `#/${path}${text === '' ? '' : `?${text}`}`;
}

function decoded(item: string | undefined): string | undefined {
  if (item === undefined || item === '') return undefined;
  try {
    return decodeURIComponent(item);
  } catch {
    return item;
  }
}
