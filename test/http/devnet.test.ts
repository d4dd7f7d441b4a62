/**
 * Tests the HTTP paths that control a devnet (`/api/devnet/…`). Only devnets have these paths. Only clients on the
 * machine of the devnet can use them. A web page of another site cannot use them, even in a browser on this machine.
 */

import { request } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import type { HttpOptions } from '../../src/http/options.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { fakeNode } from './fake-node.ts';

interface Answer {
  readonly status: number;
  readonly body: string;
}

type Send = (
  method: string,
  path: string,
  headers?: Readonly<Record<string, string>>,
  body?: string,
) => Promise<Answer>;

/** @returns a function that sends a request, the operations that reached the devnet, and the port */
async function serve(t: ExecutionContext, options: Partial<HttpOptions> = {}) {
  const asked: unknown[] = [];
  const devnet = {
    ask: (operation: string, parameters: object): Promise<object> => {
      asked.push([operation, parameters]);
      if (operation === 'odd') return Promise.reject(new ProtocolError('CONTROL_UNKNOWN', {}, 'no such operation'));
      if (operation === 'late') return Promise.reject(new ProtocolError('DEVNET_BUSY', {}, 'too much'));
      return operation === 'wrong'
        ? Promise.reject(new ProtocolError('USAGE', {}, 'no number'))
        : Promise.resolve({ done: operation });
    },
  };
  const server = createHttpServer(fakeNode(3).api, { port: 0, devnet, ...options });
  const { port } = await server.start();
  t.teardown(() => server.close());
  const send: Send = (method, path, headers = {}, body = '') =>
    new Promise((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', method, path, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
      });
      sent.once('error', reject);
      sent.end(body);
    });
  return { send, asked, port };
}

const JSON_BODY = { 'content-type': 'application/json' };

test('a devnet serves its state, and performs operations with their parameters', async (t) => {
  const { send, asked } = await serve(t);
  t.deepEqual(JSON.parse((await send('GET', '/api/devnet')).body), { meta: {}, data: { done: 'list' }, links: {} });
  t.is((await send('POST', '/api/devnet/mine', JSON_BODY, '{"slots":2}')).status, 200);
  t.deepEqual(asked, [
    ['list', {}],
    ['mine', { slots: 2 }],
  ]);
  t.deepEqual(await send('POST', '/api/devnet/wrong', JSON_BODY, '{}'), {
    status: 400,
    body: '{"message":"no number"}',
  });
  t.is((await send('POST', '/api/devnet/odd', JSON_BODY, '{}')).status, 404);
  t.is((await send('POST', '/api/devnet/late', JSON_BODY, '{}')).status, 409);
});

test('no page of another site, no other host name and no proxy gets to the controls', async (t) => {
  const { send, asked, port } = await serve(t);
  for (const headers of [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: `http://127.0.0.1:${port + 1}` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { host: 'evil.example' },
    { 'x-forwarded-for': '127.0.0.1' },
    { via: '1.1 proxy' },
  ]) {
    const name = JSON.stringify(headers);
    t.is((await send('POST', '/api/devnet/mine', { ...JSON_BODY, ...headers }, '{}')).status, 403, name);
    t.is((await send('GET', '/api/devnet', headers)).status, 403, name);
  }
  // A form on another site can send these content types without a CORS preflight.
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
    t.is((await send('POST', '/api/devnet/mine', { 'content-type': type }, '{}')).status, 400, type);
  t.is((await send('GET', '/api/devnet/mine')).status, 405);
  t.deepEqual(asked, []);
  const own = { ...JSON_BODY, origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' };
  t.is((await send('POST', '/api/devnet/mine', own, '{}')).status, 200);
});

test('a node without a devnet has no control routes, and neither has the strict dialect', async (t) => {
  const plain = createHttpServer(fakeNode(3).api, { port: 0 });
  const { port } = await plain.start();
  t.teardown(() => plain.close());
  for (const path of ['/devnet', '/api/devnet', '/api/devnet/mine', '/devnet/mine']) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers: JSON_BODY, body: '{}' });
    t.is(answer.status, 404, path);
  }
  const { send } = await serve(t, { strictDialect: true });
  t.is((await send('GET', '/api/devnet')).status, 404);
});
