import test from 'ava';
import { addressOf } from '../../src/crypto/keys.ts';
import type { Payload, Transaction } from '../../src/protocol/types.ts';
import { ALICE, ALICE_KEY, fakeNode, GROUP, serve, transactionOf } from './fake-node.ts';

test('the pool is filtered, sorted stably, and counted before filtering', async (t) => {
  const fake = fakeNode(3);
  const entry = (id: string, payload: Payload, changes: Partial<Transaction> = {}) => {
    return { transaction: transactionOf(3, payload, { id, ...changes }), receivedAtMs: 0 };
  };
  const pay = (amount: bigint, recipientId = '1L'): Payload => ({ kind: 'transfer', amount, recipientId });
  fake.pool = {
    ready: [
      entry('1', pay(5n)),
      entry('2', pay(9n, '2L'), { fee: 1n }),
      entry('3', { kind: 'vote', votes: [], amount: 0n }, { timestamp: 1 }),
      entry('4', pay(5n), { senderId: '7L' }),
    ],
  };
  const ask = await serve(t, fake);
  const idsOf = async (query: string) => {
    const { body } = await ask(`/node/transactions/ready${query}`);
    const { meta, data } = body as { meta: { count: number }; data: { id: string }[] };
    t.is(meta.count, 4, query);
    return data.map(({ id }) => id).join('');
  };
  t.is(await idsOf(''), '2143');
  t.is(await idsOf('?sort=amount:asc'), '3142');
  t.is(await idsOf('?sort=timestamp:asc'), '3124');
  t.is(await idsOf('?sort=fee:asc'), '2134');
  t.is(await idsOf('?limit=2&offset=1'), '14');
  t.is(await idsOf('?type=11'), '3');
  t.is(await idsOf('?recipientId=1L&senderId=7L'), '4');
  t.is(await idsOf('?id=2&type=11'), '');
  t.is(await idsOf(`?senderPublicKey=${ALICE_KEY}`), '2143');
  t.is(await idsOf(`?senderPublicKey=${ALICE_KEY.toUpperCase()}`), '');
});

for (const generation of [2, 3] as const)
  test(`generation ${generation} finds the recipient in the pool by public key too`, async (t) => {
    const fake = fakeNode(generation);
    const payload: Payload = { kind: 'transfer', amount: 1n, recipientId: ALICE.address };
    fake.pool = { ready: [{ transaction: transactionOf(generation, payload), receivedAtMs: 0 }] };
    const ask = await serve(t, fake);
    const found = async (query: string) =>
      ((await ask(`/node/transactions/ready?${query}`)).body as { data: unknown[] }).data.length;
    t.is(await found(`recipientPublicKey=${ALICE_KEY}`), 1);
    t.is(await found(`recipientPublicKey=${GROUP.publicKey ?? ''}&recipientId=${ALICE.address}`), 0);
  });

test('generation 3 finds a recipient in the pool in the asset of every type, as the reference does', async (t) => {
  const fake = fakeNode(3);
  const payload: Payload = { kind: 'delegate', username: 'alice' };
  const written = { asset: JSON.stringify({ username: 'alice', recipientId: '7L' }) };
  fake.pool = { ready: [{ transaction: transactionOf(3, payload, { written }), receivedAtMs: 0 }] };
  const ask = await serve(t, fake);
  for (const [recipientId, found] of [
    ['7L', 1],
    ['8L', 0],
  ] as const) {
    const { body } = await ask(`/node/transactions/ready?recipientId=${recipientId}`);
    t.is((body as { data: unknown[] }).data.length, found, recipientId);
  }
});

test('the signers of a waiting group transaction are listed with their addresses; other ids get 404', async (t) => {
  for (const generation of [2, 3] as const) {
    const fake = fakeNode(generation);
    const missing = 'cd'.repeat(32);
    fake.signers.set('77', {
      min: 2,
      members: [
        { publicKey: ALICE_KEY, hasSigned: true },
        { publicKey: missing, hasSigned: false },
      ],
    });
    const ask = await serve(t, fake);
    const { status, body } = await ask('/api/node/transactions/77/signers');
    t.is(status, 200);
    t.deepEqual((body as { data: unknown }).data, {
      id: '77',
      min: 2,
      signed: 1,
      members: [
        { address: addressOf(ALICE_KEY), publicKey: ALICE_KEY, hasSigned: true },
        { address: addressOf(missing), publicKey: missing, hasSigned: false },
      ],
    });
    t.is((await ask('/api/node/transactions/78/signers')).status, 404);
    const strict = await serve(t, fake, { strictDialect: true });
    t.deepEqual((await strict('/api/node/transactions/77/signers')).body, body);
  }
});
