/**
 * What a route declares of itself, and the check of a request against it. The declaration is plain data: the same
 * members serve the check, the reference pages and the tests.
 */

import type { NodeApi } from '../ports/node-api.ts';
import { assert } from '../primitives/errors.ts';
import type { EventPlace } from './events/event.ts';
import type { EventFilter } from './events/filter.ts';
import {
  contentTypeError,
  invalidRequest,
  parameterError,
  unknownParameter,
  type ParameterError,
  type RequestError,
} from './problems.ts';
import { convert, type Query } from './query.ts';
import { faultsOf, typeMismatch, type Schema } from './schema.ts';

/** A route answers in the envelope of the interface, in a form of its own, or with a stream of events. */
export type Route = EnvelopeRoute | PlainRoute | StreamRoute;

/** What all routes declare. */
interface Declared {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below the prefix, with `{name}` for path parameters: `/accounts/{address}/multisignature_groups`. */
  readonly path: string;
  /** One sentence. */
  readonly summary: string;
  /** In the order in which their errors are reported. */
  readonly parameters: readonly Parameter[];
  /** What happens to a query parameter that is not declared: 400, or the answer tells in a header that it was ignored. */
  readonly unknownParameters: 'refused' | 'ignored';
  readonly body?: Body;
  /** Statuses besides 200 that are this route's own, each with when it is sent. */
  readonly errors: Readonly<Record<number, string>>;
  /**
   * Who is served besides the general access rules. Absent: everybody they let through. `secrets` stands for those who may
   * send passphrases.
   */
  readonly access?: 'forging' | 'loopback' | 'secrets';
}

export interface EnvelopeRoute extends Declared {
  readonly kind?: 'envelope';
  /** The answer follows from the request and the chain alone: it may be sent again until the chain changes. */
  readonly isOfChain?: true;
  /** Shapes of `meta` and `data` of a 200. */
  readonly answer: { readonly meta: Schema; readonly data: Schema };
  /** @throws Problem, or a ProtocolError whose code `problems.ts` knows */
  readonly handle: (api: NodeApi, request: CheckedRequest) => Reply | Promise<Reply>;
}

/** A route whose answers have no envelope. */
export interface PlainRoute extends Declared {
  readonly kind: 'plain';
  readonly contentType: string;
  /** Shape of the answers in JSON, by status; a text for others. */
  readonly answers: Readonly<Record<number, Schema>>;
  /** @throws as `handle` */
  readonly respond: (api: NodeApi, request: CheckedRequest) => PlainReply | Promise<PlainReply>;
}

interface PlainReply {
  readonly status: number;
  /** Text is sent as it is, everything else as JSON. */
  readonly body: unknown;
  /** Besides those that every answer has, or in their place. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A route that answers with server-sent events for as long as the reader stays. */
export interface StreamRoute extends Declared {
  readonly kind: 'stream';
  readonly events: Readonly<Record<string, { readonly summary: string; readonly data: Schema }>>;
  /** @throws as `handle` */
  readonly subscriptionOf: (request: CheckedRequest, lastEventIdHeader: string | undefined) => Subscription;
}

interface Subscription {
  /** The last event that the reader has; undefined to begin with the next. */
  readonly after: EventPlace | undefined;
  /** The first block that it wants, where it has no event yet. */
  readonly fromHeight: number | undefined;
  readonly filter: Omit<EventFilter, 'maySeeForging'>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly schema: Schema;
  /** Texts taken as they are besides what the schema accepts: the other generation's spelling. */
  readonly alsoAccepted?: readonly string[];
  /** An empty value passes and asks for nothing; the answer tells so. */
  readonly isIgnoredWhenEmpty?: true;
}

interface Body {
  /** The name that errors carry. */
  readonly name: string;
  readonly schema: Schema;
  /** The handler judges the body itself, whatever its content type and shape. */
  readonly judgedByHandler?: true;
}

/** Content of a 200 answer. */
export interface Reply {
  readonly meta: Readonly<Record<string, unknown>>;
  readonly data: unknown;
}

/** What came over the wire, not yet believed. */
export interface RawRequest {
  readonly query: Query;
  readonly path: Readonly<Record<string, string>>;
  /** Undefined without a body. */
  readonly body: unknown;
  /** Without its parameters, lower case; undefined when not sent. */
  readonly contentType: string | undefined;
  /** Address of the client; undefined where it is not known. */
  readonly client?: string | undefined;
}

/** Values of declared parameters, defaults included. */
export class CheckedRequest {
  readonly body: Readonly<Record<string, unknown>>;
  /** Address of the client; undefined where it is not known. */
  readonly client: string | undefined;
  readonly #values: ReadonlyMap<string, string | number | boolean>;

  constructor(
    values: ReadonlyMap<string, string | number | boolean>,
    body: Readonly<Record<string, unknown>>,
    client?: string,
  ) {
    this.#values = values;
    this.body = body;
    this.client = client;
  }

  text(name: string): string | undefined {
    const value = this.#values.get(name);
    assert(value === undefined || typeof value === 'string', `parameter ${name} is text`);
    return value;
  }

  number(name: string): number | undefined {
    const value = this.#values.get(name);
    assert(value === undefined || typeof value === 'number', `parameter ${name} is a number`);
    return value;
  }

  flag(name: string): boolean | undefined {
    const value = this.#values.get(name);
    assert(value === undefined || typeof value === 'boolean', `parameter ${name} is a boolean`);
    return value;
  }

  /** Text of a value of either type. */
  either(name: string): string | undefined {
    const value = this.#values.get(name);
    return value === undefined ? undefined : String(value);
  }
}

/**
 * Checks a request against a route: content type, then parameters in declared order, then the body, then undeclared
 * query parameters, which are looked at only when nothing else is wrong.
 *
 * @throws Problem 400 with every error found
 */
export function checkRequest(route: Route, raw: RawRequest): CheckedRequest {
  const errors: RequestError[] = [];
  if (route.body?.judgedByHandler) {
    return new CheckedRequest(new Map(), raw.body as Readonly<Record<string, unknown>>, raw.client);
  }
  const wrongType = route.body && raw.contentType !== 'application/json';
  if (wrongType) errors.push(contentTypeError(raw.contentType ?? 'application/octet-stream'));
  const values = new Map<string, string | number | boolean>();
  for (const parameter of route.parameters) {
    const result = parameter.in === 'path' ? checkPathValue(parameter, raw) : checkQueryValue(parameter, raw);
    if (typeof result === 'object') errors.push(result);
    else if (result !== undefined) values.set(parameter.name, result);
  }
  const body = route.body && !wrongType ? (raw.body ?? {}) : {};
  if (route.body) {
    const faults = faultsOf(route.body.schema, body);
    if (faults.length > 0) errors.push(parameterError('body', route.body.name, faults));
  }
  if (errors.length === 0 && route.unknownParameters === 'refused') errors.push(...unknownIn(route, raw.query));
  if (errors.length > 0) throw invalidRequest(errors);
  return new CheckedRequest(values, body as Readonly<Record<string, unknown>>, raw.client);
}

type ValueOrError = string | number | boolean | undefined | ParameterError;

function checkQueryValue(parameter: Parameter, raw: RawRequest): ValueOrError {
  const { name, schema } = parameter;
  if (!raw.query.has(name)) return schema.default;
  const given = raw.query.get(name);
  if (typeof given === 'string' && parameter.alsoAccepted?.includes(given)) return given;
  assert(typeof schema.type === 'string', `parameter ${name} has one type`);
  const converted = convert(name, schema.type, given);
  if ('found' in converted) {
    const message = typeMismatch(schema.type, converted.found);
    return parameterError('query', name, [{ code: 'INVALID_TYPE', message, path: [] }], message);
  }
  const faults = faultsOf(schema, converted.value);
  return faults.length > 0 ? parameterError('query', name, faults) : converted.value;
}

function checkPathValue(parameter: Parameter, raw: RawRequest): ValueOrError {
  const { name, schema } = parameter;
  const value = raw.path[name];
  if (value === undefined) return schema.default;
  const faults = faultsOf(schema, value);
  return faults.length > 0 ? parameterError('path', name, faults) : value;
}

/** A value without a name asks for nothing, and is passed over everywhere. */
function unknownIn(route: Route, query: Query): readonly RequestError[] {
  return undeclaredIn(route, query)
    .filter((name) => name !== '')
    .map(unknownParameter);
}

/** Names of parameters that the answer to a checked request takes no account of. */
export function ignoredIn(route: Route, query: Query): readonly string[] {
  if (query.size === 0) return [];
  const empty = route.parameters.filter(({ name, isIgnoredWhenEmpty }) => isIgnoredWhenEmpty && query.get(name) === '');
  return [...empty.map(({ name }) => name), ...undeclaredIn(route, query)];
}

function undeclaredIn({ parameters }: Route, query: Query): readonly string[] {
  return [...query.keys()].filter((name) => !parameters.some((parameter) => parameter.name === name));
}
