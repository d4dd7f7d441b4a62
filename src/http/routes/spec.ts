/** Declares the routes for the API specification (`/spec`) and for the page with the API documentation (`/docs`). */

import type { NodeApi } from '../../ports/node-api.ts';
import { softwareVersionOf } from '../../primitives/software-version.ts';
import type { HttpDialect } from '../dialect.ts';
import { withComponents, type NamedDocument } from '../components.ts';
import { docsPage, DOCS_PAGE_POLICY } from '../docs-page.ts';
import { withExamples } from '../document-examples.ts';
import { openApiOf } from '../openapi.ts';
import type { ApiDocsPage } from '../api-docs.ts';
import type { PlainRoute, Route } from '../route.ts';

/**
 * @param routes all other routes; the API specification also covers the two routes of this file
 * @param page the interactive API documentation; if absent, `/docs` always shows a plain page without scripts
 */
export function specRoutes(routes: readonly Route[], dialect: HttpDialect, page?: ApiDocsPage): readonly Route[] {
  const common = { kind: 'plain', method: 'GET', unknownParameters: 'ignored', errors: {} } as const;
  const spec: PlainRoute = {
    ...common,
    path: '/spec',
    summary: 'Describes the HTTP interface of this node as an OpenAPI 3.1 document.',
    parameters: [],
    contentType: 'application/json',
    answers: { 200: { type: 'object' } },
    respond: async (api) => ({ status: 200, body: await servedDocument(described, dialect, versionOf(api)) }),
  };
  const docs: PlainRoute = {
    ...common,
    path: '/docs',
    summary:
      'Shows the API description as a page on which you can try requests. The page loads nothing from other sites.',
    parameters: [
      {
        name: 'plain',
        in: 'query',
        schema: {
          type: 'boolean',
          description:
            'With `true`, the node sends a plain page without scripts. If `http.dashboard` is false, the page is always plain.',
        },
      },
    ],
    contentType: 'text/html; charset=utf-8',
    answers: { 200: { type: 'string' } },
    respond: (api, request) =>
      page === undefined || request.flag('plain') === true
        ? { status: 200, body: docsPage(openApiOf(described, dialect, versionOf(api))), headers: PLAIN_HEADERS }
        : { status: 200, body: page.html, headers: page.headers },
  };
  const described: readonly Route[] = [...routes, spec, docs];
  return [spec, docs];
}

const PLAIN_HEADERS = { 'Content-Security-Policy': DOCS_PAGE_POLICY };

/**
 * Returns the version of Bloomery from `identity.build`. If `identity.build` contains no version, the function returns
 * `identity.version` instead, which is the version of lisk-sdk with which the node is compatible.
 */
function versionOf({ identity }: NodeApi): string {
  return softwareVersionOf(identity.build) ?? identity.version;
}

/**
 * Returns the answer of `/spec` without the examples.
 *
 * @param version version of the node's software
 */
export function describedInterface(routes: readonly Route[], dialect: HttpDialect, version: string): NamedDocument {
  return withComponents(openApiOf(routes, dialect, version), dialect);
}

/**
 * Returns the answer of `/spec`. For the strict dialect (only the JSON members of lisk-sdk nodes), the answer has no
 * examples, because the recorded examples have members that only the extended dialect has.
 */
async function servedDocument(routes: readonly Route[], dialect: HttpDialect, version: string): Promise<NamedDocument> {
  const document = describedInterface(routes, dialect, version);
  if (dialect.strict) return document;
  // The examples are loaded on demand, because most nodes never need them.
  const { EXAMPLES } = await import('../examples.ts');
  return withExamples(document, EXAMPLES[dialect.generation]);
}
