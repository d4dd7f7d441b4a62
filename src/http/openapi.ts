/** The description of the interface, generated from what the routes declare: OpenAPI 3.1. */

import type { Dialect } from './dialect.ts';
import type { Parameter, Route } from './route.ts';
import type { Schema } from './schema.ts';
import * as problem from './views/problem.ts';
import { objectOf } from './views/shapes.ts';

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
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
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
}

export interface ResponseObject {
  readonly description: string;
  readonly content: Readonly<Record<string, MediaType>>;
}

interface MediaType {
  readonly schema: Schema;
  /** Of a stream: what each event carries, by its name. */
  readonly 'x-events'?: Readonly<Record<string, Schema>>;
}

/** @param version of the node's software */
export function openApiOf(routes: readonly Route[], dialect: Dialect, version: string): OpenApiDocument {
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
        `The HTTP interface of a node, in the words of generation ${dialect.generation}. Amounts are decimal texts in ` +
        'beddows; timestamps are whole seconds since the epoch of the network unless they say otherwise.',
    },
    servers: [
      { url: '/api', description: 'As all clients know it.' },
      { url: '/', description: 'The same without the prefix.' },
    ],
    paths,
  };
}

function operationOf(route: Route): Operation {
  const parameters = route.parameters.map(parameterOf);
  return {
    operationId: `${route.method.toLowerCase()}${route.path.replaceAll(/[^a-z]+([a-z]?)/gi, (_, letter: string) => letter.toUpperCase())}`,
    summary: route.summary,
    tags: [route.path.split('/')[1] ?? ''],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: bodyOf(route) }),
    responses: { ...answersOf(route), ...refusalsOf(route) },
  };
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
    const anyOf = Object.values(route.events).map(({ data }) => data);
    const events = Object.fromEntries(Object.entries(route.events).map(([name, { data }]) => [name, data] as const));
    return { 200: { description, content: { 'text/event-stream': { schema: { anyOf }, 'x-events': events } } } };
  }
  if (route.kind !== 'plain') {
    const { meta, data } = route.answer;
    return {
      200: json('The answer.', objectOf({ meta, data, links: { type: 'object', additionalProperties: false } })),
    };
  }
  const mediaType = route.contentType.split(';')[0] ?? '';
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, schema]) => [
      status,
      {
        description: status === '200' ? 'The answer.' : 'The answer when it does not hold.',
        content: { [mediaType]: { schema } },
      },
    ]),
  );
}

/** Refusals that any route may answer, and those that this one declares. */
function refusalsOf(route: Route): Record<string, ResponseObject> {
  const refusals: Record<string, ResponseObject> = {
    400: json('The request does not fit its declaration.', problem.INVALID_OR_UNREADABLE),
    403: json('The caller is not served.', problem.REFUSED),
    405: json('The path does not know the method; `Allow` lists those that it does.', problem.SIMPLE),
    429: json('Too many requests of this client within a window.', problem.SIMPLE),
    500: json('The node failed.', problem.SIMPLE),
  };
  if (route.body !== undefined) {
    refusals['413'] = json('The body is too large.', problem.UNREADABLE);
    refusals['415'] = json('The body is of an unknown character set or encoding.', problem.UNREADABLE);
  }
  for (const [status, description] of Object.entries(route.errors)) {
    const schema = status === '409' ? problem.REJECTED : status === '403' ? problem.REFUSED : problem.SIMPLE;
    refusals[status] = json(description, schema);
  }
  return refusals;
}

function json(description: string, schema: Schema): ResponseObject {
  return { description, content: { 'application/json': { schema } } };
}
