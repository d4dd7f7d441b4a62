/**
 * Tests clients that end their side of a connection after their last request, as `nc -N` does. These clients still read
 * the answers.
 */

import test from 'ava';
import { requestBytes, serveBytes, STRANGER } from './bare-client.ts';
import { fakeNode } from './fake-node.ts';

const PUBLIC = { access: { public: true, whiteList: ['127.0.0.1'] } };
const BODY = JSON.stringify({ transactionId: '1', publicKey: '', signature: '' });

for (const [name, from] of [
  ['a stranger', STRANGER],
  ['a client of this machine', '127.0.0.1'],
] as const) {
  test(`${name} that ends its side gets all its answers, also later ones`, async (t) => {
    const fake = fakeNode(3);
    const held: (() => void)[] = [];
    fake.submitSignature = () =>
      new Promise((resolve) => held.push(() => resolve({ accepted: false, code: 'X', message: '', errors: [] })));
    const client = await (await serveBytes(t, fake, PUBLIC))(from);
    client.socket.end(requestBytes('POST /api/signatures', BODY).repeat(2) + requestBytes('GET /healthz'));
    for (let answered = 0; answered < 2; answered += 1) {
      await client.until(({ isEnded, isClosed }) => held.length > answered || isEnded || isClosed);
      await new Promise((resolve) => setTimeout(resolve, 50));
      held[answered]?.();
    }
    t.deepEqual(await client.ended(), [409, 409, 200]);
  });

  test(`${name} that ends its side gets the answer to a request that waits for a height`, async (t) => {
    const client = await (await serveBytes(t, fakeNode(3), PUBLIC))(from);
    client.socket.end(requestBytes('GET /api/blocks?minHeight=999'));
    t.deepEqual(await client.ended(), [503]);
  });

  test(`the connection of ${name} without an open request ends with the client's side`, async (t) => {
    const dial = await serveBytes(t, fakeNode(3), PUBLIC);
    const [silent, idle, subscriber] = [await dial(from), await dial(from), await dial(from)];
    silent.socket.end();
    t.deepEqual(await silent.ended(), []);
    idle.write(requestBytes('GET /healthz'));
    await idle.until(({ statuses }) => statuses.length === 1);
    idle.socket.end();
    t.deepEqual(await idle.ended(), [200]);
    subscriber.write(requestBytes('GET /api/events'));
    await subscriber.until(({ statuses }) => statuses.length === 1);
    subscriber.socket.end();
    t.deepEqual(await subscriber.ended(), [200]);
  });
}
