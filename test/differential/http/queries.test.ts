/**
 * Tests of the HTTP comparison without a real node: the requests that the comparison sends, and the answers that the
 * comparison reads.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import test from 'ava';
import { belowOf } from '../../fuzz/mutate.ts';
import { exchange } from './answers.ts';
import type { Facts } from './facts.ts';
import { Queries, type HttpRequest } from './queries.ts';

const SEED = 14;
const CASES = 2000;

const FACTS: Facts = {
  addresses: ['1L'],
  oddAddresses: ['2L'],
  plainAddresses: ['1L'],
  publicKeys: ['ab'.repeat(32)],
  secondPublicKeys: [],
  usernames: ['genesis_1'],
  blockIds: ['1'],
  heights: ['1'],
  timestamps: ['0'],
  transactionIds: ['1'],
  types: ['8'],
  amounts: ['1'],
  data: ['x'],
};

test('some requests have header names in odd letter case, which arrive unchanged', async (t) => {
  const queries = new Queries(3, FACTS);
  const below = belowOf(SEED);
  const odd = Array.from({ length: CASES }, () => queries.next(below)).filter(hasOddName);
  t.true(odd.length > CASES / 100, `${odd.length} of ${CASES}`);
  t.deepEqual(new Set(odd.map(({ method }) => method)), new Set(['GET']));

  const received: string[][] = [];
  const server = createServer((request, response) => {
    received.push(request.rawHeaders);
    response.end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => void server.close());
  const { port } = server.address() as { port: number };
  for (const request of odd.slice(0, 10)) {
    await exchange(`http://127.0.0.1:${port}`, { ...request, target: '/' });
    const names = Object.keys(request.headers ?? {});
    t.true(
      names.every((name) => received.at(-1)?.includes(name)),
      names.join(),
    );
  }
});

function hasOddName({ headers = {} }: HttpRequest): boolean {
  return Object.keys(headers).some((name) => name !== name.toLowerCase());
}

test('the first of two answers on a connection counts: a real node that skips a body sends a second', async (t) => {
  const answers =
    'HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}' +
    'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n';
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(answers));
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.like(await exchange(origin, { method: 'POST', target: '/x', headers: {}, body: '{}' }), { status: 400, body: {} });
});
