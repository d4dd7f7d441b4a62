import test from 'ava';
import { addressOf, keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { hexOf } from '../../src/primitives/bytes.ts';
import type { LogFields, Observer } from '../../src/ports/observer.ts';
import { emptyAccount, type Account } from '../../src/protocol/state.ts';
import type { Generation } from '../../src/protocol/params.ts';
import { fakeNode, serve, transactionOf, withBody, type Fake } from './fake-node.ts';

const SECRET = 'first passphrase of a test';
const SECOND = 'second passphrase of a test';
const KEY = hexOf(keyPairOfPassphrase(SECRET).publicKey);
const SECOND_KEY = hexOf(keyPairOfPassphrase(SECOND).publicKey);
const RICH: Account = { ...emptyAccount(addressOf(KEY)), publicKey: KEY, balance: 500_000_000n };

function nodeWith(generation: Generation, account: Account | undefined = RICH): Fake {
  const fake = fakeNode(generation);
  const accountBy = () => account;
  return { ...fake, api: { ...fake.api, chain: { ...fake.api.chain, accountBy } } };
}

const put = (body: unknown) => withBody(body, 'PUT');
const refusal = (error: string) => ({ success: false, error });

test('the fee of a second signature is a number, with and without the prefix', async (t) => {
  for (const generation of [2, 3] as const) {
    const ask = await serve(t, fakeNode(generation));
    t.is((await ask('/api/signatures/fee?any=1')).text, '{"success":true,"fee":500000000}');
    t.is((await ask('/signatures/fee')).status, 200);
  }
});

test('a registration is built from the secrets and answered with the fields of the oldest clients', async (t) => {
  for (const generation of [2, 3] as const) {
    for (const name of ['secondSecret', 'secondsecret']) {
      const fake = nodeWith(generation);
      const asked: string[][] = [];
      const register = fake.registerSecondSignature;
      fake.api.registerSecondSignature = (keyPair, secondPublicKey) => {
        asked.push([hexOf(keyPair.publicKey), secondPublicKey]);
        return register(keyPair, secondPublicKey);
      };
      const ask = await serve(t, fake);
      const answer = await ask(
        '/api/signatures',
        put({ secret: SECRET, [name]: SECOND, publicKey: KEY.toUpperCase() }),
      );
      t.is(answer.status, 200);
      t.deepEqual(asked, [[KEY, SECOND_KEY]]);
      const signature = { publicKey: SECOND_KEY };
      const { success, transaction } = answer.body as { success: boolean; transaction: object };
      t.true(success);
      t.like(transaction, {
        type: generation === 2 ? 1 : 9,
        amount: 0,
        fee: 10_000_000,
        requesterPublicKey: '',
        recipientId: '',
        relays: 1,
        receivedAt: '1970-01-01T00:00:00.000Z',
        asset: generation === 2 ? { signature } : { signature, publicKey: SECOND_KEY },
      });
    }
  }
});

test('a registration may be sent as a form', async (t) => {
  const ask = await serve(t, nodeWith(3));
  const body = new URLSearchParams({ secret: SECRET, secondSecret: SECOND });
  t.like((await ask('/api/signatures', { method: 'PUT', body })).body, { success: true });
});

test('only the first fault of a registration is reported, with status 200', async (t) => {
  const both = { secret: SECRET, secondSecret: SECOND };
  const cases: readonly (readonly [body: unknown, error: string, account?: Account])[] = [
    [[], 'Expected type object but found type array'],
    [{}, 'Missing required property: secondSecret'],
    [{ secret: SECRET }, 'Missing required property: secondSecret'],
    [{ secondSecret: SECOND }, 'Missing required property: secret'],
    [{ ...both, secret: 5 }, 'Expected type string but found type integer'],
    [{ ...both, secondSecret: null }, 'Expected type string but found type null'],
    [{ ...both, secret: '' }, 'String is too short (0 chars), minimum 1'],
    [{ ...both, secret: 'x'.repeat(101) }, 'String is too long (101 chars), maximum 100'],
    [{ ...both, publicKey: 'ab' }, "Object didn't pass validation for format publicKey: ab"],
    [{ ...both, multisigAccountPublicKey: KEY }, 'Multisig request is not allowed'],
    [{ ...both, publicKey: SECOND_KEY }, 'Invalid passphrase'],
    [both, 'Account already has a second passphrase', { ...RICH, secondPublicKey: SECOND_KEY }],
    [both, `Account does not have enough LSK: ${RICH.address} balance: 4.99999999`, { ...RICH, balance: 499_999_999n }],
  ];
  for (const [body, error, account] of cases) {
    const ask = await serve(t, nodeWith(3, account));
    const answer = await ask('/api/signatures', put(body));
    t.is(answer.status, 200);
    t.deepEqual(answer.body, refusal(error));
  }
  const ask = await serve(t, nodeWith(3));
  t.deepEqual(
    (await ask('/api/signatures', { method: 'PUT' })).body,
    refusal('Expected type object but found type undefined'),
  );
});

test('a registration that is already pending, or that the pool refuses, is refused in the known words', async (t) => {
  const waiting = nodeWith(3);
  const transaction = transactionOf(3, { kind: 'secondSignature', publicKey: SECOND_KEY }, { senderPublicKey: KEY });
  waiting.pool = { ready: [{ transaction, receivedAtMs: 0 }] };
  const fake = nodeWith(3);
  fake.pool = waiting.pool;
  const withPool = { ...fake, api: { ...fake.api, poolEntries: () => [{ transaction, receivedAtMs: 0 }] } };
  const body = put({ secret: SECRET, secondSecret: SECOND });
  t.deepEqual(
    (await (await serve(t, withPool))('/api/signatures', body)).body,
    refusal('Account already has a second passphrase'),
  );
  const full = nodeWith(3);
  full.api.registerSecondSignature = () =>
    Promise.resolve({ accepted: false, code: 'POOL_FULL', message: 'Transaction pool is full', errors: [] });
  t.deepEqual((await (await serve(t, full))('/api/signatures', body)).body, refusal('Transaction pool is full'));
});

test('only clients in legacySignaturesWhitelist may send passphrases; behind a proxy, every address must be listed', async (t) => {
  const body = { secret: SECRET, secondSecret: SECOND };
  const access = { public: true, whiteList: [] };
  const nobody = await serve(t, nodeWith(3), { access, legacySignatures: { enabled: true, whiteList: ['10.0.0.1'] } });
  t.deepEqual((await nobody('/api/signatures', put(body))).body, { message: 'Access Denied' });
  const proxied = await serve(t, nodeWith(3), { access, trustProxy: true });
  const from = (addresses: string) => {
    const init = put(body);
    return { ...init, headers: { ...(init.headers as object), 'x-forwarded-for': addresses } };
  };
  t.is((await proxied('/api/signatures', from('127.0.0.1'))).status, 200);
  t.is((await proxied('/api/signatures', from('203.0.113.9'))).status, 403);
  t.is((await proxied('/api/signatures', from('127.0.0.1, 203.0.113.9'))).status, 403);
  const untrusting = await serve(t, nodeWith(3), { access });
  t.is((await untrusting('/api/signatures', from('127.0.0.1'))).status, 403);
  t.is((await untrusting('/api/signatures', put(body))).status, 200);
});

test('if second signatures are disabled, their paths answer as on a node without second signatures', async (t) => {
  const ask = await serve(t, nodeWith(3), { legacySignatures: { enabled: false, whiteList: ['127.0.0.1'] } });
  t.is((await ask('/api/signatures/fee')).status, 404);
  const answer = await ask('/api/signatures', put({ secret: SECRET, secondSecret: SECOND }));
  t.is(answer.status, 405);
  t.is(answer.headers.get('allow'), 'POST');
});

test('no secret is logged or repeated, whatever fails', async (t) => {
  const lines: (LogFields | string | undefined)[] = [];
  const observer: Observer = {
    module: () => observer,
    log: (_level, _code, message, fields) => lines.push(message, fields),
    count: () => undefined,
    gauge: () => undefined,
    observe: () => undefined,
  };
  const fake = nodeWith(3);
  fake.api.registerSecondSignature = () => Promise.reject(new Error('broken'));
  const ask = await serve(t, fake, { observer });
  const init = put({ secret: SECRET, secondSecret: SECOND });
  const failed = await ask('/api/signatures', init);
  t.is(failed.status, 500);
  const unreadable = await ask('/api/signatures', { ...init, body: `{"secret": "${SECRET}" "x"` });
  t.is(unreadable.status, 400);
  const output = JSON.stringify([lines, failed.text, unreadable.text]);
  t.true(lines.length > 0);
  for (const secret of [SECRET, SECOND, 'passphrase of']) t.false(output.includes(secret));
});
