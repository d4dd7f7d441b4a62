/** Gives names to schemas (shapes) in the OpenAPI document, so that generated client code has named types. */

import type { HttpDialect } from './dialect.ts';
import type { OpenApiDocument } from './openapi.ts';
import type { Schema } from './schema.ts';
import { accountShape, delegateShape, GROUP_SHAPE } from './views/account.ts';
import { blockShape } from './views/block.ts';
import { constantsShape, DIAGNOSTIC_SHAPE, SLOT_REPORT_SHAPE, statusShape } from './views/node.ts';
import { peerShape } from './views/peer.ts';
import { PEER_VERDICT_SHAPE } from './views/peer-verdict.ts';
import * as problem from './views/problem.ts';
import { registrationShape } from './views/registration.ts';
import { AMOUNT, COUNTED_LIST_META, COUNTED_PAGE_META, LIST_META, PAGE_META } from './views/shapes.ts';
import { confirmedShape, pooledShape } from './views/transaction.ts';

export type NamedDocument = OpenApiDocument & {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/**
 * The shapes (JSON schemas) that get a name in the OpenAPI document. If two shapes have equal content, `withComponents`
 * gives both shapes the name that comes first in this list.
 */
function shapesOf(dialect: HttpDialect): Readonly<Record<string, Schema>> {
  return {
    Transaction: confirmedShape(dialect),
    PooledTransaction: pooledShape(dialect),
    Block: blockShape(dialect),
    Account: accountShape(dialect),
    Delegate: delegateShape(dialect),
    Group: GROUP_SHAPE,
    Peer: peerShape(dialect),
    PeerVerdict: PEER_VERDICT_SHAPE,
    Constants: constantsShape(dialect),
    Status: statusShape(dialect),
    Diagnostic: DIAGNOSTIC_SHAPE,
    SlotReport: SLOT_REPORT_SHAPE,
    SecondSignatureRegistration: registrationShape(dialect),
    ListMeta: LIST_META,
    CountedListMeta: COUNTED_LIST_META,
    PageMeta: PAGE_META,
    CountedPageMeta: COUNTED_PAGE_META,
    InvalidRequest: problem.INVALID_REQUEST,
    Rejected: problem.REJECTED,
    Amount: AMOUNT,
  };
}

/**
 * Replaces each shape of `shapesOf` (a JSON schema with a name) in the document by a reference, and adds the
 * definitions of these shapes as `components.schemas`.
 */
export function withComponents(document: OpenApiDocument, dialect: HttpDialect): NamedDocument {
  const shapes = shapesOf(dialect);
  const names = new Map<string, string>();
  for (const [name, schema] of Object.entries(shapes)) {
    const text = JSON.stringify(schema);
    if (!names.has(text)) names.set(text, name);
  }
  /**
   * Replaces each shape that has a name in `names` by a reference, in all parts of a value. If `isWhole` is true, the
   * value is the definition of a shape, and the function replaces only the shapes inside this definition. If the
   * function replaced the definition as a whole, the definition would be a reference to itself.
   */
  const referring = (value: unknown, isWhole = false): unknown => {
    if (Array.isArray(value)) return value.map((each) => referring(each));
    if (typeof value !== 'object' || value === null) return value;
    const name = isWhole ? undefined : names.get(JSON.stringify(value));
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, referring(each)]));
  };
  const named = referring(document) as OpenApiDocument;
  const used = namesIn(named, (found) => referring(shapes[found], true));
  const schemas = [...names.values()]
    .filter((name) => used.has(name))
    .map((name) => [name, referring(shapes[name], true)] as const);
  return { ...named, components: { schemas: Object.fromEntries(schemas) as Record<string, Schema> } };
}

/**
 * Finds the names of the shapes (JSON schemas) to which a document refers, directly or through other shapes with names.
 */
function namesIn(document: unknown, shapeOf: (name: string) => unknown): ReadonlySet<string> {
  const found = new Set<string>();
  const seek = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value ?? '').matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (found.has(name)) continue;
      found.add(name);
      seek(shapeOf(name));
    }
  };
  seek(document);
  return found;
}
