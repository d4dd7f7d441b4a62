import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { openApiOf } from '../../src/http/openapi.ts';
import { allRoutes } from '../../src/http/routes/all.ts';
import { ALICE, ALICE_KEY, GROUP, serve } from './fake-node.ts';
import { furnished } from './furnished-node.ts';
import { pageOf, resourceOf, type Example } from './pages.ts';

const SIGNATURE = 'ab'.repeat(64);
const TRANSACTION = {
  id: '1',
  type: 8,
  timestamp: 5,
  senderPublicKey: ALICE_KEY,
  asset: { amount: '1', recipientId: '1L' },
  signature: SIGNATURE,
  amount: '1',
  fee: '10000000',
  recipientId: '1L',
};

/** What is sent where a route wants a body. */
const BODIES: Readonly<Record<string, unknown>> = {
  'POST /transactions': TRANSACTION,
  'POST /signatures': { transactionId: '1', publicKey: ALICE_KEY, signature: SIGNATURE },
  'PUT /signatures': { secret: 'first passphrase', secondSecret: 'second passphrase' },
  'PUT /node/status/forging': { publicKey: ALICE_KEY, password: 'elephant', forging: true },
};

test('docs/http has a page for each resource, made of what the routes declare and of exchanges that work', async (t) => {
  const routes = allRoutes({ generation: 3, strict: false });
  const asks = { '2': await serve(t, furnished(2)), '3': await serve(t, furnished(3)) };
  const examples: Example[] = [];
  for (const { method, path, kind } of routes) {
    // A stream has no end, and the description and its page are long.
    if (kind === 'stream' || path === '/spec' || path === '/docs') continue;
    const owner = path.endsWith('groups') ? GROUP.address : ALICE.address;
    const query = path.startsWith('/vote') ? `?username=alice` : '';
    const target = `/api${path.replace('{address}', owner).replace('{state}', 'pending')}${query}`;
    const body = BODIES[`${method} ${path}`];
    const init =
      body === undefined ? {} : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const [two, three] = [await asks['2'](target, init), await asks['3'](target, init)];
    t.is(two.status, 200, target);
    t.is(three.status, 200, target);
    examples.push({ method, path, target, body, answers: { '2': two, '3': three } });
  }
  const document = openApiOf(routes, { generation: 3, strict: false }, '');
  for (const resource of new Set(routes.map(({ path }) => resourceOf(path)))) {
    const page = pageOf(resource, document, examples);
    const file = join(packageDirectory(), 'docs', 'http', `${resource}.md`);
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, page);
    t.is(readFileSync(file, 'utf8'), page, `${resource}: run the test with UPDATE_DOCS=1`);
  }
});
