import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { format } from 'prettier';
import { ClientError, createClient } from '../../src/client/index.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { packageDirectory } from '../../src/config/package.ts';
import { startDevnet, type TestDevnet } from '../../src/testing/index.ts';
import type { Untyped } from '../support/untyped.ts';
import { askEveryRoute, routeCount } from './every-route.ts';
import { generatedClient } from './generate.ts';
import { setUpRoutes } from './route-fixture.ts';

const LSK = 100_000_000n;
const SOURCE = join(packageDirectory(), 'src/client/generated.ts');

async function devnet(t: ExecutionContext, options: Parameters<typeof startDevnet>[0]): Promise<TestDevnet> {
  t.timeout(300_000);
  const net = await startDevnet(options);
  t.teardown(() => net.close());
  return net;
}

test('the types of the client match the OpenAPI documents', async (t) => {
  const style = JSON.parse(readFileSync(join(packageDirectory(), '.prettierrc.json'), 'utf8')) as object;
  const text = await format(generatedClient(), { ...style, parser: 'typescript' });
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(SOURCE, text);
  t.is(readFileSync(SOURCE, 'utf8'), text, 'run the test with UPDATE_DOCS=1, then build');
});

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: the client gets each route's answer unchanged, except for amounts`, async (t) => {
    const net = await devnet(t, { generation, nodes: 2, delegates: 5 });
    const { networkIdentifier, blockTimeS, epoch } = net.network;
    const fixture = await setUpRoutes({
      ...{ generation, url: net.url, networkIdentifier, blockTimeS, epochMs: epoch.getTime() },
      forgingPassword: passwordOf(generation),
      account: (name) => net.account(name),
      setMining: (mode) => net.setMining(mode),
    });
    // Nodes of the test kit keep no metrics, so their metrics route answers 503.
    const answered = await askEveryRoute(t, fixture, { 'GET /metrics': 503 });
    t.is(answered.length, routeCount(generation) - 1);
  });

  test(`generation ${generation}: amounts are bigint, and the client can wait for a transaction`, async (t) => {
    const net = await devnet(t, { generation });
    const client = createClient(net.url, { generation });
    const { id } = await net.send('account_1', { kind: 'transfer', to: '42L', amount: 5n * LSK });
    t.deepEqual((await client.waitFor(id)).height, 2);
    const { data } = await client.get('/accounts', { address: '42L' });
    t.is(data[0]?.balance, 5n * LSK);
    const late = await t.throwsAsync<ClientError>(client.waitFor(id, { confirmations: 3, timeoutMs: 1, pollMs: 1 }));
    t.is(late?.code, 'TIMEOUT');
    await net.mine(2);
    t.is((await client.waitFor(id, { confirmations: 3 })).height, 2);
    const never = await t.throwsAsync<ClientError>(client.waitFor('1', { timeoutMs: 1, pollMs: 1 }));
    t.regex(never?.message ?? '', /the transaction 1 is in no block/);
  });
}

function passwordOf(generation: 2 | 3): string {
  const { forgers } = loadNetwork(packagedNetworkDirectory(generation === 2 ? 'devnet-gen2' : 'devnet'));
  return forgers?.defaultPassword ?? '';
}

test('a transaction is final when its block can no longer be reverted', async (t) => {
  const net = await devnet(t, { delegates: 5 });
  const client = createClient(net.url);
  const { id } = await net.send('account_1', { kind: 'transfer', to: '42L', amount: LSK });
  await t.throwsAsync(client.waitFor(id, { final: true, timeoutMs: 1, pollMs: 1 }), { code: 'TIMEOUT' });
  await net.mine(20);
  t.is((await client.waitFor(id, { final: true })).height, 2);
});

test('a reorg while the client waits does not make a block final that the chain no longer has', async (t) => {
  // In the first answer, the transaction is in block 2. A reorg then moves the transaction to block 9. The finalized
  // height is 5 after the reorg, and rises to 9 later.
  let requests = 0;
  const server = createServer((request, response) => {
    const isOfOldChain = requests === 0;
    requests += 1;
    const place = isOfOldChain ? { height: 2, blockId: 'old' } : { height: 9, blockId: 'new' };
    const finalHeight = isOfOldChain ? 1 : requests < 6 ? 5 : 9;
    const data = request.url?.includes('/node/status')
      ? { chainMaxHeightFinalized: finalHeight }
      : [{ id: '1', confirmations: 3, ...place }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ meta: {}, data, links: {} }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const client = createClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.deepEqual(await client.waitFor('1', { final: true, pollMs: 1 }), { height: 9, blockId: 'new' });
});

/** Starts a server that closes the first connection after its first request. Counts all requests. */
async function closingOnce(t: ExecutionContext) {
  const seen = { requests: 0 };
  const server = createServer((request, response) => {
    seen.requests += 1;
    if (seen.requests === 1) return request.socket.destroy();
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ meta: {}, data: [], links: {} }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { seen, client: createClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) };
}

test('a request that reads is sent again when the node closes the connection, a request that writes is not', async (t) => {
  const reading = await closingOnce(t);
  t.deepEqual((await reading.client.get('/blocks')).data, []);
  t.is(reading.seen.requests, 2);
  const writing = await closingOnce(t);
  const error = await t.throwsAsync<ClientError>(writing.client.post('/transactions', {} as Untyped));
  t.is(error?.code, 'UNREACHABLE');
  t.is(writing.seen.requests, 1);
});

test('a list is read to its end by cursors, each item once', async (t) => {
  const net = await devnet(t, { delegates: 5, mine: 'on-demand' });
  await net.mine(25);
  const client = createClient(net.url);
  const heights: number[] = [];
  const untyped: Untyped = client;
  for (const name of ['offset', 'after']) {
    const asked = untyped.items('/blocks', { [name]: '5' }).next() as Promise<unknown>;
    await t.throwsAsync(asked, { instanceOf: TypeError, message: new RegExp(`^items\\(\\) takes no ${name}: `) });
  }
  for (const path of ['/voters', '/votes']) {
    const asked = untyped.items(path, { address: '1L' }).next() as Promise<unknown>;
    await t.throwsAsync(asked, { instanceOf: TypeError, message: new RegExp(`^items\\(\\) does not read ${path}: `) });
  }
  for await (const { height } of client.items('/blocks', { sort: 'height:asc', limit: 10 })) heights.push(height);
  t.deepEqual(
    heights,
    Array.from({ length: 26 }, (_, index) => index + 1),
  );
});

test('events have their types, and continue where a lost connection ended', async (t) => {
  const net = await devnet(t, { delegates: 5, mine: 'on-demand' });
  let connections = 0;
  let isCut = (): void => undefined;
  const cut = new Promise<void>((resolve) => (isCut = resolve));
  const client = createClient(net.url, {
    // Cuts the first connection after the chunk with the first block.
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      connections += 1;
      if (connections > 1 || response.body === null) return response;
      const reader = response.body.getReader();
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { value } = await reader.read();
          if (value !== undefined) controller.enqueue(value);
          if (Buffer.from(value ?? []).includes('blocks/new')) {
            await reader.cancel();
            controller.error(new Error('cut'));
            isCut();
          }
        },
      });
      return new Response(body, { status: response.status, headers: response.headers });
    },
  });
  const stop = new AbortController();
  const heights: number[] = [];
  const reading = (async () => {
    for await (const { type, id, data } of client.events({
      ...{ types: ['blocks/new'] as const, lastEventId: '0.0', signal: stop.signal, retryMs: 10 },
    })) {
      t.is(type, 'blocks/new');
      t.is(typeof id, 'string');
      t.is(typeof data.reward, 'bigint');
      heights.push(data.height);
      if (data.height === 13) stop.abort();
    }
  })();
  // Mine in two steps: in one step, the first connection might deliver all blocks before the cut.
  await net.mine(6);
  await cut;
  await net.mine(6);
  await reading;
  t.true(connections > 1);
  // The cut drops the chunks that the client has not read yet. The client must receive the blocks of these chunks from
  // the second connection.
  t.deepEqual(heights.slice(-12), [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
});

for (const [name, chunk, type] of [
  ['an event that is not JSON', 'event: blocks/new\nid: 1.1\ndata: {\n\n', 'text/event-stream'],
  ['an event that does not end', `data: ${'x'.repeat(16 * 1024 * 1024)}`, 'text/event-stream'],
  ['an answer that is no event stream', '<p>Welcome</p>', 'text/html'],
] as const) {
  test(`${name} ends the events instead of a second stream`, async (t) => {
    let streams = 0;
    const client = createClient('http://127.0.0.1:4000', {
      fetch: () => {
        streams += 1;
        return Promise.resolve(new Response(chunk, { headers: { 'content-type': type } }));
      },
    });
    const error = await t.throwsAsync<ClientError>(client.events({ retryMs: 1 }).next());
    t.is(error?.code, 'INVALID_ANSWER');
    t.regex(error?.message ?? '', /answers \/events with /);
    t.is(streams, 1);
  });
}

test('an unreachable node and a refusing node give different errors', async (t) => {
  const net = await devnet(t, { delegates: 1 });
  const client = createClient(net.url);
  const refused = await t.throwsAsync<ClientError>(client.get('/blocks', { height: 'x' as unknown as number }));
  t.is(refused?.code, 'REFUSED');
  t.is(refused?.status, 400);
  t.regex(refused?.message ?? '', /^400: Validation errors.*height/);
  const address = await t.throwsAsync<ClientError>(client.get('/accounts', { address: '14l' }));
  t.regex(address?.message ?? '', /^400: Validation errors: Invalid parameter \(address\): .*format address: 14l$/);
  const unknown = await t.throwsAsync<ClientError>(client.get('/nowhere' as '/blocks'));
  t.is(unknown?.message, '404: Page not found');
  await net.close();
  t.is((await t.throwsAsync<ClientError>(client.get('/blocks')))?.code, 'UNREACHABLE');
});

for (const url of [
  '127.0.0.1:4000',
  'localhost:4000',
  'ftp://127.0.0.1:4000',
  'not a url',
  '',
  '/',
  'http://127.0.0.1:4000 ',
  'http://127.0.0.1:4000?x=1',
  'http://u:p@127.0.0.1:4000',
  undefined,
]) {
  test(`createClient refuses the URL ${String(url)}, because no call could succeed`, (t) => {
    const error = t.throws(() => createClient(url as string), { instanceOf: TypeError });
    t.regex(error?.message ?? '', /is not the URL of a node: give one such as http:\/\/127\.0\.0\.1:4000$/);
    t.false(error?.message.includes('u:p@'));
  });
}

test.serial('in a web page, an empty text or a path names the host of the page', (t) => {
  Object.assign(globalThis, { location: { href: 'https://explorer.example/blocks' } });
  t.teardown(() => Reflect.deleteProperty(globalThis, 'location'));
  for (const url of ['', '/', '/node', 'http://127.0.0.1:4000']) t.notThrows(() => createClient(url), url);
  for (const url of ['127.0.0.1:4000', 'api']) t.throws(() => createClient(url), { instanceOf: TypeError }, url);
});

test('a caller with its own fetch decides itself what a URL means', (t) => {
  t.notThrows(() => createClient('', { fetch: async () => Response.json({}) }));
});

test('an answer that breaks off, does not end, or is invalid JSON gives an error of the client', async (t) => {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    if (request.url === '/api/dapps') return response.end('{"meta":}');
    response.write('{"meta":', () => {
      if (request.url === '/api/peers') response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const hasty = createClient(url, { timeoutMs: 300 });
  t.is((await t.throwsAsync<ClientError>(hasty.get('/blocks')))?.code, 'TIMEOUT');
  t.is((await t.throwsAsync<ClientError>(createClient(url).get('/peers')))?.code, 'UNREACHABLE');
  t.is((await t.throwsAsync<ClientError>(createClient(url).get('/dapps')))?.code, 'INVALID_ANSWER');
});

test('a list that is not one, or has no cursor, gives an error of the client', async (t) => {
  const answering = (body: unknown) => createClient('http://127.0.0.1:1', { fetch: async () => Response.json(body) });
  const failure = async (work: Promise<unknown>): Promise<string> => {
    const error = await t.throwsAsync<ClientError>(work, { instanceOf: ClientError });
    return `${error?.code} ${error?.message}`;
  };
  for (const body of [{}, null, 'text', { data: {} }]) {
    t.regex(
      await failure(answering(body).items('/blocks').next()),
      /^INVALID_ANSWER .* answers \/blocks without a list$/,
    );
    t.regex(await failure(answering(body).waitFor('1')), /^INVALID_ANSWER .* answers \/transactions without a list$/);
  }
  for (const body of [{}, null, 'text', { data: null }, { data: 'text' }])
    t.regex(
      await failure(answering(body).waitFor('1', { final: true })),
      /^INVALID_ANSWER .* answers \/node\/status without a status$/,
    );
  t.regex(
    await failure(answering({ data: { chainMaxHeightFinalized: '7' } }).waitFor('1', { final: true })),
    /^INVALID_ANSWER .* answers \/node\/status with a final height that is not a number$/,
  );
  const cut = answering({ meta: {}, data: [1] }).items('/blocks');
  await cut.next();
  t.regex(await failure(cut.next()), /^INVALID_ANSWER .* without a cursor; has the node http\.strictDialect\?$/);
});

test('a wait needs an id and valid numbers, and accepts only the transaction with the id', async (t) => {
  const other = { id: '2', height: 1, blockId: 'genesis', confirmations: 90 };
  const client = createClient('http://127.0.0.1:1', { fetch: async () => Response.json({ data: [other] }) });
  for (const id of [undefined, '', '1&limit=1', 7]) {
    await t.throwsAsync(client.waitFor(id as string), { instanceOf: TypeError, message: /transaction id/ });
  }
  for (const options of [{ timeoutMs: Number.NaN }, { pollMs: -1 }, { confirmations: '3' as unknown as number }])
    await t.throwsAsync(client.waitFor('2', options), { instanceOf: TypeError, message: /needs a number as/ });
  await t.throwsAsync(client.waitFor('1'), { code: 'INVALID_ANSWER', message: /with other transactions$/ });
  t.is((await client.waitFor('2')).height, 1);
});

test('a page in place of an answer, as a proxy may send it, gives an error of the client', async (t) => {
  const page = { fetch: async () => new Response('<html>', { headers: { 'content-type': 'text/html' } }) };
  const client = createClient('http://127.0.0.1:1', page);
  await t.throwsAsync(client.get('/node/status'), { code: 'INVALID_ANSWER', message: /\/node\/status .* not JSON$/ });
  await t.throwsAsync(client.post('/signatures', {} as never), { code: 'INVALID_ANSWER' });
  t.is(await client.get('/metrics'), '<html>');
});

test('a client refuses a time limit that is no time', (t) => {
  for (const timeoutMs of [Number.NaN, -1, Number.POSITIVE_INFINITY, '3' as unknown as number])
    t.throws(() => createClient('http://127.0.0.1:1', { timeoutMs }), { instanceOf: TypeError, message: /timeoutMs/ });
});

test('an aborted wait ends its running request', async (t) => {
  const abort = new AbortController();
  const fetch = (_url: unknown, init?: RequestInit): Promise<Response> =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error));
      abort.abort(new Error('no longer needed'));
    });
  const client = createClient('http://127.0.0.1:1', { fetch: fetch as typeof globalThis.fetch });
  await t.throwsAsync(client.waitFor('1', { signal: abort.signal }), { message: 'no longer needed' });
});

test('a wait goes on while the node does not answer or is busy', async (t) => {
  const answers: (() => Response)[] = [
    () => {
      throw new TypeError('fetch failed');
    },
    () => Response.json({ message: 'busy' }, { status: 503 }),
    () => Response.json({ message: 'too many' }, { status: 429 }),
    () => Response.json({ data: [] }),
    () => Response.json({ data: [{ id: '1', height: 5, blockId: '50', confirmations: 1 }] }),
  ];
  const client = createClient('http://127.0.0.1:1', { fetch: async () => (answers.shift() as () => Response)() });
  t.deepEqual(await client.waitFor('1', { pollMs: 1 }), { height: 5, blockId: '50' });
  const busy = createClient('http://127.0.0.1:1', {
    fetch: async () => Response.json({ message: 'busy' }, { status: 503 }),
  });
  const error = await t.throwsAsync<ClientError>(busy.waitFor('1', { pollMs: 1, timeoutMs: 5 }), { code: 'TIMEOUT' });
  t.regex(error?.message ?? '', /nothing is known of the transaction 1: 503: busy$/);
  const wrong = createClient('http://127.0.0.1:1', {
    fetch: async () => Response.json({ message: 'no' }, { status: 400 }),
  });
  await t.throwsAsync(wrong.waitFor('1', { pollMs: 1 }), { code: 'REFUSED' });
});

test('a client takes its pauses and time limits from the clock of the caller', async (t) => {
  let nowMs = 0;
  const delays: number[] = [];
  const clock = {
    nowMs: () => nowMs,
    after: (delayMs: number, work: () => void) => {
      delays.push(delayMs);
      nowMs += delayMs;
      queueMicrotask(work);
      return { cancel: () => undefined };
    },
  };
  const client = createClient('http://127.0.0.1:1', { clock, fetch: async () => Response.json({ data: [] }) });
  await t.throwsAsync(client.waitFor('1', { timeoutMs: 60_000, pollMs: 20_000 }), { code: 'TIMEOUT' });
  t.deepEqual(delays, [20_000, 20_000, 20_000]);
});
