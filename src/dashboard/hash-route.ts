/** Converts routes of the dashboard to URL fragments and back. Example: `#/blocks/123`. */

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
  'devnet',
] as const;

export type View = (typeof VIEWS)[number];

export interface HashRoute {
  readonly view: View;
  /** Id, height, address or name of the one item that the view shows; undefined for a list. */
  readonly item: string | undefined;
  /** Number of the page of the list; the first page is 1. */
  readonly page: number;
  /**
   * Cursor with which the dashboard requests the page. The node sent this cursor together with the previous page. The
   * text is empty for the first page.
   */
  readonly after: string;
  /**
   * Filters and order (`sort`) of a list, or the time span of the charts. Contains only filters that the view supports.
   */
  readonly filters: Filters;
}

export type Filters = Readonly<Record<string, string>>;

/** Names of the filters of each view, in their sequence in the URL fragment. `sort` is the order of the list. */
const FILTERS: Partial<Readonly<Record<View, readonly string[]>>> = {
  blocks: ['delegate', 'sort'],
  transactions: ['kind', 'from', 'to', 'min', 'max', 'text', 'sort'],
  accounts: ['sort'],
  delegates: ['name', 'sort'],
  charts: ['span'],
};

/** The members of a route that select the page of a list. */
export type PageOfRoute = Pick<HashRoute, 'page' | 'after'>;

const FIRST_PAGE: PageOfRoute = { page: 1, after: '' };

const HOME: HashRoute = { view: 'glance', item: undefined, page: 1, after: '', filters: {} };

/** Returns the route of a URL fragment. A fragment that names no view gives the route of the overview (`glance`). */
export function routeOfHash(hash: string): HashRoute {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?');
  const [name, item] = path.split('/');
  const view = VIEWS.find((known) => known === name);
  if (view === undefined) return HOME;
  const given = new URLSearchParams(query);
  const page = Number(given.get('page'));
  const after = given.get('after') ?? '';
  const filters = (FILTERS[view] ?? []).flatMap((filter) => {
    const value = given.get(filter)?.trim() ?? '';
    return value === '' ? [] : [[filter, value] as const];
  });
  return {
    view,
    item: decoded(item),
    // The page number is for display. The cursor determines where the page begins.
    page: after !== '' && Number.isInteger(page) && page > 1 ? page : 1,
    after,
    filters: Object.fromEntries(filters),
  };
}

/** Returns the URL fragment of a route, without filters that are empty or that the view does not support. */
export function hashOf(
  view: View,
  item?: string,
  filters: Filters = {},
  { page, after }: PageOfRoute = FIRST_PAGE,
): string {
  if (view === 'glance') return '#/';
  const path = item === undefined ? view : `${view}/${encodeURIComponent(item)}`;
  const query = new URLSearchParams();
  for (const filter of FILTERS[view] ?? []) {
    const value = filters[filter]?.trim() ?? '';
    if (value !== '') query.set(filter, value);
  }
  if (after !== '') {
    query.set('page', String(page));
    query.set('after', after);
  }
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
