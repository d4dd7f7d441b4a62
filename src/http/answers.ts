/**
 * Answers requests of the HTTP interface without a listening socket. A tool that reads the chain from a node's data
 * folder calls this module in its own process.
 */

import type { NodeApi } from '../ports/node-api.ts';
import type { HttpDialect } from './dialect.ts';
import { internalError, pageNotFound, problemOf } from './problems.ts';
import { parseQuery, queryTextOf } from './query.ts';
import { checkRequest, type Route } from './route.ts';
import { allRoutes } from './routes/all.ts';

export interface Answered {
  readonly status: number;
  /** Answer body in the form that a client gets from `JSON.parse`. */
  readonly body: unknown;
}

/**
 * Creates a function that answers `GET` requests like a running node. The function serves the routes that are enabled
 * by default, except event streams. The function uses the extended dialect (`strict: false`), which also contains
 * parameters and JSON members that a lisk-sdk node of the network's generation does not have. The answer to `/docs` is
 * always the plain page of the API documentation, without scripts. The function has no access control, because the
 * caller can read the files of the chain anyway.
 *
 * @returns a function that answers a request; its argument is the target of the request without the prefix `/api`, for
 *   example `/blocks?limit=1`
 */
export function createAnswers(api: NodeApi): (target: string) => Promise<Answered> {
  const dialect: HttpDialect = { generation: api.params.generation, strict: false };
  const routes = allRoutes(dialect)
    .filter(({ method, kind }) => method === 'GET' && kind !== 'stream')
    .map((route) => ({ route, pattern: patternOf(route) }));

  return async (target) => {
    const [path = ''] = target.split('?', 1);
    try {
      for (const { route, pattern } of routes) {
        const found = pattern.exec(path);
        if (found !== null) return await answerOf(route, found.groups ?? {}, target);
      }
      throw pageNotFound();
    } catch (error) {
      const problem = problemOf(error, dialect.generation);
      if (problem === undefined) throw error;
      return { status: problem.status, body: problem.body };
    }
  };

  async function answerOf(route: Route, path: Readonly<Record<string, string>>, target: string): Promise<Answered> {
    const query = parseQuery(queryTextOf(target));
    const request = checkRequest(route, { query, path, body: undefined, contentType: undefined });
    if (route.kind === 'stream') throw internalError();
    if (route.kind === 'plain') return route.respond(api, request);
    const { meta, data } = await route.handle(api, request);
    // `JSON.stringify` drops members with the value undefined, as in an answer over HTTP.
    return { status: 200, body: JSON.parse(JSON.stringify({ meta, data, links: {} })) as unknown };
  }
}

/** Returns a pattern for the path of a route. As in Express, a parameter matches a whole segment. */
function patternOf({ path }: Route): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
}
