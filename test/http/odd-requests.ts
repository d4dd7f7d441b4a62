/** Sends random requests, among them requests with malformed or unusual parameter values and bodies. */

import type { ExecutionContext } from 'ava';
import { allRoutes } from '../../src/http/routes/all.ts';
import type { Route } from '../../src/http/route.ts';
import type { Generation } from '../../src/protocol/params.ts';
import { fc } from '../support/fast-check.ts';
import type { Ask } from './fake-node.ts';

const oddValue = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1.5',
    '1e400',
    'NaN',
    '0x10',
    'null',
    'true',
    '1L',
    '18446744073709551616L',
    '%',
    '\\',
  ),
  fc.constantFrom('9'.repeat(30), 'a'.repeat(64), 'height:asc', 'connected', '1'.repeat(64), '\u0000', '٣', '💣'),
  fc.integer().map(String),
  fc.string({ unit: 'binary', maxLength: 40 }),
);
const oddBody = fc.oneof(
  fc.json(),
  fc.string(),
  fc.constantFrom('', '{', '[]', '{"__proto__":{"id":1}}', '{"id":1e999}'),
);

/** With these options, an event stream accepts no subscriber. The answer to a subscriber would never end. */
export const NO_STREAMS = { subscribersMax: 0, stallMs: 1000, heartbeatMs: 1000, lookMs: 1000 };

/** Replaces unpaired surrogates, because UTF-8 cannot represent them. */
const wellFormed = (text: string) => Buffer.from(text, 'utf8').toString('utf8');

/** Sends `runs` random requests. `ask` checks that each answer matches the OpenAPI document. */
export async function sendOddRequests(
  t: ExecutionContext,
  ask: Ask,
  generation: Generation,
  runs: number,
): Promise<void> {
  const routes = allRoutes({ generation, strict: false });
  const names = [
    ...new Set(routes.flatMap(({ parameters }) => parameters.map(({ name }) => name))),
    'foo',
    '__proto__',
  ];
  const pair = fc.tuple(fc.constantFrom(...names), fc.constantFrom('', '[]', '[x]'), oddValue);
  const request = fc.record({
    route: fc.constantFrom(...routes),
    method: fc.constantFrom('GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE'),
    pathValue: oddValue,
    pairs: fc.array(pair, { maxLength: 4 }),
    body: oddBody,
  });
  await fc.assert(
    fc.asyncProperty(request, async ({ route, method, pathValue, pairs, body }) => {
      const path = route.path.replace(/\{\w+\}/, encodeURIComponent(wellFormed(pathValue)));
      const query = pairs.map(([name, suffix, value]) => `${name}${suffix}=${encodeURIComponent(wellFormed(value))}`);
      const headers = { 'content-type': 'application/json' };
      const init = method === 'GET' ? {} : { method, headers, body: wellFormed(body) };
      const answer = await ask(`/api${path}?${query.join('&')}`, init);
      // Checks only the status here, because `ask` has compared the answer with the OpenAPI document.
      return answer.status < 500 || (answer.status === 503 && mayBeBusy(route));
    }),
    { numRuns: runs },
  );
  t.pass();
}

/**
 * Returns whether a route may answer with status 503. An event stream does so if there are too many subscribers. A
 * route of kind `plain`, such as `/readyz`, may do so if it declares this status.
 */
function mayBeBusy(route: Route): boolean {
  return route.kind === 'stream' || (route.kind === 'plain' && 503 in route.answers);
}
