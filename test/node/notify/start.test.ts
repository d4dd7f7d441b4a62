/** Tests the start of a node's notifier with different options. */

import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { OPTIONS } from '../../../src/config/schema.ts';
import { startNotifier } from '../../../src/node/notify/start.ts';
import { SILENT } from '../../../src/ports/observer.ts';
import { ScriptedWorld } from '../../sim/scripted-world.ts';
import { temporaryFolder } from '../../support/network-folder.ts';
import type { Untyped } from '../../support/untyped.ts';

const NOTIFY = {
  ...{ name: '', webhook: '', webhookSecretFile: '', command: [], events: OPTIONS.notify.events.default },
} as const;
const identity = {
  ...{ networkName: 'sim', version: '3.0.2', protocolVersion: '2.0', build: '', commit: '', nonce: 'n'.repeat(16) },
};

async function started(t: ExecutionContext, notify: object) {
  const { world } = await ScriptedWorld.begin({ nodes: 1 });
  const { engine, store } = world.node(0);
  const directory = temporaryFolder(t);
  // A node may log this event during its start, before it starts the notifier.
  engine.diagnostics
    .listenIn(SILENT)
    .module('forge')
    .log('warn', 'FORGING_WAITS_FOR_EMPTY_SLOT', 'a delegate does not sign yet', { a: 1 });
  const sources = { network: { name: 'sim' }, directory, observer: SILENT, engine, store, identity };
  const notifier = await startNotifier({ ...sources, config: { notify: { ...NOTIFY, ...notify } } });
  t.teardown(() => notifier?.close());
  return { engine, directory };
}

async function receiver(t: ExecutionContext): Promise<{ readonly url: string; readonly bodies: Untyped[] }> {
  const bodies: Untyped[] = [];
  const take = async (request: IncomingMessage): Promise<void> => void bodies.push(JSON.parse(await text(request)));
  const server = createServer((request, response) => void take(request).then(() => response.end()));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

async function until(isDone: () => boolean): Promise<void> {
  for (let turns = 0; turns < 4000 && !isDone(); turns += 1) await new Promise((resolve) => setTimeout(resolve, 5));
}

for (const name of ['', 'node of the north']) {
  test(`each event names its node: ${name === '' ? 'the host unless it is named' : 'its name'}`, async (t) => {
    const { url, bodies } = await receiver(t);
    await started(t, { webhook: url, name, events: ['all'] });
    await until(() => bodies.length > 0);
    t.is(bodies[0]?.node, name === '' ? hostname() : name);
    // The notifier also delivers an event that the node logged before the notifier started.
    t.true(bodies.some(({ code }) => code === 'FORGING_WAITS_FOR_EMPTY_SLOT'));
  });
}

test('undelivered events are among the diagnostics of the node', async (t) => {
  const { engine, directory } = await started(t, { webhook: 'http://127.0.0.1:1/', events: ['all'] });
  const failed = () => engine.diagnostics.latest(100).find(({ code }) => code === 'NOTIFY_FAILED');
  await until(() => failed() !== undefined);
  t.is(failed()?.fields['channel'], 'webhook');
  t.regex(readFileSync(join(directory, 'notify-webhook'), 'utf8'), /FORGING_WAITS_FOR_EMPTY_SLOT/);
});

test('an unreadable secret is a configuration error that names its key', async (t) => {
  const folder = temporaryFolder(t);
  const empty = join(folder, 'empty');
  writeFileSync(empty, '\n');
  for (const file of [join(folder, 'none'), empty, folder]) {
    const error = await t.throwsAsync(started(t, { webhook: 'http://127.0.0.1:1/', webhookSecretFile: file }));
    t.is((error as Untyped).code, 'CONFIG_INVALID');
    t.true(error.message.startsWith(`notify.webhookSecretFile \`${file}\`: `), error.message);
  }
});
