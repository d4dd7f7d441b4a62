import test from 'ava';
import { allRoutes } from '../../src/http/routes/all.ts';
import type { Route } from '../../src/http/route.ts';
import { ALICE, serve } from './fake-node.ts';
import { populatedNode } from './populated-node.ts';
import { refusedValue, takenValue } from './samples.ts';

/** Request target of a route with a query. Routes about votes also get the address that they require. */
function targetOf(route: Route, query: string): string {
  const path = route.path.replace('{address}', ALICE.address).replace('{state}', 'pending').replace('{id}', '1');
  const identity =
    route.path.startsWith('/vote') && !/^(address|username)=/.test(query) ? `address=${ALICE.address}&` : '';
  return `/api${path}?${identity}${query}`;
}

const NO_STREAMS = { subscribersMax: 0, stallMs: 1000, heartbeatMs: 1000, lookMs: 1000 };

for (const generation of [2, 3] as const) {
  const routes = allRoutes({ generation, strict: false }).filter(({ method }) => method === 'GET');

  test(`generation ${generation}: each declared parameter accepts valid values; a refusal of an invalid value names the parameter`, async (t) => {
    const ask = await serve(t, populatedNode(generation), { events: NO_STREAMS });
    for (const route of routes) {
      for (const parameter of route.parameters.filter((declared) => declared.in === 'query')) {
        const { name } = parameter;
        const taken = await ask(targetOf(route, `${name}=${encodeURIComponent(takenValue(parameter))}`));
        t.not(taken.status, 400, `${route.path} ${name}`);
        for (const query of [
          `${name}=${encodeURIComponent(refusedValue(parameter))}`,
          `${name}=1&${name}=2`,
          `${name}[x]=1`,
        ]) {
          const { status, body } = await ask(targetOf(route, query));
          t.is(status, 400, `${route.path} ${query}`);
          const { errors } = body as { errors: { name: string; in: string }[] };
          t.true(
            errors.some((error) => error.name === name && error.in === 'query'),
            `${route.path} ${query}`,
          );
        }
      }
    }
  });

  test(`generation ${generation}: an undeclared parameter is refused or ignored, as each route declares`, async (t) => {
    const ask = await serve(t, populatedNode(generation), { events: NO_STREAMS });
    for (const route of routes) {
      const { status, body } = await ask(targetOf(route, 'undeclared=1'));
      if (route.unknownParameters === 'refused') {
        t.is(status, 400, route.path);
        t.like(body, { errors: [{ name: 'undeclared', code: 'UNKNOWN_PARAM' }] }, route.path);
      } else t.not(status, 400, route.path);
    }
  });

  test(`generation ${generation}: the refusal of an invalid path parameter names the parameter`, async (t) => {
    const ask = await serve(t, populatedNode(generation));
    for (const route of routes.filter(({ path }) => path.includes('{'))) {
      const { status, body } = await ask(`/api${route.path.replace(/\{\w+\}/, 'nothing')}`);
      t.is(status, 400, route.path);
      t.like(body, { errors: [{ in: 'path' }] }, route.path);
    }
  });
}
