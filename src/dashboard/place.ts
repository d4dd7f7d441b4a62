/** Where in the dashboard one is: `#/blocks/123` and the like. */

const VIEWS = [
  'glance',
  'blocks',
  'transactions',
  'pool',
  'accounts',
  'delegates',
  'peers',
  'nodes',
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
}

const HOME: Place = { view: 'glance', item: undefined, page: 1 };

/** @returns the glance for anything that names no place */
export function placeOfHash(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?');
  const [name, item] = path.split('/');
  const view = VIEWS.find((known) => known === name);
  if (view === undefined) return HOME;
  const page = Number(new URLSearchParams(query).get('page'));
  return { view, item: decoded(item), page: Number.isInteger(page) && page > 1 ? page : 1 };
}

export function hashOf(view: View, item?: string, page = 1): string {
  if (view === 'glance') return '#/';
  const path = item === undefined ? view : `${view}/${encodeURIComponent(item)}`;
  return `#/${path}${page > 1 ? `?page=${page}` : ''}`;
}

function decoded(item: string | undefined): string | undefined {
  if (item === undefined || item === '') return undefined;
  try {
    return decodeURIComponent(item);
  } catch {
    return item;
  }
}
