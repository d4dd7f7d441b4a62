import test from 'ava';
import fc from 'fast-check';
import { BODY_BYTES_MAX, REFUSALS_MAX } from '../../src/http/admission/limits.ts';
import { MONOTONIC_CLOCK, type MonotonicClock } from '../../src/http/monotonic-clock.ts';
import { HTTP_DEFAULTS } from '../../src/http/options.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import { WorkShare } from '../../src/primitives/work-share.ts';
import { BareClient, requestBytes, serveBytes, STRANGER } from './bare-client.ts';
import { fakeNode } from './fake-node.ts';

const PUBLIC = { access: { public: true, whiteList: ['127.0.0.1'] } };
const { limits } = HTTP_DEFAULTS;

test('a request is not read before the previous one is answered', async (t) => {
  for (const from of [STRANGER, '127.0.0.1']) {
    const fake = fakeNode(3);
    const held: (() => void)[] = [];
    fake.submitSignature = () => {
      return new Promise((resolve) =>
        held.push(() => resolve({ accepted: false, code: 'X', message: '', errors: [] })),
      );
    };
    const client = await (await serveBytes(t, fake, PUBLIC))(from);
    const body = JSON.stringify({ transactionId: '1', publicKey: '', signature: '' });
    client.write(requestBytes('POST /api/signatures', body).repeat(3) + requestBytes('GET /healthz'));
    for (let answered = 0; answered < 3; answered += 1) {
      await client.until(() => held.length > answered);
      // The server processes each parsed request immediately. If the server had also parsed the next request, `held`
      // would grow during this wait.
      await new Promise((resolve) => setTimeout(resolve, 30));
      t.is(held.length, answered + 1);
      t.is(client.statuses.length, answered);
      held[answered]?.();
    }
    await client.until(({ statuses }) => statuses.length === 4);
    t.deepEqual(client.statuses, [409, 409, 409, 200]);
  }
});

test('the answers do not depend on where the bytes are cut', async (t) => {
  const body = JSON.stringify({ transactionId: '1', publicKey: '\r\n\r\n', signature: '' });
  const chunked = ['5', body.slice(0, 5), (body.length - 5).toString(16), body.slice(5), '0', '', ''].join('\r\n');
  const bytes =
    requestBytes('GET /healthz') +
    requestBytes('POST /api/signatures', body) +
    '\r\n' +
    requestBytes('POST /api/signatures', undefined, ['Content-Type: application/json', 'Transfer-Encoding: chunked']) +
    chunked +
    requestBytes('GET /api/nothing') +
    requestBytes('GET /api/node/constants');
  const dial = await serveBytes(t, fakeNode(3), { ...PUBLIC, limits: { ...limits, strangerMax: 0 } });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
      const client = await dial();
      client.socket.setNoDelay(true);
      const places = [...new Set([0, ...cuts, bytes.length])].sort((a, b) => a - b);
      for (const [index, place] of places.slice(0, -1).entries()) {
        client.write(bytes.slice(place, places[index + 1]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await client.until(({ statuses }) => statuses.length >= 5);
      client.socket.destroy();
      return client.statuses.join() === '200,400,400,404,200';
    }),
    { numRuns: 60 },
  );
  t.pass();
});

test('more pipelined requests than any client sends end the connection and block its address', async (t) => {
  const counted: string[] = [];
  const observer = observerOf(counted);
  const fake = fakeNode(3);
  const dial = await serveBytes(t, fake, { ...PUBLIC, observer });
  const client = await dial();
  const beside = await dial();
  const other = await dial('127.0.0.3');
  client.write(requestBytes('GET /api/accounts').repeat(2_000));
  await client.until(({ isClosed }) => isClosed);
  await beside.until(({ isClosed }) => isClosed);
  t.true(client.statuses.length <= 1);
  t.true(fake.asked.length <= 1);
  const next = await dial();
  await next.until(({ isClosed }) => isClosed);
  for (const from of [other, await dial('127.0.0.1')]) {
    from.write(requestBytes('GET /healthz'));
    await from.until(({ statuses }) => statuses.length === 1);
    t.deepEqual(from.statuses, [200]);
  }
  await other.until(() => counted.includes('pipelined') && counted.includes('shut_out'));
});

test('an address without access gets 403 to each request, and no answer after too many refusals', async (t) => {
  // The slow clock keeps all refusals in one window of the refusal count, even on a slow machine.
  const slow: MonotonicClock = { ...MONOTONIC_CLOCK, nowMs: () => MONOTONIC_CLOCK.nowMs() / 100 };
  const dial = await serveBytes(t, fakeNode(3), { cors: { origin: 'http://page.test', methods: ['GET'] } }, slow);
  for (let refusal = 0; refusal <= REFUSALS_MAX; refusal += 1) {
    const client = await dial();
    client.write(requestBytes('GET /healthz'));
    const statuses = await client.ended();
    if (refusal < REFUSALS_MAX) {
      t.deepEqual(statuses, [403]);
      t.regex(client.received, /\r\nVary: Origin\r\nAccess-Control-Allow-Origin: http:\/\/page\.test\r\n/);
    }
    client.socket.destroy();
  }
  const shutOut = await dial();
  t.deepEqual(await shutOut.ended(), []);
  const operator = await dial('127.0.0.1');
  operator.write(requestBytes('GET /healthz'));
  await operator.until(({ statuses }) => statuses.length === 1);
  t.deepEqual(operator.statuses, [200]);
});

test('a refusal comes before the body, and the body is not read', async (t) => {
  const dial = await serveBytes(t, fakeNode(3), { ...PUBLIC, limits: { ...limits, strangerMax: 12 } });
  const announced = ['Content-Type: application/json', 'Content-Length: 1000'];
  for (const [line, headers, status] of [
    ['POST /api/nothing', announced, 404],
    ['POST /api/accounts', announced, 405],
    ['GET /api/accounts', announced, 200],
    ['POST /api/transactions', [...announced, 'Content-Encoding: br'], 415],
    ['POST /api/transactions', ['Content-Type: application/json', `Content-Length: ${BODY_BYTES_MAX + 1}`], 413],
    // The rate limit counts a request with a chunked body as eight requests, like a request with the largest body. At
    // this point, the client has fewer than eight requests left.
    ['POST /api/transactions', ['Content-Type: application/json', 'Transfer-Encoding: chunked'], 429],
  ] as const) {
    const client = await dial();
    client.write(requestBytes(line, undefined, headers));
    t.deepEqual(await client.ended(), [status], `${line} ${headers.join()}`);
  }
});

test('an answer that ends the connection says so, and no other answer does', async (t) => {
  const dial = await serveBytes(t, fakeNode(3), { ...PUBLIC, limits: { ...limits, strangerMax: 12 } });
  const denied = await serveBytes(t, fakeNode(3), { access: { public: false, whiteList: ['127.0.0.1'] } });
  const chunked = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
  const tooMuch = 'x'.repeat(BODY_BYTES_MAX + 1);
  const large = `${requestBytes('POST /api/transactions', undefined, chunked)}${tooMuch.length.toString(16)}\r\n${tooMuch}\r\n0\r\n\r\n`;
  for (const [open, from, bytes, status, isLast] of [
    [dial, STRANGER, requestBytes('GET /api/nothing'), 404, false],
    [dial, STRANGER, requestBytes('POST /api/nothing', '{}'), 404, true],
    [dial, STRANGER, requestBytes('POST /api/accounts', '{}'), 405, true],
    [dial, STRANGER, requestBytes('GET /api/accounts', '{}'), 200, true],
    [dial, STRANGER, requestBytes('POST /api/signatures', '{}'), 400, false],
    [dial, STRANGER, `${requestBytes('POST /api/signatures', undefined, chunked)}2\r\n{}\r\n0\r\n\r\n`, 429, true],
    [dial, '127.0.0.1', `${requestBytes('POST /api/signatures', undefined, chunked)}2\r\n{}\r\n0\r\n\r\n`, 400, false],
    [dial, '127.0.0.1', large, 413, false],
    [denied, STRANGER, requestBytes('POST /api/nothing', '{}'), 403, true],
    [denied, STRANGER, requestBytes('GET /healthz'), 403, true],
  ] as const) {
    const client = await open(from);
    const name = `${status} to ${bytes.slice(0, 40)}`;
    client.write(bytes);
    await client.until(({ statuses }) => statuses.length === 1);
    t.deepEqual(client.statuses, [status], name);
    t.is(/\r\nConnection: close\r\n/.test(client.received), isLast, name);
    if (isLast) await client.ended();
    else {
      client.write(requestBytes('GET /healthz'));
      await client.until(({ statuses }) => statuses.length === 2);
    }
  }
});

test('a client with Expect: 100-continue is told to continue only where the body is needed', async (t) => {
  const dial = await serveBytes(t, fakeNode(3), PUBLIC);
  const headers = ['Content-Type: application/json', 'Content-Length: 2', 'Expect: 100-continue'];
  const unwanted = await dial();
  unwanted.write(requestBytes('POST /api/nothing', undefined, headers));
  t.deepEqual(await unwanted.ended(), [404]);
  const wanted = await dial();
  wanted.write(requestBytes('POST /api/transactions', undefined, headers));
  await wanted.until(({ statuses }) => statuses.length === 1);
  t.deepEqual(wanted.statuses, [100]);
  wanted.write('{}');
  await wanted.until(({ statuses }) => statuses.length === 2);
  t.is(wanted.statuses[1], 400);
});

test('a body that comes through a proxy is read when its client has its turn', async (t) => {
  const dial = await serveBytes(t, fakeNode(3), { ...PUBLIC, trustProxy: true });
  // The client sends the request as soon as the connection is open. The request then waits, because the server accepts
  // waiting connections before it handles requests of strangers (clients that are not trusted).
  const client = await dial('127.0.0.1', requestBytes('POST /api/signatures', '{}', ['X-Forwarded-For: 192.0.2.1']));
  await client.until(({ statuses }) => statuses.length === 1);
  t.deepEqual(client.statuses, [400]);
});

test('a refused large body does not suppress the answer', async (t) => {
  const dial = await serveBytes(t, fakeNode(3), PUBLIC);
  for (const [line, status] of [
    ['POST /api/nothing', 404],
    ['POST /api/accounts', 405],
  ] as const) {
    const client = await dial();
    client.write(requestBytes(line, 'x'.repeat(100_000)));
    t.deepEqual(await client.ended(), [status], line);
  }
});

test('the connections of one address are limited, and other addresses have their own', async (t) => {
  const reasons: string[] = [];
  const few = { ...limits, connectionsPerAddressMax: 3 };
  const dial = await serveBytes(t, fakeNode(3), { ...PUBLIC, observer: observerOf(reasons), limits: few });
  const clients: BareClient[] = [];
  for (let count = 0; count < 5; count += 1) clients.push(await dial());
  const isCut = (client: BareClient): boolean => client.isClosed || client.isEnded;
  await clients[4]?.until(() => clients.filter(isCut).length === 2);
  t.deepEqual(clients.map(isCut), [false, false, false, true, true]);
  await clients[0]?.until(() => reasons.includes('address_connections'));
  t.deepEqual([...new Set(reasons)], ['address_connections']);
  const refusal = clients[4]?.received ?? '';
  t.regex(
    refusal,
    /^HTTP\/1\.1 503 .*\r\nRetry-After: 5\r\n.*at most 3 of one address \(http\.connectionsPerAddressMax\)/s,
  );
  t.regex(refusal, /\r\nAccess-Control-Allow-Origin: \*\r\n/);
  for (const from of ['127.0.0.3', '127.0.0.1']) {
    const client = await dial(from);
    client.write(requestBytes('GET /healthz'));
    await client.until(({ statuses }) => statuses.length === 1);
  }
  clients[0]?.socket.destroy();
  // The server may notice only after some time that the client has closed the connection.
  for (let isIn = false; !isIn;) {
    const again = await dial();
    again.write(requestBytes('GET /healthz'));
    await again.until(({ statuses, isClosed, isEnded }) => statuses.length === 1 || isClosed || isEnded);
    isIn = again.statuses[0] === 200;
  }
});

test('a request on a kept-alive connection waits for its turn like one on a new connection', async (t) => {
  let offsetMs = 0;
  const clock = { ...MONOTONIC_CLOCK, nowMs: () => MONOTONIC_CLOCK.nowMs() + offsetMs };
  const workShare = new WorkShare({ clock });
  const client = await (await serveBytes(t, fakeNode(3), { ...PUBLIC, workShare }))();
  client.write(requestBytes('GET /healthz'));
  await client.until(({ statuses }) => statuses.length === 1);
  // Strangers now get no main-thread time for a period longer than the keep-alive timeout of node:http.
  const spent = workShare.begin();
  offsetMs += 8_000;
  spent();
  client.write(requestBytes('GET /healthz'));
  await client.until(({ statuses, isClosed }) => statuses.length === 2 || isClosed);
  t.deepEqual(client.statuses, [200, 200]);
});

test('silent connections and half requests are closed after a time-out; an idle one between requests is not', async (t) => {
  const dial = await serveBytes(t, fakeNode(3), { ...PUBLIC, limits: { ...limits, headersTimeoutMs: 300 } });
  const silent = await dial();
  const slow = await dial();
  slow.write('GET /healthz HTTP/1.1\r\nHost: a\r\n');
  const idle = await dial();
  idle.write(requestBytes('GET /healthz'));
  t.deepEqual(await silent.ended(), [408]);
  t.deepEqual(await slow.ended(), [408]);
  idle.write(requestBytes('GET /healthz'));
  await idle.until(({ statuses }) => statuses.length === 2);
});

test('bytes that are not HTTP get 400 and end the connection', async (t) => {
  const dial = await serveBytes(t, fakeNode(3), PUBLIC);
  for (const bytes of [
    'nonsense\r\n\r\n',
    'GET / HTTP/1.1\nHost: a\n\n',
    '\u0016\u0003\u0001',
    'GET / HTTP/9.9\r\n\r\n',
  ]) {
    const client = await dial();
    client.write(bytes);
    t.deepEqual(await client.ended(), [400], bytes);
  }
  const client = await dial();
  client.write(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`);
  t.deepEqual(await client.ended(), [431]);
});

test('requests that node:http would answer itself are admitted or refused like all others, and end their connection', async (t) => {
  for (const from of [STRANGER, '127.0.0.1']) {
    const counted: string[] = [];
    const dial = await serveBytes(t, fakeNode(3), { ...PUBLIC, observer: observerOf(counted) });
    for (const [head, status] of [
      ['GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n', 417],
      ['GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n', 400],
      ['GET /healthz HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n', 400],
      ['GET /healthz HTTP/1.1\r\n\r\n', 400],
    ] as const) {
      const client = await dial(from);
      client.write(head.repeat(200));
      t.deepEqual(await client.ended(), [status], `${from} ${head}`);
    }
    const tunnel = await dial(from);
    tunnel.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n');
    t.deepEqual(await tunnel.ended(), []);
    const other = await dial(from);
    other.write('GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    other.write(requestBytes('GET /healthz', undefined, ['Connection: Upgrade', 'Upgrade: h2c']));
    await other.until(({ statuses }) => statuses.length === 2);
    t.deepEqual(other.statuses, [200, 200]);
    await other.until(() => counted.filter((reason) => reason === 'malformed').length > 0);
  }
});

test('a request that node:http would answer itself is checked for access, and costs as much as any', async (t) => {
  const head = 'GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n';
  const dialPrivate = await serveBytes(t, fakeNode(3), { limits, trustProxy: true });
  const unlisted = await dialPrivate();
  unlisted.write(head);
  await unlisted.until(({ statuses }) => statuses.length === 1);
  t.deepEqual(unlisted.statuses, [403]);
  const dial = await serveBytes(t, fakeNode(3), { ...PUBLIC, limits: { ...limits, strangerMax: 2 } });
  for (const status of [417, 417, 429]) {
    const client = await dial();
    client.write(head);
    await client.until(({ statuses }) => statuses.length === 1);
    t.deepEqual(client.statuses, [status]);
  }
});

test('an error while a request is read ends only its connection, and is logged once', async (t) => {
  for (const [from, trustProxy] of [
    [STRANGER, false],
    ['127.0.0.1', false],
    ['127.0.0.1', true],
  ] as const) {
    const codes: string[] = [];
    const observer: Observer = {
      ...SILENT,
      log: (_level, code) => void codes.push(code),
      count: (metric) => {
        if (metric === 'http_cache_hits_total') throw new Error('broken');
      },
    };
    const dial = await serveBytes(t, fakeNode(3), { ...PUBLIC, trustProxy, observer, cacheResponses: true });
    const request = requestBytes('GET /api/blocks', undefined, ['X-Forwarded-For: 127.9.9.9']);
    const first = await dial(from);
    first.write(request);
    await first.until(({ statuses }) => statuses.length === 1);
    for (let count = 0; count < 2; count += 1) {
      // The server finds the answer in its response cache, and the metric of cache hits throws an error.
      const failing = await dial(from);
      failing.write(request);
      await failing.until(({ isClosed }) => isClosed);
      t.deepEqual(failing.statuses, []);
    }
    first.write(requestBytes('GET /healthz'));
    await first.until(({ statuses }) => statuses.length === 2);
    t.deepEqual(first.statuses, [200, 200]);
    t.deepEqual(codes, ['HTTP_CONNECTION_FAILED']);
  }
});

test('some of the event streams are reserved for this machine and listed addresses', async (t) => {
  const events = { ...HTTP_DEFAULTS.events, subscribersMax: 10 };
  const dial = await serveBytes(t, fakeNode(3), { ...PUBLIC, events });
  const statusFrom = async (from: string): Promise<number | undefined> => {
    const client = await dial(from);
    client.write(requestBytes('GET /api/events'));
    await client.until(({ statuses }) => statuses.length === 1);
    return client.statuses[0];
  };
  const statuses: (number | undefined)[] = [];
  for (let stream = 0; stream < 10; stream += 1) statuses.push(await statusFrom(STRANGER));
  t.deepEqual(statuses, [...Array.from({ length: 9 }, () => 200), 503]);
  t.is(await statusFrom('127.0.0.1'), 200);
});

/** Makes an observer that adds the reason of each refusal to `reasons`. */
function observerOf(reasons: string[]): Observer {
  return {
    ...SILENT,
    count: (metric, _by, labels) => {
      if (metric === 'http_refused_total') reasons.push(labels?.['reason'] ?? '');
    },
  };
}
