/** Which paths and methods there are, for what must be known before anything of a request is worked on. */

import type { HttpDialect } from './dialect.ts';
import type { Route } from './route.ts';

export interface RouteTable {
  /** @param path as the client wrote it, without its query */
  find(path: string): KnownPath | undefined;
}

interface KnownPath {
  /** Whether a request with this method may bring a body. */
  takesBody(method: string): boolean;
}

/**
 * Where every route is served, and in which dialect: as clients know it, and without the prefix. What has no prefix no client
 * of the family asks for, so that a strict dialect does not reach there: this node's own tools ask so.
 */
export function served(
  dialect: HttpDialect,
): readonly { readonly prefixes: readonly string[]; readonly dialect: HttpDialect }[] {
  if (!dialect.strict) return [{ prefixes: ['/api', ''], dialect }];
  return [
    { prefixes: ['/api'], dialect },
    { prefixes: [''], dialect: { ...dialect, strict: false } },
  ];
}

/**
 * Where a route is served below a prefix. The root of the interface is the prefix itself.
 *
 * @returns empty for the root without a prefix, which is no path: the dashboard has its place
 */
export function pathBelow(prefix: string, path: string): string {
  return path === '/' ? prefix : prefix + path;
}

/** @param caseSensitive whether letter case tells paths apart */
export function createRouteTable(routes: readonly Route[], caseSensitive: boolean): RouteTable {
  const methods = new Map<string, Set<string>>();
  for (const { path, method, body } of routes) {
    const withBody = methods.get(path) ?? new Set<string>();
    if (body !== undefined) withBody.add(method);
    methods.set(path, withBody);
  }
  const paths = [...methods].map(([path, withBody]) => ({
    // As Express reads a pattern: a parameter is a whole segment, and a slash may follow.
    pattern: new RegExp(
      path === '/' ? '^/api/?$' : `^(?:/api)?${path.replaceAll(/[.]/g, '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`,
      caseSensitive ? '' : 'i',
    ),
    known: { takesBody: (method: string) => withBody.has(method) },
  }));
  return { find: (path) => paths.find(({ pattern }) => pattern.test(path))?.known };
}
