import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { createHttpServer } from '../../src/http/app.ts';
import { openApiOf } from '../../src/http/openapi.ts';
import { allRoutes } from '../../src/http/routes/all.ts';
import { ALICE, ALICE_KEY, GROUP, serve } from './fake-node.ts';
import { furnished } from './furnished-node.ts';
import { commandsOf, pageOf, resourceOf, type Example } from './pages.ts';

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

for (const generation of [2, 3] as const) {
  test(`each command that a page of docs/http shows, written by hand or made, works in generation ${generation}`, async (t) => {
    const server = createHttpServer(furnished(generation).api, { port: 0, address: '127.0.0.1' });
    const { port } = await server.start();
    t.teardown(() => server.close());
    const directory = join(packageDirectory(), 'docs', 'http');
    const paths = new Set<string>();
    for (const file of readdirSync(directory)) {
      for (const { target, ...init } of commandsOf(readFileSync(join(directory, file), 'utf8'))) {
        // Headers are enough, and a stream has no end.
        const ended = new AbortController();
        const response = await fetch(`http://127.0.0.1:${port}${target}`, { ...init, signal: ended.signal });
        t.is(response.status, 200, `${file}: ${target}`);
        ended.abort();
        paths.add(target.replace(/[?].*/, ''));
      }
    }
    for (const path of ['/api/events', '/api/transactions', '/api/signatures', '/healthz'])
      t.true(
        [...paths].some((shown) => shown.endsWith(path)),
        path,
      );
  });
}

test('a command of a page that is no request of the interface is told, so that none is passed over', (t) => {
  for (const command of ['wget http://127.0.0.1:4000/api/blocks', "curl 'http://127.0.0.1:5000/api/blocks'", 'curl'])
    t.throws(() => commandsOf(`\`\`\`sh\n${command}\n\`\`\`\n`), {
      message: `not a request of the interface: ${command}`,
    });
});
