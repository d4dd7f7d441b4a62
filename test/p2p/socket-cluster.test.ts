/**
 * `src/p2p/socket-cluster.ts` uses members of the SocketCluster libraries for which the type declarations are missing
 * or wrong. If an update of a library changes one of these members, a test in this file fails.
 */

import { createServer, IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import test, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';

import { FRAME_BYTES_MAX, MESSAGE_FRAGMENTS_MAX } from '../../src/p2p/frame-validation.ts';
import {
  attachServer,
  connectClient,
  takeCallId,
  type Connecting,
  type LibraryCall,
  type LibrarySocket,
  type ServerEvents,
  type ServerSocket,
} from '../../src/p2p/socket-cluster.ts';
import { HOST, until } from './support.ts';

const PATH = '/rpc/';
const COMMON_FUNCTIONS = ['transmit', 'invoke', 'procedure', 'receiver', 'listener', 'send', 'disconnect'] as const;
const TIMEOUT_MS = 30_000;

interface TestServer {
  readonly http: Server;
  readonly port: number;
  /**
   * Names of the `ServerEvents` callbacks that the server has called, in the order of the calls. The list does not
   * contain the callback `frame`.
   */
  readonly events: string[];
  /** Texts of the received frames. */
  readonly frames: unknown[];
  readonly sockets: ServerSocket[];
  readonly upgraded: WebSocket[];
}

async function startServer(t: ExecutionContext, changes: Partial<ServerEvents> = {}): Promise<TestServer> {
  const http = createServer();
  const server = {
    http,
    events: [] as string[],
    frames: [] as unknown[],
    sockets: [] as ServerSocket[],
    upgraded: [] as WebSocket[],
  };
  attachServer(http, {
    path: PATH,
    handshakeTimeoutMs: TIMEOUT_MS,
    pongTimeoutMs: 20_000,
    on: {
      admitsUpgrade: (request) => {
        server.events.push('admitsUpgrade');
        return request instanceof IncomingMessage;
      },
      upgraded: (webSocket) => {
        server.events.push('upgraded');
        server.upgraded.push(webSocket);
      },
      created: (socket) => {
        server.events.push('created');
        server.sockets.push(socket);
      },
      frame: (_socket, text) => {
        server.frames.push(text);
        return JSON.parse(String(text)) as unknown;
      },
      handshake: () => {
        server.events.push('handshake');
        return true;
      },
      opened: () => {
        server.events.push('opened');
      },
      failed: (socket) => {
        server.events.push('failed');
        socket.socket.terminate();
      },
      ...changes,
    },
  });
  t.teardown(() => {
    for (const webSocket of server.upgraded) webSocket.terminate();
    http.close();
  });
  await new Promise<void>((settle) => http.listen(0, HOST, settle));
  return { ...server, port: (http.address() as AddressInfo).port };
}

function connect(server: TestServer, decode: (frame: unknown) => unknown = parsed): Connecting {
  return connectClient({
    hostname: HOST,
    port: server.port,
    path: PATH,
    query: { a: 'b c' },
    timeoutMs: TIMEOUT_MS,
    decode,
  });
}

/**
 * Parses a frame as JSON. Returns a heartbeat (`#1`, `#2`) unchanged, like the filter of a node for received frames
 * (`FrameFilter`).
 */
function parsed(frame: unknown): unknown {
  return typeof frame === 'string' && frame.startsWith('#') ? frame : (JSON.parse(String(frame)) as unknown);
}

/**
 * Starts a server and connects a client to it. After the handshake, returns the server, the client and the server's
 * socket of the connection.
 */
async function connected(
  t: ExecutionContext,
  changes: Partial<ServerEvents> = {},
): Promise<{ server: TestServer; client: Connecting; accepted: ServerSocket }> {
  const server = await startServer(t, changes);
  const client = connect(server);
  await client.opened;
  await until(() => server.events.includes('opened'), 'the server opens');
  return { server, client, accepted: server.sockets[0]! };
}

/**
 * Resolves with the error of a call that fails. The tests cannot use AVA's `throwsAsync`, because AVA does not accept
 * the errors of the library as errors.
 */
function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Answers each call of a procedure with `answer`. */
function serve(socket: LibrarySocket, name: string, answer: (call: LibraryCall) => void): void {
  void (async () => {
    for await (const call of socket.procedure(name)) answer(call);
  })();
}

test('sockets of both ends have the members that connections use', async (t) => {
  const { server, client, accepted } = await connected(t);
  for (const socket of [accepted, client.socket]) {
    for (const name of COMMON_FUNCTIONS) t.is(typeof socket[name], 'function', name);
    t.is(socket.state, 'open');
  }
  t.true(accepted.socket instanceof WebSocket);
  t.is(accepted.socket, server.upgraded[0]!);
  t.true(accepted.request instanceof IncomingMessage);
  t.is(accepted.request.url, `${PATH}?a=b+c`);
  t.is(typeof accepted._nextCallId, 'function');
  t.true(client.webSocket instanceof WebSocket);
  t.is(client.webSocket.url, `ws://${HOST}:${String(server.port)}${PATH}?a=b+c`);
});

test('the server reports each step of a connection, and its WebSocket before the first frame', async (t) => {
  const { server } = await connected(t);
  t.deepEqual(server.events, ['admitsUpgrade', 'upgraded', 'created', 'handshake', 'opened']);
  t.like(JSON.parse(String(server.frames[0])), { event: '#handshake', cid: 1 });
});

test.serial('a client keeps no token of a server, and does not use localStorage', async (t) => {
  const uses: string[] = [];
  const before = Object.getOwnPropertyDescriptor(globalThis, 'localStorage');
  Object.defineProperty(globalThis, 'localStorage', { configurable: true, get: () => uses.push('get') });
  try {
    const { server, client, accepted } = await connected(t);
    const taken = client.socket.listener('authenticate' as 'close').once();
    accepted.send(JSON.stringify({ event: '#setAuthToken', data: { token: 'a.b.c' }, cid: 7 }));
    await taken;
    client.socket.disconnect(1000, '');
    const again = connect(server);
    await again.opened;
    const handshakes = server.frames.map((frame) => JSON.parse(String(frame)) as { event?: string; data?: unknown });
    const sent = handshakes.filter(({ event }) => event === '#handshake').map(({ data }) => data);
    t.deepEqual(sent, [{ authToken: null }, { authToken: null }]);
    t.deepEqual(uses, []);
  } finally {
    if (before === undefined) Reflect.deleteProperty(globalThis, 'localStorage');
    else Object.defineProperty(globalThis, 'localStorage', before);
  }
});

test('a refused upgrade is answered with 401, a refused handshake closes the connection', async (t) => {
  const closed = await startServer(t, { admitsUpgrade: () => false });
  const early = connect(closed);
  const status = await new Promise((settle) => {
    early.webSocket.once('unexpected-response', (_request, response) => {
      settle(response.statusCode);
    });
  });
  t.is(status, 401);

  const refusing = await startServer(t, { handshake: () => false });
  const late = connect(refusing);
  const reason = await late.socket.listener('close').once();
  t.is(reason.code, 4008);
  t.is(late.socket.state, 'closed');
});

test('each end processes what the frame filter returns instead of the text', async (t) => {
  const replaced = { event: 'replaced', data: 'by the filter' };
  const received: unknown[] = [];
  const server = await startServer(t, {
    frame: (_socket, text) => (String(text).includes('"said"') ? replaced : (JSON.parse(String(text)) as unknown)),
  });
  const client = connect(server, (frame) => (String(frame).includes('"said"') ? replaced : parsed(frame)));
  await client.opened;
  await until(() => server.events.includes('opened'), 'the server opens');
  const accepted = server.sockets[0]!;
  for (const socket of [accepted, client.socket]) {
    void (async () => {
      for await (const data of socket.receiver('replaced')) received.push(data);
    })();
    await (socket === accepted ? client.socket : accepted).transmit('said', 1);
  }
  await until(() => received.length === 2, 'both frames');
  t.deepEqual(received, ['by the filter', 'by the filter']);
});

test('calls get data or the members of an error, and fail after the given time', async (t) => {
  const { client, accepted } = await connected(t);
  for (const [asker, other] of [
    [client.socket, accepted],
    [accepted, client.socket],
  ] as const) {
    serve(other, 'echo', (call) => {
      call.end({ said: call.data });
    });
    serve(other, 'fail', (call) => {
      call.error({ name: 'Refusal', message: 'not now' });
    });
    serve(other, 'silence', () => undefined);
    t.deepEqual(await asker.invoke('echo', [1], { ackTimeout: TIMEOUT_MS }), { said: [1] });
    t.like(await errorOf(asker.invoke('fail', 1, { ackTimeout: TIMEOUT_MS })), { name: 'Refusal', message: 'not now' });
    t.like(await errorOf(asker.invoke('silence', 1, { ackTimeout: 5 })), { name: 'TimeoutError' });
  }
});

test('an accepted socket can send before its handshake answer, and does not reuse call numbers', async (t) => {
  const texts: string[] = [];
  const server = await startServer(t, {
    handshake: (socket) => {
      t.is(socket.state, 'connecting');
      socket.send(JSON.stringify({ event: 'early', data: 1, cid: takeCallId(socket) }));
      return true;
    },
  });
  const client = connect(server);
  client.webSocket.on('message', (data) => texts.push((data as Buffer).toString()));
  await client.opened;
  await until(() => server.events.includes('opened'), 'the server opens');
  t.deepEqual(JSON.parse(texts[0] ?? ''), { event: 'early', data: 1, cid: 1 });
  serve(client.socket, 'later', (call) => {
    call.end(call.data);
  });
  await server.sockets[0]!.invoke('later', 2, { ackTimeout: TIMEOUT_MS });
  t.like(JSON.parse(texts.at(-1) ?? ''), { event: 'later', cid: 2 });
  t.is(takeCallId(server.sockets[0]!), 3);
  t.throws(() => takeCallId(client.socket), { message: /only an accepted connection/ });
});

test('each end closes with code and reason, and both ends get them', async (t) => {
  for (const closes of ['client', 'server'] as const) {
    const { client, accepted } = await connected(t);
    const reasons = Promise.all([client.socket, accepted].map((socket) => socket.listener('close').once()));
    void (closes === 'client' ? client.socket : accepted).disconnect(4418, 'Evicted');
    for (const reason of await reasons) t.like(reason, { code: 4418, reason: 'Evicted' });
    t.is(accepted.state, 'closed');
  }
});

test('a client without heartbeats for its time-out still sends on its connection and dials no other', async (t) => {
  const { server, client } = await connected(t);
  // The library compares the current time with the time of the last heartbeat. If the test sets the time of the last
  // heartbeat to 0, this has the same effect as a long pause of the process.
  const transport = Reflect.get(client.socket, 'transport') as { lastPingTimestamp: unknown; pingTimeout: unknown };
  t.is(typeof transport.lastPingTimestamp, 'number');
  t.is(transport.pingTimeout, 20_000);
  transport.lastPingTimestamp = 0;
  await client.socket.transmit('still here', 1);
  await until(() => server.frames.length === 2, 'the frame');
  t.is(client.socket.state, 'open');
  t.is(server.sockets.length, 1);
  t.is(Reflect.get(client.socket, 'transport'), transport);
});

test('no WebSocket answers control frames by itself, and each has the frame limits', async (t) => {
  const { server, client, accepted } = await connected(t);
  const pongs: string[] = [];
  for (const webSocket of [client.webSocket, accepted.socket]) {
    t.is(Reflect.get(webSocket, '_closeTimeout'), 2_000);
    const receiver = Reflect.get(webSocket, '_receiver') as object;
    t.is(Reflect.get(receiver, '_maxPayload'), FRAME_BYTES_MAX);
    t.is(Reflect.get(receiver, '_maxFragments'), MESSAGE_FRAGMENTS_MAX);
    t.is(webSocket.extensions, '');
    webSocket.on('pong', () => pongs.push('pong'));
    webSocket.ping();
  }
  await client.socket.transmit('after', 1);
  await until(() => server.frames.length === 2, 'a frame after the pings');
  t.deepEqual(pongs, []);
});

for (const name of ['frame', 'handshake', 'created', 'opened'] as const)
  test(`an error in \`${name}\` ends only the connection that has caused it`, async (t) => {
    let isBroken = true;
    const events: string[] = [];
    const breakOnce = (): void => {
      if (!isBroken) return;
      isBroken = false;
      throw new RangeError('Maximum call stack size exceeded');
    };
    const server = await startServer(t, {
      frame: (_socket, text) => {
        if (name === 'frame') breakOnce();
        return parsed(text);
      },
      handshake: () => {
        if (name === 'handshake') breakOnce();
        return true;
      },
      created: () => {
        if (name === 'created') breakOnce();
      },
      opened: () => {
        events.push('opened');
        if (name === 'opened') breakOnce();
      },
    });
    const broken = connect(server);
    broken.opened.catch(() => undefined);
    await until(() => server.events.includes('failed'), 'the failure is reported');
    await until(() => broken.webSocket.readyState === WebSocket.CLOSED, 'the connection is closed');
    const before = events.length;
    const other = connect(server);
    await other.opened;
    await until(() => events.length > before, 'the next connection opens');
    t.is(server.events.filter((event) => event === 'failed').length, 1);
    other.socket.disconnect(1000, 'over');
  });
