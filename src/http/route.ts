/**
 * Declares routes, and checks requests against the declaration of a route. Except for its handler, a declaration is
 * plain data. The check of requests, the API specification and the tests use these data.
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
import { schemaErrorsOf, typeMismatch, type Schema } from './schema.ts';

/** A route answers in the common envelope (`envelope.ts`), in another form, or with an event stream. */
export type Route = EnvelopeRoute | PlainRoute | StreamRoute;

/** The members that the declarations of all routes have. */
interface Declared {
  readonly method: 'GET' | 'POST' | 'PUT';
  /**
   * Path below the prefix (`/api` or the empty prefix), with `{name}` for a path parameter. For example,
   * `/accounts/{address}/multisignature_groups`.
   */
  readonly path: string;
  /** Description of the route in a few short sentences. */
  readonly summary: string;
  /** Parameters, in the order in which a 400 answer lists their errors. */
  readonly parameters: readonly Parameter[];
  /**
   * Treatment of an undeclared query parameter. `refused`: the route refuses the request with status 400. `ignored`:
   * the route ignores the parameter, and the answer names it in the header `X-Ignored-Parameters`.
   */
  readonly unknownParameters: 'refused' | 'ignored';
  readonly body?: Body;
  /**
   * Statuses with which this route refuses requests, with a description of the reasons for each status. A status that
   * any route can have (for example, 503) is listed here only if this route has a further reason for the status.
   */
  readonly errors: Readonly<Record<number, string>>;
  /**
   * An additional access rule for this route. A client must also fulfil the access rule for all paths. `forging`: the
   * rule allows only clients in `http.forgingWhitelist`. `loopback`: the rule allows only clients on this machine.
   * `secrets`: the rule allows only clients in `http.legacySignaturesWhitelist`, because the requests of this route
   * contain passphrases.
   */
  readonly access?: 'forging' | 'loopback' | 'secrets';
}

export interface EnvelopeRoute extends Declared {
  readonly kind?: 'envelope';
  /**
   * Present when the answer depends only on the request and the chain, so that the response cache can store the answer
   * until the chain changes. One member does not follow this rule: `receivedAt` of confirmed transactions also depends
   * on the node. The cache stores answers with this member nevertheless, so a stored answer can contain an old value of
   * `receivedAt`.
   */
  readonly isOfChain?: true;
  /** Shapes of `meta` and `data` in an answer with status 200. */
  readonly answer: { readonly meta: Schema; readonly data: Schema };
  /**
   * Makes the content of an answer to a checked request.
   *
   * @throws Problem, or a ProtocolError for which `problemOf` returns a problem
   */
  readonly handle: (api: NodeApi, request: CheckedRequest) => Reply | Promise<Reply>;
}

/** A route whose answers have no envelope. */
export interface PlainRoute extends Declared {
  readonly kind: 'plain';
  readonly contentType: string;
  /** Shapes of the answers by status. An answer that is not JSON has the type `string`. */
  readonly answers: Readonly<Record<number, Schema>>;
  /** @throws like `handle` */
  readonly respond: (api: NodeApi, request: CheckedRequest) => PlainReply | Promise<PlainReply>;
}

interface PlainReply {
  readonly status: number;
  /** The node sends a text unchanged, and converts any other value to JSON. */
  readonly body: unknown;
  /**
   * Further headers of this answer. These headers replace the security headers of the same name (`setSecurityHeaders`).
   */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A route that answers with server-sent events until the subscriber disconnects or the node ends the stream. */
export interface StreamRoute extends Declared {
  readonly kind: 'stream';
  readonly events: Readonly<Record<string, { readonly summary: string; readonly data: Schema }>>;
  /** @throws like `handle` */
  readonly subscriptionOf: (request: CheckedRequest, lastEventIdHeader: string | undefined) => Subscription;
}

interface Subscription {
  /** Place after which the stream continues; undefined if the request names no event after which to continue. */
  readonly after: EventPlace | undefined;
  /**
   * Height of the first block that the subscriber wants. If `after` and `fromHeight` are undefined, the stream starts
   * with the next event.
   */
  readonly fromHeight: number | undefined;
  readonly filter: Omit<EventFilter, 'maySeeForging'>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly schema: Schema;
  /**
   * Further values that the route accepts, although `schema` does not allow these values. They are the spellings of the
   * other protocol generation.
   */
  readonly alsoAccepted?: readonly string[];
  /** Present if the route ignores an empty value. The answer then names the parameter in `X-Ignored-Parameters`. */
  readonly isIgnoredWhenEmpty?: true;
}

interface Body {
  /** Name of the body in the elements of `errors` in a 400 answer. */
  readonly name: string;
  readonly schema: Schema;
  /** Present if the handler checks the body itself. In this case, `checkRequest` checks no part of the request. */
  readonly judgedByHandler?: true;
}

/** Content of an answer with status 200 in the common envelope. */
export interface Reply {
  readonly meta: Readonly<Record<string, unknown>>;
  readonly data: unknown;
  /**
   * Height that `data` states as the height of the tip. Only the handler of `/node/status` sets this member. In a
   * reading process (which answers HTTP for the node), this handler can move the process to a newer view of the chain.
   * `askHandler` uses this height, so that the headers of the answer never name a block below this tip.
   */
  readonly height?: number;
}

/** A request whose parameters and body are not checked yet. */
export interface RawRequest {
  readonly query: Query;
  readonly path: Readonly<Record<string, string>>;
  /** The parsed body; undefined when the request has no body. */
  readonly body: unknown;
  /** Content type without its parameters, in lower case; undefined when the client sent no content type. */
  readonly contentType: string | undefined;
  /** Address of the client; undefined when unknown. */
  readonly client?: string | undefined;
}

/**
 * Value of a parameter. Integers above `Number.MAX_SAFE_INTEGER` are bigints, because the type `number` would round
 * most of them.
 */
type Value = string | number | bigint | boolean;

/** The values of a request's declared parameters (including default values), its body, and the client's address. */
export class CheckedRequest {
  readonly body: Readonly<Record<string, unknown>>;
  /** Address of the client; undefined when unknown. */
  readonly client: string | undefined;
  readonly #values: ReadonlyMap<string, Value>;

  constructor(values: ReadonlyMap<string, Value>, body: Readonly<Record<string, unknown>>, client?: string) {
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
    const value = this.#numeric(name);
    return value === undefined ? undefined : Number(value);
  }

  /** Returns the value of an integer parameter without rounding. */
  integer(name: string): bigint | undefined {
    const value = this.#numeric(name);
    return value === undefined ? undefined : BigInt(value);
  }

  flag(name: string): boolean | undefined {
    const value = this.#values.get(name);
    assert(value === undefined || typeof value === 'boolean', `parameter ${name} is a boolean`);
    return value;
  }

  /** Returns the value of a parameter as text. The value itself can be text or a number. */
  either(name: string): string | undefined {
    const value = this.#values.get(name);
    return value === undefined ? undefined : String(value);
  }

  #numeric(name: string): number | bigint | undefined {
    const value = this.#values.get(name);
    const isNumeric = value === undefined || typeof value === 'number' || typeof value === 'bigint';
    assert(isNumeric, `parameter ${name} is a number`);
    return value;
  }
}

/**
 * Checks a request against a route. The function checks first the content type, then the parameters in declared order,
 * and last the body. If the request has no other error, and the route does not ignore undeclared query parameters, the
 * function refuses these parameters. If the handler checks the body itself (`judgedByHandler`), this function checks no
 * part of the request.
 *
 * @throws Problem 400 with all errors that the function found
 */
export function checkRequest(route: Route, raw: RawRequest): CheckedRequest {
  const errors: RequestError[] = [];
  if (route.body?.judgedByHandler) {
    return new CheckedRequest(new Map(), raw.body as Readonly<Record<string, unknown>>, raw.client);
  }
  const wrongType = route.body && raw.contentType !== 'application/json';
  if (wrongType) errors.push(contentTypeError(raw.contentType ?? 'application/octet-stream'));
  const values = new Map<string, Value>();
  for (const parameter of route.parameters) {
    const result = parameter.in === 'path' ? checkPathValue(parameter, raw) : checkQueryValue(parameter, raw);
    if (typeof result === 'object') errors.push(result);
    else if (result !== undefined) values.set(parameter.name, result);
  }
  const body = route.body && !wrongType ? (raw.body ?? {}) : {};
  if (route.body) {
    const schemaErrors = schemaErrorsOf(route.body.schema, body);
    if (schemaErrors.length > 0) errors.push(parameterError('body', route.body.name, schemaErrors));
  }
  if (errors.length === 0 && route.unknownParameters === 'refused') errors.push(...unknownIn(route, raw.query));
  if (errors.length > 0) throw invalidRequest(errors);
  return new CheckedRequest(values, body as Readonly<Record<string, unknown>>, raw.client);
}

type ValueOrError = Value | undefined | ParameterError;

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
  const schemaErrors = schemaErrorsOf(schema, converted.value);
  if (schemaErrors.length > 0) return parameterError('query', name, schemaErrors);
  const { value } = converted;
  const isExact = typeof value !== 'number' || Number.isSafeInteger(value);
  return !isExact && typeof given === 'string' && /^[0-9]+$/.test(given) ? BigInt(given) : value;
}

function checkPathValue(parameter: Parameter, raw: RawRequest): ValueOrError {
  const { name, schema } = parameter;
  const value = raw.path[name];
  if (value === undefined) return schema.default;
  const schemaErrors = schemaErrorsOf(schema, value);
  return schemaErrors.length > 0 ? parameterError('path', name, schemaErrors) : value;
}

/**
 * Finds undeclared query parameters. The result contains no parameter without a name, because such a parameter has no
 * effect and no route refuses it.
 */
function unknownIn(route: Route, query: Query): readonly RequestError[] {
  return undeclaredIn(route, query)
    .filter((name) => name !== '')
    .map(unknownParameter);
}

/**
 * Returns the names of query parameters that have no effect on the answer: undeclared parameters, and empty parameters
 * that the route ignores.
 */
export function ignoredIn(route: Route, query: Query): readonly string[] {
  if (query.size === 0) return [];
  const empty = route.parameters.filter(({ name, isIgnoredWhenEmpty }) => isIgnoredWhenEmpty && query.get(name) === '');
  return [...empty.map(({ name }) => name), ...undeclaredIn(route, query)];
}

function undeclaredIn({ parameters }: Route, query: Query): readonly string[] {
  return [...query.keys()].filter((name) => !parameters.some((parameter) => parameter.name === name));
}
