/**
 * Tests that messages of a hostile peer do not harm the node. The tests run one after another, because some tests flood
 * their node. If the tests ran at the same time on a slow machine, a flood would delay the heartbeats in other tests by
 * more than 20 s.
 */

import { connect } from 'node:net';

import test from 'ava';

import { FRAMES_DROPPED_PER_CHARGE, FRAMES_PER_SECOND_CUT, framesAtOnceMax } from '../../src/p2p/frame-filter.ts';
import { limitsOf, RATE_WINDOW_MS, rateOf, STALL_MS } from '../../src/ports/rates.ts';
import { gen3Dialect } from '../../src/p2p/dialect-gen3.ts';
import { MESSAGE_FRAGMENTS_MAX } from '../../src/p2p/frame-validation.ts';
import { ARRIVING_OF_PEER } from '../../src/p2p/unsolicited-bytes.ts';
import { TURNS_MAX } from '../../src/p2p/unfinished-messages.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import { PeerOffence } from '../../src/ports/transport.ts';
import {
  closeAll,
  greetedPeer,
  handClock,
  HOST,
  NETWORK,
  nodeInfo,
  pair,
  pause,
  rawPeer,
  type RawPeer,
  startNode,
  until,
  SMALLEST_QUERY,
} from './support.ts';

let cid = 10;

/** Requests the node's tip and waits for the answer. Returns whether the connection is still open. */
async function works(peer: RawPeer): Promise<boolean> {
  cid += 1;
  const rid = cid;
  peer.sendFrame({ event: 'rpc-request', data: { procedure: 'getLastBlock' }, cid: rid });
  await until(() => peer.frames.some((frame) => frame.startsWith(`{"rid":${String(rid)},`)), 'an answer');
  return peer.closed() === undefined;
}

/** Returns an observer, and the list of the codes that it gets with the level `error`. */
function errorCollector(): { readonly errors: string[]; readonly observer: Observer } {
  const errors: string[] = [];
  const observer: Observer = {
    ...SILENT,
    module: () => observer,
    log: (level, code) => {
      if (level === 'error') errors.push(code);
    },
  };
  return { errors, observer };
}

function message(event: unknown, data?: unknown): object {
  return { event: 'remote-message', data: { event, data } };
}

test.serial('frames of unknown form are skipped', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort);
  const before = peer.frames.length;
  const odd: unknown[] = [
    '',
    '#1',
    '#2',
    '#3',
    'not json',
    '{',
    '[]',
    '5',
    'null',
    'true',
    '"text"',
    '[[[]]]',
    '[null,5,{"event":"nosuch"}]',
    { event: 'nosuch', data: 'x', cid: 9 },
    { event: 'x'.repeat(5_000), cid: 9 },
    { event: 'constructor', cid: 9 },
    { event: '__proto__', data: {}, cid: 9 },
    { event: 'toString', data: {} },
    { event: '#subscribe', data: { channel: 'all' }, cid: 9 },
    { event: '#unsubscribe', data: 'all', cid: 9 },
    { event: '#publish', data: { channel: 'all', data: 'x' }, cid: 9 },
    { event: '#authenticate', data: 'token', cid: 9 },
    { event: '#removeAuthToken' },
    { event: '#handshake', data: { authToken: 'x' }, cid: 9 },
    { event: '#handshake' },
    { event: '#setAuthToken', data: { token: 'a.b.c' }, cid: 9 },
    { event: '#kickOut', data: {} },
    { event: 'rpc-request', data: { procedure: 'getLastBlock' }, cid: 'text' },
    { event: 'rpc-request', data: { procedure: 'getLastBlock' }, cid: -1 },
    { event: 'rpc-request', data: { procedure: 'getLastBlock' }, cid: 1.5 },
    { event: 'rpc-request', data: { procedure: 'getLastBlock' } },
    { rid: 1 },
    { rid: 99, data: {} },
    { rid: 99, error: { message: 'x', stack: 'y', __proto__: null } },
    { rid: '1', error: 5 },
    { event: 5, data: {} },
    { data: {} },
    message(undefined),
    message(5, {}),
    message('nosuch', {}),
    message('constructor', {}),
    message('__proto__', {}),
    { event: 'remote-message' },
    { event: 'remote-message', data: 'text' },
    { event: 'remote-message', data: [] },
    { event: 'remote-message', data: null },
  ];
  for (const frame of odd) peer.sendFrame(frame);
  peer.webSocket.send(
    Buffer.from(JSON.stringify({ event: 'rpc-request', data: { procedure: 'getNodeInfo' }, cid: 9 })),
  );
  t.true(await works(peer));
  t.deepEqual(
    peer.frames.slice(before).map((frame) => frame.slice(0, 7)),
    ['{"rid":'],
  );
  t.deepEqual([node.seen.messages, node.seen.offences], [[], []]);
  await node.transport.close();
});

test.serial('invalid calls get the errors of the reference', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort);
  const nameless = { message: 'Request procedure name is not a string', name: 'InvalidRPCRequestError' };
  const cases: [unknown, object][] = [
    [{ x: 1 }, nameless],
    [{ procedure: 5 }, nameless],
    [{ procedure: null }, nameless],
    [undefined, { message: 'Invalid request' }],
    [null, { message: 'Invalid request' }],
    ['getPeers', { message: 'Invalid request' }],
    [[], { message: 'Invalid request' }],
    [{ procedure: 'nosuch' }, { message: "Action 'chain:nosuch' is not registered to bus." }],
    [{ procedure: 'app:getConfig' }, { message: "Action 'app:getConfig' is not registered to bus." }],
    [{ procedure: 'constructor' }, { message: "Action 'chain:constructor' is not registered to bus." }],
    [{ procedure: '__proto__' }, { message: "Action 'chain:__proto__' is not registered to bus." }],
  ];
  for (const [data, error] of cases) {
    const place = peer.frames.length;
    peer.sendFrame({ event: 'rpc-request', data, cid: 7 });
    t.deepEqual(await peer.frame(place), { rid: 7, error }, JSON.stringify(data));
  }
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
});

test.serial('a chain request or message of the wrong shape gets a penalty', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort);
  const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));
  const requests: [string, unknown][] = [
    ['getBlocksFromId', undefined],
    ['getBlocksFromId', { blockId: 5 }],
    ['getBlocksFromId', { blockId: '' }],
    ['getBlocksFromId', { blockId: '18446744073709551616' }],
    ['chain:getBlocksFromId', { blockId: ['1'] }],
    ['getHighestCommonBlock', {}],
    ['getHighestCommonBlock', { ids: [] }],
    ['getHighestCommonBlock', { ids: '1,2' }],
    ['getHighestCommonBlock', { ids: ['1', '1'] }],
    ['getHighestCommonBlock', { ids: ids(1_001) }],
    ['getHighestCommonBlock', { ids: [null] }],
  ];
  for (const [procedure, data] of requests) {
    const place = peer.frames.length;
    peer.sendFrame({ event: 'rpc-request', data: { procedure, data }, cid: 7 });
    t.deepEqual(await peer.frame(place), { rid: 7, error: { message: 'Received invalid request.' } });
  }
  t.is(node.seen.offences.filter(({ offence }) => offence === 'MALFORMED_MESSAGE').length, requests.length);
  t.deepEqual(node.seen.requests, []);

  const key = 'ab'.repeat(32);
  const good = { transactionId: '1', publicKey: key, signature: 'cd'.repeat(64) };
  const messages: [string, unknown][] = [
    ['postBlock', undefined],
    ['postBlock', { block: 'text' }],
    ['postBlock', { block: [] }],
    ['postBlock', { block: null }],
  ];
  for (const [event, data] of messages) peer.sendFrame(message(event, data));
  await until(() => node.seen.offences.length === requests.length + messages.length, 'offences of messages');

  const budgeted: [string, unknown][] = [
    ['postTransactionsAnnouncement', { transactionIds: [] }],
    ['postTransactionsAnnouncement', { transactionIds: ids(26) }],
    ['postTransactionsAnnouncement', { transactionIds: ['1', 2] }],
    ['postSignatures', { signatures: [] }],
    ['postSignatures', { signatures: [{ ...good, signature: 'short' }] }],
    ['postSignatures', { signatures: [{ ...good, publicKey: 5 }] }],
  ];
  for (const [event, data] of budgeted) peer.sendFrame(message(event, data));
  await until(() => node.seen.offences.length === requests.length + messages.length + budgeted.length, 'more offences');
  t.deepEqual(node.seen.messages, []);
  t.true(await works(peer));
  await node.transport.close();
});

test.serial('more than 25 ids in one request are refused with a penalty', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort);
  const transactionIds = Array.from({ length: 26 }, (_, index) => String(index));
  peer.sendFrame({ event: 'rpc-request', data: { procedure: 'getTransactions', data: { transactionIds } }, cid: 7 });
  t.deepEqual(await peer.frame(2), { rid: 7, error: { message: 'Received invalid request.' } });
  t.like(node.seen.offences[0], { offence: 'MALFORMED_MESSAGE' });
  await node.transport.close();
});

test.serial('a repeated id in an announcement or a request counts once, and costs nothing', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort);
  const transactionIds = ['1', '2', '1'];
  peer.sendFrame(message('postTransactionsAnnouncement', { transactionIds }));
  peer.sendFrame({ event: 'rpc-request', data: { procedure: 'getTransactions', data: { transactionIds } }, cid: 7 });
  t.true(await works(peer));
  t.deepEqual(
    node.seen.messages.map((seen) => seen.message),
    [{ kind: 'transactionIds', ids: ['1', '2'] }],
  );
  t.like(node.seen.requests[0], { request: { kind: 'transactions', ids: ['1', '2'] } });
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
});

test.serial(
  'peer lists are answered at the rate of honest nodes; more are dropped, far more get a penalty',
  async (t) => {
    const clock = handClock();
    const node = await startNode({}, { clock });
    const peer = await greetedPeer(node.address.wsPort);
    const { takenMax, penalisedAbove } = limitsOf(rateOf(3, 'peersRequest'));
    const ask = (count: number): void => {
      for (let asked = 0; asked < count; asked += 1) {
        peer.sendFrame({ event: 'rpc-request', data: { procedure: 'getPeers' }, cid: 7 });
      }
    };
    ask(penalisedAbove);
    t.true(await works(peer));
    t.is(peer.frames.filter((frame) => frame.startsWith('{"rid":7')).length, takenMax);
    t.deepEqual(node.seen.offences, []);
    ask(5);
    await until(() => node.seen.offences.length === 1, 'what no honest node does costs');
    t.like(node.seen.offences[0], { offence: 'PROCEDURE_RATE' });
    clock.pass(RATE_WINDOW_MS);
    const place = peer.frames.length;
    peer.sendFrame({ event: 'rpc-request', data: { procedure: 'getPeers' }, cid: 8 });
    t.like(await peer.frame(place), { rid: 8 });
    t.is(node.seen.offences.length, 1);
    await node.transport.close();
  },
);

test.serial('blocks above the rate of honest peers are ignored without a penalty', async (t) => {
  const node = await startNode({}, { clock: handClock() });
  const peer = await greetedPeer(node.address.wsPort);
  const { takenMax } = limitsOf(rateOf(3, 'block'));
  // An honest node may forward any number of blocks, if other nodes send it so many. A peer that sends many blocks
  // therefore gets no penalty.
  for (let index = 1; index <= 5 * takenMax; index += 1)
    peer.sendFrame(message('postBlock', { block: { id: String(index) } }));
  t.true(await works(peer));
  t.is(node.seen.messages.length, takenMax);
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
});

test("announcements at the reference's highest rate cause no penalty, even when half a minute arrives at once", async (t) => {
  const clock = handClock();
  const node = await startNode({}, { clock });
  const peer = await greetedPeer(node.address.wsPort);
  const announce = (): void => {
    peer.sendFrame(message('postTransactionsAnnouncement', { transactionIds: ['1'] }));
  };
  for (let piled = 0; piled < STALL_MS / 1_000; piled += 1) announce();
  for (let second = 0; second < 60; second += 1) {
    announce();
    await until(() => node.seen.messages.length === second + 1 + STALL_MS / 1_000, `announcement of second ${second}`);
    clock.pass(1_000);
  }
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
});

test.serial(
  'announcements above the honest rate are dropped, and cause one penalty per window above twice the rate',
  async (t) => {
    const node = await startNode({}, { clock: handClock() });
    const peer = await greetedPeer(node.address.wsPort);
    const { takenMax, penalisedAbove } = limitsOf(rateOf(3, 'transactionIds'));
    const announce = (count: number): void => {
      for (let sent = 0; sent < count; sent += 1) {
        peer.sendFrame(message('postTransactionsAnnouncement', { transactionIds: ['1'] }));
      }
    };
    announce(penalisedAbove);
    t.true(await works(peer));
    t.is(node.seen.messages.length, takenMax);
    t.deepEqual(node.seen.offences, []);
    announce(20);
    t.true(await works(peer));
    t.deepEqual(
      node.seen.offences.map(({ offence }) => offence),
      ['PROCEDURE_RATE'],
    );
    await node.transport.close();
  },
);

test.serial(
  'frames are read at the rate of honest nodes, further ones are dropped, and hundreds cause a penalty',
  async (t) => {
    const node = await startNode({}, { clock: handClock() });
    const peer = await greetedPeer(node.address.wsPort);
    // `sent` starts at 10 instead of 0, because the peer has already sent a few frames for the handshake.
    for (let sent = 10; sent < framesAtOnceMax(3); sent += 1) peer.sendFrame({ event: 'nosuch' });
    t.true(await works(peer));
    t.deepEqual(node.seen.offences, []);
    // A frame may contain an array of messages. Each message in the array counts as a frame.
    for (let sent = 0; sent < 1.5 * FRAMES_DROPPED_PER_CHARGE; sent += 100) {
      peer.sendFrame(Array.from({ length: 100 }, () => ({ event: 'nosuch' })));
    }
    await until(() => node.seen.offences.length === 1, 'an offence');
    t.like(node.seen.offences[0], { peerId: '127.0.0.1:5301', offence: 'MESSAGE_RATE' });
    t.is(peer.closed(), undefined);
    await node.transport.close();
  },
);

test.serial('a batch of frames is read, one of more than 100 frames is not', async (t) => {
  const node = await startNode({}, { clock: handClock() });
  const peer = await greetedPeer(node.address.wsPort);
  const announcement = message('postTransactionsAnnouncement', { transactionIds: ['1'] });
  peer.sendFrame([announcement, null, { event: 'nosuch' }, { event: 'ping', cid: 4 }]);
  t.deepEqual(await peer.frame(2), { rid: 4, data: 'pong' });
  t.is(node.seen.messages.length, 1);
  peer.sendFrame(Array.from({ length: 101 }, () => announcement));
  t.true(await works(peer));
  t.is(node.seen.messages.length, 1);
  await node.transport.close();
});

test.serial('a flood closes the connection', async (t) => {
  const node = await startNode({}, { clock: handClock() });
  const peer = await greetedPeer(node.address.wsPort);
  for (let index = 0; index < FRAMES_PER_SECOND_CUT + 50; index += 1) peer.sendFrame('#2');
  await until(() => peer.closed() !== undefined, 'cut');
  t.is(peer.closed()?.code, 1006);
  await until(() => node.seen.disconnected.length === 1, 'reported');
  t.like(node.seen.offences.at(-1), { offence: 'MESSAGE_FLOOD' });
  await node.transport.close();
});

/** Returns an unsolicited message with an unknown name and a text of this number of bytes. */
function large(bytes: number): string {
  return JSON.stringify(message('nosuch', 'x'.repeat(bytes)));
}

test.serial('large unsolicited frames cause no penalty and hide no other frames of their sender', async (t) => {
  const node = await startNode({}, { clock: handClock() });
  const peer = await greetedPeer(node.address.wsPort);
  const announcement = message('postTransactionsAnnouncement', { transactionIds: ['1'] });
  for (let heard = 1; heard <= 4; heard += 1) {
    peer.sendFrame(large(2_500_000));
    peer.sendFrame(announcement);
    await until(() => node.seen.messages.length === heard, 'it is heard');
  }
  t.deepEqual(node.seen.offences, []);
  t.is(peer.closed(), undefined);
  await node.transport.close();
});

test.serial('a peer that sends bytes without end is paused without a penalty, and is read afterwards', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort);
  const frames = Math.ceil((2 * ARRIVING_OF_PEER.capacity) / 2_500_000);
  const begunMs = performance.now();
  for (let frame = 0; frame < frames; frame += 1) peer.sendFrame(large(2_500_000));
  peer.sendFrame(message('postTransactionsAnnouncement', { transactionIds: ['1'] }));
  await until(() => node.seen.messages.length === 1, 'it is heard');
  const leastMs = (ARRIVING_OF_PEER.capacity / ARRIVING_OF_PEER.perSecond) * 1_000;
  t.true(performance.now() - begunMs > 0.8 * leastMs);
  t.deepEqual(node.seen.offences, []);
  t.is(peer.closed(), undefined);
  await node.transport.close();
});

test.serial('a connection that floods small frames is closed, without a penalty for its address', async (t) => {
  const time = handClock();
  const node = await startNode({}, { clock: time });
  const peer = await greetedPeer(node.address.wsPort);
  const flood = large(250_000);
  for (let second = 0; second < 50 && peer.closed() === undefined; second += 1) {
    for (let frame = 0; frame < 16; frame += 1) peer.sendFrame(flood);
    await until(() => peer.webSocket.bufferedAmount === 0 || peer.closed() !== undefined, 'it is sent');
    time.pass(1_000);
  }
  await until(() => node.seen.disconnected.length === 1, 'closed');
  t.like(node.seen.disconnected[0], { reason: { code: 4429 } });
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
});

test.serial('answers to our requests may be as large as messages, in any number', async (t) => {
  const answer = (): Promise<unknown> => Promise.resolve([{ blocks: 'x'.repeat(2_800_000) }]);
  const [asker, answerer] = await pair([{ answer }]);
  let bytes = 0;
  while (bytes < 2 * ARRIVING_OF_PEER.capacity) {
    const requests = [1, 2].map(() => asker.transport.request(answerer.id, { kind: 'blocksAfter', blockId: '1' }));
    for (const blocks of await Promise.all(requests)) bytes += JSON.stringify(blocks).length;
  }
  t.deepEqual(asker.seen.offences, []);
  await closeAll(asker, answerer);
});

test.serial('control frames end a connection, as in the reference', async (t) => {
  const node = await startNode();
  for (const send of ['ping', 'pong'] as const) {
    const peer = await greetedPeer(node.address.wsPort);
    peer.webSocket[send]();
    await until(() => peer.closed() !== undefined, 'cut');
    t.is(peer.closed()?.code, 1006);
    await until(() => node.transport.connections().length === 0, 'gone');
  }
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
});

test.serial('a message above the size limit closes the connection without an offence', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort);
  peer.sendFrame(JSON.stringify('x'.repeat(3_048_576)));
  await until(() => peer.closed() !== undefined, 'dropped');
  await until(() => node.seen.disconnected.length === 1, 'reported');
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
});

test.serial('a message may have some fragments, as proxies make them, but not thousands', async (t) => {
  const node = await startNode();
  const sendInFragments = (peer: RawPeer, text: string, fragments: number): void => {
    for (let fragment = 1; fragment < fragments; fragment += 1) peer.webSocket.send('', { fin: false });
    peer.webSocket.send(text);
  };
  const announcement = JSON.stringify(message('postTransactionsAnnouncement', { transactionIds: ['1'] }));
  const peer = await greetedPeer(node.address.wsPort);
  sendInFragments(peer, announcement, MESSAGE_FRAGMENTS_MAX);
  await until(() => node.seen.messages.length === 1, 'it is heard');
  sendInFragments(peer, announcement, MESSAGE_FRAGMENTS_MAX + 1);
  await until(() => peer.closed() !== undefined, 'closed');
  await until(() => node.seen.disconnected.length === 1, 'reported');
  t.is(node.seen.messages.length, 1);
  t.deepEqual(node.seen.offences, []);
  await node.transport.close();
});

test.serial('a dialled peer that splits messages into thousands of fragments is dropped', async (t) => {
  const { WebSocketServer } = await import('ws');
  const server = new WebSocketServer({ host: HOST, port: 0 });
  await new Promise((settle) => server.once('listening', settle));
  server.on('connection', (webSocket) => {
    for (let fragment = 0; fragment <= MESSAGE_FRAGMENTS_MAX; fragment += 1) webSocket.send(' ', { fin: false });
  });
  const node = await startNode();
  const { port } = server.address() as { port: number };
  const error = await t.throwsAsync(node.transport.connect({ ip: HOST, wsPort: port }));
  t.like(error, { code: 'DIAL_FAILED', data: { code: 1006 } });
  for (const client of server.clients) client.terminate();
  server.close();
  await node.transport.close();
});

test.serial('few unfinished messages are held at a time, and surplus ones are dropped when others wait', async (t) => {
  // A peer that has not finished a message cannot answer a heartbeat, so this node waits ten minutes for the answer.
  const node = await startNode({}, { timeouts: { pongMs: 600_000 } });
  const text = JSON.stringify(message('postTransactionsAnnouncement', { transactionIds: ['1'] })).padEnd(2_900_000);
  const peers: RawPeer[] = [];
  for (let index = 0; index < TURNS_MAX + 4; index += 1) {
    const peer = await greetedPeer(node.address.wsPort, SMALLEST_QUERY.replace('5301', String(5_301 + index)));
    peers.push(peer);
    // Send only the first of the two WebSocket frames of a message.
    peer.mute();
    peer.webSocket.send(text, { fin: false });
    // The node receives at most `TURNS_MAX` large messages at the same time. It does not read the frames of the last
    // four peers yet, so the test does not wait until these frames are sent.
    if (index < TURNS_MAX) await until(() => peer.webSocket.bufferedAmount === 0, 'it is sent');
    await pause(20);
  }
  await until(() => node.seen.disconnected.length >= 4, 'the surplus is cut');
  t.like(node.seen.disconnected[0], {
    // The node receives a large message only while its peer has a turn (`src/p2p/unfinished-messages.ts`). A peer that
    // does not finish its message loses its turn when other peers wait for a turn. The node keeps the unfinished
    // messages of the first two such peers. It has no memory for the message of the third peer, and closes this
    // connection.
    peerId: '127.0.0.1:5303',
    reason: { code: 1006, reason: 'Peer does not finish its messages' },
  });
  t.deepEqual(node.seen.offences, []);
  const last = peers.at(-1) as RawPeer;
  last.webSocket.send('');
  await until(() => node.seen.messages.length === 1, 'who ends his message is heard');
  t.true(await works(last));
  for (const peer of peers) peer.webSocket.terminate();
  await node.transport.close();
});

test.serial('members named __proto__ are removed, and the depth is limited', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort);
  peer.sendFrame(
    '{"event":"remote-message","data":{"event":"postBlock","data":{"block":{"a":1,"__proto__":{"b":2},"c":[{"\\u005f_proto__":1}]}}}}',
  );
  await until(() => node.seen.messages.length === 1, 'message');
  t.is(JSON.stringify(node.seen.messages[0]?.message), '{"kind":"block","block":{"a":1,"c":[{}]}}');
  const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const block = (depth: number): string =>
    `{"event":"remote-message","data":{"event":"postBlock","data":{"block":{"deep":${nested(depth)}}}}}`;
  peer.sendFrame(block(3_500));
  peer.sendFrame(block(40_000));
  peer.sendFrame(block(3_400));
  await until(() => node.seen.messages.length === 2, 'second message');
  t.true(await works(peer));
  t.is(node.seen.messages.length, 2);
  await node.transport.close();
});

test.serial('an info that is nested as deeply as a frame can be ends neither the node nor its listener', async (t) => {
  const { errors, observer } = errorCollector();
  const node = await startNode({}, { observer });
  for (const open of ['{"0":', '{"a":', '[']) {
    for (const levels of [1_400, 2_300, 3_400]) {
      const close = open === '[' ? ']' : '}';
      const options = `{"x":${open.repeat(levels)}1${close.repeat(levels)}}`;
      const stranger = await rawPeer(node.address.wsPort, `${SMALLEST_QUERY}&options=${encodeURIComponent(options)}`);
      stranger.sendFrame({ event: '#handshake', data: { authToken: null }, cid: 1 });
      const ended = (): boolean => stranger.closed() !== undefined || stranger.frames.length > 0;
      await until(ended, `an answer to ${open} ${levels}`);
      stranger.webSocket.terminate();
      const peer = await greetedPeer(node.address.wsPort);
      peer.sendFrame(`{"event":"remote-message","data":{"event":"postNodeInfo","data":${options}}}`);
      t.true(await works(peer));
      peer.webSocket.terminate();
    }
  }
  t.deepEqual(errors, []);
  await node.transport.close();
});

test.serial('a query with a large info is refused before the info is parsed', async (t) => {
  const node = await startNode();
  // Both texts are longer than the maximum for the parameter `options`, which contains the info of a peer. If the node
  // parsed the second text before it checks the length, the text would be valid, because it is an empty JSON object
  // with spaces.
  for (const options of [`{"x":"${'x'.repeat(20_500)}"}`, `{${' '.repeat(20_500)}}`]) {
    const stranger = await rawPeer(node.address.wsPort, `${SMALLEST_QUERY}&options=${encodeURIComponent(options)}`);
    stranger.sendFrame({ event: '#handshake', data: { authToken: null }, cid: 1 });
    await until(() => stranger.closed() !== undefined, 'a refusal');
    t.is(stranger.closed()?.code, 4105);
  }
  await node.transport.close();
});

test.serial('before the handshake, only small frames are parsed', async (t) => {
  const node = await startNode();
  const padded = (bytes: number): string =>
    `{"event":"#handshake","data":{"authToken":null,"x":"${'x'.repeat(bytes)}"},"cid":1}`;
  const small = await rawPeer(node.address.wsPort);
  small.sendFrame(padded(4_000));
  await until(() => small.frames.length > 0, 'an answer');
  const large = await rawPeer(node.address.wsPort, SMALLEST_QUERY.replace('5301', '5302'));
  large.sendFrame(padded(4_100));
  await until(() => large.closed() !== undefined, 'closed');
  t.is(large.closed()?.code, 4009);
  small.webSocket.terminate();
  await node.transport.close();
});

test.serial('an info push is accepted only when it is complete and of this network', async (t) => {
  const node = await startNode();
  const peer = await greetedPeer(node.address.wsPort);
  const base = { networkId: NETWORK, protocolVersion: '2.1', version: '3.0.2' };
  const push = (data: unknown): void => {
    peer.sendFrame(message('postNodeInfo', data));
  };
  push({ ...base, height: 5, wsPort: 1, ip: '8.8.8.8', extra: { more: 1 }, os: 'x'.repeat(500) });
  await until(() => node.seen.updated.length === 1, 'update');
  t.deepEqual(node.seen.updated[0]?.info, { ip: HOST, wsPort: 5301, ...base, height: 5 });
  push({ ...base, height: 6, networkId: 'cd'.repeat(32) });
  push({ ...base, height: 6, protocolVersion: '1.0' });
  push({ ...base, height: '7', blockVersion: {}, maxHeightPrevoted: 1e300, nonce: [] });
  await until(() => node.seen.updated.length === 2, 'second update');
  t.deepEqual(node.seen.updated[1]?.info, { ip: HOST, wsPort: 5301, ...base, height: 7 });
  t.deepEqual(node.seen.offences, []);
  push('text');
  push({ ...base, padding: 'x'.repeat(20_480) });
  await until(() => node.seen.offences.length === 2, 'offences');
  t.deepEqual(
    node.seen.offences.map(({ offence }) => offence),
    ['MALFORMED_MESSAGE', 'INFO_TOO_LARGE'],
  );
  await node.transport.close();
});

test.serial('a frame before the handshake, or a missing handshake, ends the connection', async (t) => {
  const node = await startNode();
  const hasty = await startNode({}, { timeouts: { handshakeMs: 200 } });
  for (const frame of ['#2', 'nonsense', { event: 'rpc-request', data: { procedure: 'getPeers' }, cid: 1 }, '[]']) {
    const early = await rawPeer(node.address.wsPort);
    early.sendFrame(frame);
    await until(() => early.closed() !== undefined, 'closed');
    t.is(early.closed()?.code, 4009, String(frame));
  }
  const slow = await rawPeer(hasty.address.wsPort);
  await until(() => slow.closed() !== undefined, 'closed');
  t.is(slow.closed()?.code, 4005);
  t.deepEqual([...node.seen.connected, ...hasty.seen.connected], []);
  await hasty.transport.close();
  await node.transport.close();
});

test.serial('the number of connections without a handshake is limited', async (t) => {
  const node = await startNode({}, { timeouts: { pongMs: 600_000 } });
  const strangers = await Promise.all(Array.from({ length: 80 }, () => rawPeer(node.address.wsPort)));
  await until(() => strangers.filter((peer) => peer.closed() !== undefined).length === 16, 'the surplus is cut');
  for (const stranger of strangers) stranger.webSocket.terminate();
  await pause(50);
  const peer = await greetedPeer(node.address.wsPort);
  t.true(await works(peer));
  await node.transport.close();
});

test.serial('garbage on a raw TCP connection has no effect', async (t) => {
  const node = await startNode();
  for (const bytes of [
    '\0\0\0\0',
    'GET',
    'GET / HTTP/1.1\r\n\r\n',
    `GET /rpc/?${'x'.repeat(70_000)} HTTP/1.1\r\n\r\n`,
  ]) {
    const socket = connect(node.address.wsPort, HOST);
    socket.on('error', () => undefined);
    socket.end(bytes);
    await pause(10);
    socket.destroy();
  }
  const peer = await greetedPeer(node.address.wsPort);
  peer.webSocket.on('error', () => undefined);
  peer.socket?.write(Buffer.from([0xff, 0xff]));
  await until(() => peer.closed() !== undefined, 'closed');
  t.true(await works(await greetedPeer(node.address.wsPort)));
  await node.transport.close();
});

test.serial('an error in a message handler ends neither the connection nor the node', async (t) => {
  const node = await startNode({
    message: (_peerId, { kind }) => {
      if (kind === 'block') throw new PeerOffence('MALFORMED_MESSAGE', 'no block');
      throw new TypeError('a mistake');
    },
  });
  const peer = await greetedPeer(node.address.wsPort);
  peer.sendFrame(message('postBlock', { block: {} }));
  peer.sendFrame(message('postTransactionsAnnouncement', { transactionIds: ['1'] }));
  t.true(await works(peer));
  t.deepEqual(
    node.seen.offences.map(({ detail }) => detail),
    ['no block'],
  );
  await node.transport.close();
});

test.serial('an error outside a handler ends only the connection whose frame has caused it', async (t) => {
  const { errors, observer } = errorCollector();
  const faulty = gen3Dialect({ networkIdentifier: NETWORK, protocolVersion: '2.0' });
  const fail = (): never => {
    throw new RangeError('Maximum call stack size exceeded');
  };
  for (const dialect of [
    { ...faulty, readEvent: fail },
    { ...faulty, readCall: fail },
  ]) {
    const node = await startNode({}, { dialect, observer });
    const peer = await greetedPeer(node.address.wsPort);
    peer.sendFrame(message('postBlock', { block: {} }));
    peer.sendFrame({ event: 'rpc-request', data: { procedure: 'getLastBlock' }, cid: 7 });
    await until(() => peer.closed() !== undefined, 'the connection ends');
    const other = await rawPeer(node.address.wsPort, SMALLEST_QUERY.replace('5301', '5302'));
    other.sendFrame({ event: '#handshake', data: { authToken: null }, cid: 1 });
    await until(() => other.frames.some((frame) => frame.startsWith('{"rid":1,')), 'the next handshake');
    t.deepEqual(node.seen.offences, []);
    await node.transport.close();
  }
  t.deepEqual(errors, ['PEER_HANDLER_FAILED', 'PEER_HANDLER_FAILED']);
});

test.serial('the requests of a peer wait in a queue of limited length', async (t) => {
  const node = await startNode({ answer: () => new Promise(() => undefined) });
  const peer = await greetedPeer(node.address.wsPort);
  for (let index = 1; index <= 40; index += 1) {
    peer.sendFrame({
      event: 'rpc-request',
      data: { procedure: 'getBlocksFromId', data: { blockId: '1' } },
      cid: index,
    });
  }
  await until(() => peer.frames.length === 10, 'refusals');
  t.deepEqual(await peer.frame(2), { rid: 33, error: { message: 'Too many requests wait for an answer' } });
  await node.transport.close();
});

test.serial('peers that read nothing are disconnected before their unread data fills the memory', async (t) => {
  const blocks = Array.from({ length: 34 }, (_, index) => ({ id: String(index), filler: 'x'.repeat(60_000) }));
  const node = await startNode({ answer: () => Promise.resolve(blocks) });
  const peers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      greetedPeer(node.address.wsPort, SMALLEST_QUERY.replace('5301', String(5_301 + index))),
    ),
  );
  for (const peer of peers) peer.webSocket.pause();
  for (let index = 1; index <= 8; index += 1) {
    for (const peer of peers) {
      peer.sendFrame({
        event: 'rpc-request',
        data: { procedure: 'getBlocksFromId', data: { blockId: '1' } },
        cid: index,
      });
    }
    await pause(20);
  }
  // Each of the ten peers has requested 16 MB and reads nothing. The node keeps at most 8 MiB of unsent bytes for one
  // peer, and 24 MiB for all peers together.
  await until(() => node.seen.disconnected.length >= 5, 'slow peers are let go');
  t.like(node.seen.disconnected[0]?.reason, { code: 1006, reason: 'Peer reads too slowly' });
  for (const peer of peers) peer.webSocket.terminate();
  await node.transport.close();
});

test.serial('a node survives a dialled peer that lies', async (t) => {
  const { WebSocketServer } = await import('ws');
  const lies: ((data: string) => string[])[] = [
    () => ['{"rid":1,"data":{}}'],
    () => ['{"rid":1}'],
    () => ['{"rid":1,"error":{"message":"no","name":"__proto__"}}'],
    () => ['{"rid":1,"data":{"pingTimeout":"x","isAuthenticated":true,"authError":{"name":5}}}'],
    () => ['nonsense', '{"event":"constructor","cid":1}', '{"event":"__proto__","data":{}}'],
    () => ['{"event":"#publish","data":{"channel":5}}', '{"event":"#setAuthToken","data":{"token":5},"cid":1}'],
    () => ['{"event":"#disconnect","data":{"code":4104,"data":"Peer networkId did not match our own"}}'],
    (text) => (text.includes('getNodeInfo') ? ['{"rid":2,"data":{"data":{"networkId":5}}}'] : WELCOME),
    (text) => (text.includes('getNodeInfo') ? ['{"rid":2,"data":null}'] : WELCOME),
    (text) => (text.includes('getNodeInfo') ? ['{"rid":2,"error":5}'] : WELCOME),
    (text) => (text.includes('getNodeInfo') ? ['{"rid":2,"data":{"data":"text"}}'] : WELCOME),
  ];
  const node = await startNode({}, { info: nodeInfo(), timeouts: { dialMs: 300, requestMs: 300 } });
  for (const lie of lies) {
    const server = new WebSocketServer({ host: HOST, port: 0 });
    await new Promise((settle) => server.once('listening', settle));
    server.on('connection', (webSocket) => {
      webSocket.on('error', () => undefined);
      webSocket.on('message', (data) => {
        for (const frame of lie((data as Buffer).toString())) webSocket.send(frame);
      });
    });
    const { port } = server.address() as { port: number };
    await t.throwsAsync(node.transport.connect({ ip: HOST, wsPort: port }), { code: 'DIAL_FAILED' });
    for (const client of server.clients) client.terminate();
    server.close();
  }
  t.deepEqual(node.seen.connected, []);
  await node.transport.close();
});

const WELCOME = ['{"rid":1,"data":{"id":"x","pingTimeout":20000,"isAuthenticated":false}}'];
