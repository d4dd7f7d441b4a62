/**
 * Tests the wire protocol of generation 3 with frames that were captured between nodes of lisk-sdk 3.0.2. In these
 * frames, test values replace the ports, nonces and hashes.
 */

import { createServer } from 'node:http';

import test from 'ava';
import { WebSocketServer } from 'ws';

import { readAnswer } from '../../src/p2p/calls-gen3.ts';
import { greetedPeer, HOST, NETWORK, nodeInfo, rawPeer, SMALLEST_QUERY, startNode, until } from './support.ts';

const INFO =
  '{"os":"linux4.15.0","version":"3.0.2","wsPort":PORT,"httpPort":4000,"minVersion":"1.0.0","protocolVersion":"2.0",' +
  `"height":1234,"blockVersion":2,"maxHeightPrevoted":1200,"networkId":"${NETWORK}",` +
  '"lastBlockId":"12345678901234567890","advertiseAddress":true,"nonce":"2bb9a0ac29950053"}';
const DIALLER_INFO = INFO.replace('PORT', '5301').replace('2bb9a0ac29950053', 'b8641169cd712d51');

/**
 * The query that a node of lisk-sdk sends when it dials. The query contains each member of the peer info, and then all
 * members together as JSON (`options`).
 */
const FULL_QUERY =
  'os=linux4.15.0&version=3.0.2&wsPort=5301&httpPort=4000&minVersion=1.0.0&protocolVersion=2.0&height=1234' +
  `&blockVersion=2&maxHeightPrevoted=1200&networkId=${NETWORK}&lastBlockId=12345678901234567890` +
  `&advertiseAddress=true&nonce=b8641169cd712d51&options=${encodeURIComponent(DIALLER_INFO)}`;

const info = nodeInfo({ nonce: '2bb9a0ac29950053' });

test('an accepting node pushes its info before the handshake answer, and answers as captured', async (t) => {
  const dialler = { ip: HOST, wsPort: 5301, height: 1234, os: 'linux4.15.0', version: '3.0.2', httpPort: 4000 };
  const node = await startNode(
    { answer: (_peerId, { kind }) => Promise.resolve(kind === 'peers' ? [dialler] : []) },
    { info },
  );
  const own = INFO.replace('PORT', String(node.address.wsPort));
  const peer = await rawPeer(node.address.wsPort, FULL_QUERY);
  peer.sendFrame('{"event":"#handshake","data":{"authToken":null},"cid":1}');
  await peer.frame(1);
  t.is(peer.frames[0], `{"event":"remote-message","data":{"event":"postNodeInfo","data":${own}}}`);
  const welcome = (await peer.frame(1)) as { rid: number; data: { id: string } };
  t.like(welcome, { rid: 1, data: { pingTimeout: 20_000, isAuthenticated: false } });
  t.is(
    peer.frames[1]?.replace(welcome.data.id, ''),
    '{"rid":1,"data":{"id":"","pingTimeout":20000,"isAuthenticated":false}}',
  );

  peer.sendFrame(`{"event":"remote-message","data":{"event":"postNodeInfo","data":${DIALLER_INFO}}}`);
  peer.sendFrame('{"event":"rpc-request","data":{"procedure":"getNodeInfo"},"cid":2}');
  await peer.frame(2);
  t.is(peer.frames[2], `{"rid":2,"data":{"data":${own},"peerId":"127.0.0.1:5301"}}`);
  peer.sendFrame('{"event":"rpc-request","data":{"procedure":"getPeers"},"cid":3}');
  await peer.frame(3);
  t.is(
    peer.frames[3],
    '{"rid":3,"data":{"data":{"success":true,"peers":[{"ipAddress":"127.0.0.1","wsPort":5301,"height":1234,' +
      '"os":"linux4.15.0","version":"3.0.2","httpPort":4000}]},"peerId":"127.0.0.1:5301"}}',
  );
  peer.sendFrame(
    '{"event":"rpc-request","data":{"procedure":"getBlocksFromId","data":{"blockId":"6524861224470851795"}},"cid":4}',
  );
  await peer.frame(4);
  t.is(peer.frames[4], '{"rid":4,"data":{"data":[],"peerId":"127.0.0.1:5301"}}');
  peer.sendFrame('{"event":"ping","cid":6}');
  await peer.frame(5);
  t.is(peer.frames[5], '{"rid":6,"data":"pong"}');
  t.like(node.transport.connections()[0], { peerId: '127.0.0.1:5301', direction: 'inbound' });
  t.like(node.transport.connections()[0]?.info, { height: 1234, nonce: 'b8641169cd712d51', advertiseAddress: true });
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
  await until(() => peer.closed() !== undefined, 'leave');
  t.is(peer.frames.at(-1), '{"event":"#disconnect","data":{"code":1000,"data":"Node is shutting down"}}');
  t.is(peer.closed()?.code, 1000);
});

test('with an unknown common block the answer has no result', async (t) => {
  const node = await startNode({ answer: () => Promise.resolve(undefined) });
  const peer = await greetedPeer(node.address.wsPort, FULL_QUERY);
  peer.sendFrame('{"event":"rpc-request","data":{"procedure":"getHighestCommonBlock","data":{"ids":["1"]}},"cid":5}');
  await peer.frame(2);
  t.is(peer.frames[2], '{"rid":5,"data":{"peerId":"127.0.0.1:5301"}}');
  await node.transport.close();
});

test('a dialling node sends the same as real nodes: query, handshake, push, first request', async (t) => {
  const http = createServer();
  const server = new WebSocketServer({ server: http, perMessageDeflate: false });
  await new Promise<void>((settle) => http.listen(0, HOST, settle));
  const { port } = http.address() as { port: number };
  const frames: string[] = [];
  let url = '';
  let extensions: string | undefined;
  const peerInfo = INFO.replace('PORT', String(port));
  server.on('connection', (webSocket, request) => {
    url = request.url ?? '';
    extensions = request.headers['sec-websocket-extensions'];
    webSocket.on('message', (data) => {
      const text = (data as Buffer).toString();
      frames.push(text);
      if (text.includes('#handshake')) {
        webSocket.send(`{"event":"remote-message","data":{"event":"postNodeInfo","data":${peerInfo}}}`);
        webSocket.send('{"rid":1,"data":{"id":"j_3VjRvrAeAn_xWbAAAA","pingTimeout":20000,"isAuthenticated":false}}');
      }
      if (text.includes('getNodeInfo')) {
        webSocket.send(`{"rid":2,"data":{"data":${peerInfo},"peerId":"127.0.0.1:5301"}}`);
        webSocket.send('#1');
        webSocket.send('{"event":"ping","cid":2}');
      }
    });
  });

  const node = await startNode({}, { info: nodeInfo({ nonce: 'b8641169cd712d51' }) });
  const own = DIALLER_INFO.replace('5301', String(node.address.wsPort));
  t.is(await node.transport.connect({ ip: HOST, wsPort: port }), `${HOST}:${String(port)}`);
  await until(() => frames.length === 5, 'frames');
  t.deepEqual(frames, [
    '{"event":"#handshake","data":{"authToken":null},"cid":1}',
    `{"event":"remote-message","data":{"event":"postNodeInfo","data":${own}}}`,
    '{"event":"rpc-request","data":{"procedure":"getNodeInfo"},"cid":2}',
    '#2',
    '{"rid":2,"data":"pong"}',
  ]);
  t.is(url, `/rpc/?${FULL_QUERY.replaceAll('5301', String(node.address.wsPort))}`);
  t.is(extensions, undefined);
  await node.transport.close();
  server.close();
  http.close();
});

test('an info without advertiseAddress is written as an empty value in the query and counts as yes', async (t) => {
  const { advertiseAddress: _, ...silent } = nodeInfo();
  const a = await startNode({}, { info: silent });
  const b = await startNode();
  await a.transport.connect(b.address);
  await until(() => b.seen.connected.length === 1, 'connected');
  t.true(b.seen.connected[0]?.info.advertiseAddress !== false);
  await a.transport.close();
  await b.transport.close();
});

test('the members of a query are checked one by one, in the order of the reference', async (t) => {
  const node = await startNode({}, { info });
  const port = node.address.wsPort;
  const disconnect = (code: number, data: unknown): string =>
    JSON.stringify({ event: '#disconnect', data: { code, data } });
  const without = (name: string): string => SMALLEST_QUERY.replace(new RegExp(`&?${name}=[^&]*`), '');
  const missing = 'Peer did not provide valid query parameters as part of the WebSocket connection';
  const withOptions = (options: string): string => `${SMALLEST_QUERY}&options=${encodeURIComponent(options)}`;
  const cases: [string, number, unknown][] = [
    [`nonce=2bb9a0ac29950053`, 4101, 'Peer cannot connect to itself'],
    [withOptions('{"nonce":"2bb9a0ac29950053"}'), 4101, 'Peer cannot connect to itself'],
    ['', 4502, missing],
    [without('wsPort'), 4502, missing],
    [without('version'), 4502, missing],
    [without('networkId'), 4502, missing],
    [without('protocolVersion'), 4502, missing],
    [`${SMALLEST_QUERY}&options=%7Bnot`, 4502, missing],
    [withOptions('5'), 4502, missing],
    [SMALLEST_QUERY.replace('5301', 'abc'), 4105, { name: 'InvalidPeerInfoError' }],
    [SMALLEST_QUERY.replace('5301', '0'), 4105, { name: 'InvalidPeerInfoError' }],
    [SMALLEST_QUERY.replace('5301', '99999'), 4105, { name: 'InvalidPeerInfoError' }],
    [withOptions(JSON.stringify({ os: 'x'.repeat(20_500) })), 4105, { name: 'InvalidPeerInfoError' }],
    [SMALLEST_QUERY.replace(NETWORK, 'cd'.repeat(32)), 4104, 'Peer networkId did not match our own'],
    [SMALLEST_QUERY.replace('2.0', '1.1'), 4104, 'Peer has incompatible protocol version'],
    [SMALLEST_QUERY.replace('2.0', 'two'), 4104, 'Peer has incompatible protocol version'],
    [withOptions('{"protocolVersion":"3.0"}'), 4104, 'Peer has incompatible protocol version'],
  ];
  for (const [query, code, data] of cases) {
    const peer = await rawPeer(port, query);
    peer.sendFrame({ event: '#handshake', data: { authToken: null }, cid: 1 });
    await until(() => peer.closed() !== undefined, `${query} closes`);
    t.deepEqual([peer.frames, peer.closed()?.code], [[disconnect(code, data)], code], query);
  }
  t.deepEqual(node.seen.connected, []);
  await node.transport.close();
});

test('four members are enough, numbers may be text, and later duplicates are refused', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort, `${SMALLEST_QUERY}&height=77&httpPort=x&maxHeightPrevoted=-1`);
  await until(() => node.seen.connected.length === 1, 'connected');
  t.like(node.seen.connected[0]?.info, { height: 77, httpPort: undefined, maxHeightPrevoted: undefined });
  const twin = await rawPeer(node.address.wsPort);
  twin.sendFrame({ event: '#handshake', data: { authToken: null }, cid: 1 });
  await until(() => twin.closed() !== undefined, 'refused');
  t.deepEqual(twin.frames, ['{"event":"#disconnect","data":{"code":4404,"data":"Peer has a duplicate connection"}}']);
  t.is(peer.closed(), undefined);
  await node.transport.close();
});

test('a banned address gets its close code before any handshake', async (t) => {
  const node = await startNode({ admits: () => false });
  const peer = await rawPeer(node.address.wsPort);
  await until(() => peer.closed() !== undefined, 'refused');
  t.deepEqual(peer.frames, ['{"event":"#disconnect","data":{"code":4403,"data":"Peer is not allowed to connect"}}']);
  t.is(peer.closed()?.code, 4403);
  await node.transport.close();
});

test('only the exact path is a WebSocket, and plain HTTP requests are refused', async (t) => {
  const node = await startNode();
  for (const path of ['/rpc', '/', '/socketcluster/', '/rpc/x']) {
    const peer = await rawPeer(node.address.wsPort, SMALLEST_QUERY, path);
    await until(() => peer.closed() !== undefined, 'refused');
    t.is(peer.closed()?.code, 1006);
  }
  for (const path of ['/', '/rpc/', '/api/node/status']) {
    await t.throwsAsync(fetch(`http://${HOST}:${String(node.address.wsPort)}${path}`), undefined, path);
  }
  await node.transport.close();
});

test('heartbeats keep a silent connection open', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort);
  await until(() => peer.heartbeats() > 0, 'a heartbeat');
  t.is(peer.frames.length, 2);
  t.is(node.transport.connections().length, 1);
  await node.transport.close();
});

test('transactions that a peer serves from its chain are skipped, because their assets are incomplete', (t) => {
  const pooled = { id: '1', type: 10, asset: { username: 'someone' } };
  const confirmed = { id: '2', type: 10, blockId: '77', height: 5, confirmations: 3, asset: {} };
  const verdict = readAnswer(
    { kind: 'transactions', ids: ['1', '2'] },
    { data: { transactions: [confirmed, pooled] } },
  );
  t.deepEqual(verdict, { kind: 'answer', answer: [pooled] });
  const odd = readAnswer({ kind: 'transactions' }, { data: { transactions: [{ id: '1', blockId: null }] } });
  t.deepEqual(odd, { kind: 'answer', answer: [{ id: '1', blockId: null }] });
});
