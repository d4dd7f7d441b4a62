/**
 * Finds out, before Express gets a request, whether the path of the request exists, and which methods of this path take
 * a body.
 */

import type { HttpDialect } from './dialect.ts';
import type { Route } from './route.ts';

export interface RouteTable {
  /** @param path path as the client wrote it, without its query */
  find(path: string): KnownPath | undefined;
}

interface KnownPath {
  /** True if the path has a route with this method, and the route takes a body. */
  takesBody(method: string): boolean;
}

/**
 * Returns the two prefixes of each route, `/api` and the empty prefix, with the dialect of each prefix. Clients of
 * lisk-sdk nodes use only paths below `/api`. The strict dialect (only the names of lisk-sdk nodes) therefore does not
 * apply to other paths. Most commands of this software use paths without a prefix, because these commands need the
 * additional JSON members of the extended dialect.
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
 * Returns the path of a route below a prefix. The path of the route `/` is the prefix itself.
 *
 * @returns the path. The path is empty for the route `/` with the empty prefix. At this empty path, the node does not
 *   serve the route, because the dashboard is at `/`
 */
export function pathBelow(prefix: string, path: string): string {
  return path === '/' ? prefix : prefix + path;
}

/** @param caseSensitive true to distinguish upper and lower case in paths */
export function createRouteTable(routes: readonly Route[], caseSensitive: boolean): RouteTable {
  const methods = new Map<string, Set<string>>();
  for (const { path, method, body } of routes) {
    const withBody = methods.get(path) ?? new Set<string>();
    if (body !== undefined) withBody.add(method);
    methods.set(path, withBody);
  }
  const paths = [...methods].map(([path, withBody]) => ({
    // The pattern matches the same paths as Express does: a parameter is a whole segment, and a path can end with a
    // slash.
    pattern: new RegExp(
      path === '/' ? '^/api/?$' : `^(?:/api)?${path.replaceAll(/[.]/g, '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`,
      caseSensitive ? '' : 'i',
    ),
    known: { takesBody: (method: string) => withBody.has(method) },
  }));
  return { find: (path) => paths.find(({ pattern }) => pattern.test(path))?.known };
}
