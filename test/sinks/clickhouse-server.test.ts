/** The requests of a sink to a server that behaves as a real one seldom does. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { systemClock } from '../../src/node/system.ts';
import { openServer } from '../../src/sinks/clickhouse/server.ts';

/** A server that ends a connection as soon as a second request comes over it, as a keep-alive time-out does in the worst moment. */
async function startServer(): Promise<Server> {
  const used = new WeakSet();
  const server = createServer((request, response) => {
    if (used.has(request.socket)) return void request.socket.destroy();
    used.add(request.socket);
    request.resume().on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

test('a connection that the server closes between two requests fails no request', async (t) => {
  const http = await startServer();
  t.teardown(() => http.close());
  const server = openServer(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, 'chain', systemClock);
  for (let times = 0; times < 3; times += 1) {
    await t.notThrowsAsync(server.run('SELECT 1'));
    await t.notThrowsAsync(server.insert('blocks', ['height'], ['1\n']));
  }
  await server.close();
});
