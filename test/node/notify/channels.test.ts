/** Tests the two channels through which the notifier delivers its events: a webhook, and a command that it runs. */

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { command, webhook, type Notice } from '../../../src/node/notify/channels.ts';
import { temporaryFolder } from '../../support/network-folder.ts';

const NOTICE: Notice = {
  ...{ id: 'OWN_SLOTS_MISSED-aa-7', code: 'OWN_SLOTS_MISSED', time: '2026-01-01T00:00:00.000Z' },
  ...{ message: 'alice missed slot 7', fields: { lastSlot: 7 }, network: 'devnet', node: 'mine', version: '1.2.3' },
};
const NOW_MS = 1_767_225_600_000;
const never = new AbortController().signal;

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function receiver(t: ExecutionContext, status: number, headers = {}) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.writeHead(status, headers).end('thanks');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

test('a webhook gets the notification as JSON, signed with the secret and the time', async (t) => {
  const { url, received } = await receiver(t, 204);
  await webhook(url, { secret: 'hush', nowMs: () => NOW_MS }).deliver(NOTICE, never);
  const [{ headers, body } = { headers: {}, body: '' }] = received;
  t.deepEqual(JSON.parse(body), NOTICE);
  t.is(headers['bloomery-event-id'], NOTICE.id);
  t.is(headers['content-type'], 'application/json');
  const expected = createHmac('sha256', 'hush')
    .update(`${NOW_MS / 1000}.${body}`)
    .digest('hex');
  t.is(headers['bloomery-signature'], `t=${NOW_MS / 1000},v1=${expected}`);
});

test('without a secret a notification has no signature header', async (t) => {
  const { url, received } = await receiver(t, 200);
  await webhook(url, { nowMs: () => NOW_MS }).deliver(NOTICE, never);
  t.is(received[0]?.headers['bloomery-signature'], undefined);
});

for (const status of [302, 400, 404, 500, 503]) {
  test(`an answer of ${status} leaves the event undelivered`, async (t) => {
    const elsewhere = await receiver(t, 200);
    const { url } = await receiver(t, status, { location: elsewhere.url });
    const error = await t.throwsAsync(webhook(url, { nowMs: () => NOW_MS }).deliver(NOTICE, never));
    t.is(error?.message, `the webhook did not accept an event: it answered ${status}`);
    t.deepEqual(elsewhere.received, [], 'an event is sent nowhere but where it was configured');
  });
}

test('an unreachable webhook is reported with the connection error', async (t) => {
  const { url } = await receiver(t, 200);
  const free = url.replace(/:\d+/, ':1');
  const error = await t.throwsAsync(webhook(free, { nowMs: () => NOW_MS }).deliver(NOTICE, never));
  t.regex(error?.message ?? '', /the webhook did not accept an event: .*(ECONNREFUSED|bad port)/);
});

test('a delivery is aborted when the node stops', async (t) => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const ending = new AbortController();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const delivery = webhook(url, { nowMs: () => NOW_MS }).deliver(NOTICE, ending.signal);
  ending.abort();
  await t.throwsAsync(delivery);
});

test('a program gets the notification on standard input, its code in the environment, and no password', async (t) => {
  const folder = temporaryFolder(t);
  const [script, out] = [join(folder, 'take.mjs'), join(folder, 'out.json')];
  writeFileSync(
    script,
    `import { readFileSync, writeFileSync } from 'node:fs';
     const env = { ...process.env };
     writeFileSync(process.argv[2], JSON.stringify({ notice: JSON.parse(readFileSync(0, 'utf8')), env }));`,
  );
  process.env['BLOOMERY_FORGING_DEFAULT_PASSWORD'] = 'hush';
  t.teardown(() => delete process.env['BLOOMERY_FORGING_DEFAULT_PASSWORD']);
  await command([process.execPath, script, out]).deliver(NOTICE, never);
  const { notice, env } = JSON.parse(readFileSync(out, 'utf8')) as { notice: Notice; env: Record<string, string> };
  t.deepEqual(notice, NOTICE);
  t.is(env['BLOOMERY_EVENT'], 'OWN_SLOTS_MISSED');
  t.false('BLOOMERY_FORGING_DEFAULT_PASSWORD' in env);
});

test('a program that fails or is missing is reported, one that does not read its input is not', async (t) => {
  const fails = await t.throwsAsync(command([process.execPath, '-e', 'process.exit(3)']).deliver(NOTICE, never));
  t.is(fails?.message, 'the command did not accept an event: it ended with exit code 3');
  const missing = await t.throwsAsync(command([join(temporaryFolder(t), 'missing')]).deliver(NOTICE, never));
  t.regex(missing?.message ?? '', /the command did not accept an event: .*ENOENT/);
  await t.notThrowsAsync(command([process.execPath, '-e', '']).deliver(NOTICE, never));
});
