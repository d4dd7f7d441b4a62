import test from 'ava';
import type { SubmitResult } from '../../src/ports/node-api.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { transactionError, TransactionRejected } from '../../src/protocol/verdict.ts';
import { STATUS_BY_CODE } from '../../src/http/problems.ts';
import { ALICE_KEY, fakeNode, serve, withBody } from './fake-node.ts';

const SIGNATURE = 'ab'.repeat(64);

const BODIES = {
  2: {
    id: '1',
    type: 0,
    amount: '1',
    fee: '10000000',
    senderPublicKey: ALICE_KEY,
    recipientId: '',
    timestamp: 5,
    asset: {},
    signature: SIGNATURE,
  },
  3: {
    id: '1',
    type: 8,
    senderPublicKey: ALICE_KEY,
    timestamp: 5,
    asset: { amount: '1', recipientId: '1L' },
    signature: SIGNATURE,
  },
} as const;

const refusal = (code: string, message: string, errors: Extract<SubmitResult, { accepted: false }>['errors'] = []) =>
  ({ accepted: false, code, message, errors }) as const;

/**
 * Returns the code, the path and the message of each inner error in a 400 answer. The function supports only answers
 * that report an invalid request body.
 */
function innerOf(body: unknown): string[] {
  const { errors } = body as { errors: { errors: { code: string; message: string; path: string[] }[] }[] };
  return (errors.at(-1)?.errors ?? []).map(({ code, message, path }) => `${code} ${path.join('.')} ${message}`);
}

test('an accepted transaction gets 200 and reaches the node unchanged, with undeclared members', async (t) => {
  for (const generation of [2, 3] as const) {
    const fake = fakeNode(generation);
    const seen: unknown[] = [];
    const accept = fake.submit;
    fake.submit = (json) => {
      seen.push(json);
      return accept(json);
    };
    const body = { ...BODIES[generation], ready: true, senderSecondPublicKey: ALICE_KEY };
    const answer = await (await serve(t, fake))('/api/transactions', withBody(body));
    t.is(answer.status, 200);
    t.is(answer.text, '{"meta":{"status":true},"data":{"message":"Transaction(s) accepted"},"links":{}}');
    t.deepEqual(seen, [body]);
  }
});

test('missing members of a transaction are listed in reverse order', async (t) => {
  const missing = async (generation: 2 | 3) => {
    const answer = await (await serve(t, fakeNode(generation)))('/api/transactions', withBody({}));
    t.is(answer.status, 400);
    t.like(answer.body, { message: 'Validation errors', errors: [{ in: 'body', name: 'transaction' }] });
    return innerOf(answer.body).map((text) => text.split(': ')[1]);
  };
  t.deepEqual(await missing(2), [
    'signature',
    'asset',
    'timestamp',
    'recipientId',
    'senderPublicKey',
    'fee',
    'amount',
    'type',
    'id',
  ]);
  t.deepEqual(await missing(3), ['signature', 'asset', 'timestamp', 'senderPublicKey', 'type', 'id']);
});

test('the refusal of a transaction names each member with a wrong type or format', async (t) => {
  const ask3 = await serve(t, fakeNode(3));
  const ask2 = await serve(t, fakeNode(2));
  const cases = [
    [ask3, { ...BODIES[3], id: null }, ['INVALID_TYPE id', 'INVALID_FORMAT id']],
    [
      ask3,
      { ...BODIES[3], asset: { amount: 1, recipientId: 'x' } },
      ['INVALID_FORMAT asset.recipientId', 'INVALID_TYPE asset.amount'],
    ],
    [ask3, { ...BODIES[3], asset: [] }, ['INVALID_TYPE asset']],
    [ask3, { ...BODIES[3], signatures: ['zz'] }, ['INVALID_FORMAT signatures.0']],
    [ask3, { ...BODIES[3], type: -1 }, ['MINIMUM type']],
    [ask3, { ...BODIES[3], timestamp: 1.5 }, ['INVALID_TYPE timestamp']],
    [ask2, { ...BODIES[2], amount: 1 }, ['INVALID_TYPE amount']],
    [ask2, { ...BODIES[2], fee: 10_000_000 }, ['INVALID_TYPE fee']],
    [ask2, { ...BODIES[2], recipientId: null }, ['INVALID_TYPE recipientId', 'INVALID_FORMAT recipientId']],
  ] as const;
  for (const [ask, body, expected] of cases) {
    const answer = await ask('/transactions', withBody(body));
    t.is(answer.status, 400);
    t.deepEqual(
      innerOf(answer.body).map((text) => text.split(' ').slice(0, 2).join(' ')),
      [...expected],
    );
  }
  t.is((await ask3('/transactions', withBody({ ...BODIES[3], amount: 1, fee: null }))).status, 200);
});

test('a list of transactions is refused', async (t) => {
  const answer = await (await serve(t, fakeNode(3)))('/api/transactions', withBody([BODIES[3]]));
  t.is(answer.status, 400);
  t.deepEqual(innerOf(answer.body), ['INVALID_TYPE  Expected type object but found type array']);
});

test('a body of another content type is reported first and then parsed as empty', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const shapeOf = (body: unknown) => (body as { errors: { code: string; message: string }[] }).errors;
  const text = await ask('/api/signatures', {
    method: 'POST',
    headers: { 'content-type': 'text/plain;charset=UTF-8' },
    body: JSON.stringify({ transactionId: '1', publicKey: '', signature: '' }),
  });
  t.is(text.status, 400);
  t.deepEqual(shapeOf(text.body)[0] as unknown, {
    code: 'INVALID_CONTENT_TYPE',
    message: 'Invalid Content-Type (text/plain).  These are supported: application/json',
    errors: [],
  });
  t.is(innerOf(text.body).length, 3);
  const none = await ask('/api/signatures', { method: 'POST' });
  t.true(shapeOf(none.body)[0]?.message.includes('(application/octet-stream)'));
  const withCharset = { 'content-type': 'application/json; charset=utf-8' };
  const body = JSON.stringify({ transactionId: '1', publicKey: '', signature: '' });
  t.is((await ask('/api/signatures', { method: 'POST', headers: withCharset, body })).status, 200);
});

test('a refused transaction gives 409 with every reason, members in the known order', async (t) => {
  const fake = fakeNode(3);
  const errors = [
    transactionError('1', 'Invalid amount', '.amount', '5', 4),
    transactionError('1', 'Missing signSignature', '.signSignature'),
  ];
  fake.submit = () => Promise.resolve(refusal('TRANSACTION_INVALID', 'x', errors));
  const answer = await (await serve(t, fake))('/api/transactions', withBody(BODIES[3]));
  t.is(answer.status, 409);
  t.is(answer.headers.get('content-type'), 'application/json');
  t.is(
    answer.text,
    JSON.stringify({
      message: 'Transaction was rejected with errors',
      code: 409,
      errors: [
        { message: 'Invalid amount', name: 'TransactionError', id: '1', dataPath: '.amount', actual: '5', expected: 4 },
        { message: 'Missing signSignature', name: 'TransactionError', id: '1', dataPath: '.signSignature' },
      ],
    }),
  );
});

test('a single plain failure is a list of one, and the outer text of generation 2', async (t) => {
  const text = 'Transaction type not found.';
  for (const generation of [2, 3] as const) {
    const fake = fakeNode(generation);
    fake.submit = () => Promise.resolve(refusal('TRANSACTION_TYPE_UNKNOWN', text));
    const answer = await (await serve(t, fake))('/api/transactions', withBody(BODIES[generation]));
    t.is(answer.status, 409);
    t.deepEqual(answer.body, {
      message: generation === 2 ? text : 'Transaction was rejected with errors',
      code: 409,
      errors: [{ message: text, name: 'TransactionError', id: '', dataPath: '' }],
    });
  }
});

test('a rejection that the node throws is answered like a returned one', async (t) => {
  const fake = fakeNode(3);
  const errors = [transactionError('1', 'Invalid amount', '.amount')];
  fake.submit = () => Promise.reject(new TransactionRejected('TRANSACTION_INVALID', errors));
  const answer = await (await serve(t, fake))('/api/transactions', withBody(BODIES[3]));
  t.is(answer.status, 409);
  t.like(answer.body, { code: 409, errors: [{ message: 'Invalid amount' }] });
});

test('the node accepts a signature for a multisignature transaction, or answers 409', async (t) => {
  const fake = fakeNode(3);
  const ask = await serve(t, fake);
  const body = { transactionId: '1', publicKey: ALICE_KEY, signature: SIGNATURE, extra: 1 };
  const accepted = await ask('/api/signatures', withBody(body));
  t.is(accepted.text, '{"meta":{"status":true},"data":{"message":"Signature Accepted"},"links":{}}');
  const message = 'Unable to process signature, corresponding transaction not found';
  fake.submitSignature = () =>
    Promise.resolve(refusal('SIGNATURE_REFUSED', message, [transactionError('1', message, '.signature')]));
  const refused = await ask('/api/signatures', withBody(body));
  t.is(refused.status, 409);
  t.deepEqual(refused.body, {
    message: 'Error processing signature',
    code: 409,
    errors: [{ message, name: 'TransactionError', id: '1', dataPath: '.signature' }],
  });
});

test('a client whose signatures used up its budget gets 429, by its address', async (t) => {
  for (const generation of [2, 3] as const) {
    const fake = fakeNode(generation);
    const clients: (string | undefined)[] = [];
    const message = 'Too many signatures to verify, please try again later.';
    const refuse = (client: string | undefined): Promise<SubmitResult> => {
      clients.push(client);
      return Promise.resolve(refusal('VERIFICATION_LIMIT', message, [transactionError('1', message, '')]));
    };
    fake.submit = (_json, client) => refuse(client);
    fake.submitSignature = (_json, client) => refuse(client);
    const signersOf = (_id: string, client?: string): never => {
      clients.push(client);
      throw new ProtocolError('VERIFICATION_LIMIT', {}, message);
    };
    Object.assign(fake.api, { signersOf });
    const ask = await serve(t, fake);
    const signature = { transactionId: '1', publicKey: ALICE_KEY, signature: SIGNATURE };
    for (const [path, body] of [
      ['/api/transactions', BODIES[generation]],
      ['/api/signatures', signature],
    ] as const) {
      const answer = await ask(path, withBody(body));
      t.is(answer.status, 429, path);
      t.is(answer.headers.get('retry-after'), '5');
      t.deepEqual(answer.body, { message });
    }
    const answer = await ask('/api/node/transactions/1/signers');
    t.deepEqual([answer.status, answer.body], [429, { message }]);
    t.deepEqual(clients, ['127.0.0.1', '127.0.0.1', '127.0.0.1']);
  }
});

test('a signature for a multisignature transaction, with a missing field, gives 400', async (t) => {
  const answer = await (await serve(t, fakeNode(3)))('/api/signatures', withBody({ transactionId: 'x' }));
  t.is(answer.status, 400);
  t.deepEqual(innerOf(answer.body), [
    'OBJECT_MISSING_REQUIRED_PROPERTY  Missing required property: signature',
    'OBJECT_MISSING_REQUIRED_PROPERTY  Missing required property: publicKey',
    "INVALID_FORMAT transactionId Object didn't pass validation for format id: x",
  ]);
});

const SWITCH = { publicKey: ALICE_KEY, password: 'elephant tree', forging: true };

test('a whitelisted client can switch and list forging', async (t) => {
  const fake = fakeNode(3);
  fake.forging = [
    { publicKey: ALICE_KEY, forging: true },
    { publicKey: 'cd'.repeat(32), forging: false },
  ];
  const ask = await serve(t, fake);
  const put = await ask('/api/node/status/forging', withBody(SWITCH, 'PUT'));
  t.is(put.status, 200);
  t.is(put.text, `{"meta":{},"data":[{"publicKey":"${ALICE_KEY}","forging":true}],"links":{}}`);
  const listed = async (query: string) =>
    ((await ask(`/node/status/forging${query}`)).body as { data: unknown[] }).data;
  t.is((await listed('')).length, 2);
  t.deepEqual(await listed('?forging=false'), [{ forging: false, publicKey: 'cd'.repeat(32) }]);
  t.is((await listed(`?publicKey=${ALICE_KEY}`)).length, 1);
  t.deepEqual(await listed(`?publicKey=${'ee'.repeat(32)}`), []);
});

test('only clients in http.forgingWhitelist see and switch forging; others get 403, or 400 for an invalid request', async (t) => {
  const ask = await serve(t, fakeNode(3), { forgingWhiteList: ['10.0.0.1'], access: { public: true, whiteList: [] } });
  const denied = { message: 'Access Denied' };
  for (const init of [{}, withBody(SWITCH, 'PUT')]) {
    const answer = await ask('/api/node/status/forging', init);
    t.is(answer.status, 403);
    t.deepEqual(answer.body, denied);
  }
  t.is((await ask('/api/node/status/forging', withBody({ ...SWITCH, password: 'x' }, 'PUT'))).status, 400);
  t.is((await ask('/api/node/status/forging?publicKey=zz')).status, 400);
});

test('a forging request with an invalid body gives 400', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const faultsFor = async (body: object) =>
    innerOf((await ask('/api/node/status/forging', withBody(body, 'PUT'))).body);
  t.deepEqual(await faultsFor({ ...SWITCH, password: 'x' }), [
    'MIN_LENGTH password String is too short (1 chars), minimum 5',
  ]);
  t.deepEqual(await faultsFor({ ...SWITCH, forging: 'true' }), [
    'INVALID_TYPE forging Expected type boolean but found type string',
  ]);
  t.is((await faultsFor({})).length, 3);
});

test('a request that fails to switch forging gives 404 with the reason', async (t) => {
  const fake = fakeNode(3);
  const ask = await serve(t, fake);
  for (const [code, message] of [
    ['FORGING_DELEGATE_UNKNOWN', `Delegate with publicKey: ${ALICE_KEY} not found`],
    ['FORGING_PASSWORD_WRONG', 'Invalid password and public key combination'],
    ['FORGING_NOT_A_DELEGATE', 'Delegate not found'],
  ] as const) {
    fake.setForging = () => Promise.reject(new ProtocolError(code, {}, message));
    const answer = await ask('/api/node/status/forging', withBody(SWITCH, 'PUT'));
    t.is(answer.status, 404);
    t.deepEqual(answer.body, { message });
  }
});

test('when the node cannot store a transaction, the answer says when to send it again', async (t) => {
  const fake = fakeNode(3);
  fake.submit = () => Promise.resolve(refusal('TRANSACTION_NOT_KEPT', 'x'));
  const answer = await (await serve(t, fake))('/api/transactions', withBody(BODIES[3]));
  t.is(answer.status, 503);
  t.is(answer.headers.get('retry-after'), '5');
});

test('an unknown code is a failure of the node', async (t) => {
  const fake = fakeNode(3);
  fake.setForging = () => Promise.reject(new ProtocolError('SOMETHING_ELSE', {}, 'inner words'));
  const answer = await (await serve(t, fake))('/api/node/status/forging', withBody(SWITCH, 'PUT'));
  t.is(answer.status, 500);
  t.false(answer.text.includes('inner words'));
  const others = Object.values(STATUS_BY_CODE).filter((status) => status !== 503);
  t.true(others.every((status) => status >= 400 && status < 500));
});
