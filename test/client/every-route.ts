/**
 * Uses the client to send requests to every route of the OpenAPI document. Compares the results that the client returns
 * with the responses of the node.
 */

import type { ExecutionContext } from 'ava';
import { ClientError } from '../../src/client/index.ts';
import { AMOUNTS } from '../../src/client/generated.ts';
import type { Untyped } from '../support/untyped.ts';
import { documentOf } from './generate.ts';
import type { RouteFixture } from './route-fixture.ts';

/** Patterns of requests whose answer may be an empty list in this test, each with the reason. */
const RIGHTLY_EMPTY: readonly (readonly [RegExp, string])[] = [
  [/ offset=1$/, 'the list may have one item'],
  [/^GET \/dapps/, 'no application can be registered on a devnet'],
  [/^GET \/node\/diagnostics/, 'a node that nothing happens to has nothing to say'],
  [/^GET \/node\/status\/forging forging=false/, 'all delegates of a devnet forge'],
  [
    /^GET \/node\/transactions\/\{state\} state=(received|validated|verified)/,
    'transactions pass these queues at once',
  ],
  [/^GET \/node\/transactions( |$)/, 'it lists the queue `verified`'],
];

interface RouteRequest {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, Untyped>>;
}

/**
 * @param refused expected error status of each route that this devnet must refuse
 * @returns routes that the node does not refuse, each as `METHOD path`
 * @throws Error if the fixture has no value for a parameter, so that the test omits no parameter
 */
export async function askEveryRoute(
  t: ExecutionContext,
  fixture: RouteFixture,
  refused: Readonly<Record<string, number>> = {},
): Promise<readonly string[]> {
  const answered = new Set<string>();
  const amounts = new Set<string>();
  for (const asked of askings(fixture)) {
    const status = refused[asked.name];
    if (status !== undefined) {
      const asking = fixture.client.get(asked.path, asked.parameters);
      const error = await t.throwsAsync<ClientError>(asking, { instanceOf: ClientError, code: 'REFUSED' });
      t.is(error?.status, status, asked.name);
      continue;
    }
    if (asked.path === '/events') await askEvents(t, fixture, asked, amounts);
    else if (asked.method === 'get') await askGet(t, fixture, asked, amounts);
    else await sendBodies(t, fixture, asked);
    answered.add(routeOf(asked));
  }
  t.deepEqual([...amounts].sort(), amountsSeen(), 'each amount of the documents came as a bigint');
  return [...answered];
}

/** Requests for each route: one without optional parameters, and one for each value of each parameter. */
function* askings({ generation, values }: RouteFixture): Generator<RouteRequest> {
  for (const [path, methods] of Object.entries(documentOf(generation).paths)) {
    for (const [method, { parameters = [] }] of Object.entries(methods)) {
      const valuesOf = (name: string, choices: readonly Untyped[] | undefined): readonly Untyped[] => {
        const value = values[`${path} ${name}`] ?? values[name] ?? choices;
        if (value === undefined) throw new Error(`${method} ${path}: no real value of ${name}`);
        return Array.isArray(value) ? value : [value];
      };
      const needed = Object.fromEntries(
        parameters
          .filter(({ in: place }) => place === 'path')
          .map(({ name, schema }) => [name, valuesOf(name, schema.enum)[0]]),
      );
      const route = { method, path };
      const bare =
        BARE_PARAMETERS[path] === undefined ? needed : { [BARE_PARAMETERS[path]]: valuesOf('address', [])[0] };
      yield { ...route, name: `${method.toUpperCase()} ${path}`, parameters: bare };
      for (const { name, in: place, schema } of parameters) {
        const all = place === 'path' ? (schema.enum ?? []) : valuesOf(name, schema.enum);
        const others = LEADING.includes(name) ? needed : bare;
        for (const value of all) {
          const asked = `${method.toUpperCase()} ${path} ${name}=${value}`;
          yield { ...route, name: asked, parameters: { ...others, [name]: value } };
        }
      }
    }
  }
}

/**
 * Each key is a path. The value is the parameter that names the account. The node refuses a request for one of these
 * paths if the request names no account.
 */
const BARE_PARAMETERS: Readonly<Record<string, string>> = { '/votes': 'address', '/voters': 'address' };
const LEADING = ['address', 'publicKey', 'secondPublicKey', 'username'];

async function askGet(
  t: ExecutionContext,
  fixture: RouteFixture,
  asked: RouteRequest,
  amounts: Set<string>,
): Promise<void> {
  const { name, path, parameters } = asked;
  const answer: Untyped = await fixture.client.get(path, parameters);
  const { url, method, response } = fixture.exchange();
  t.is(method, 'GET', name);
  t.is(new URL(url).href, new URL(urlOf(fixture.url, asked)).href, name);
  if (typeof answer === 'string') {
    t.is(answer, await response.text(), name);
    t.true(answer.length > 0, name);
    return;
  }
  const bare: Untyped = await response.json();
  compare(t, { answer, bare, place: '', name: routeOf(asked), amounts });
  const isEmpty = Array.isArray(bare.data) && bare.data.length === 0;
  const mayBeEmpty = RIGHTLY_EMPTY.some(([pattern]) => pattern.test(name));
  t.true(!isEmpty || mayBeEmpty, `${name} lists something`);
}

/** Sends a valid body, which the node must accept, and an empty body, which the node must refuse. */
async function sendBodies(
  t: ExecutionContext,
  fixture: RouteFixture,
  { name, method, path }: RouteRequest,
): Promise<void> {
  const body = fixture.bodies[name]?.();
  if (body === undefined) throw new Error(`${name}: no body that the node takes`);
  const answer: Untyped = await fixture.client[method](path, body);
  const exchange = fixture.exchange();
  t.is(exchange.url, urlOf(fixture.url, { path, parameters: {} }), name);
  t.is(exchange.method, method.toUpperCase(), name);
  t.deepEqual(exchange.body, JSON.parse(JSON.stringify(body)), name);
  t.deepEqual(answer, await exchange.response.json(), name);
  if (name === EMPTY_IS_ANSWERED) {
    t.false((await fixture.client[method](path, {})).success, name);
    return;
  }
  t.not(answer.success, false, name);
  const error = await t.throwsAsync<ClientError>(fixture.client[method](path, {}), { instanceOf: ClientError }, name);
  t.is(error?.code, 'REFUSED', name);
  t.is(error?.status, 400, name);
  t.deepEqual(error?.body, await fixture.exchange().response.json(), name);
}

/** This route answers an invalid body with status 200 and `success: false`, as the oldest clients expect. */
const EMPTY_IS_ANSWERED = 'PUT /signatures';

/** Reads the stored events of `/events` with the client, and compares each event with the text that the node sends. */
async function askEvents(
  t: ExecutionContext,
  fixture: RouteFixture,
  asked: RouteRequest,
  amounts: Set<string>,
): Promise<void> {
  const { name } = asked;
  const { types, follow: _, ...others } = asked.parameters;
  const start = others['lastEventId'] === undefined ? { fromHeight: 1 } : {};
  const filter = { ...start, ...others, ...(types === undefined ? {} : { types: String(types).split(',') }) };
  const place = urlOf(fixture.url, { path: '/events', parameters: { ...start, ...asked.parameters, follow: false } });
  const events = (await (await fetch(place)).text()).split('\n\n').filter((each) => each.includes('data:'));
  t.true(events.length > 0 || others['finality'] === 'final', `${name} has events`);
  const stop = new AbortController();
  let index = 0;
  if (events.length === 0) return;
  for await (const { type, id, data } of fixture.client.events({ ...filter, signal: stop.signal })) {
    const lines = events[index]!.split('\n').map((line) => [
      line.slice(0, line.indexOf(':')),
      line.slice(line.indexOf(':') + 2),
    ]);
    const raw: Untyped = Object.fromEntries(lines);
    t.deepEqual([type, id], [raw.event, raw.id], name);
    compare(t, { answer: data, bare: JSON.parse(raw.data), place: '', name: `event ${type}`, amounts });
    index += 1;
    if (index === events.length) stop.abort();
  }
  t.is(index, events.length, name);
}

interface Compared {
  readonly answer: Untyped;
  readonly bare: Untyped;
  /** Path of the value in the answer, with `*` for an item of a list. */
  readonly place: string;
  readonly name: string;
  /** Paths of the bigint values that the comparisons have found. */
  readonly amounts: Set<string>;
}

/**
 * Checks that the client's answer equals the parsed JSON of the node, except that the client's answer contains amounts
 * as bigints.
 */
function compare(t: ExecutionContext, { answer, bare, place, name, amounts }: Compared): void {
  if (typeof answer === 'bigint') {
    amounts.add(`${name} ${place.slice(1)}`);
    t.is(answer.toString(), bare, `${name} ${place}`);
  } else if (typeof bare === 'object' && bare !== null) {
    t.is(Array.isArray(answer), Array.isArray(bare), `${name} ${place}`);
    t.deepEqual(Object.keys(answer), Object.keys(bare), `${name} ${place}`);
    for (const key of Object.keys(bare)) {
      const member = Array.isArray(bare) ? '*' : key;
      compare(t, { answer: answer[key], bare: bare[key], place: `${place}.${member}`, name, amounts });
    }
  } else t.is(answer, bare, `${name} ${place}`);
}

export function routeCount(generation: 2 | 3): number {
  return Object.values(documentOf(generation).paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
}

function urlOf(url: string, { path, parameters }: Pick<RouteRequest, 'path' | 'parameters'>): string {
  const rest = new URLSearchParams();
  let filled = path;
  for (const [name, value] of Object.entries(parameters)) {
    if (filled.includes(`{${name}}`)) filled = filled.replace(`{${name}}`, encodeURIComponent(String(value)));
    else rest.set(name, String(value));
  }
  return `${url}/api${filled}${rest.size === 0 ? '' : `?${rest.toString()}`}`;
}

function routeOf({ method, path }: RouteRequest): string {
  return `${method.toUpperCase()} ${path}`;
}

function amountsSeen(): readonly string[] {
  return Object.entries(AMOUNTS)
    .flatMap(([route, places]) => places.map((place) => `${route} ${place}`))
    .filter((each) => !UNSEEN.test(each))
    .sort();
}

/**
 * Matches the amounts that no answer contains in this test. `GET /node/transactions` lists the queue `verified`, but
 * transactions leave this queue before the test requests the list. The test reverts no block, so the events
 * `blocks/delete` and `transactions/reverted` do not occur. The test reads only stored events, and the node does not
 * store `transactions/new`.
 */
const UNSEEN = /^(GET \/node\/transactions|event (blocks\/delete|transactions\/(new|reverted))) /;
