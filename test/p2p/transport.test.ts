import { once } from 'node:events';
import { createServer } from 'node:net';
import { performance } from 'node:perf_hooks';

import test from 'ava';
import { WebSocketServer } from 'ws';

import { ProtocolError } from '../../src/primitives/errors.ts';
import { PeerOffence, type PeerInfo, type PeerRequest } from '../../src/ports/transport.ts';
import { closeAll, HOST, nodeInfo, pair, pause, startNode, until } from './support.ts';

const OTHER_NETWORK = 'ab'.repeat(32);

test('two nodes connect, know each other by address and port, and announce their tips', async (t) => {
  const [a, b] = await pair();
  t.like(a.transport.connections()[0], { peerId: b.id, direction: 'outbound' });
  t.like(b.transport.connections()[0], { peerId: a.id, direction: 'inbound' });
  t.like(a.transport.connections()[0]?.info, { height: 1234, version: '3.0.2', nonce: b.info.nonce, ip: HOST });
  t.is(typeof a.transport.connections()[0]?.latencyMs, 'number');

  a.transport.announce({ ...a.info, height: 1235, lastBlockId: '5' });
  await until(() => b.seen.updated.some((update) => update.info.height === 1235), 'the info of a');
  b.transport.announce({ ...b.info, height: 1236 });
  await until(() => a.seen.updated.some((update) => update.info.height === 1236), 'the info of b');
  t.is(b.transport.connections()[0]?.info.lastBlockId, '5');
  t.is(b.transport.connections()[0]?.info.wsPort, a.address.wsPort);

  await a.transport.close();
  await until(() => b.seen.disconnected.length === 1, 'b sees a leave');
  t.like(b.seen.disconnected[0], { peerId: a.id, direction: 'inbound', reason: { code: 1000 } });
  await b.transport.close();
  t.deepEqual([...a.seen.offences, ...b.seen.offences], []);
});

test('requests of every kind are answered in both directions', async (t) => {
  const listed: PeerInfo[] = [{ ip: '1.2.3.4', wsPort: 5000, height: 7, version: '3.0.2' }];
  const answers = {
    tip: { id: '9', height: 3 },
    blocksAfter: [{ id: '10' }, { id: '11' }],
    highestCommonBlock: { id: '9', height: 3, timestamp: 5 },
    transactions: [{ id: '4' }],
    signatures: [{ transaction: '4', signatures: ['ab'.repeat(64)] }],
  };
  const asked: PeerRequest[] = [];
  const handlers: Parameters<typeof startNode>[0] = {
    answer: (_peerId, request) => {
      asked.push(request);
      return Promise.resolve(request.kind === 'peers' ? listed : answers[request.kind]);
    },
  };
  const [a, b] = await pair([handlers], [handlers]);
  for (const [asker, other] of [
    [a, b],
    [b, a],
  ] as const) {
    const ask = asker.transport;
    t.deepEqual(await ask.request(other.id, { kind: 'tip' }), answers.tip);
    t.deepEqual(await ask.request(other.id, { kind: 'blocksAfter', blockId: '9' }), answers.blocksAfter);
    const common = await ask.request(other.id, { kind: 'highestCommonBlock', blockIds: ['8', '9'] });
    t.deepEqual(common, { id: '9', height: 3 });
    t.deepEqual(await ask.request(other.id, { kind: 'transactions', ids: ['4'] }), answers.transactions);
    t.deepEqual(await ask.request(other.id, { kind: 'transactions' }), answers.transactions);
    t.deepEqual(await ask.request(other.id, { kind: 'signatures' }), answers.signatures);
    t.deepEqual(await ask.request(other.id, { kind: 'peers' }), listed);
  }
  t.deepEqual(asked.slice(0, 6), [
    { kind: 'tip' },
    { kind: 'blocksAfter', blockId: '9' },
    { kind: 'highestCommonBlock', blockIds: ['8', '9'] },
    { kind: 'transactions', ids: ['4'] },
    { kind: 'transactions' },
    { kind: 'signatures' },
  ]);
  await closeAll(a, b);
  t.deepEqual([...a.seen.offences, ...b.seen.offences], []);
});

test('a request with an unknown common block gets no block and no error', async (t) => {
  const [a, b] = await pair([{ answer: () => Promise.resolve(undefined) }]);
  t.is(await a.transport.request(b.id, { kind: 'highestCommonBlock', blockIds: ['8'] }), undefined);
  await closeAll(a, b);
});

test('a refusal reaches the peer with its text; a protocol violation is also reported', async (t) => {
  const [a, b] = await pair([
    {
      answer: (_peerId, request) => {
        if (request.kind === 'tip') throw new PeerOffence('MALFORMED_MESSAGE', 'not like this');
        if (request.kind === 'signatures') throw new TypeError('a mistake with secrets in its text');
        return Promise.reject(new ProtocolError('BLOCK_UNKNOWN', {}, 'Invalid lastBlockId requested: 9'));
      },
    },
  ]);
  const refused = await t.throwsAsync(a.transport.request(b.id, { kind: 'blocksAfter', blockId: '9' }));
  t.like(refused, { code: 'REQUEST_FAILED', data: { peerId: b.id, reason: 'Invalid lastBlockId requested: 9' } });
  t.deepEqual(b.seen.offences, []);
  await t.throwsAsync(a.transport.request(b.id, { kind: 'tip' }), { message: /not like this/ });
  t.deepEqual(b.seen.offences, [{ peerId: a.id, offence: 'MALFORMED_MESSAGE', detail: 'not like this' }]);
  await t.throwsAsync(a.transport.request(b.id, { kind: 'signatures' }), { message: /Internal error/ });
  await closeAll(a, b);
});

test('an answer of the wrong shape fails the request and is reported', async (t) => {
  const [a, b] = await pair([{ answer: () => Promise.resolve('nonsense') }]);
  await t.throwsAsync(a.transport.request(b.id, { kind: 'blocksAfter', blockId: '1' }), { code: 'REQUEST_FAILED' });
  t.deepEqual(
    a.seen.offences.map(({ offence }) => offence),
    ['MALFORMED_MESSAGE'],
  );
  await closeAll(a, b);
});

test('an unanswered request times out, and a request to an unknown peer fails', async (t) => {
  const [a, b] = await pair([{ answer: () => new Promise(() => undefined) }], [{}, { timeouts: { requestMs: 1_500 } }]);
  await t.throwsAsync(a.transport.request(b.id, { kind: 'tip' }), { code: 'REQUEST_FAILED', message: /timed out/ });
  await t.throwsAsync(a.transport.request('127.0.0.1:1', { kind: 'tip' }), { message: /not connected/ });
  await closeAll(a, b);
});

test('pending requests fail when the connection ends, and their number is limited', async (t) => {
  const [a, b] = await pair([{ answer: () => new Promise(() => undefined) }]);
  const asked = Array.from({ length: 33 }, () => a.transport.request(b.id, { kind: 'tip' }));
  await t.throwsAsync(asked[32] ?? Promise.resolve(), { message: /too many requests/ });
  const failures = Promise.allSettled(asked);
  b.transport.disconnect(a.id, { code: 4418, reason: 'Evicted' });
  t.true((await failures).every(({ status }) => status === 'rejected'));
  await until(() => a.seen.disconnected.length === 1, 'a sees the end');
  t.deepEqual(a.seen.disconnected[0], {
    peerId: b.id,
    direction: 'outbound',
    reason: { code: 4418, reason: 'Evicted' },
  });
  await closeAll(a, b);
});

test('messages arrive unchanged, and this generation never sends whole transactions', async (t) => {
  const [a, b] = await pair();
  const signature = { transactionId: '3', publicKey: 'ab'.repeat(32), signature: 'cd'.repeat(64) };
  a.transport.send(b.id, { kind: 'block', block: { version: 2, height: 5 } });
  a.transport.send(b.id, { kind: 'transactionIds', ids: ['1', '2'] });
  a.transport.send(b.id, { kind: 'transactions', transactions: [{}] });
  a.transport.send(b.id, { kind: 'signatures', signatures: [signature] });
  a.transport.send('127.0.0.1:1', { kind: 'transactionIds', ids: ['1'] });
  b.transport.send(a.id, { kind: 'transactionIds', ids: ['18446744073709551615'] });
  await until(() => b.seen.messages.length === 3 && a.seen.messages.length === 1, 'messages');
  t.deepEqual(
    b.seen.messages.map(({ message }) => message),
    [
      { kind: 'block', block: { version: 2, height: 5 } },
      { kind: 'transactionIds', ids: ['1', '2'] },
      { kind: 'signatures', signatures: [signature] },
    ],
  );
  await closeAll(a, b);
});

test('a node of another network or protocol is refused with the code and text of the reference', async (t) => {
  const a = await startNode();
  const foreign = await startNode({}, { networkIdentifier: OTHER_NETWORK });
  const later = await startNode({}, { protocolVersion: '3.0' });
  t.like(await t.throwsAsync(foreign.transport.connect(a.address)), {
    code: 'DIAL_FAILED',
    data: { peerId: a.id, code: 4104, reason: 'Peer networkId did not match our own' },
  });
  t.like(await t.throwsAsync(later.transport.connect(a.address)), {
    data: { code: 4104, reason: 'Peer has incompatible protocol version' },
  });
  t.deepEqual(a.seen.connected, []);
  await closeAll(a, foreign, later);
});

test('a node that dials itself detects it', async (t) => {
  const a = await startNode();
  t.like(await t.throwsAsync(a.transport.connect(a.address)), {
    data: { code: 4101, reason: 'Peer cannot connect to itself' },
  });
  t.deepEqual([a.seen.connected, a.seen.disconnected], [[], []]);
  await a.transport.close();
});

test('a second connection to a connected peer is refused in both directions', async (t) => {
  const [a, b] = await pair();
  t.like(await t.throwsAsync(a.transport.connect(b.address)), { data: { code: 4404 } });
  t.like(await t.throwsAsync(b.transport.connect(a.address)), { data: { code: 4404 } });
  const twin = await startNode({}, { info: nodeInfo() });
  await twin.transport.connect(a.address);
  t.is(a.transport.connections().length, 2);
  await closeAll(a, b, twin);
});

test('two nodes that dial each other at once end with the same single connection', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const [a, b] = [await startNode(), await startNode()];
    await Promise.allSettled([a.transport.connect(b.address), b.transport.connect(a.address)]);
    const directions = () =>
      [a, b].map(({ transport }) =>
        transport
          .connections()
          .map(({ direction }) => direction)
          .join(),
      );
    // Until the handshakes of both connections have ended, the two nodes may use different connections for a moment.
    await until(() => directions().sort().join() === 'inbound,outbound', 'one and the same connection');
    const before = directions();
    await pause(50);
    t.deepEqual(directions(), before);
    await closeAll(a, b);
  }
});

test('a banned address is refused before its handshake', async (t) => {
  const a = await startNode({ admits: (ip) => ip !== HOST });
  const b = await startNode();
  t.like(await t.throwsAsync(b.transport.connect(a.address)), {
    data: { code: 4403, reason: 'Peer is not allowed to connect' },
  });
  await closeAll(a, b);
});

test('at the inbound limit one connection is closed for the newcomer', async (t) => {
  const a = await startNode({ evict: (inbound) => inbound[0]?.peerId }, { inboundMax: 2 });
  const [b, c, d] = [await startNode(), await startNode(), await startNode()];
  await b.transport.connect(a.address);
  await c.transport.connect(a.address);
  await until(() => a.seen.connected.length === 2, 'both seen');
  await d.transport.connect(a.address);
  await until(() => b.seen.disconnected.length === 1, 'b is evicted');
  t.deepEqual(b.seen.disconnected[0]?.reason, { code: 4418, reason: `Evicted inbound peer ${b.id}` });
  t.deepEqual(
    a.transport
      .connections()
      .map(({ peerId }) => peerId)
      .sort(),
    [c.id, d.id].sort(),
  );
  await closeAll(a, b, c, d);
});

test('when the engine evicts no peer, the new connection is refused', async (t) => {
  const a = await startNode({}, { inboundMax: 1 });
  const [b, c] = [await startNode(), await startNode()];
  await b.transport.connect(a.address);
  t.like(await t.throwsAsync(c.transport.connect(a.address)), { data: { code: 1000 } });
  t.is(a.transport.connections().length, 1);
  await closeAll(a, b, c);
});

test('a port in use is named in the error', async (t) => {
  const a = await startNode();
  const error = await t.throwsAsync(startNode({}, { wsPort: a.address.wsPort }));
  t.like(error, { code: 'PORT_IN_USE', data: { port: a.address.wsPort, host: HOST } });
  await a.transport.close();
});

test('a dial to nothing, a silent listener or a stranger fails with a reason in time', async (t) => {
  const silent = createServer((socket) => socket.resume());
  const mute = new WebSocketServer({ port: 0, host: HOST });
  await once(mute, 'listening');
  const web = createServer((socket) => socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n'));
  const ports: number[] = [];
  for (const server of [silent, web]) {
    await new Promise<void>((settle) => server.listen(0, HOST, settle));
    ports.push((server.address() as { port: number }).port);
  }
  const a = await startNode();
  const hasty = await startNode({}, { timeouts: { dialMs: 1_000 } });
  const b = await startNode();
  await b.transport.close();
  await t.throwsAsync(a.transport.connect(b.address), { code: 'DIAL_FAILED', message: /code: 1006.*ECONNREFUSED/ });
  for (const [wsPort, reason] of [
    [ports[0] ?? 0, 'The peer did not accept a WebSocket within 1000 ms'],
    [(mute.address() as { port: number }).port, 'The peer did not answer the handshake within 1000 ms'],
  ] as const) {
    const startMs = performance.now();
    t.like(await t.throwsAsync(hasty.transport.connect({ ip: HOST, wsPort })), {
      ...{ code: 'DIAL_FAILED', data: { reason } },
    });
    const tookMs = performance.now() - startMs;
    t.true(tookMs > 900 && tookMs < 15_000, `${tookMs} ms`);
  }
  t.like(await t.throwsAsync(a.transport.connect({ ip: HOST, wsPort: ports[1] ?? 0 })), {
    data: { code: 4403, reason: 'HTTP 401' },
  });
  t.like(await t.throwsAsync(b.transport.connect(a.address)), { data: { reason: 'The transport is closed' } });
  await closeAll(a, hasty);
  silent.close();
  web.close();
  mute.close();
});
