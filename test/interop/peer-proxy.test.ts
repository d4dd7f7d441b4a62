import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { PeerProxy } from './peer-proxy.ts';

const DIALLER_PORT = 40_001;
const DIALLER_IP = '127.0.1.9';

test("a proxy passes a dialler on from the proxy's own address, with all messages of both sides", async (t) => {
  const { dial } = await proxied(t);
  const { socket, received, from } = await dial(DIALLER_PORT);
  t.is(from, DIALLER_IP);
  t.is(received, `GET /?version=1&wsPort=${DIALLER_PORT} HTTP/1.1\r\n`);
  t.is(String((await once(socket, 'data'))[0]), 'welcome');
});

test('a proxy drops refused peers, refuses their connections, and admits them again later', async (t) => {
  const { proxy, dial } = await proxied(t);
  const { socket } = await dial(DIALLER_PORT);
  proxy.refuse([DIALLER_PORT]);
  await once(socket, 'close');
  await t.throwsAsync(dial(DIALLER_PORT));
  proxy.refuse([]);
  await t.notThrowsAsync(dial(DIALLER_PORT));
});

test('a proxy refuses an unknown peer', async (t) => {
  const { dial } = await proxied(t);
  await t.throwsAsync(dial(DIALLER_PORT + 1));
});

/**
 * Starts a server in the place of a node, and a proxy in front of this server. The server answers the first data of
 * each connection.
 */
async function proxied(t: ExecutionContext) {
  const node = createServer((socket) => {
    socket.once('data', (chunk) => {
      heard?.({ received: String(chunk), from: socket.remoteAddress });
      socket.write('welcome');
    });
    socket.on('error', () => undefined);
  });
  let heard: ((what: { received: string; from: string | undefined }) => void) | undefined;
  node.listen(0, '127.0.2.9');
  await once(node, 'listening');
  const wsPort = (node.address() as AddressInfo).port;
  const ipOfPort = new Map([[DIALLER_PORT, DIALLER_IP]]);
  const proxy = await PeerProxy.open({ wsPort, ip: '127.0.1.8', bindIp: '127.0.2.9' }, ipOfPort);
  t.teardown(() => {
    proxy.close();
    node.close();
  });
  /**
   * Connects to the proxy, and sends a request that names `from` as the peer port of the dialling node. Resolves when
   * data reaches the server, and rejects if the connection ends before.
   */
  const dial = async (from: number) => {
    const socket: Socket = connect(wsPort, '127.0.1.8');
    t.teardown(() => void socket.destroy());
    socket.on('error', () => undefined);
    const arrival = new Promise<{ received: string; from: string | undefined }>((resolve) => (heard = resolve));
    const refusal = once(socket, 'close').then(() => {
      throw new Error('turned away');
    });
    refusal.catch(() => undefined);
    socket.write(`GET /?version=1&wsPort=${from} HTTP/1.1\r\n`);
    return { socket, ...(await Promise.race([arrival, refusal])) };
  };
  return { proxy, dial };
}
