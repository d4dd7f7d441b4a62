/**
 * Tests the HTTP headers that name the block whose state the answer shows. Also tests requests that wait until the
 * chain has a given height (`minHeight`).
 */

import test, { type ExecutionContext } from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import { HTTP_DEFAULTS, type HttpOptions } from '../../src/http/options.ts';
import { HEIGHT_WAIT_MS_MAX, isUnchanged, wantedHeight } from '../../src/http/read-consistency.ts';
import { allRoutes } from '../../src/http/routes/all.ts';
import type { NodeListener } from '../../src/ports/node-api.ts';
import { fakeNode, TIP } from './fake-node.ts';
import { populatedNode } from './populated-node.ts';
import { ManualClock } from './manual-clock.ts';

/** A node whose chain grows when the test calls `grow`. */
async function growing(t: ExecutionContext, options: Partial<HttpOptions> = {}) {
  const { api } = fakeNode(3);
  const listeners = new Set<NodeListener>();
  const clock = new ManualClock();
  let tip = TIP;
  let afterStatus = (): void => undefined;
  const grown = {
    ...api,
    status: () => {
      setImmediate(() => afterStatus());
      return { ...api.status(), height: tip.height };
    },
    chain: { ...api.chain, tip: () => tip },
    listen: (listener: NodeListener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const server = createHttpServer(grown, { port: 0, address: '127.0.0.1', ...options }, clock);
  const { port } = await server.start();
  t.teardown(() => server.close());
  return {
    clock,
    listeners,
    /** Sets a function that runs after each call of `status`, in the same iteration of the event loop. */
    afterStatus: (work: () => void) => (afterStatus = work),
    ask: (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}${path}`, init),
    grow: (height: number) => {
      tip = { ...tip, height, id: `${height}7` };
      for (const listener of listeners) listener.chainChanged?.();
    },
  };
}

/**
 * Resolves as soon as at least one request waits for a height.
 *
 * @throws Error if no request waits within about ten seconds
 */
async function untilWaiting(listeners: ReadonlySet<NodeListener>): Promise<void> {
  for (let looks = 0; listeners.size === 0; looks += 1) {
    if (looks > 2000) throw new Error('no request waits');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('each answer in an envelope names its block; answers about the chain also have an ETag', async (t) => {
  const { ask } = await growing(t);
  for (const path of ['/api/accounts', '/api/accounts', '/api/blocks/?limit=1', '/api/node/status', '/api/peers']) {
    const { headers } = await ask(path);
    t.is(headers.get('x-height'), String(TIP.height), path);
    t.is(headers.get('x-block-id'), TIP.id, path);
    const isOfChain = path.includes('accounts') || path.includes('blocks');
    t.is(headers.get('etag')?.startsWith(`W/"${TIP.id}-`) ?? false, isOfChain, path);
    t.regex(headers.get('access-control-expose-headers') ?? '', /X-Height/);
  }
});

test('a client with the answer of the current block gets 304 without a body, until the chain changes', async (t) => {
  const { ask, grow } = await growing(t);
  // The second path equals the first one, so the response cache answers the requests for the second path. The slow path
  // (Express) answers the requests for the third path.
  for (const path of ['/api/accounts', '/api/accounts', '/api/accounts/?limit=1']) {
    const etag = (await ask(path)).headers.get('etag') ?? '';
    const same = await ask(path, { headers: { 'if-none-match': `"other", ${etag}` } });
    t.is(same.status, 304, path);
    t.is(await same.text(), '');
    t.is(same.headers.get('etag'), etag);
    t.is(same.headers.get('x-height'), String(TIP.height));
    t.is((await ask(path, { headers: { 'if-none-match': '"other"' } })).status, 200);
  }
  const etag = (await ask('/api/accounts')).headers.get('etag') ?? '';
  grow(TIP.height + 1);
  const newer = await ask('/api/accounts', { headers: { 'if-none-match': etag } });
  t.is(newer.status, 200);
  t.not(newer.headers.get('etag'), etag);
});

test('a 404 names its block, too', async (t) => {
  const { ask } = await growing(t);
  const missing = await ask('/api/accounts/1L/multisignature_groups');
  t.is(missing.status, 404);
  t.is(missing.headers.get('x-height'), String(TIP.height));
  t.is(missing.headers.get('etag'), null);
});

test('tags are compared without the weak mark', (t) => {
  t.true(isUnchanged('W/"1-a"', 'W/"1-a"'));
  t.true(isUnchanged('"x" , "1-a"', 'W/"1-a"'));
  t.false(isUnchanged('"1-b"', 'W/"1-a"'));
  t.false(isUnchanged('', 'W/"1-a"'));
  t.false(isUnchanged(undefined, 'W/"1-a"'));
});

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: HEAD answers as GET does, without the body`, async (t) => {
    const server = createHttpServer(populatedNode(generation).api, { port: 0, address: '127.0.0.1' });
    const { port } = await server.start();
    t.teardown(() => server.close());
    for (const { method, path, kind } of allRoutes({ generation, strict: false })) {
      if (method !== 'GET' || path === '/metrics') continue;
      const url = `http://127.0.0.1:${port}/api${path.replace(/\{.*\}/, '294790702008283265L')}`;
      const head = await fetch(url, { method: 'HEAD' });
      if (kind === 'stream') {
        t.is(head.status, 405, 'a stream has no length that a HEAD request could return');
        continue;
      }
      const got = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
      const body = await got.text();
      t.is(head.status, got.status, path);
      t.is(await head.text(), '', path);
      const length = head.headers.get('content-length');
      t.true(length === null || Number(length) > 0 || body === '', path);
      for (const name of ['content-type', 'x-height', 'etag'])
        t.is(head.headers.get(name), got.headers.get(name), path);
    }
  });
}

test('a height that the chain has is answered at once, and the parameter is not reported as ignored', async (t) => {
  const { ask, listeners } = await growing(t);
  for (const path of [
    `/api/accounts?minHeight=${TIP.height}`,
    `/api/accounts?limit=1&minHeight=1`,
    `/api/accounts?minHeight=1&limit=1`,
  ]) {
    const answer = await ask(path);
    t.is(answer.status, 200, path);
    t.is(answer.headers.get('x-ignored-parameters'), null);
  }
  const headers = { 'x-min-height': String(TIP.height) };
  t.is((await ask('/api/accounts', { headers })).status, 200);
  t.is(listeners.size, 0);
});

test('the request waits for its height, and the answer has that height', async (t) => {
  const { ask, grow, listeners } = await growing(t);
  const wanted = TIP.height + 2;
  const asked = [
    ask(`/api/accounts?minHeight=${wanted}`),
    ask('/api/blocks', { headers: { 'x-min-height': String(wanted) } }),
    ask(`/api/node/status?minHeight=${wanted}`, { method: 'HEAD' }),
  ];
  await untilWaiting(listeners);
  grow(wanted - 1);
  t.is(await Promise.race([...asked, new Promise((resolve) => setTimeout(() => resolve('waits'), 50))]), 'waits');
  grow(wanted);
  for (const answer of await Promise.all(asked)) {
    t.is(answer.status, 200);
    t.is(answer.headers.get('x-height'), String(wanted));
  }
  t.is(listeners.size, 0, 'nobody listens any more');
});

test("a request that waits for a height does not get an earlier request's cached answer", async (t) => {
  const { ask, grow, listeners, afterStatus } = await growing(t);
  const wanted = TIP.height + 1;
  const path = '/api/node/status';
  // The tick cache (`fast-path.ts`) keeps answers for one iteration of the event loop. The node answers a request from
  // the tick cache only if the request does not accept compression.
  const init = { headers: { 'accept-encoding': 'identity' } };
  const waits = ask(`${path}?minHeight=${wanted}`, init);
  await untilWaiting(listeners);
  afterStatus(() => grow(wanted));
  t.is((await ask(path, init)).headers.get('x-height'), String(TIP.height));
  const answer = await waits;
  t.is(answer.headers.get('x-height'), String(wanted));
  t.is(((await answer.json()) as { data: { height: number } }).data.height, wanted);
});

test('a wait for a height ends before a short socket timeout ends the connection', async (t) => {
  const { ask, clock, listeners } = await growing(t, { limits: { ...HTTP_DEFAULTS.limits, socketTimeoutMs: 5_000 } });
  const asked = ask(`/api/accounts?minHeight=${TIP.height + 1}`);
  await untilWaiting(listeners);
  clock.pass(3_000);
  t.is((await asked).status, 503);
});

test('a height that does not come gets 503 with Retry-After, and an invalid height is refused', async (t) => {
  const { ask, clock, listeners } = await growing(t);
  const asked = ask(`/api/accounts?minHeight=${TIP.height + 1}`);
  await untilWaiting(listeners);
  clock.pass(HEIGHT_WAIT_MS_MAX);
  const behind = await asked;
  t.is(behind.status, 503);
  t.is(behind.headers.get('retry-after'), '5');
  t.is(behind.headers.get('access-control-allow-origin'), '*');
  t.deepEqual(await behind.json(), { message: `This node has not reached height ${TIP.height + 1} yet` });
  for (const text of ['', '0', '-1', '1.5', 'x', '99999999999', '1&minHeight=x']) {
    const answer = await ask(`/api/accounts?minHeight=${text}`);
    t.is(answer.status, 400, text);
    t.is(((await answer.json()) as { message: string }).message, 'Validation errors');
  }
});

test('the strict dialect accepts the header, but like the reference does not know the parameter', async (t) => {
  const { ask, listeners } = await growing(t, { strictDialect: true });
  const unknown = await ask(`/api/accounts?minHeight=${TIP.height + 1}`);
  t.is(unknown.status, 400);
  t.regex(await unknown.text(), /UNKNOWN_PARAM/);
  t.is(listeners.size, 0);
  t.is((await ask('/api/accounts', { headers: { 'x-min-height': '1' } })).status, 200);
  t.regex(await (await ask('/api/accounts', { headers: { 'x-min-height': 'x' } })).text(), /minHeight/);
});

test('paths without the prefix have the parameter also beside the strict dialect', async (t) => {
  const { ask } = await growing(t, { strictDialect: true });
  t.is((await ask('/accounts?minHeight=1')).status, 200);
  t.regex(await (await ask('/accounts?minHeight=x')).text(), /minHeight/);
  t.is((await ask('/API/accounts?minHeight=x')).status, 404);
});

test('the request target keeps its other parameters unchanged', (t) => {
  const of = (url: string) => wantedHeight({ url, headers: {} }, { strict: false });
  t.deepEqual(of('/a'), { height: undefined, target: '/a' });
  t.deepEqual(of('/a?minHeight=7'), { height: 7, target: '/a' });
  t.deepEqual(of('/a?minHeight=7&b=1'), { height: 7, target: '/a?b=1' });
  t.deepEqual(of('/a?b=%20&minHeight=7&c=&b=2'), { height: 7, target: '/a?b=%20&c=&b=2' });
  t.deepEqual(of('/a?minHeight=7&minHeight=9'), { height: 9, target: '/a' });
  t.deepEqual(of('/a&b?minHeight=5'), { height: 5, target: '/a&b' });
  t.deepEqual(of('/a&b?minHeight=5&c=1'), { height: 5, target: '/a&b?c=1' });
  t.deepEqual(of('/a&b?c=1&minHeight=5'), { height: 5, target: '/a&b?c=1' });
  t.deepEqual(of('/a?xminHeight=7'), { height: undefined, target: '/a?xminHeight=7' });
});
