/** Defines the fuzz targets for HTTP requests: queries and bodies for every route, and raw bytes for a listener. */

import { createHttpServer } from '../../src/http/http-server.ts';
import { problemOf } from '../../src/http/problems.ts';
import { parseQuery, queryTextOf } from '../../src/http/query.ts';
import { checkRequest, type Route } from '../../src/http/route.ts';
import { allRoutes } from '../../src/http/routes/all.ts';
import { AssertionFailed } from '../../src/primitives/errors.ts';
import { fakeNode } from '../http/fake-node.ts';
import { person, PoolWorld } from '../support/pool-world.ts';
import { exchanged } from './targets-wire.ts';
import type { Target } from './fuzzer.ts';

const SIGNATURE = { transactionId: '77', publicKey: 'ab'.repeat(32), signature: 'cd'.repeat(64) };
const FORGING = { publicKey: 'ab'.repeat(32), password: 'a password', forging: true };

export function httpTargets(): readonly Target[] {
  return ([2, 3] as const).map(requests);
}

/** The first line of an input contains the method and the request target. The other lines are the body. */
function requests(generation: 2 | 3): Target {
  const fake = fakeNode(generation);
  const world = new PoolWorld();
  const alice = person('alice');
  world.setAccount(alice);
  fake.submit = (json) => Promise.resolve(world.pool.submit(json));
  fake.submitSignature = (json) => Promise.resolve(world.pool.submitSignature(json));
  const routes = allRoutes({ generation, strict: false });
  const transfer = world.transfer(alice, person('bob'));
  const bodies: Readonly<Record<string, unknown>> = {
    '/transactions': transfer,
    '/signatures': SIGNATURE,
    '/node/status/forging': FORGING,
  };
  const seeds = routes.flatMap((route) => {
    const names = route.parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name);
    const path = route.path.replace(/\{\w+\}/, '12345L');
    const line = `${route.method} ${path}?${names.map((name) => `${name}=1`).join('&')}`;
    const bare = `${route.method} ${path}`;
    return [line, bare].map((first) => Buffer.from(`${first}\n${JSON.stringify(bodies[route.path] ?? {})}`));
  });
  return {
    name: `http-gen${generation}`,
    seeds,
    words: [
      'limit=',
      '&offset=',
      '&sort=',
      'height:asc',
      '%00',
      '%',
      '[]',
      '&amp;',
      'true',
      '1L',
      'secret',
      'passphrase',
    ],
    isDeclared: (error) => !(error instanceof AssertionFailed) && problemOf(error, generation) !== undefined,
    async run(input) {
      const [first = '', ...rest] = input.toString('utf8').split('\n');
      const [method = '', target = ''] = first.split(' ', 2);
      const { route, path } = routed(routes, method, target);
      if (route === undefined) return 'no route';
      const checked = checkRequest(route, {
        query: parseQuery(queryTextOf(target)),
        path,
        body: method === 'GET' ? undefined : jsonOf(rest.join('\n')),
        contentType: 'application/json',
      });
      if (route.kind === 'stream') return `stream ${route.subscriptionOf(checked, first).after !== undefined}`;
      if (route.kind === 'plain') return `plain ${(await route.respond(fake.api, checked)).status}`;
      const { meta, data } = await route.handle(fake.api, checked);
      return `200 ${route.path} ${JSON.stringify([meta, data]).length > 100}`;
    },
  };
}

function routed(routes: readonly Route[], method: string, target: string) {
  const path = target.split('?', 1)[0] ?? '';
  for (const route of routes) {
    if (route.method !== method) continue;
    const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
    const match = new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '([^/]*)')}$`).exec(path);
    if (match !== null)
      return { route, path: Object.fromEntries(names.map((name, index) => [name, match[index + 1] ?? ''])) };
  }
  return { route: undefined, path: {} };
}

/**
 * Parses a body. Returns `{}` if the body is not a JSON object or a JSON list, because Express passes only objects and
 * lists to a route.
 */
function jsonOf(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/**
 * Target for raw bytes that a client sends to the HTTP server. The server must not answer with status 500, or with a
 * status from 502 to 509.
 */
export async function httpSocketTarget(): Promise<Target> {
  const events = { subscribersMax: 0, stallMs: 1000, heartbeatMs: 1000, lookMs: 1000 };
  const server = createHttpServer(fakeNode(3).api, { port: 0, address: '127.0.0.1', events });
  const { port } = await server.start();
  const request = (line: string, body = '', ...headers: string[]) =>
    Buffer.from([`${line} HTTP/1.1`, 'Host: x', ...headers, `Content-Length: ${body.length}`, '', body].join('\r\n'));
  const json = 'Content-Type: application/json';
  return {
    name: 'http-socket',
    weight: 0.02,
    seeds: [
      request('GET /api/accounts?limit=1'),
      request('POST /api/transactions', JSON.stringify(SIGNATURE), json),
      request('PUT /api/node/status/forging', JSON.stringify(FORGING), json),
      request('POST /api/signatures', 'secret=x&publicKey=y', 'Content-Type: application/x-www-form-urlencoded'),
    ],
    words: [
      '\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Content-Encoding: gzip\r\n',
      'Expect: 100-continue\r\n',
      'Content-Length: 5\r\n',
      'OPTIONS ',
      'charset=utf-7',
    ],
    isDeclared: () => false,
    async run(input) {
      const first = await exchanged(port, input);
      if (/ 50[02-9]$/.test(first)) throw new Error(`answered ${first}`);
      return first;
    },
    close: () => server.close(),
  };
}
