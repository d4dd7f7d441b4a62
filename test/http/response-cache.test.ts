import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request as ask } from 'node:http';
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createResponseCache, CACHED_BYTES_MAX } from '../../src/http/response-cache.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { HTTP_DEFAULTS } from '../../src/http/options.ts';
import type { HttpOptions } from '../../src/http/options.ts';
import type { BlockHeader } from '../../src/protocol/types.ts';
import type { ExecutionContext } from 'ava';
import { allRoutes } from '../../src/http/routes/all.ts';
import { fakeNode, TIP, type Fake } from './fake-node.ts';
import { populatedNode } from './populated-node.ts';

interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
}

async function raw(t: ExecutionContext, fake: Fake, options: Partial<HttpOptions> = {}) {
  const server = createHttpServer(fake.api, { port: 0, address: '127.0.0.1', ...options });
  const { port } = await server.start();
  t.teardown(() => server.close());
  return (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<RawAnswer>((resolve, reject) => {
      const sent = ask({ port, path, headers, method, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const { date: _date, connection: _connection, ...others } = response.headers;
          resolve({ status: response.statusCode ?? 0, headers: others, bytes: Buffer.concat(chunks) });
        });
      });
      sent.on('error', reject);
      sent.end();
    });
}

test('a cached answer is identical in all bytes and headers, compressed or not', async (t) => {
  const fake = fakeNode(3);
  const get = await raw(t, fake);
  const fresh = await raw(t, fakeNode(3), { cacheResponses: false });
  const gzip = { 'accept-encoding': 'gzip, deflate' };
  const encodings = [{}, gzip, { 'accept-encoding': 'identity' }, { 'accept-encoding': 'br;q=1, gzip;q=0' }];
  for (const path of [
    '/api/accounts',
    '/blocks?limit=2',
    '/api/delegates?sort=username:asc',
    '/api/votes?username=alice',
  ]) {
    await get(path);
    for (const headers of [...encodings, { origin: 'http://a' }]) {
      const asked = fake.asked.length;
      const [expected, cached] = [await fresh(path, headers), await get(path, headers)];
      t.is(cached.status, 200);
      t.deepEqual(unpacked(cached), unpacked(expected), path);
      if (headers !== encodings[3]) t.is(fake.asked.length, asked, path);
      t.deepEqual(comparable(cached), comparable(expected), path);
    }
  }
});

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: the fast path and the slow path give the same answers`, async (t) => {
    const get = await raw(t, populatedNode(generation), { cacheResponses: false });
    const routes = allRoutes({ generation, strict: false });
    for (const { method, path, kind } of routes) {
      if (method !== 'GET' || kind === 'stream' || path.includes('{') || path === '/metrics') continue;
      for (const query of [
        '',
        '?address=294790702008283265L',
        '?limit=2&offset=1',
        '?limit=0',
        '?unknown=1',
        '?username=x',
      ]) {
        // The fast path (`fast-path.ts`) accepts only the usual spelling of a URL path. An additional slash sends the
        // request through the slow path (Express).
        const place = path === '/' ? '/api' : `/api${path}`;
        const [short, long] = [await get(place + query), await get(`${place}/${query}`)];
        t.is(short.status, long.status, path + query);
        t.is(short.bytes.toString(), long.bytes.toString(), path + query);
        t.deepEqual(short.headers, long.headers, path + query);
      }
    }
  });
}

test('a later request for the node status gets the new height', async (t) => {
  const fake = fakeNode(3);
  const get = await raw(t, fake);
  const first = JSON.parse((await get('/api/node/status')).bytes.toString()) as { data: { height: number } };
  const status = fake.api.status();
  const { height } = first.data;
  t.is(height, status.height);
  Object.assign(fake.api, { status: () => ({ ...status, height: height + 1 }) });
  const second = JSON.parse((await get('/api/node/status')).bytes.toString()) as { data: { height: number } };
  t.is(second.data.height, height + 1);
});

/**
 * Removes the two headers about the length of the body. If the slow path compresses a body, it sends the body in
 * chunks, without the header `content-length`.
 */
function comparable({ headers }: RawAnswer): object {
  const { 'transfer-encoding': _pieces, 'content-length': _length, ...others } = headers;
  return others;
}

function unpacked({ headers, bytes }: RawAnswer): string {
  return (
    headers['content-encoding'] === 'gzip'
      ? gunzipSync(bytes)
      : headers['content-encoding'] === 'br'
        ? brotliDecompressSync(bytes)
        : bytes
  ).toString('utf8');
}

test('an answer is cached until the chain changes, and never when it depends on other data', async (t) => {
  const fake = fakeNode(3);
  let tip: BlockHeader = TIP;
  const chain = { ...fake.api.chain, tip: () => tip };
  const get = await raw(t, { ...fake, api: { ...fake.api, chain } });
  await get('/api/accounts');
  await get('/api/accounts');
  t.is(fake.asked.length, 1);
  tip = { ...TIP, id: '7' };
  await get('/api/accounts');
  t.is(fake.asked.length, 2);
  for (const path of ['/api/delegates/forgers', '/api/delegates/forgers']) await get(path);
  t.is(fake.asked.length, 4);
  fake.failure = new Error('broken');
  tip = { ...TIP, id: '8' };
  t.is((await get('/api/accounts')).status, 500);
  fake.failure = undefined;
  t.is((await get('/api/accounts')).status, 200);
});

test('each cached answer counts as a request; a client without access gets 403, another method 405', async (t) => {
  const fake = fakeNode(3);
  const limits = { ...HTTP_DEFAULTS.limits, max: 3 };
  const get = await raw(t, fake, { limits });
  const rest = [];
  for (let i = 0; i < 4; i += 1) {
    const { status, headers } = await get('/api/accounts');
    rest.push([status, headers['x-ratelimit-remaining']]);
  }
  t.deepEqual(rest, [
    [200, '2'],
    [200, '1'],
    [200, '0'],
    [429, '0'],
  ]);
  const closed = await raw(t, fake, { access: { public: false, whiteList: ['10.0.0.1'] } });
  t.is((await closed('/api/accounts')).status, 403);
  const other = await raw(t, fake);
  await other('/api/accounts');
  t.is((await other('/api/accounts', {}, 'PUT')).status, 405);
});

test('the cache has a byte limit, and the least recently used answer is evicted first', (t) => {
  const fake = fakeNode(3);
  const cache = createResponseCache(fake.api, true);
  const body = Buffer.alloc(200_000);
  const most = Math.floor(CACHED_BYTES_MAX / body.length);
  cache.store('/first', body);
  for (let page = 1; page < most; page += 1) {
    cache.store(`/page?offset=${page}`, body);
    t.truthy(cache.find('/first'));
  }
  for (let page = most; page < most + 3; page += 1) cache.store(`/page?offset=${page}`, body);
  t.truthy(cache.find('/first'));
  t.is(cache.find('/page?offset=1'), undefined);
  let cached = 0;
  for (let page = 1; page < most + 3; page += 1) cached += cache.find(`/page?offset=${page}`) === undefined ? 0 : 1;
  t.true(cached * body.length <= CACHED_BYTES_MAX && cached >= most - 3, String(cached));
});

test('compressed answers count towards the limit of the cache', (t) => {
  const cache = createResponseCache(fakeNode(3).api, true);
  const most = Math.floor(CACHED_BYTES_MAX / 200_500);
  for (let page = 0; page < most; page += 1) cache.store(`/${page}`, randomBytes(200_000));
  const cached = Array.from({ length: most }, (_, page) => cache.find(`/${page}`)).filter(
    (answer) => answer !== undefined,
  );
  t.is(cached.length, most);
  for (let page = 0; page < most; page += 1) cache.find(`/${page}`)?.gzipped();
  const left = Array.from({ length: most }, (_, page) => cache.find(`/${page}`)).filter(
    (answer) => answer !== undefined,
  );
  // Random bytes do not become smaller by compression. The cache therefore keeps about 200,000 bytes of each answer
  // twice, in plain and in compressed form.
  t.true(left.length * 400_000 <= CACHED_BYTES_MAX, String(left.length));
  t.true(left.length * 400_000 >= 0.9 * CACHED_BYTES_MAX, String(left.length));
});
