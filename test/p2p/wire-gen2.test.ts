/**
 * Tests the wire protocol of generation 2 with frames that were captured between nodes of lisk-sdk 2.3.8. In these
 * frames, test values replace the ports, nonces and hashes.
 */

import { createServer } from 'node:http';

import test from 'ava';
import { WebSocketServer } from 'ws';

import { gen2Dialect } from '../../src/p2p/dialect-gen2.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { limitsOf, rateOf } from '../../src/ports/rates.ts';
import type { TransportOptions } from '../../src/p2p/transport.ts';
import type { NodeInfo, PeerRequest, TransportHandlers } from '../../src/ports/transport.ts';
import {
  closeAll,
  greetedPeer,
  handClock,
  HOST,
  pause,
  type RawPeer,
  rawPeer,
  startNode,
  type TestNode,
  until,
} from './support.ts';

const NETHASH = '198f2b61a8eb95fbeed58b8216780b68f697f26b849acf00c8c93bb9b24f783d';
const BROADHASH = '4ea4a3b5bb7a6c4fa5a1b1f2f0ed3ed8a2e9a6e9bf01d3d65ff1d20f3cde1f4e';
const PATH = '/socketcluster/';
const SMALLEST_QUERY = `wsPort=5201&version=2.3.8&nethash=${NETHASH}`;
const OWN_NONCE = 'BBBBBBBBBBBBBBBB';
const PEER_NONCE = 'AAAAAAAAAAAAAAAA';

function infoText(wsPort: number | string, nonce: string): string {
  return (
    `{"os":"linux4.15.0","version":"2.3.8","wsPort":${wsPort},"httpPort":4000,"minVersion":"1.0.0",` +
    `"protocolVersion":"1.1","height":1234,"nethash":"${NETHASH}","broadhash":"${BROADHASH}","nonce":"${nonce}","state":2}`
  );
}

const FULL_QUERY =
  'os=linux4.15.0&version=2.3.8&wsPort=5201&httpPort=4000&minVersion=1.0.0&protocolVersion=1.1&height=1234' +
  `&nethash=${NETHASH}&broadhash=${BROADHASH}&nonce=${PEER_NONCE}&state=2` +
  `&options=${encodeURIComponent(infoText(5201, PEER_NONCE))}`;

function ownInfo(nonce = OWN_NONCE): NodeInfo {
  return {
    os: 'linux4.15.0',
    version: '2.3.8',
    wsPort: 0,
    httpPort: 4000,
    protocolVersion: '1.1',
    nonce,
    height: 1234,
    broadhash: BROADHASH,
  };
}

function start(handlers: Partial<TransportHandlers> = {}, options: Partial<TransportOptions> = {}): Promise<TestNode> {
  const info = options.info ?? ownInfo();
  const dialect = gen2Dialect({ nethash: NETHASH, protocolVersion: '1.1', nonce: info.nonce });
  return startNode(handlers, { dialect, info, ...options });
}

const greeted = (node: TestNode, query = FULL_QUERY): Promise<RawPeer> => greetedPeer(node.address.wsPort, query, PATH);

const request = (cid: number, procedure: string, data?: unknown): string =>
  JSON.stringify({ event: 'rpc-request', data: { type: '/RPCRequest', procedure, data }, cid });

const TRANSFER = {
  id: '18080348758353114530',
  amount: '100000000',
  type: 0,
  timestamp: 100000000,
  senderPublicKey: 'c094ebee7ec0c50ebee32918655e089f6e1a604b83bcaa760293c61e0f18ab6f',
  senderId: '16313739661670634666L',
  recipientId: '16313739661670634666L',
  fee: '10000000',
  signature: '14'.repeat(64),
  signatures: [],
  asset: { data: 'hello' },
};
const BLOCK = {
  version: 1,
  totalAmount: 100000000,
  totalFee: 10000000,
  reward: 500000000,
  payloadHash: 'aa'.repeat(32),
  timestamp: 100000010,
  numberOfTransactions: 1,
  payloadLength: 122,
  previousBlock: '6524861224470851795',
  generatorPublicKey: 'c094ebee7ec0c50ebee32918655e089f6e1a604b83bcaa760293c61e0f18ab6f',
  transactions: [TRANSFER],
  blockSignature: '36'.repeat(64),
  height: 1235,
  id: '14241760202782588276',
};

test('an accepting node pushes its info as a call before the handshake answer, and answers as captured', async (t) => {
  const dialler = { ip: HOST, wsPort: 5201, height: 1234, os: 'linux4.15.0', version: '2.3.8', nethash: NETHASH };
  const node = await start({ answer: () => Promise.resolve([dialler, { ip: '1.2.3.4', wsPort: 5000 }]) });
  const own = infoText(node.address.wsPort, OWN_NONCE);
  const peer = await rawPeer(node.address.wsPort, FULL_QUERY, PATH);
  peer.sendFrame('{"event":"#handshake","data":{"authToken":null},"cid":1}');
  await peer.frame(1);
  t.is(
    peer.frames[0],
    `{"event":"rpc-request","data":{"type":"/RPCRequest","procedure":"updateMyself","data":${own}},"cid":1}`,
  );
  t.like(await peer.frame(1), { rid: 1, data: { pingTimeout: 20_000, isAuthenticated: false } });
  peer.sendFrame('{"rid":1,"data":{}}');
  peer.sendFrame(request(2, 'updateMyself', { ...JSON.parse(infoText(5201, PEER_NONCE)), height: 1235 }));
  peer.sendFrame('{"event":"rpc-request","data":{"type":"/RPCRequest","procedure":"status"},"cid":3}');
  peer.sendFrame('{"event":"rpc-request","data":{"type":"/RPCRequest","procedure":"list"},"cid":4}');
  await peer.frame(4);
  t.deepEqual(
    new Set(peer.frames.slice(2)),
    new Set([
      '{"rid":2,"data":{}}',
      `{"rid":3,"data":{"data":${own}}}`,
      `{"rid":4,"data":{"data":{"success":true,"peers":[{"ip":"127.0.0.1","os":"linux4.15.0","version":"2.3.8",` +
        `"wsPort":5201,"height":1234,"nethash":"${NETHASH}","state":2}]}}}`,
    ]),
  );
  await until(() => node.seen.updated.length === 1, 'update');
  t.like(node.seen.updated[0], { peerId: '127.0.0.1:5201', info: { height: 1235, broadhash: BROADHASH } });
  t.like(node.transport.connections()[0]?.info, { nethash: NETHASH, nonce: PEER_NONCE, version: '2.3.8' });

  node.transport.announce({ ...ownInfo(), height: 1236, broadhash: NETHASH });
  t.deepEqual(await peer.frame(5), {
    event: 'rpc-request',
    data: {
      type: '/RPCRequest',
      procedure: 'updateMyself',
      data: { ...(JSON.parse(own) as object), height: 1236, broadhash: NETHASH },
    },
    cid: 2,
  });
  await closeAll(node);
  t.deepEqual(node.seen.offences, []);
});

test('a dialling node sends the same as real nodes, and never an error', async (t) => {
  const http = createServer();
  const server = new WebSocketServer({ server: http, perMessageDeflate: false });
  await new Promise<void>((settle) => http.listen(0, HOST, settle));
  const { port } = http.address() as { port: number };
  const frames: string[] = [];
  let url = '';
  const info = infoText(port, OWN_NONCE);
  server.on('connection', (webSocket, incoming) => {
    url = incoming.url ?? '';
    webSocket.on('message', (data) => {
      const text = (data as Buffer).toString();
      frames.push(text);
      if (text.includes('#handshake')) {
        webSocket.send(request(1, 'updateMyself', JSON.parse(info)));
        webSocket.send('{"rid":1,"data":{"id":"JpuU8PeHJdBYKKFDAAAA","pingTimeout":20000,"isAuthenticated":false}}');
      }
      if (text.includes('"updateMyself"')) webSocket.send('{"rid":2,"data":{}}');
      if (text.includes('"status"')) {
        webSocket.send(`{"rid":3,"data":{"data":${info}}}`);
        webSocket.send('#1');
        webSocket.send('{"event":"ping","cid":2}');
        webSocket.send('{"event":"rpc-request","cid":3}');
        webSocket.send(request(4, 'nosuch'));
        webSocket.send(request(5, 'updateMyself', { wsPort: 5, version: 'none' }));
        webSocket.send(request(6, 'getSignatures'));
        webSocket.send(request(7, 'blocks', { lastBlockId: '5' }));
        webSocket.send(request(8, 'blocks', {}));
        webSocket.send(request(9, 'blocksCommon', { ids: 'none' }));
      }
    });
  });
  const refuse: TransportHandlers['answer'] = (_peerId, asked) =>
    Promise.reject(new ProtocolError(asked.kind === 'blocksAfter' ? 'BLOCK_UNKNOWN' : 'OTHER', {}, 'cannot say'));
  const node = await start({ answer: refuse }, { info: ownInfo(PEER_NONCE) });
  const own = infoText(node.address.wsPort, PEER_NONCE);
  await node.transport.connect({ ip: HOST, wsPort: port });
  await until(() => frames.length === 13, `frames (has ${frames.join(' | ')})`);
  t.is(url, `${PATH}?${FULL_QUERY.replaceAll('5201', String(node.address.wsPort))}`);
  t.is(frames[0], '{"event":"#handshake","data":{"authToken":null},"cid":1}');
  t.true(frames.includes('{"rid":1,"data":{}}'));
  t.true(
    frames.includes(
      `{"event":"rpc-request","data":{"type":"/RPCRequest","procedure":"updateMyself","data":${own}},"cid":2}`,
    ),
  );
  t.true(frames.includes('{"event":"rpc-request","data":{"type":"/RPCRequest","procedure":"status"},"cid":3}'));
  const answerTo = (rid: number): unknown => {
    const text = frames.find((frame) => frame.startsWith(`{"rid":${String(rid)},`));
    return (JSON.parse(text ?? '{}') as { data?: unknown }).data;
  };
  t.is(answerTo(2), 'pong');
  t.deepEqual(answerTo(3), { data: { success: false, message: 'Invalid request' } });
  t.like(answerTo(4), { data: { message: "Action 'chain:nosuch' is not registered to bus." } });
  t.like(answerTo(5), { data: { success: false, message: 'node info has no version' } });
  t.deepEqual(answerTo(6), { data: { success: false, message: 'cannot say' } });
  t.deepEqual(answerTo(7), { data: { blocks: [], message: 'cannot say', success: false } });
  t.deepEqual(answerTo(8), { data: { success: false, message: 'Invalid lastBlockId requested' } });
  t.deepEqual(answerTo(9), { data: { success: false, message: 'Invalid block id sequence' } });
  t.false(frames.some((frame) => frame.includes('"error"')));
  await node.transport.close();
  server.close();
  http.close();
});

test('on an accepted connection a failed call is an error, like the answer of real nodes', async (t) => {
  const node = await start({
    answer: (_peerId, asked) =>
      Promise.reject(new ProtocolError(asked.kind === 'blocksAfter' ? 'BUSY' : 'OTHER', {}, 'cannot say')),
  });
  const peer = await greeted(node);
  const cases: [string, unknown][] = [
    ['{"event":"rpc-request","cid":2}', { message: 'Invalid request' }],
    [
      '{"event":"rpc-request","data":{"x":1},"cid":3}',
      { message: 'Request procedure name is not a string', name: 'InvalidRPCRequestError' },
    ],
    [request(4, 'getTransactions'), { message: 'cannot say' }],
    [request(5, 'blocks', { lastBlockId: '5' }), { message: 'cannot say' }],
    [request(6, 'blocksCommon', { ids: 'a,b' }), { message: 'Invalid block id sequence' }],
    [
      request(7, 'blocksCommon', { ids: Array.from({ length: 1_001 }, () => '5').join(',') }),
      { message: 'ids property contains more than 1000 values' },
    ],
    [request(8, 'updateMyself', { version: '2.3.8', wsPort: 70_000 }), { message: 'node info has no port' }],
  ];
  for (const [index, [frame, error]] of cases.entries()) {
    peer.sendFrame(frame);
    t.deepEqual(((await peer.frame(index + 2)) as { error: unknown }).error, error, frame.slice(0, 90));
  }
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
});

test('requests are answered in the shapes of the generation', async (t) => {
  const asked: PeerRequest[] = [];
  const answers = {
    blocksAfter: [BLOCK, { ...BLOCK, id: '2', height: 1236, transactions: [] }],
    highestCommonBlock: { id: '9', height: 3, version: 1, previousBlock: '8', timestamp: 5 },
    transactions: [TRANSFER],
    signatures: [{ transaction: '4', signatures: ['ab'.repeat(64)] }],
    tip: undefined,
    peers: [],
  };
  const node = await start({
    answer: (_peerId, each) => {
      asked.push(each);
      return Promise.resolve(answers[each.kind]);
    },
  });
  const peer = await greeted(node);
  const answerOf = async (index: number, frame: string): Promise<unknown> => {
    peer.sendFrame(frame);
    return ((await peer.frame(index)) as { data: { data: unknown } }).data.data;
  };
  const result = (await answerOf(2, request(2, 'blocks', { lastBlockId: '6524861224470851795' }))) as {
    success: boolean;
    blocks: Record<string, unknown>[];
  };
  t.true(result.success);
  t.deepEqual(Object.keys(result.blocks[0] ?? {}), [
    ...['b_id', 'b_version', 'b_timestamp', 'b_height', 'b_previousBlock', 'b_numberOfTransactions', 'b_totalAmount'],
    ...['b_totalFee', 'b_reward', 'b_payloadLength', 'b_payloadHash', 'b_generatorPublicKey', 'b_blockSignature'],
    ...['t_id', 't_type', 't_timestamp', 't_senderPublicKey', 't_senderId', 't_recipientId', 't_amount', 't_fee'],
    ...['t_signature', 't_signSignature', 't_requesterPublicKey', 't_signatures', 'tf_data', 's_publicKey'],
    ...['d_username', 'v_votes', 'm_min', 'm_lifetime', 'm_keysgroup', 'dapp_name', 'dapp_description', 'dapp_tags'],
    ...['dapp_type', 'dapp_link', 'dapp_category', 'dapp_icon', 'in_dappId', 'ot_dappId', 'ot_outTransactionId'],
  ]);
  t.like(result.blocks[0], {
    b_id: BLOCK.id,
    b_height: 1235,
    b_totalAmount: '100000000',
    b_previousBlock: BLOCK.previousBlock,
    t_amount: '100000000',
    t_type: 0,
    t_signatures: '',
    t_signSignature: null,
    tf_data: 'hello',
    v_votes: null,
  });
  t.like(result.blocks[1], { b_id: '2', b_numberOfTransactions: 1, t_id: null, t_type: null, t_signatures: null });
  t.deepEqual(await answerOf(3, request(3, 'chain:blocksCommon', { ids: '"7",8' })), {
    success: true,
    common: { id: '9', height: 3, previousBlock: '8', timestamp: 5 },
  });
  t.deepEqual(await answerOf(4, request(4, 'getTransactions')), { success: true, transactions: [TRANSFER] });
  t.deepEqual(await answerOf(5, request(5, 'getSignatures')), { success: true, signatures: answers.signatures });
  t.deepEqual(asked, [
    { kind: 'blocksAfter', blockId: '6524861224470851795' },
    { kind: 'highestCommonBlock', blockIds: ['7'] },
    { kind: 'transactions' },
    { kind: 'signatures' },
  ]);
  await node.transport.close();
});

test('messages are sent bare with a nonce, and read bare or in an envelope', async (t) => {
  const node = await start();
  const peer = await greeted(node);
  const send = node.transport.send.bind(node.transport, '127.0.0.1:5201');
  const signature = { transactionId: '5', publicKey: 'ab'.repeat(32), signature: 'cd'.repeat(64) };
  send({ kind: 'transactionIds', ids: ['5'] });
  send({ kind: 'block', block: BLOCK });
  send({ kind: 'transactions', transactions: [TRANSFER] });
  send({ kind: 'signatures', signatures: [signature] });
  await peer.frame(4);
  const frame = (event: string, data: object): string => JSON.stringify({ event, data: { ...data, nonce: OWN_NONCE } });
  t.deepEqual(peer.frames.slice(2), [
    frame('postBlock', { block: BLOCK }),
    frame('postTransactions', { transactions: [TRANSFER] }),
    frame('postSignatures', { signatures: [signature] }),
  ]);

  peer.sendFrame({ event: 'postBlock', data: { block: BLOCK, nonce: 'sYHEDBKcScaAAAYg' } });
  peer.sendFrame({ event: 'postTransactions', data: { transactions: [TRANSFER] } });
  const relayed = { ...signature, relays: 2 };
  peer.sendFrame({
    event: 'remote-message',
    data: { event: 'postSignatures', data: { signatures: [relayed], relays: 1 } },
  });
  peer.sendFrame({ event: 'remote-message', data: { event: 'customEvent', data: { x: 1 } } });
  peer.sendFrame({ event: 'nosuch', data: 'x', cid: 9 });
  await until(() => node.seen.messages.length === 3, 'messages');
  t.deepEqual(
    node.seen.messages.map(({ message }) => message),
    [
      { kind: 'block', block: BLOCK },
      { kind: 'transactions', transactions: [TRANSFER] },
      { kind: 'signatures', signatures: [signature] },
    ],
  );
  t.deepEqual(node.seen.offences, []);

  const bad: [string, unknown][] = [
    ['postBlock', 'text'],
    ['postBlock', { block: 5 }],
    ['postBlock', { block: BLOCK, nonce: 'short' }],
    ['postTransactions', { transactions: [] }],
    ['postTransactions', { transactions: Array.from({ length: 26 }, () => TRANSFER) }],
    ['postTransactions', { transactions: 'text' }],
    ['postSignatures', { signatures: [{ transactionId: '5' }] }],
  ];
  for (const [event, data] of bad) peer.sendFrame({ event, data });
  await until(() => node.seen.offences.length === bad.length, 'offences');
  t.true(node.seen.offences.every(({ offence }) => offence === 'MALFORMED_MESSAGE'));
  t.is(node.seen.messages.length, 3);
  await node.transport.close();
});

test('the members of a query are checked one by one, in the order of the reference', async (t) => {
  const node = await start();
  const without = (name: string): string => SMALLEST_QUERY.replace(new RegExp(`&?${name}=[^&]*`), '');
  const missing = 'Peer did not provide valid query parameters as part of the WebSocket connection';
  const incompatible = 'Peer has incompatible protocol version';
  const withOptions = (options: string): string => `${SMALLEST_QUERY}&options=${encodeURIComponent(options)}`;
  const cases: [string, number, string][] = [
    [`nonce=${OWN_NONCE}`, 4101, 'Peer cannot connect to itself'],
    [withOptions(`{"nonce":"${OWN_NONCE}"}`), 4101, 'Peer cannot connect to itself'],
    ['', 4502, missing],
    [without('wsPort'), 4502, missing],
    [without('version'), 4502, missing],
    [without('nethash'), 4502, missing],
    [withOptions('{not'), 4502, missing],
    [SMALLEST_QUERY.replace('5201', '99999'), 4502, missing],
    [SMALLEST_QUERY.replace(NETHASH, 'cd'.repeat(32)), 4104, 'Peer nethash did not match our own'],
    [`${SMALLEST_QUERY}&protocolVersion=2.0`, 4104, incompatible],
    [`${SMALLEST_QUERY}&protocolVersion=none`, 4104, incompatible],
    [SMALLEST_QUERY.replace('2.3.8', '0.9.9'), 4104, incompatible],
    [SMALLEST_QUERY.replace('2.3.8', 'old'), 4104, incompatible],
  ];
  for (const [query, code, data] of cases) {
    const peer = await rawPeer(node.address.wsPort, query, PATH);
    peer.sendFrame({ event: '#handshake', data: { authToken: null }, cid: 1 });
    await until(() => peer.closed() !== undefined, `${query} closes`);
    t.deepEqual(
      [peer.frames, peer.closed()?.code],
      [[JSON.stringify({ event: '#disconnect', data: { code, data } })], code],
      query,
    );
  }
  const peer = await greeted(node, SMALLEST_QUERY);
  await until(() => node.seen.connected.length === 1, 'three members are enough');
  t.is(peer.closed(), undefined);
  await node.transport.close();
});

test('values in a list of transactions that are not objects are skipped, as in the reference, without a penalty', async (t) => {
  const node = await start();
  const peer = await greeted(node, SMALLEST_QUERY);
  peer.sendFrame({ event: 'postTransactions', data: { transactions: ['5', TRANSFER, null, 7, ['x']] } });
  peer.sendFrame({ event: 'postTransactions', data: { transactions: ['5'] } });
  await until(() => node.seen.messages.length === 2, 'messages');
  t.deepEqual(
    node.seen.messages.map(({ message }) => message),
    [
      { kind: 'transactions', transactions: [TRANSFER] },
      { kind: 'transactions', transactions: [] },
    ],
  );
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
});

test('peer lists are answered at the rate of honest nodes, and far more requests cause one penalty', async (t) => {
  const node = await start({}, { clock: handClock() });
  const peer = await greeted(node, SMALLEST_QUERY);
  const { takenMax, penalisedAbove } = limitsOf(rateOf(2, 'peersRequest'));
  for (let cid = 2; cid <= penalisedAbove + 10; cid += 1) {
    peer.sendFrame({ event: 'rpc-request', data: { type: '/RPCRequest', procedure: 'list' }, cid });
  }
  await until(() => node.seen.offences.length === 1, 'an offence');
  await pause(50);
  t.is(node.seen.requests.filter(({ request }) => request.kind === 'peers').length, takenMax);
  t.deepEqual(
    node.seen.offences.map(({ offence }) => offence),
    ['PROCEDURE_RATE'],
  );
  await node.transport.close();
});

test('a banned address is refused at the upgrade, and the dialling node recognises the ban', async (t) => {
  const node = await start({ admits: () => false });
  const answer = await new Promise<number>((settle) => {
    void rawPeer(node.address.wsPort, FULL_QUERY, PATH).then((peer) => {
      settle(peer.frames.length);
    });
  });
  t.is(answer, 0);
  const dialler = await start({}, { info: ownInfo(PEER_NONCE) });
  const error = await t.throwsAsync(dialler.transport.connect(node.address), { instanceOf: ProtocolError });
  t.like(error?.data, { code: 4403, reason: 'HTTP 401' });
  await closeAll(node, dialler);
});

test('two nodes connect, exchange all requests in both directions and announce their infos', async (t) => {
  const chain = Array.from({ length: 40 }, (_, index) => ({ id: String(index + 1), height: index + 1 }));
  const asked: PeerRequest[] = [];
  const handlers: Partial<TransportHandlers> = {
    answer: (_peerId, each) => {
      asked.push(each);
      if (each.kind === 'peers') {
        const listed = { ip: '1.2.3.4', wsPort: 5000, version: '2.3.8', height: 7 };
        return Promise.resolve([listed, { ip: '1.2.3.5', wsPort: 5000 }]);
      }
      if (each.kind === 'highestCommonBlock') {
        return Promise.resolve(chain.find(({ id, height }) => id === each.blockIds[0] && height <= 27));
      }
      if (each.kind === 'blocksAfter' && each.blockId === '77') {
        return Promise.reject(new ProtocolError('BLOCK_UNKNOWN', {}, 'unknown block'));
      }
      const block = { ...BLOCK, transactions: [TRANSFER, { ...TRANSFER, id: '5' }] };
      if (each.kind === 'blocksAfter') return Promise.resolve([block, { ...BLOCK, id: '3', transactions: [] }]);
      return Promise.resolve(each.kind === 'transactions' ? [TRANSFER] : []);
    },
  };
  const a = await start(handlers, { info: ownInfo(PEER_NONCE) });
  const b = await start(handlers);
  await a.transport.connect(b.address);
  await until(() => b.transport.connections().length === 1, 'b sees a');
  t.like(a.transport.connections()[0], { peerId: b.id, direction: 'outbound', info: { nonce: OWN_NONCE } });
  for (const [asker, other] of [
    [a, b],
    [b, a],
  ] as const) {
    const { transport } = asker;
    const blocks = (await transport.request(other.id, { kind: 'blocksAfter', blockId: '2' })) as (typeof BLOCK)[];
    t.deepEqual(
      blocks.map(({ id, transactions }) => [id, transactions.map((each) => each.id)]),
      [
        [BLOCK.id, [TRANSFER.id, '5']],
        ['3', []],
      ],
    );
    t.like(blocks[0], { totalAmount: '100000000', height: 1235, previousBlock: BLOCK.previousBlock });
    t.deepEqual(blocks[0]?.transactions[0], TRANSFER);
    t.deepEqual(await transport.request(other.id, { kind: 'transactions' }), [TRANSFER]);
    t.deepEqual(await transport.request(other.id, { kind: 'signatures' }), []);
    t.like(await transport.request(other.id, { kind: 'peers' }), [{ ip: '1.2.3.4', height: 7 }]);
    asked.length = 0;
    const blockIds = chain.map(({ id }) => id);
    const common = await transport.request(other.id, { kind: 'highestCommonBlock', blockIds });
    t.deepEqual(common, { id: '27', height: 27 });
    t.true(asked.length <= 7, `${String(asked.length)} calls`);
    const none = await transport.request(other.id, { kind: 'highestCommonBlock', blockIds: ['28', '29'] });
    t.is(none, undefined);
    await t.throwsAsync(transport.request(other.id, { kind: 'blocksAfter', blockId: '77' }), {
      message: /unknown block/,
    });
    await t.throwsAsync(transport.request(other.id, { kind: 'tip' }), { code: 'REQUEST_FAILED' });
    await t.throwsAsync(transport.request(other.id, { kind: 'transactions', ids: ['5'] }), { code: 'REQUEST_FAILED' });
    t.is(transport.connections().length, 1);
  }
  a.transport.announce({ ...a.info, height: 1300 });
  await until(() => b.transport.connections()[0]?.info.height === 1300, 'news of a');
  await closeAll(a, b);
  t.deepEqual([...a.seen.offences, ...b.seen.offences], []);
});
