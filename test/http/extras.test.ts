import test from 'ava';
import type { PeerEntry } from '../../src/ports/node-api.ts';
import {
  ALICE,
  ALICE_KEY,
  BOB,
  BOB_ADDRESS,
  fakeNode,
  firstOf,
  GROUP,
  serve,
  transactionOf,
  type Envelope,
} from './fake-node.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { populatedNode } from './populated-node.ts';
import type { Untyped } from '../support/untyped.ts';

const EPOCH_MS = 1_464_109_200_000;

test('forging statistics without bounds are the totals of the account, as texts', async (t) => {
  for (const generation of [2, 3] as const) {
    const ask = await serve(t, fakeNode(generation));
    const { body } = await ask(`/api/delegates/${ALICE.address}/forging_statistics?fromTimestamp=0&ignored=1`);
    const { meta, data } = body as Envelope;
    t.deepEqual(data, { fees: '7', rewards: '500000000', forged: '500000007', count: '2' });
    t.deepEqual(meta, { fromTimestamp: EPOCH_MS, toTimestamp: 1_464_109_505_000 });
  }
});

test('forging statistics of a time span are sums over blocks or rounds, depending on the generation', async (t) => {
  const span = `fromTimestamp=${EPOCH_MS + 1999}&toTimestamp=999999999999999`;
  for (const [generation, method, data] of [
    [2, 'roundForgingStatistics', { fees: '5', rewards: '6', forged: '11', count: '1' }],
    [3, 'blockForgingStatistics', { fees: '3', rewards: '4', forged: '7', count: '2' }],
  ] as const) {
    const fake = fakeNode(generation);
    const ask = await serve(t, fake);
    const { body } = await ask(`/api/delegates/${ALICE.address}/forging_statistics?${span}`);
    t.deepEqual((body as Envelope).data, data);
    t.deepEqual((body as Envelope).meta, { fromTimestamp: EPOCH_MS + 1999, toTimestamp: 999_999_999_999_999 });
    t.deepEqual(fake.asked.at(-1), [method, ALICE_KEY, 1, 0x7fff_ffff]);
  }
});

test('forging statistics of an unknown account or a non-delegate are refused or zero', async (t) => {
  const errorOf = (body: unknown) => (body as { errors: { message: string }[] }).errors[0];
  const bounded = 'toTimestamp=1';
  for (const generation of [2, 3] as const) {
    const ask = await serve(t, fakeNode(generation));
    const unknown = await ask('/api/delegates/99L/forging_statistics');
    t.is(unknown.status, 400);
    t.deepEqual(errorOf(unknown.body), {
      name: 'address',
      message: 'Account not found',
      in: 'path',
      code: 'INVALID_PARAM',
    } as object);
    const plain = await ask(`/api/delegates/${BOB_ADDRESS}/forging_statistics`);
    t.is(errorOf(plain.body)?.message, 'Account is not a delegate');
    const spanned = await ask(`/api/delegates/${BOB.address}/forging_statistics?${bounded}`);
    if (generation === 2) t.is(errorOf(spanned.body)?.message, 'Account is not a delegate');
    else t.deepEqual((spanned.body as Envelope).data, { fees: '0', rewards: '0', forged: '0', count: '0' });
    t.is((await ask(`/api/delegates/${GROUP.address}/forging_statistics?fromTimestamp=-1`)).status, 400);
  }
});

test('applications show missing values as empty texts, and filters are combined by OR', async (t) => {
  const fake = fakeNode(2);
  const dapp = { category: 3, name: 'App', type: 1, tags: 'a,b' };
  fake.dapps = [{ transaction: transactionOf(2, { kind: 'dapp', dapp }), blockId: '1', height: 1 }];
  const ask = await serve(t, fake);
  const { body } = await ask('/api/dapps?name=App&transactionId=5&sort=name:desc');
  t.deepEqual(firstOf(body), {
    name: 'App',
    description: '',
    tags: 'a,b',
    link: '',
    type: 1,
    category: 3,
    icon: '',
    transactionId: '77',
  });
  t.deepEqual(fake.asked.at(-1), [
    'dapps',
    { limit: 10, offset: 0, sort: { field: 'name', direction: 'desc' }, transactionId: '5', name: 'App' },
  ]);
  t.is((await ask('/api/dapps?type=1')).status, 400);
  t.deepEqual(((await ask('/api/dapps?transactionId=99999999999999999999')).body as Envelope).data, []);
  t.is(
    (((await ask('/api/dapps?transactionId=99999999999999999999&name=App')).body as Envelope).data as unknown[]).length,
    1,
  );
});

test('the health path says that the node is alive, the readiness path why it is not ready', async (t) => {
  const fake = fakeNode(3);
  fake.peers = [{ info: { ip: '10.0.0.1', wsPort: 5000, height: 3 } as PeerEntry['info'], state: 'connected' }];
  const ask = await serve(t, fake);
  t.is((await ask('/healthz')).text, '{"alive":true}');
  t.deepEqual((await ask('/readyz')).body, { ready: true, height: 2, networkHeight: 3 });
  const status = fake.api.status();
  fake.api.status = () => ({ ...status, syncing: true });
  const syncing = await ask('/api/readyz');
  t.is(syncing.status, 503);
  t.like(syncing.body, { ready: false, reason: 'The node synchronises with its peers: height 2 of 3.' });
  fake.api.status = () => ({ ...status, networkHeight: 50 });
  t.like((await ask('/readyz')).body, { reason: 'The node is 48 blocks behind most of its peers.' });
});

test('a node without peers on a stalled chain is not ready; with a peer it is ready', async (t) => {
  const fake = fakeNode(3);
  fake.forging = [{ publicKey: 'ab'.repeat(32), forging: true }];
  const ask = await serve(t, fake);
  const status = fake.api.status();
  const since = (secondsSinceEpoch: number) => () => ({ ...status, secondsSinceEpoch, networkHeight: 0 });
  // The tip has the timestamp 200, and a slot lasts 10 s.
  fake.api.status = since(500);
  t.is((await ask('/readyz')).status, 200);
  fake.api.status = since(189);
  t.like((await ask('/readyz')).body, { ready: false, reason: 'The clock of the node is 11 s behind its last block.' });
  fake.api.status = since(501);
  const alone = await ask('/readyz');
  t.is(alone.status, 503);
  t.like(alone.body, { ready: false, reason: 'The node has no peers, and its last block is 5 min 01 s old.' });
  const info: PeerEntry['info'] = { ip: '10.0.0.1', wsPort: 5000, height: 2 };
  fake.peers = [{ info, state: 'disconnected' }];
  t.is((await ask('/readyz')).status, 503);
  fake.peers = [{ info, state: 'connected' }];
  t.is((await ask('/readyz')).status, 200);
});

test('a non-forging node without peers is ready only while no block can have passed it by', async (t) => {
  const fake = fakeNode(3);
  const ask = await serve(t, fake);
  const status = fake.api.status();
  const since = (secondsSinceEpoch: number) => () => ({ ...status, secondsSinceEpoch, networkHeight: 0 });
  fake.forging = [{ publicKey: 'ab'.repeat(32), forging: false }];
  // The tip has the timestamp 200. If a node does not forge and has no peers, the node is ready until the tip is older
  // than 30 s, which is three slots (`FOLLOWER_TIP_AGE_SLOTS_MAX`).
  fake.api.status = since(230);
  t.is((await ask('/readyz')).status, 200);
  fake.api.status = since(231);
  const starting = await ask('/readyz');
  t.is(starting.status, 503);
  t.like(starting.body, { ready: false, reason: 'The node has no peers, and its last block is 31 s old.' });
  fake.peers = [{ info: { ip: '10.0.0.1', wsPort: 5000, height: 2 } as PeerEntry['info'], state: 'connected' }];
  t.is((await ask('/readyz')).status, 200);
});

test('a node with an old last block is ready only beside peers that report its height', async (t) => {
  const fake = fakeNode(3);
  const ask = await serve(t, fake);
  const status = fake.api.status();
  fake.api.status = () => ({ ...status, secondsSinceEpoch: 231, networkHeight: 2 });
  const peer = (wsPort: number, height?: number): PeerEntry => ({
    info: { ip: '10.0.0.1', wsPort, ...(height === undefined ? {} : { height }) },
    state: 'connected',
  });
  fake.peers = [peer(5000)];
  const unheard = await ask('/readyz');
  t.is(unheard.status, 503);
  t.like(unheard.body, { reason: 'No connected peer has sent its height yet, and the last block is 31 s old.' });
  // One peer is at height 2, and one is at height 6. In this tie, `networkHeight` is the lower height, 2. The node is
  // not ready all the same, because half of the peers are 4 blocks ahead.
  fake.peers = [peer(5000, 2), peer(5001, 6)];
  const behind = await ask('/readyz');
  t.is(behind.status, 503);
  t.like(behind.body, { reason: 'The node is 4 blocks behind half of its peers or more.' });
  fake.peers = [peer(5000, 2), peer(5001, 2), peer(5002, 6)];
  t.is((await ask('/readyz')).status, 200);
  fake.peers = [peer(5000, 4), peer(5001)];
  t.is((await ask('/readyz')).status, 200);
  fake.api.status = () => ({ ...status, secondsSinceEpoch: 230, networkHeight: 2 });
  fake.peers = [peer(5000)];
  t.is((await ask('/readyz')).status, 200);
});

test('a node started without peers that does not forge is ready, however old its last block is', async (t) => {
  const fake = fakeNode(3);
  const ask = await serve(t, fake);
  const status = fake.api.status();
  fake.api.status = () => ({ ...status, isAlone: true, secondsSinceEpoch: 1_000_000, networkHeight: 0 });
  fake.api.forgingDelegates = () => [{ publicKey: 'ab'.repeat(32), forging: false }];
  t.is((await ask('/readyz')).status, 200);
  fake.api.forgingDelegates = () => [{ publicKey: 'ab'.repeat(32), forging: true }];
  t.is((await ask('/readyz')).status, 503);
});

test('the root path lists the pages and the paths, each of which answers', async (t) => {
  for (const generation of [2, 3] as const) {
    const ask = await serve(t, populatedNode(generation), { dashboardDirectory: '/nowhere' });
    for (const target of ['/api', '/api/']) {
      const { status, body } = await ask(target);
      t.is(status, 200, target);
      const { data } = body as Envelope;
      t.like(data, {
        software: 'Bloomery',
        generation,
        pages: { dashboard: '/', docs: '/api/docs', spec: '/api/spec' },
      });
      const { paths } = data as Untyped as { paths: { path: string }[] };
      const listed = paths.map(({ path }) => path);
      for (const path of ['/api/accounts', '/api/blocks', '/api/node/status', '/api/transactions', '/api/events'])
        t.true(listed.includes(path), path);
    }
    const { body } = await ask('/api');
    const { data } = body as Untyped as { data: { pages: { docs: string; spec: string }; paths: { path: string }[] } };
    // The test does not request the event stream, because this stream never ends. The test also does not request the
    // lists of votes and voters, because these requests must name an account.
    const askable = data.paths.filter(({ path }) => !/events$|vote/.test(path)).map(({ path }) => path);
    for (const path of [...askable, data.pages.docs, data.pages.spec]) t.is((await ask(path)).status, 200, path);
  }
  const without = await serve(t, fakeNode(3));
  const { data } = (await without('/api')).body as Untyped as { data: { pages: object } };
  t.deepEqual(Object.keys(data.pages), ['docs', 'spec']);
  const strict = await serve(t, fakeNode(3), { strictDialect: true });
  t.is((await strict('/api')).status, 404);
  t.is((await strict('/')).status, 404);
});

test('the API description names every route, and its page loads nothing from other sites', async (t) => {
  for (const generation of [2, 3] as const) {
    const ask = await serve(t, fakeNode(generation));
    const { body } = await ask('/api/spec');
    const { openapi, paths } = body as { openapi: string; paths: Record<string, object> };
    t.is(openapi, '3.1.0');
    t.true(Object.keys(paths).length >= 24);
    t.deepEqual(Object.keys(paths['/signatures'] ?? {}), ['post', 'put']);
    const page = await ask('/api/docs');
    t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
    for (const path of Object.keys(paths)) t.true(page.text.includes(path), path);
    t.notRegex(page.text, /<script|<link|<img|https?:\/\//);
  }
});

test("the status reports the node's reading processes, if there are any, but not to strict clients", async (t) => {
  const fake = fakeNode(3);
  const ask = await serve(t, fake);
  const status = fake.api.status();
  const each = [{ reader: 1, state: 'silent' as const, sinceMs: 1_000, memoryBytes: 5, requests: 7 }];
  fake.api.status = () => ({ ...status, readers: { wanted: 2, restarts: 3, each } });
  const { data } = (await ask('/api/node/status')).body as { data: { readers?: unknown } };
  t.deepEqual(data.readers, {
    wanted: 2,
    restarts: 3,
    each: [{ reader: 1, state: 'silent', since: '1970-01-01T00:00:01.000Z', memoryBytes: 5, requests: 7 }],
  });
  const strict = await serve(t, fake, { strictDialect: true });
  t.false('readers' in ((await strict('/api/node/status')).body as { data: object }).data);
});

test('a 503 of a node that does not answer its reading processes has a reason, and a 503 of a busy node has none', async (t) => {
  const fake = fakeNode(3);
  const ask = await serve(t, fake);
  const answers = [
    ['NODE_SILENT', { message: 'later', reason: 'NODE_SILENT' }],
    ['NODE_BUSY', { message: 'later' }],
  ] as const;
  for (const [code, body] of answers) {
    fake.api.status = () => {
      throw new ProtocolError(code, {}, 'later');
    };
    const answer = await ask('/api/node/status');
    t.is(answer.status, 503, code);
    t.deepEqual(answer.body, body);
  }
});
