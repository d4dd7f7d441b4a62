/** Generates the OpenAPI 3.1 description of the HTTP interface from the declarations of the routes (`Route`). */

import type { HttpDialect } from './dialect.ts';
import type { Parameter, Route } from './route.ts';
import type { Schema } from './schema.ts';
import * as problem from './views/problem.ts';
import { objectOf } from './views/shapes.ts';

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  /**
   * Empty, because no operation uses HTTP authentication. `info.description` states which clients the interface serves.
   */
  readonly security: readonly [];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  /**
   * Describes the clients that the route serves. The member is absent if the route serves all clients that have access
   * to the interface.
   */
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly ParameterObject[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface RequestBody {
  readonly required: true;
  readonly content: Readonly<Record<string, MediaType>>;
}

export interface ResponseObject {
  readonly description: string;
  readonly content: Readonly<Record<string, MediaType>>;
}

interface MediaType {
  readonly schema: Schema;
  /** An example of a body. A test of this software sent this body to a node, or received it from a node. */
  readonly example?: unknown;
  /** For a stream: the schema of the data of each event, by the name of the event. */
  readonly 'x-events'?: Readonly<Record<string, Schema>>;
}

/** @param version version of the node's software */
export function openApiOf(routes: readonly Route[], dialect: HttpDialect, version: string): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes) {
    const operations = (paths[route.path] ??= {});
    operations[route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Bloomery',
      version,
      description:
        `The HTTP interface of a node, with the names of generation ${dialect.generation}. Amounts are strings of decimal ` +
        'digits, in beddows. Timestamps are whole seconds since the epoch of the network, unless a description states ' +
        'another unit.\n\n' +
        'No operation uses HTTP authentication: the address of a client decides whether the node serves the client. ' +
        '`http.accessWhitelist` lists the addresses that have access. With `http.accessPublic`, all addresses have ' +
        'access. The description of an operation states whether it serves only some of these clients.',
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      { url: '/api', description: 'With the prefix that clients of Lisk use.' },
      { url: '/', description: 'The same paths without the prefix.' },
    ],
    security: [],
    paths,
  };
}

/**
 * Describes, for each access rule of a single route (`Route.access`), the clients that the rule allows. Even from these
 * clients, the route refuses requests that come through an untrusted proxy. The route also refuses requests with an
 * unknown host name, and requests from pages of other sites (except the origin in `http.corsOrigin`).
 */
const SERVED: Readonly<Record<NonNullable<Route['access']>, string>> = {
  forging: 'Serves only clients whose addresses are in `http.forgingWhitelist`.',
  loopback: "Serves only clients on the node's own machine.",
  secrets:
    'Serves only clients whose addresses are in `http.legacySignaturesWhitelist`, because the request contains passphrases.',
};

function operationOf(route: Route): Operation {
  const parameters = route.parameters.map(parameterOf);
  return {
    operationId: operationIdOf(route),
    summary: route.summary,
    ...(route.access === undefined ? {} : { description: SERVED[route.access] }),
    tags: [route.path.split('/')[1] || 'index'],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: bodyOf(route) }),
    responses: joined(answersOf(route), refusalsOf(route)),
  };
}

function operationIdOf({ method, path }: Route): string {
  if (path === '/') return 'getIndex';
  const name = path.replaceAll(/[^a-z]+([a-z]?)/gi, (_, letter: string) => letter.toUpperCase());
  return method.toLowerCase() + name;
}

function parameterOf({ name, in: place, schema, alsoAccepted }: Parameter): ParameterObject {
  const { description, ...shape } = schema;
  return {
    name,
    in: place,
    required: place === 'path',
    ...(description === undefined ? {} : { description }),
    schema: alsoAccepted === undefined ? shape : { anyOf: [shape, { enum: alsoAccepted }] },
  };
}

function bodyOf(route: Route): RequestBody {
  const schema = route.body?.schema ?? {};
  const types = ['application/json', ...(route.body?.judgedByHandler ? ['application/x-www-form-urlencoded'] : [])];
  return { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }] as const)) };
}

function answersOf(route: Route): Record<string, ResponseObject> {
  if (route.kind === 'stream') {
    const described = Object.entries(route.events).map(([name, { summary }]) => `\`${name}\`: ${summary}`);
    const description = `Server-sent events. ${described.join(' ')}`;
    const anyOf = distinct(Object.values(route.events).map(({ data }) => data));
    const events = Object.fromEntries(Object.entries(route.events).map(([name, { data }]) => [name, data] as const));
    return { 200: { description, content: { 'text/event-stream': { schema: { anyOf }, 'x-events': events } } } };
  }
  if (route.kind !== 'plain') {
    const { meta, data } = route.answer;
    return {
      200: json(SUCCESS, objectOf({ meta, data, links: { type: 'object', additionalProperties: false } })),
    };
  }
  const mediaType = route.contentType.split(';')[0] ?? '';
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, schema]) => [
      status,
      {
        description:
          status === '200' ? successOf(route) : `${NOT_SERVED[route.path] ?? ''} The body contains the reason.`,
        content: { [mediaType]: { schema } },
      },
    ]),
  );
}

/** For each path whose handler can answer with status 503: the reason for this answer. */
const NOT_SERVED: Readonly<Record<string, string>> = {
  '/readyz': 'The node is not ready.',
  '/metrics': 'The node collects no metrics.',
};

function successOf({ body }: Route): string {
  return body?.judgedByHandler
    ? 'If `success` is true, the request succeeded. Otherwise `error` contains the reason.'
    : SUCCESS;
}

/** Removes duplicates, so that events with the same shape are only one alternative of the schema. */
function distinct(schemas: readonly Schema[]): readonly Schema[] {
  return [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
}

/**
 * Joins the answers and the refusals of a route, by status. A route can have an answer and a refusal with the same
 * status, for example 503 for `/readyz`.
 */
function joined(
  answers: Record<string, ResponseObject>,
  refusals: Record<string, ResponseObject>,
): Record<string, ResponseObject> {
  const both = Object.entries(refusals).map(([status, refusal]) => {
    const answer = answers[status];
    return [status, answer === undefined ? refusal : eitherOf(answer, refusal)] as const;
  });
  return { ...answers, ...Object.fromEntries(both) };
}

function eitherOf(one: ResponseObject, other: ResponseObject): ResponseObject {
  const content = { ...one.content };
  for (const [type, { schema }] of Object.entries(other.content)) {
    const known = content[type]?.schema;
    content[type] = { schema: known === undefined ? schema : { anyOf: [known, schema] } };
  }
  return { description: `${one.description} Or: ${other.description}`, content };
}

const SUCCESS = 'The request succeeded.';

/**
 * Returns the description of the answer 400. Every GET route can send this answer, because every GET route refuses an
 * invalid `minHeight`.
 */
function invalidityOf({ body, unknownParameters }: Route): string {
  const isStrict = unknownParameters === 'refused';
  if (body?.judgedByHandler) return 'The body cannot be parsed.';
  if (body !== undefined) return isStrict ? 'A parameter or the body is invalid.' : 'The body is invalid.';
  return isStrict ? 'A parameter is unknown or invalid.' : 'A parameter is invalid.';
}

/**
 * Returns the description of the answer 503, which every route can send. Only GET routes have the parameter
 * `minHeight`.
 */
function unavailabilityOf({ method }: Route): string {
  const height =
    method === 'GET'
      ? ' Or: The request requires a height (parameter `minHeight` or header `X-Min-Height`), and the chain of the node did not reach this height within 12 s.'
      : '';
  return `The node is busy or stopping.${height} The header \`Retry-After\` states the number of seconds after which the client can repeat the request.`;
}

/**
 * Returns the description of the answer 403. For methods other than GET, the function adds the option `http.readOnly`
 * as a further reason: with this option, the node refuses every method except GET, HEAD and OPTIONS.
 */
function accessRefusalOf(description: string, { method }: Route): string {
  return method === 'GET' ? description : `${description} Or: \`http.readOnly\` is true.`;
}

/**
 * Returns the refusals of a route: the refusals that every route has, and the refusals that the route declares. If the
 * route takes a body, also returns the refusals for an unsuitable body (413 and 415).
 */
function refusalsOf(route: Route): Record<string, ResponseObject> {
  const refusals: Record<string, ResponseObject> = {
    400: json(invalidityOf(route), problem.INVALID_OR_UNREADABLE),
    403: json(
      accessRefusalOf('The address of the client has no access (see `http.accessWhitelist`).', route),
      problem.REFUSED,
    ),
    405: json(
      'The path does not support the method. The header `Allow` lists the supported methods except HEAD and OPTIONS.',
      problem.SIMPLE,
    ),
    429: json(
      'The client exceeded its rate limit, or all remote clients outside `http.accessWhitelist` together exceeded their common rate limit.',
      problem.SIMPLE,
    ),
    500: json('An internal error of the node prevented the answer.', problem.SIMPLE),
    503: json(unavailabilityOf(route), problem.UNAVAILABLE),
  };
  if (route.body !== undefined) {
    refusals['413'] = json('The body is larger than 128 kB.', problem.UNREADABLE);
    refusals['415'] = json('The body is compressed, or the node does not support its charset.', problem.UNREADABLE);
  }
  for (const [status, description] of Object.entries(route.errors)) {
    if (status === '503') refusals[status] = json(`${description} Or: ${unavailabilityOf(route)}`, problem.UNAVAILABLE);
    else {
      const schema = status === '409' ? problem.REJECTED : status === '403' ? problem.REFUSED : problem.SIMPLE;
      refusals[status] = json(status === '403' ? accessRefusalOf(description, route) : description, schema);
    }
  }
  return refusals;
}

function json(description: string, schema: Schema): ResponseObject {
  return { description, content: { 'application/json': { schema } } };
}
