/** Checks answers against the generated OpenAPI document, as the tools of a client may do. */

import Ajv from 'ajv';
import type { ValidateFunction } from 'ajv';
import { hasFormat, type Format } from '../../src/http/formats.ts';
import { openApiOf, type OpenApiDocument } from '../../src/http/openapi.ts';
import { allRoutes, type RouteOptions } from '../../src/http/routes/all.ts';
import type { Schema } from '../../src/http/schema.ts';
import { PAGE_NOT_FOUND, INVALID_OR_UNREADABLE, REFUSED, SIMPLE, UNREADABLE } from '../../src/http/views/problem.ts';
import type { Generation } from '../../src/protocol/params.ts';

export interface Exchange {
  readonly method: string;
  /** Path and query of the request. */
  readonly target: string;
  readonly status: number;
  /** Content type with its parameters; undefined if the answer has no such header. */
  readonly contentType: string | undefined;
  /** Parsed body if it is JSON, otherwise text. */
  readonly body: unknown;
}

/** @returns the fault of an answer, or undefined if it matches the document */
export type Contract = (exchange: Exchange) => string | undefined;

/**
 * Schemas of the refusals that the server sends before a route handles the request. Such refusals are, for example,
 * those for a client without access, an unreadable body, or an unknown path.
 */
const IN_FRONT: Readonly<Record<number, Schema>> = {
  400: INVALID_OR_UNREADABLE,
  403: REFUSED,
  404: PAGE_NOT_FOUND,
  405: SIMPLE,
  413: UNREADABLE,
  415: UNREADABLE,
};

export interface ContractOptions extends RouteOptions {
  /** Applies only to paths below `/api`. */
  readonly strictDialect?: boolean;
}

export function contractOf(generation: Generation, options: ContractOptions = {}): Contract {
  const documentOf = (strict: boolean): OpenApiDocument => {
    const dialect = { generation, strict };
    return openApiOf(allRoutes(dialect, options), dialect, '0.0.0');
  };
  const extended = documentOf(false);
  const prefixed = options.strictDialect === true ? documentOf(true) : extended;
  const validate = validator();
  const paths = Object.keys(extended.paths).map((path) => [pathPattern(path, generation), path] as const);
  return ({ method, target, status, contentType, body }) => {
    const asked = target.split('?')[0] ?? '';
    const isRoot = /^\/api\/?$/i.test(asked);
    const path = isRoot ? '/' : asked.replace(/^\/api(?=\/)/i, '').replace(/\/$/, '');
    const document = isRoot || /^\/api\//i.test(target) ? prefixed : extended;
    const known = paths.find(([pattern]) => pattern.test(path))?.[1];
    // The answers to a preflight and to HEAD have no body.
    if (status === 204 || method === 'HEAD')
      return body === '' ? undefined : `${method} ${target}: body in a ${status}`;
    const mediaType = contentType?.split(';')[0];
    if (status === 429 && mediaType === 'text/html') return undefined;
    const declared = answerOf(document, known, method, status, mediaType);
    const schema = declared ?? IN_FRONT[status];
    if (schema === undefined) return `${method} ${target}: ${status} ${mediaType ?? ''} is not declared`;
    const faults = validate(schema, body);
    if (faults === undefined) return undefined;
    const inFront = IN_FRONT[status];
    return inFront !== undefined && validate(inFront, body) === undefined
      ? undefined
      : `${method} ${target}: ${status} ${faults} in ${JSON.stringify(body)?.slice(0, 300)}`;
  };
}

function answerOf(
  document: OpenApiDocument,
  path: string | undefined,
  method: string,
  status: number,
  mediaType: string | undefined,
): Schema | undefined {
  const operations = path === undefined ? undefined : document.paths[path];
  const operation =
    operations?.[method.toLowerCase()] ?? (status >= 400 ? Object.values(operations ?? {})[0] : undefined);
  return operation?.responses[status]?.content[mediaType ?? '']?.schema;
}

function pathPattern(path: string, generation: Generation): RegExp {
  const source = path.replaceAll(/[.]/g, '\\.').replaceAll(/\{\w+\}/g, '[^/]*');
  return new RegExp(`^${source}$`, generation === 2 ? 'i' : '');
}

const FORMATS: readonly Format[] = [
  'address',
  'id',
  'publicKey',
  'signature',
  'hex',
  'username',
  'additionalData',
  'ip',
  'version',
  'protocolVersion',
  'int32',
  'cursor',
  'date-time',
];

function validator(): (schema: Schema, body: unknown) => string | undefined {
  const ajv = new Ajv({ allErrors: true, format: 'full' });
  for (const format of FORMATS) ajv.addFormat(format, (text: string) => hasFormat(format, text));
  const compiled = new Map<Schema, ValidateFunction>();
  return (schema, body) => {
    let validate = compiled.get(schema);
    if (validate === undefined) compiled.set(schema, (validate = ajv.compile(schema)));
    return validate(body) === true ? undefined : ajv.errorsText(validate.errors);
  };
}
