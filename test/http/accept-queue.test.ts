import { Worker } from 'node:worker_threads';
import test from 'ava';
import { createHttpServer } from '../../src/http/http-server.ts';
import { HTTP_DEFAULTS } from '../../src/http/options.ts';
import { requestBytes } from './bare-client.ts';
import { fakeNode } from './fake-node.ts';
import { ManualClock } from './manual-clock.ts';

const STRANGERS = 300;
const PER_ADDRESS = 10;
const body = JSON.stringify({ transactionId: '1', publicKey: '', signature: '' });
const request = requestBytes('POST /api/signatures', body);

/**
 * A thread that connects strangers (clients that are not on the whitelist) and then the operator, before the server
 * accepts any of them. It reports how many requests of strangers the server had processed when the operator received
 * its answer.
 */
const CLIENTS = `
  const { connect } = require('node:net');
  const { workerData, parentPort } = require('node:worker_threads');
  const { port, signals, strangers, perAddress, request } = workerData;
  let connected = 0;
  for (let number = 0; number < strangers; number += 1) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.9.0.' + (1 + Math.floor(number / perAddress)) });
    socket.on('error', () => undefined);
    socket.on('connect', () => {
      socket.write(request, () => { if ((connected += 1) === strangers) ask(); });
    });
  }
  const ask = () => {
    const operator = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' }, () => {
      operator.write('GET /healthz HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n');
      Atomics.store(signals, 0, 1);
      Atomics.notify(signals, 0);
    });
    operator.on('data', () => parentPort.postMessage(Atomics.load(signals, 1)));
  };
`;

test('an operator does not wait for requests of strangers that connected before', async (t) => {
  const fake = fakeNode(3);
  const signals = new Int32Array(new SharedArrayBuffer(8));
  fake.submitSignature = () => {
    Atomics.add(signals, 1, 1);
    return Promise.resolve({ accepted: false, code: 'X', message: '', errors: [] });
  };
  const access = { public: true, whiteList: ['127.0.0.1'] };
  // The server's clock stands still, so that no time budget for requests is ever used up.
  const server = createHttpServer(
    fake.api,
    { ...HTTP_DEFAULTS, port: 0, address: '127.0.0.1', access },
    new ManualClock(),
  );
  const { port } = await server.start();
  const workerData = { port, signals, strangers: STRANGERS, perAddress: PER_ADDRESS, request };
  const clients = new Worker(CLIENTS, { eval: true, workerData });
  t.teardown(async () => {
    await clients.terminate();
    await server.close();
  });
  // All connections are in the accept queue before the server accepts the first one.
  t.not(Atomics.wait(signals, 0, 0, 60_000), 'timed-out');
  const worked = await new Promise<number>((resolve, reject) => {
    clients.once('message', resolve);
    clients.once('error', reject);
  });
  t.is(worked, 0);
});
