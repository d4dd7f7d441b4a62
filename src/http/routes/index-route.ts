/**
 * Declares the route for the path `/api` itself. The answer of this route lists all other paths that clients can read
 * with GET and that have no path parameter. `pages` has `/spec` and `/docs`, and `paths` has the rest.
 */

import { softwareVersionOf } from '../../primitives/software-version.ts';
import type { EnvelopeRoute, Route } from '../route.ts';
import { listOf, objectOf, TEXT } from '../views/shapes.ts';

/** Prefix of the paths in the answer. */
const PREFIX = '/api';

/**
 * @param routes all other routes except `/spec` and `/docs`; the answer lists the GET routes that have no parameter in
 *   the path
 * @param hasDashboard true when the node serves the dashboard at `/`
 */
export function indexRoute(routes: readonly Route[], hasDashboard: boolean): EnvelopeRoute {
  const listed = routes
    .filter(({ method, path }) => method === 'GET' && !path.includes('{'))
    .map(({ path, summary }) => ({ path: PREFIX + path, summary }));
  return {
    method: 'GET',
    path: '/',
    summary:
      'Shows the name and version of the software. `pages` has the paths of the documentation, of the OpenAPI description, and of the dashboard if the node serves it. `paths` lists all GET paths below `/api` that have no path parameter, except `/api` itself and the paths in `pages`.',
    parameters: [],
    unknownParameters: 'ignored',
    errors: {},
    answer: {
      meta: objectOf({}),
      data: objectOf({
        software: TEXT,
        version: { type: 'string', description: 'Version of the software.' },
        networkName: TEXT,
        generation: { type: 'integer' },
        pages: objectOf({ dashboard: TEXT, docs: TEXT, spec: TEXT }, ['dashboard']),
        paths: listOf(objectOf({ path: TEXT, summary: TEXT })),
      }),
    },
    handle: ({ identity, params }) => ({
      meta: {},
      data: {
        software: 'Bloomery',
        version: softwareVersionOf(identity.build) ?? identity.version,
        networkName: identity.networkName,
        generation: params.generation,
        pages: {
          ...(hasDashboard ? { dashboard: '/' } : {}),
          docs: `${PREFIX}/docs`,
          spec: `${PREFIX}/spec`,
        },
        paths: listed,
      },
    }),
  };
}
