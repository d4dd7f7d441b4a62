import { readFileSync } from 'node:fs';
import { get } from 'node:https';
import test from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import { HTTP_DEFAULTS } from '../../src/http/options.ts';
import { createRateLimit } from '../../src/http/rate-limit.ts';
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts';
import { temporaryFolder } from '../support/network-folder.ts';
import { fakeNode } from './fake-node.ts';

const LIMITS = HTTP_DEFAULTS.limits;

test('by default strangers are limited, each one and all together, but this machine is not', (t) => {
  const limit = createRateLimit({ ...LIMITS, strangerMax: 2, strangersTotalMax: 3 });
  const refusals = (client: string, count: number) => Array.from({ length: count }, () => limit.take(client).isRefused);
  t.deepEqual(refusals('203.0.113.1', 3), [false, false, true]);
  t.deepEqual(refusals('203.0.113.2', 2), [false, true]);
  t.deepEqual(refusals('127.0.0.1', 100).filter(Boolean), []);
  t.is(limit.take('::1').max, 0);
  t.true(LIMITS.strangerMax > 0 && LIMITS.strangersTotalMax > LIMITS.strangerMax);
});

test('limits that an operator sets apply to all clients', (t) => {
  const limit = createRateLimit({ ...LIMITS, max: 1 });
  for (const client of ['127.0.0.1', '203.0.113.1']) {
    t.false(limit.take(client).isRefused);
    t.true(limit.take(client).isRefused);
  }
});

if (canMakeCertificates) {
  test('a TLS listener answers beside the plain one', async (t) => {
    const { keyFile, certificateFile } = makeCertificate(temporaryFolder(t));
    const tls = { port: 0, key: readFileSync(keyFile), certificate: readFileSync(certificateFile) };
    const server = createHttpServer(fakeNode(3).api, { port: 0, address: '127.0.0.1', tls });
    const { tlsPort } = await server.start();
    t.teardown(() => server.close());
    const status = await new Promise((resolve, reject) => {
      const options = {
        port: tlsPort,
        host: '127.0.0.1',
        path: '/healthz',
        ca: tls.certificate,
        servername: 'localhost',
      };
      get({ ...options, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
    t.is(status, 200);
  });
}

test('an invalid key is refused before the server listens', (t) => {
  const tls = { port: 0, key: 'no key', certificate: 'no certificate' };
  t.throws(() => createHttpServer(fakeNode(3).api, { tls }), { code: 'TLS_INVALID' });
});
