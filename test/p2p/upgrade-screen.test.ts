import { connect, type Socket } from 'node:net';
import test from 'ava';
import fc from 'fast-check';
import { HEAD_BYTES_MAX, judgeUpgrade } from '../../src/p2p/upgrade-screen.ts';
import { greetedPeer, HOST, pause, SMALLEST_QUERY, startNode, until } from './support.ts';

const PATH = '/rpc/';
const HEADERS = [
  'Host: x',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];
const request = (headers: readonly string[] = HEADERS, line = `GET ${PATH}?${SMALLEST_QUERY} HTTP/1.1`): Buffer =>
  Buffer.from([line, ...headers, '', ''].join('\r\n'));
const without = (name: string): string[] => HEADERS.filter((header) => !header.startsWith(name));
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

test('a WebSocket request is accepted with its headers in any case and order', (t) => {
  t.is(judgeUpgrade(request(), PATH), 'upgrade');
  t.is(judgeUpgrade(request([...HEADERS].reverse()), PATH), 'upgrade');
  t.is(judgeUpgrade(request(HEADERS.map((header) => header.toUpperCase())), PATH), 'upgrade');
  t.is(judgeUpgrade(request([...without('Connection'), 'connection: keep-alive, Upgrade']), PATH), 'upgrade');
  t.is(judgeUpgrade(request(HEADERS, `GET ${PATH} HTTP/1.1`), PATH), 'upgrade');
});

for (const [what, bytes] of [
  ['another method', Buffer.from('POST /rpc/ HTTP/1.1\r\n')],
  ['another path', Buffer.from('GET /api')],
  ['a longer path', Buffer.from('GET /rpc/more')],
  ['bytes that are not text', Buffer.from([0x16, 0x03, 0x01])],
  ['no upgrade', request(without('Upgrade'))],
  ['an upgrade that its connection does not name', request(without('Connection'))],
  ['an upgrade to something else', request([...without('Upgrade'), 'Upgrade: h2c'])],
  ['two upgrades', request([...HEADERS, 'Upgrade: websocket'])],
  ['a body', request([...HEADERS, 'Content-Length: 4'])],
  ['a body of unknown length', request([...HEADERS, 'Transfer-Encoding: chunked'])],
  ['an old version of HTTP', request(HEADERS, `GET ${PATH} HTTP/1.0`)],
  ['a second request behind the first', Buffer.concat([request(), Buffer.from(GET)])],
  ['a frame before the answer', Buffer.concat([request(), Buffer.from([0x81])])],
  ['a request without end', Buffer.from(`GET ${PATH}?${'x'.repeat(HEAD_BYTES_MAX)}`)],
] as const) {
  test(`a connection that begins with ${what} is refused`, (t) => {
    t.is(judgeUpgrade(bytes, PATH), 'refused');
  });
}

test('a request in chunks is checked like a whole request, and refused as soon as it is invalid', (t) => {
  const whole = request();
  fc.assert(
    fc.property(fc.integer({ min: 1, max: whole.length - 1 }), fc.integer({ min: 0, max: 255 }), (cut, byte) => {
      t.is(judgeUpgrade(whole.subarray(0, cut), PATH), 'incomplete');
      t.is(judgeUpgrade(whole, PATH, cut), 'upgrade');
      if (cut >= `GET ${PATH}`.length || byte === whole[cut]) return;
      t.is(judgeUpgrade(Buffer.from([...whole.subarray(0, cut), byte]), PATH), 'refused');
    }),
  );
});

async function opened(port: number): Promise<{ socket: Socket; received: () => string; isClosed: () => boolean }> {
  const socket = connect(port, HOST);
  let received = '';
  let isClosed = false;
  socket.on('data', (bytes) => (received += bytes.toString()));
  socket.on('error', () => undefined);
  socket.on('close', () => (isClosed = true));
  await new Promise<void>((settle) => socket.once('connect', settle));
  return { socket, received: () => received, isClosed: () => isClosed };
}

test('plain HTTP on the peer port is closed without an answer after its first bytes', async (t) => {
  const node = await startNode();
  for (const bytes of ['P', GET, GET.repeat(2_000), `GET /rpc/ HTTP/1.1\r\nHost: x\r\n\r\n${GET.repeat(2_000)}`]) {
    const { socket, received, isClosed } = await opened(node.address.wsPort);
    socket.write(bytes);
    await until(isClosed, `${bytes.slice(0, 20)} is cut`);
    t.is(received(), '');
  }
  await node.transport.close();
});

test('a WebSocket request in chunks is answered, and an unfinished one times out', async (t) => {
  const node = await startNode();
  const patient = await opened(node.address.wsPort);
  for (const chunk of request()
    .toString()
    .split(/(?<=\r\n)/)) {
    patient.socket.write(chunk);
    await pause(5);
  }
  await until(() => patient.received().startsWith('HTTP/1.1 101 '), 'the upgrade');
  patient.socket.destroy();
  const hasty = await startNode({}, { timeouts: { handshakeMs: 100 } });
  const slow = await opened(hasty.address.wsPort);
  slow.socket.write(request().subarray(0, -1));
  await until(slow.isClosed, 'the slow one is cut');
  t.is(slow.received(), '');
  const peer = await greetedPeer(node.address.wsPort);
  t.is(peer.closed(), undefined);
  await hasty.transport.close();
  await node.transport.close();
});
