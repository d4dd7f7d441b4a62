import { createServer } from 'node:net';

import test from 'ava';

import { closeAll, HOST, pair, pause, rawPeer, until } from './support.ts';

// AVA runs each test file in its own process, and this file has only this test. All open sockets and timers of the
// process therefore belong to this test.
test('closing ends all pending work and leaves nothing that keeps the process alive', async (t) => {
  const silent = createServer((socket) => socket.resume());
  await new Promise<void>((settle) => silent.listen(0, HOST, settle));
  const before = left();
  const [a, b] = await pair();
  const ungreeted = await rawPeer(b.address.wsPort);
  const dial = a.transport.connect({ ip: HOST, wsPort: (silent.address() as { port: number }).port });
  const failed = t.throwsAsync(dial, { code: 'DIAL_FAILED', message: /shutting down/ });
  await pause(20);
  await closeAll(a, b);
  await a.transport.close();
  await failed;
  const isQuiet = (): boolean => ungreeted.closed() !== undefined && left().length === before.length;
  // If this wait fails, the assertions below fail and show the sockets and timers that are still open.
  await until(isQuiet, 'an end of everything').catch(() => undefined);
  t.truthy(ungreeted.closed());
  t.deepEqual(left(), before);
  silent.close();
});

function left(): string[] {
  return process.getActiveResourcesInfo().filter((name) => /Timeout|TCP/.test(name));
}
