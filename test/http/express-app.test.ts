import { createServer, request as httpRequest, type RequestOptions } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { hostname as machineName } from 'node:os';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import { HTTP_DEFAULTS, type HttpOptions } from '../../src/http/options.ts';
import { SILENT, type LogFields, type Observer } from '../../src/ports/observer.ts';
import { serveBytes } from './bare-client.ts';
import { fakeNode, serve, withBody, type Ask } from './fake-node.ts';

const { limits } = HTTP_DEFAULTS;

test('each route is served below /api and without the prefix', async (t) => {
  const ask = await serve(t, fakeNode(3));
  for (const path of ['/api/accounts', '/accounts', '/api/node/status', '/node/status', '/api/blocks/', '/blocks/'])
    t.is((await ask(path)).status, 200, path);
  for (const path of ['/api/api/accounts', '/', '/api/nosuch', '/api//accounts', '/api/accounts/1L'])
    t.is((await ask(path)).status, 404, path);
});

test('a request target may be a whole URL, as clients of a proxy send it', async (t) => {
  const dial = await serveBytes(t, fakeNode(3));
  for (const [target, status] of [
    ['http://node.example:4000/api/accounts?limit=1', 200],
    ['HTTPS://node.example/api/node/constants', 200],
    ['http://node.example/api/accounts?limit=0', 400],
    ['http://node.example', 404],
    ['http://node.example?limit=1', 404],
    ['ftp://node.example/api/accounts', 404],
  ] as const) {
    const client = await dial('127.0.0.1', `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    t.deepEqual(await client.ended(), [status], target);
  }
});

test('generation 2 matches paths in any letter case, generation 3 only as written', async (t) => {
  t.is((await (await serve(t, fakeNode(2)))('/API/Node/status')).status, 200);
  t.is((await (await serve(t, fakeNode(3)))('/API/Node/status')).status, 404);
});

test('an unknown path answers 404 whatever the method', async (t) => {
  const ask = await serve(t, fakeNode(3));
  for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
    const answer = await ask('/api/nosuch', { method });
    t.is(answer.status, 404);
    t.deepEqual(answer.body, { description: 'Page not found' });
    t.is(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    t.is(answer.headers.get('x-ratelimit-limit'), null);
  }
});

test('metrics have few method labels, whatever clients send', async (t) => {
  const methods = new Set<string>();
  const observer: Observer = {
    ...SILENT,
    observe: (metric, _value, labels) => {
      if (metric === 'http_request_duration_seconds') methods.add(labels?.['method'] ?? '');
    },
  };
  const ask = await serve(t, fakeNode(3), { observer });
  const odd = ['ACL', 'BIND', 'COPY', 'DELETE', 'LINK', 'MKCOL', 'PATCH', 'PURGE', 'SEARCH', 'UNLOCK'];
  for (const method of ['GET', 'POST', ...odd]) await ask('/api/peers', { method });
  t.deepEqual([...methods].sort(), ['GET', 'POST', 'other']);
});

test('a path that cannot be decoded gets 404', async (t) => {
  const ask = await serve(t, fakeNode(3));
  t.is((await ask('/api/accounts/%E0%A4%A/multisignature_groups')).status, 404);
  t.is((await ask('/api/accounts/1%2F2/multisignature_groups')).status, 400);
});

test('an answer has the headers that clients know', async (t) => {
  const ask = await serve(t, fakeNode(3));
  for (const path of ['/api/node/status', '/api/accounts?limit=0', '/api/accounts/1L/multisignature_groups']) {
    const { headers } = await ask(path);
    t.is(headers.get('content-type'), 'application/json');
    t.is(headers.get('x-frame-options'), 'DENY');
    t.is(headers.get('content-security-policy'), "frame-ancestors 'none'");
    t.is(headers.get('x-ratelimit-limit'), null, 'there is no limit');
    t.is(headers.get('x-ratelimit-remaining'), null);
    t.is(headers.get('access-control-allow-origin'), '*');
    t.is(headers.get('vary'), 'Accept-Encoding');
    for (const absent of ['x-powered-by', 'cache-control']) t.is(headers.get(absent), null, absent);
  }
});

test('a preflight request answers 204 and echoes the wanted headers', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const headers = { origin: 'http://x.test', 'access-control-request-headers': 'content-type,x-foo' };
  const answer = await ask('/api/transactions', { method: 'OPTIONS', headers });
  t.is(answer.status, 204);
  t.is(answer.text, '');
  t.is(answer.headers.get('access-control-allow-origin'), '*');
  t.is(answer.headers.get('access-control-allow-methods'), 'GET,POST,PUT');
  t.is(answer.headers.get('access-control-allow-headers'), 'content-type,x-foo');
});

test('a configured origin is sent unchanged with Vary; true reflects the origin; false sends none', async (t) => {
  const cors = (origin: string | boolean) => ({ cors: { origin, methods: ['GET'] } });
  const headers = { origin: 'http://asker.test' };
  const fixed = await (await serve(t, fakeNode(3), cors('http://a.test')))('/api/node/status', { headers });
  t.is(fixed.headers.get('access-control-allow-origin'), 'http://a.test');
  t.is(fixed.headers.get('vary'), 'Origin, Accept-Encoding');
  const reflecting = await (await serve(t, fakeNode(3), cors(true)))('/api/node/status', { headers });
  t.is(reflecting.headers.get('access-control-allow-origin'), 'http://asker.test');
  const ask = await serve(t, fakeNode(3), cors(false));
  t.is((await ask('/api/node/status', { headers })).headers.get('access-control-allow-origin'), null);
  t.is((await ask('/api/node/status', { method: 'OPTIONS' })).status, 405);
});

test('a page of an allowed origin can read each refusal, and how long it should wait', async (t) => {
  const refusals = [
    ['/api/nosuch', 404, {}],
    ['/api/accounts', 405, { method: 'PUT' }],
    ['/api/accounts?minHeight=x', 400, {}],
    ['/api/transactions', 415, { ...withBody({}), headers: { 'content-encoding': 'gzip' } }],
    ['/api/transactions', 413, withBody('x'.repeat(200_000))],
  ] as const;
  for (const [origin, allowed, vary] of [
    ['*', '*', null],
    ['http://page.test', 'http://page.test', 'Origin'],
    [true, 'http://page.test', 'Origin'],
    [false, null, null],
  ] as const) {
    const cors = { origin, methods: ['GET'] };
    const check = async (ask: Ask, path: string, status: number, init: RequestInit = {}): Promise<void> => {
      const answer = await ask(path, { ...init, headers: { ...init.headers, origin: 'http://page.test' } });
      t.is(answer.status, status, path);
      t.is(answer.headers.get('access-control-allow-origin'), allowed, `${path}, ${origin}`);
      t.is(answer.headers.get('vary'), vary, `${path}, ${origin}`);
      const exposed = answer.headers.get('access-control-expose-headers') ?? '';
      t.is(exposed.includes('Retry-After'), allowed !== null, `${path}, ${origin}`);
    };
    const ask = await serve(t, fakeNode(3), { cors });
    for (const [path, status, init] of refusals) await check(ask, path, status, init);
    const limited = await serve(t, fakeNode(3), { cors, limits: { ...limits, max: 1 } });
    await limited('/api/accounts');
    await check(limited, '/api/accounts', 429);
    const readOnly = await serve(t, fakeNode(3), { cors, readOnly: true });
    await check(readOnly, '/api/transactions', 403, withBody({}));
  }
  const ask = await serve(t, fakeNode(3), { cors: { origin: 'http://page.test', methods: ['GET'] } });
  const { headers } = await ask('/api/accounts', { method: 'POST' });
  t.is(headers.get('vary'), 'Origin, X-HTTP-Method-Override');
});

test('a path answers 405 to an unsupported method, and lists the supported methods', async (t) => {
  const ask = await serve(t, fakeNode(3));
  for (const [method, path, allow] of [
    ['PUT', '/api/accounts', 'GET'],
    ['DELETE', '/api/transactions', 'GET, POST'],
    ['POST', '/api/node/status/forging', 'GET, PUT'],
    ['PATCH', '/signatures/', 'POST, PUT'],
  ] as const) {
    const answer = await ask(path, { method });
    t.is(answer.status, 405, path);
    t.is(answer.headers.get('allow'), allow);
    t.deepEqual(answer.body, { message: 'Method not allowed' });
  }
});

test('a POST can override its method with PUT', async (t) => {
  const fake = fakeNode(3);
  const ask = await serve(t, fake);
  const init = withBody({ publicKey: '', password: 'elephant', forging: true });
  const headers = { ...(init.headers as object), 'X-HTTP-Method-Override': 'PUT' };
  const answer = await ask('/api/node/status/forging', { ...init, headers });
  t.is(answer.status, 200);
  t.is(answer.headers.get('vary'), 'X-HTTP-Method-Override, Accept-Encoding');
});

test('a POST can override its method with any other, and the first of several counts', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const as = (method: string) => ({ method: 'POST', headers: { 'X-HTTP-Method-Override': method } });
  t.is((await ask('/api/transactions', as('get'))).status, 200);
  const other = await ask('/api/transactions', as('DELETE'));
  t.is(other.status, 405);
  t.is(other.headers.get('allow'), 'GET, POST');
  const forging = withBody({ publicKey: '', password: 'elephant', forging: true });
  const headers = { ...(forging.headers as object), 'X-HTTP-Method-Override': ' put , GET' };
  t.is((await ask('/api/node/status/forging', { ...forging, headers })).status, 200);
  // If the header `X-HTTP-Method-Override` contains an unknown method, the request remains a POST.
  t.is((await ask('/api/node/status', as('nothing'))).status, 405);
});

test('an empty content type counts as none, and so does an empty content encoding', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const untyped = await ask('/api/transactions', { method: 'POST', headers: { 'content-type': '' }, body: '{}' });
  t.is(untyped.status, 400);
  const { errors } = untyped.body as { errors: readonly { readonly message: string }[] };
  t.regex(errors[0]?.message ?? '', /^Invalid Content-Type \(application\/octet-stream\)/);
  const headers = { 'content-type': 'application/json', 'content-encoding': '' };
  t.is((await ask('/api/transactions', { method: 'POST', headers, body: '{}' })).status, 400);
});

test('a body that is not a JSON object or list gets 400 on routes that read a body, and is ignored on other routes', async (t) => {
  const ask = await serve(t, fakeNode(3));
  for (const [path, status] of [
    ['/api/nosuch', 404],
    ['/api/accounts', 405],
  ] as const) {
    const headers = { 'content-type': 'application/json' };
    t.is((await ask(path, { method: 'POST', headers, body: '{bad' })).status, status, path);
  }
  for (const path of ['/api/transactions', '/api/signatures'])
    for (const body of ['{bad', '"x"', '1', 'null', '{"a":}']) {
      const answer = await ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      t.is(answer.status, 400, `${path} ${body}`);
      const { message, errors } = answer.body as { message: string; errors: Record<string, string>[] };
      t.is(message, 'Parse errors');
      t.like(errors[0], { code: 'INVALID_REQUEST_PAYLOAD', name: 'payload', in: 'query' });
      t.true(errors[0]?.['message']?.startsWith('SyntaxError: '));
      t.is(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    }
});

test('the node refuses a body over 128 kB, and reads a smaller body', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const large = await ask('/api/transactions', withBody({ text: 'x'.repeat(128 * 1024) }));
  t.is(large.status, 413);
  const sentence = 'API error: PayloadTooLargeError: request entity too large';
  t.deepEqual(large.body, { success: false, error: sentence, message: sentence });
  t.is((await ask('/api/transactions', withBody({ text: 'x'.repeat(127 * 1024) }))).status, 400);
});

test('the node answers 415 to a body with an unknown charset and to a compressed body', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const charset = { 'content-type': 'application/json; charset=klingon' };
  t.is((await ask('/api/transactions', { method: 'POST', headers: charset, body: '{}' })).status, 415);
  for (const encoding of ['gzip', 'deflate', 'br', 'gzip, identity']) {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    t.is((await ask('/api/transactions', { method: 'POST', headers, body: gzipSync('{}') })).status, 415, encoding);
  }
  const identity = { 'content-type': 'application/json', 'content-encoding': 'identity' };
  t.is((await ask('/api/transactions', { method: 'POST', headers: identity, body: '{}' })).status, 400);
});

test('headers of older clients are ignored, and so is the content type of a GET', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const headers = { nethash: 'x', version: '0', minVersion: '>=9', os: '1', port: '99999', 'content-type': 'text/x' };
  t.is((await ask('/api/accounts', { headers })).status, 200);
});

test('a client without access gets 403 on every path', async (t) => {
  const closed = await serve(t, fakeNode(3), { access: { public: false, whiteList: ['10.0.0.0/8'] } });
  for (const path of ['/api/accounts', '/api/nosuch']) {
    const answer = await closed(path);
    t.is(answer.status, 403);
    t.deepEqual(answer.body, { message: 'API access denied', errors: ['API access blocked.'] });
  }
  const nobody = await serve(t, fakeNode(3), { access: { public: false, whiteList: [] } });
  t.is((await nobody('/api/accounts')).status, 403);
  const open = await serve(t, fakeNode(3), { access: { public: true, whiteList: [] } });
  t.is((await open('/api/accounts')).status, 200);
});

test('a disabled interface refuses each request, a read-only one all but GET', async (t) => {
  const off = await serve(t, fakeNode(3), { enabled: false });
  t.deepEqual((await off('/api/accounts')).body, {
    message: 'API access disabled',
    errors: ['API is not enabled in this node.'],
  });
  const readOnly = await serve(t, fakeNode(3), { readOnly: true });
  t.is((await readOnly('/api/accounts')).status, 200);
  t.is((await readOnly('/api/accounts', { method: 'HEAD' })).status, 200);
  t.true((await readOnly('/api/accounts', { method: 'OPTIONS' })).status < 300);
  const refused = await readOnly('/api/transactions', withBody({}));
  t.is(refused.status, 403);
  t.deepEqual(refused.body, { message: 'API write access denied', errors: ['API write access blocked.'] });
});

test("the client address in a proxy's header counts only where proxies are trusted", async (t) => {
  const headers = { 'x-forwarded-for': '10.1.2.3' };
  const access = { public: false, whiteList: ['10.1.2.3'] };
  t.is((await (await serve(t, fakeNode(3), { access }))('/api/accounts', { headers })).status, 403);
  const trusting = await serve(t, fakeNode(3), { access, trustProxy: true });
  t.is((await trusting('/api/accounts', { headers })).status, 200);
});

test('the state digest is shown to this machine only', async (t) => {
  const digest = { height: 2, blockId: '18446744073709551615', digest: 'ef'.repeat(32) };
  const ask = await serve(t, fakeNode(3));
  t.deepEqual((await ask('/api/node/digest')).body, { meta: {}, data: digest, links: {} });
  const trusting = await serve(t, fakeNode(3), { trustProxy: true, access: { public: true, whiteList: [] } });
  t.is((await trusting('/api/node/digest', { headers: { 'x-forwarded-for': '10.0.0.1' } })).status, 403);
});

const RESERVED = ['/api/node/status/forging', '/api/node/digest', '/api/node/diagnostics', '/api/node/peers'];

test('behind an untrusted proxy, no client counts as this machine, and the log warns once', async (t) => {
  const codes: string[] = [];
  const observer = { ...SILENT, log: (_level: string, code: string) => void codes.push(code) };
  const ask = await serve(t, fakeNode(3), { observer });
  for (const path of RESERVED) {
    t.is((await ask(path)).status, 200, path);
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip']) {
      t.is((await ask(path, { headers: { [name]: '127.0.0.1' } })).status, 403, `${path} ${name}`);
    }
  }
  t.deepEqual(codes, ['HTTP_PROXY_NOT_TRUSTED']);
  t.is((await ask('/api/accounts', { headers: { 'x-forwarded-for': '10.1.2.3' } })).status, 200);
  const trusting = await serve(t, fakeNode(3), { trustProxy: true });
  t.is((await trusting(RESERVED[0] ?? '', { headers: { 'x-forwarded-for': '127.0.0.1' } })).status, 200);
});

test('a page of another site cannot read data that is reserved for this machine, whoever opens the page', async (t) => {
  const ask = await serve(t, fakeNode(3));
  for (const path of RESERVED) {
    const others = ['http://127.0.0.1:4001', 'http://localhost:4000', 'http://127.0.0.1', 'null', ''];
    for (const origin of ['https://elsewhere.test', 'http://127.0.0.1.elsewhere.test', ...others]) {
      t.is((await ask(path, { headers: { origin } })).status, 403, `${path} ${origin}`);
    }
    // If a page loads an image or another part, the browser may send no `Origin` header, but it sends `Sec-Fetch-Site`.
    for (const [site, status] of [
      ['cross-site', 403],
      ['same-site', 403],
      ['same-origin', 200],
      ['none', 200],
    ] as const) {
      t.is((await ask(path, { headers: { 'sec-fetch-site': site } })).status, status, `${path} ${site}`);
    }
  }
  const change = {
    method: 'PUT',
    body: JSON.stringify({ publicKey: 'a'.repeat(64), password: 'secret', forging: true }),
  };
  const headers = { 'content-type': 'application/json', origin: 'https://elsewhere.test' };
  t.is((await ask('/api/node/status/forging', { ...change, headers })).status, 403);
  t.is((await ask('/api/accounts', { headers: { origin: 'https://elsewhere.test' } })).status, 200);
  const named = await serve(t, fakeNode(3), { cors: { origin: 'https://admin.test', methods: ['GET'] } });
  t.is((await named(RESERVED[0] ?? '', { headers: { origin: 'https://admin.test' } })).status, 200);
});

test('a request under a foreign host name that resolves to this machine does not count as local', async (t) => {
  const statusOf = await serveBare(t, { hostNames: ['node-1', 'node.example.org'] });
  const foreign = [
    'elsewhere.test',
    'elsewhere.test:4000',
    '127.0.0.1.elsewhere.test',
    'a.localhost.test',
    'evil.local',
    'evil',
    'evil.localhost',
    'node-1.evil.test',
    'localhost.',
    'user@localhost',
    `${machineName()}:4000`,
  ];
  for (const path of RESERVED) {
    for (const host of foreign) t.is(await statusOf(path, { headers: { host } }), 403, `${path} ${host}`);
    for (const host of [
      'localhost',
      'LOCALHOST:4000',
      '127.0.0.1:4000',
      '[::1]:4000',
      'node-1',
      'Node.Example.org:4000',
    ])
      t.is(await statusOf(path, { headers: { host } }), 200, `${path} ${host}`);
  }
  t.is(await statusOf('/api/accounts', { headers: { host: 'elsewhere.test' } }), 200);
});

test('with a trusted proxy, a request under a foreign host name does not count as local either', async (t) => {
  const statusOf = await serveBare(t, { trustProxy: true, hostNames: ['node.example.org'] });
  const forwarded = { 'x-forwarded-for': '127.0.0.1' };
  for (const path of RESERVED) {
    t.is(await statusOf(path, { headers: { host: 'evil.local' } }), 403, path);
    t.is(await statusOf(path, { headers: { host: 'evil.local', ...forwarded } }), 403, path);
    t.is(await statusOf(path, { headers: { host: 'node.example.org', ...forwarded } }), 200, path);
  }
});

test('an untrusted proxy on this machine does not count as this machine, however it shows', async (t) => {
  const statusOf = await serveBare(t);
  for (const path of RESERVED) {
    // Some proxies pass on the Host header of the client, which contains the name or address of the proxy.
    for (const host of ['203.0.113.7', '203.0.113.7:4000', '[2001:db8::1]', 'node.example.org']) {
      t.is(await statusOf(path, { headers: { host } }), 403, `${path} ${host}`);
    }
    for (const name of ['via', 'x-forwarded-host', 'x-forwarded-proto', 'x-client-ip', 'cf-connecting-ip']) {
      t.is(await statusOf(path, { headers: { [name]: '127.0.0.1' } }), 403, `${path} ${name}`);
    }
  }
  // By default, nginx before version 1.29.7 sends requests of HTTP/1.0 with the node's address as Host and with
  // `Connection: close`. It adds no header that reveals the proxy.
  const proxied = await bytesOf(
    t,
    `GET ${RESERVED[0] ?? ''} HTTP/1.0\r\nHost: 127.0.0.1:4000\r\nConnection: close\r\n\r\n`,
  );
  t.true(proxied.startsWith('HTTP/1.1 403'), proxied);
});

test('the health and metrics paths answer HEAD with the status of GET', async (t) => {
  const statusOf = await serveBare(t);
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    t.is(await statusOf(path, { method: 'HEAD' }), await statusOf(path), path);
  }
});

test('a client above the rate limit gets 429; all routes share the limit and counting unknown paths', async (t) => {
  const ask = await serve(t, fakeNode(3), { limits: { ...limits, max: 3 } });
  t.is((await ask('/api/accounts')).headers.get('x-ratelimit-remaining'), '2');
  t.is((await ask('/api/nosuch')).status, 404);
  t.is((await ask('/api/blocks')).headers.get('x-ratelimit-remaining'), '0');
  const refused = await ask('/api/accounts', { headers: { accept: 'application/json' } });
  t.is(refused.status, 429);
  t.deepEqual(refused.body, { message: 'Too many requests, please try again later.' });
  t.is(refused.headers.get('x-ratelimit-limit'), '3');
  const seconds = Number(refused.headers.get('retry-after'));
  t.true(Number.isInteger(seconds) && seconds >= 1 && seconds <= Math.ceil(limits.windowMs / 1000), `${seconds}`);
  const page = await ask('/blocks');
  t.is(page.status, 429);
  t.is(page.text, 'Too many requests, please try again later.');
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
  t.is((await ask('/api/nosuch')).status, 429);
});

test('a body counts as more requests the more bytes it has', async (t) => {
  const ask = await serve(t, fakeNode(3), { limits: { ...limits, max: 10 } });
  const body = withBody({ text: 'x'.repeat(60 * 1024) });
  t.is((await ask('/api/transactions', body)).headers.get('x-ratelimit-remaining'), '6');
  t.is((await ask('/api/blocks')).headers.get('x-ratelimit-remaining'), '5');
  await ask('/api/transactions', body);
  t.is((await ask('/api/transactions', body)).status, 429);
});

test('a new window starts at zero', async (t) => {
  const ask = await serve(t, fakeNode(3), { limits: { ...limits, max: 1, windowMs: 50 } });
  const deadline = Date.now() + 60_000;
  t.is((await ask('/api/blocks')).status, 200);
  let status = 429;
  while (status === 429 && Date.now() < deadline) ({ status } = await ask('/api/blocks'));
  t.is(status, 200);
});

test('after delayAfter requests each further one waits longer', async (t) => {
  const ask = await serve(t, fakeNode(3), { limits: { ...limits, delayAfter: 1, delayMs: 40 } });
  const startMs = Date.now();
  for (let request = 0; request < 3; request++) t.is((await ask('/api/blocks')).status, 200);
  t.true(Date.now() - startMs >= 110);
});

test('a body of 1 KB and more is compressed for clients that accept it', async (t) => {
  const fake = fakeNode(3);
  fake.forging = Array.from({ length: 20 }, () => ({ publicKey: 'ab'.repeat(32), forging: true }));
  const ask = await serve(t, fake);
  const headers = { 'accept-encoding': 'gzip' };
  const large = await ask('/api/node/status/forging', { headers });
  t.is(large.headers.get('content-encoding'), 'gzip');
  t.is((large.body as { data: unknown[] }).data.length, 20);
  t.is((await ask('/api/delegates/forgers', { headers })).headers.get('content-encoding'), null);
});

test('an error inside the node gives 500 with a fixed text, and a log line, and the server continues', async (t) => {
  const lines: [string, LogFields | undefined][] = [];
  const observer: Observer = { ...SILENT, log: (_level, code, _message, fields) => lines.push([code, fields]) };
  const fake = fakeNode(3);
  const ask = await serve(t, fake, { observer });
  fake.failure = new Error('disk on fire');
  const answer = await ask('/api/accounts?username=secret');
  t.is(answer.status, 500);
  t.deepEqual(answer.body, { message: 'An unexpected error occurred while handling this request' });
  t.is(lines[0]?.[0], 'HTTP_REQUEST_FAILED');
  t.is(lines[0]?.[1]?.['error'], 'disk on fire');
  t.false(JSON.stringify(lines[0]?.[1]?.['path']).includes('secret'));
  t.is((await ask('/api/node/status')).status, 200);
});

test('a port in use is named in the error', async (t) => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  t.teardown(() => other.close());
  const { port } = other.address() as AddressInfo;
  const server = createHttpServer(fakeNode(3).api, { port, address: '127.0.0.1' });
  const error = await t.throwsAsync(() => server.start());
  t.like(error, { code: 'PORT_IN_USE', data: { port } });
  await t.notThrowsAsync(() => server.close());
});

test('a port that browsers block is reported', async (t) => {
  const logged: [string, LogFields | undefined][] = [];
  const observer: Observer = {
    ...SILENT,
    log: (level, code, _text, fields) => logged.push([`${level} ${code}`, fields]),
  };
  // Browsers block these four ports, and a process without privileges can listen on them. The test uses the first port
  // that is free.
  for (const port of [6665, 6666, 6667, 6668]) {
    const server = createHttpServer(fakeNode(3).api, { port, address: '127.0.0.1', observer });
    const isOpen = await server.start().then(
      () => true,
      () => false,
    );
    await server.close();
    if (!isOpen) continue;
    t.deepEqual(logged, [['warn HTTP_PORT_BLOCKED', { port }]]);
    return;
  }
  t.fail('all of the ports are taken');
});

test('an address of another machine is refused with the reason', async (t) => {
  const server = createHttpServer(fakeNode(3).api, { port: 0, address: '192.0.2.1' });
  t.like(await t.throwsAsync(() => server.start()), { code: 'LISTEN_FAILED' });
});

test('closing does not wait for a hanging request', async (t) => {
  const fake = fakeNode(3);
  fake.submitSignature = () => new Promise(() => undefined);
  const server = createHttpServer(fake.api, { port: 0, address: '127.0.0.1' });
  const { port } = await server.start();
  const body = JSON.stringify({ transactionId: '1', publicKey: '', signature: '' });
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const hanging = httpRequest({ port, host: '127.0.0.1', path: '/api/signatures', method: 'POST', headers });
  const cut = new Promise((resolve) => hanging.once('error', resolve));
  hanging.end(body);
  await fetch(`http://127.0.0.1:${port}/api/node/status`);
  await server.close();
  t.is(((await cut) as NodeJS.ErrnoException).code, 'ECONNRESET');
});

/** Serves a node. Returns a function that sends a request with any headers, and resolves with the status. */
async function serveBare(t: ExecutionContext, options: Partial<HttpOptions> = {}) {
  const server = createHttpServer(fakeNode(3).api, { port: 0, address: '127.0.0.1', ...options });
  const { port } = await server.start();
  t.teardown(() => server.close());
  return (path: string, options: RequestOptions = {}) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = httpRequest({ hostname: '127.0.0.1', port, path, ...options }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode));
      });
      sent.on('error', reject);
      sent.end();
    });
}

/** Sends bytes to a node, waits until the node ends the connection, and returns all bytes that the node has sent. */
async function bytesOf(t: ExecutionContext, sent: string): Promise<string> {
  const server = createHttpServer(fakeNode(3).api, { port: 0, address: '127.0.0.1' });
  const { port } = await server.start();
  t.teardown(() => server.close());
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(sent));
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('error', reject);
    socket.on('end', () => {
      socket.end();
      resolve(answer);
    });
  });
}
