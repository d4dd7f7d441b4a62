/** The interface's description of itself: for machines and for people. */

import type { NodeApi } from '../../ports/node-api.ts';
import { softwareVersionOf } from '../../primitives/software-version.ts';
import type { Dialect } from '../dialect.ts';
import { withComponents, type NamedDocument } from '../components.ts';
import { docsPage } from '../docs-page.ts';
import { openApiOf } from '../openapi.ts';
import type { PlainRoute, Route } from '../route.ts';

/** @param routes all others: the two here are added to what they describe */
export function specRoutes(routes: readonly Route[], dialect: Dialect): readonly Route[] {
  const common = {
    kind: 'plain',
    method: 'GET',
    parameters: [],
    unknownParameters: 'ignored',
    errors: {},
  } as const;
  const spec: PlainRoute = {
    ...common,
    path: '/spec',
    summary: 'Describes the interface as OpenAPI 3.1.',
    contentType: 'application/json',
    answers: { 200: { type: 'object' } },
    respond: (api) => ({ status: 200, body: describedInterface(described, dialect, versionOf(api)) }),
  };
  const docs: PlainRoute = {
    ...common,
    path: '/docs',
    summary: 'Shows the description to people, without anything from elsewhere.',
    contentType: 'text/html; charset=utf-8',
    answers: { 200: { type: 'string' } },
    respond: (api) => ({ status: 200, body: docsPage(openApiOf(described, dialect, versionOf(api))) }),
  };
  const described: readonly Route[] = [...routes, spec, docs];
  return [spec, docs];
}

/** Of the software; `version` in answers is that of the protocol. */
function versionOf({ identity }: NodeApi): string {
  return softwareVersionOf(identity.build) ?? identity.version;
}

/** What `/spec` answers. @param version of the node's software */
export function describedInterface(routes: readonly Route[], dialect: Dialect, version: string): NamedDocument {
  return withComponents(openApiOf(routes, dialect, version), dialect);
}
