import test from 'ava';
import type { NodeApi } from '../../src/ports/node-api.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import type { Untyped } from '../support/untyped.ts';
import { ALICE_KEY, fakeNode, serve } from './fake-node.ts';

const UNTIL_MS = Date.parse('2026-01-02T03:04:05.000Z');

for (const generation of [2, 3] as const) {
  test(`an enabled delegate of generation ${generation} that does not sign yet has a reason and an end of its wait in answers; other delegates have neither`, async (t) => {
    const fake = fakeNode(generation);
    const api = fake.api as { -readonly [K in keyof NodeApi]: NodeApi[K] };
    const ask = await serve(t, fake);
    api.forgingDelegates = () => [
      {
        publicKey: ALICE_KEY,
        forging: true,
        waiting: { code: 'FORGING_HAND_OVER', reason: 'nothing is final yet', untilMs: UNTIL_MS },
      },
    ];
    const waiting = { code: 'FORGING_HAND_OVER', reason: 'nothing is final yet', until: '2026-01-02T03:04:05.000Z' };
    const { body } = await ask('/node/status/forging');
    t.deepEqual((body as Untyped).data, [{ forging: true, publicKey: ALICE_KEY, waiting }]);
    const [reason, cause] = ['no space left on device', 'STORE_WRITE_FAILED'];
    api.forgingDelegates = () => [
      { publicKey: ALICE_KEY, forging: true, paused: { reason, cause, sinceMs: UNTIL_MS } },
    ];
    const paused = { reason, cause, since: '2026-01-02T03:04:05.000Z' };
    t.deepEqual(((await ask('/node/status/forging')).body as Untyped).data, [
      { forging: true, publicKey: ALICE_KEY, paused },
    ]);
    api.forgingDelegates = () => [{ publicKey: ALICE_KEY, forging: true }];
    t.deepEqual(((await ask('/node/status/forging')).body as Untyped).data, [{ forging: true, publicKey: ALICE_KEY }]);
  });
}

test('a delegate whose record went to another node cannot be enabled', async (t) => {
  const fake = fakeNode(3);
  const api = fake.api as { -readonly [K in keyof NodeApi]: NodeApi[K] };
  api.setForging = (publicKey) => Promise.reject(new ProtocolError('FORGING_MOVED', { publicKey }, 'it was moved'));
  const ask = await serve(t, fake);
  const { status, body } = await ask('/node/status/forging', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ publicKey: ALICE_KEY, password: 'a password', forging: true }),
  });
  t.is(status, 422);
  t.is((body as Untyped).message, 'it was moved');
});
