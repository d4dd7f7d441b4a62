/**
 * Declares the parameters that several routes have, and converts the values of `limit`, `offset`, `after` and `sort`
 * for queries to the store.
 */

import type { Direction, Page, PageRequest, Sort } from '../ports/queries.ts';
import { cursorIn, cursorText } from './cursor.ts';
import { extendedOnly, type HttpDialect } from './dialect.ts';
import { cursorInvalid } from './problems.ts';
import type { CheckedRequest, Parameter } from './route.ts';
import type { Schema } from './schema.ts';

/**
 * Description of the answer with status 503 in the API specification. This description applies to routes that can cause
 * background queries (queries that no index answers).
 */
export const TOO_MANY_QUERIES = 'Too many queries that cannot use an index are waiting.';

export function queryParameter(name: string, schema: Schema): Parameter {
  return { name, in: 'query', schema };
}

export function addressParameter(name: string, minLength: 1 | 2, description: string): Parameter {
  return queryParameter(name, { type: 'string', format: 'address', minLength, maxLength: 22, description });
}

export function idParameter(name: string, description: string): Parameter {
  return queryParameter(name, { type: 'string', format: 'id', minLength: 1, maxLength: 20, description });
}

/** Declares a parameter for a public key. An empty value causes one error: the text is too short. */
export function keyParameter(name: string, description: string): Parameter {
  return queryParameter(name, { type: 'string', format: 'publicKey', minLength: 1, description });
}

export function publicKeyParameter(name: string, description: string): Parameter {
  return queryParameter(name, { type: 'string', format: 'publicKey', description });
}

export function usernameParameter(description: string): Parameter {
  return queryParameter('username', { type: 'string', format: 'username', minLength: 1, maxLength: 20, description });
}

export function integerParameter(name: string, minimum: number, description: string): Parameter {
  return queryParameter(name, { type: 'integer', minimum, description });
}

/**
 * Declares a parameter for an integer. A value with a fraction causes two errors: one for the type `integer`, and one
 * for the format `int32`.
 */
export function int32Parameter(name: string, minimum: number, description: string, maximum?: number): Parameter {
  const bounds = maximum === undefined ? { minimum } : { minimum, maximum };
  return queryParameter(name, { type: 'integer', format: 'int32', ...bounds, description });
}

/** Declares the parameters `limit` and `offset` of a route that answers with a list. */
export function pageParameters(limitMax: 100 | 101 | 1000, offsetMax?: number): readonly Parameter[] {
  const limit: Schema = {
    type: 'integer',
    format: 'int32',
    minimum: 1,
    maximum: limitMax,
    default: 10,
    description: 'Maximum number of entries of the page.',
  };
  const offset: Schema = {
    type: 'integer',
    format: 'int32',
    minimum: 0,
    ...(offsetMax === undefined ? {} : { maximum: offsetMax }),
    default: 0,
    description: 'Number of entries to skip before the page.',
  };
  return [queryParameter('limit', limit), queryParameter('offset', offset)];
}

/**
 * Declares the same parameters as `pageParameters`, but with `offset` before `limit`. If both parameters have an
 * invalid value, the answer therefore lists the error of `offset` first.
 */
export function pageParametersReversed(limitMax: 100 | 101): readonly Parameter[] {
  return [...pageParameters(limitMax)].reverse();
}

/**
 * Declares the parameter `after`: the cursor at which the previous page of a list ended. Nodes of lisk-sdk do not have
 * this parameter. The result is therefore empty in the strict dialect, which has only the parameters of lisk-sdk nodes.
 */
export function afterParameters(dialect: HttpDialect): readonly Parameter[] {
  return extendedOnly(dialect, [AFTER]);
}

const AFTER: Parameter = queryParameter('after', {
  type: 'string',
  format: 'cursor',
  description:
    'Cursor, used instead of `offset`. Send an empty value for the first page. For each further page, send `meta.next` ' +
    'of the previous answer, and the same `sort` and filters. A new block between two requests does not shift the pages.',
});

/** Declares the parameter `sort`. Its allowed values are the names in `fields`, each followed by `:asc` or `:desc`. */
export function sortParameter(fields: readonly string[], byDefault: string): Parameter {
  const values = fields.flatMap((field) => [`${field}:asc`, `${field}:desc`]);
  return queryParameter('sort', {
    type: 'string',
    enum: values,
    default: byDefault,
    description: 'Sort key and direction.',
  });
}

/**
 * @param lengths limits on the length of the address; `{}` for no limits. A value that breaks both a limit and the
 *   format of an address causes two errors
 */
export function addressInPath(
  description: string,
  lengths: Pick<Schema, 'minLength' | 'maxLength'> = { minLength: 2, maxLength: 22 },
): Parameter {
  return { name: 'address', in: 'path', schema: { type: 'string', format: 'address', ...lengths, description } };
}

/** Returns the values of `offset` and `limit` in the request. The member `meta` of the answer contains both values. */
export function pageMeta(request: CheckedRequest): { readonly offset: number; readonly limit: number } {
  return { offset: request.number('offset') ?? 0, limit: request.number('limit') ?? 10 };
}

/**
 * Reads from the request which page of a list the client wants. Returns the page as a part of a query to the store. If
 * the offset is above `OFFSET_BEYOND_ALL`, the function replaces it by `OFFSET_BEYOND_ALL`.
 *
 * @throws Problem 400 if the cursor in `after` comes from a list with a different `sort`, or if the request has both
 *   `after` and an offset above 0
 */
export function pageOf(request: CheckedRequest): PageRequest {
  const { limit, offset } = pageMeta(request);
  const after = request.text('after');
  if (after !== undefined && offset > 0) throw cursorInvalid('after and offset exclude each other.');
  const cursor = cursorIn(after ?? '');
  if (cursor === undefined) return { limit, offset: Math.min(offset, OFFSET_BEYOND_ALL) };
  const sort = request.text('sort') ?? '';
  if (cursor.sort !== sort) throw cursorInvalid(`after is a cursor of a list with another sort than ${sort}.`);
  return { limit, offset, after: { value: cursor.value, tie: cursor.tie } };
}

/**
 * Returns the member `meta` of a list. If the request has `after`, `meta` also contains `next`: the cursor of the next
 * page, or null at the end of the list.
 */
export function listMeta(request: CheckedRequest, { next }: Pick<Page<unknown>, 'next'>) {
  const meta = pageMeta(request);
  if (request.text('after') === undefined) return meta;
  return { ...meta, next: next === undefined ? null : cursorText({ sort: request.text('sort') ?? '', ...next }) };
}

export function sortOf<Field extends string>(request: CheckedRequest): Sort<Field> {
  const [field = '', direction = ''] = (request.text('sort') ?? '').split(':');
  return { field: field as Field, direction: direction as Direction };
}

/** An offset that is larger than the number of entries of any list, so that the page at this offset is empty. */
const OFFSET_BEYOND_ALL = 2 ** 31 - 1;
