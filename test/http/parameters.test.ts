import test from 'ava';
import type { Generation } from '../../src/protocol/params.ts';
import { ALICE, ALICE_KEY, fakeNode, GROUP_KEY, serve, withBody, type Ask, type Fake } from './fake-node.ts';

/** Body of a 400 answer for one parameter that violates its declaration. */
function refusal(name: string, faults: readonly (readonly [string, string])[], place = 'query') {
  return {
    message: 'Validation errors',
    errors: [
      {
        code: 'INVALID_REQUEST_PARAMETER',
        message: `Invalid parameter (${name}): Value failed JSON Schema validation`,
        in: place,
        name,
        errors: faults.map(([code, message]) => ({ code, message, path: [] })),
      },
    ],
  };
}

/** Body of a 400 answer for a parameter whose value is not of the declared type. */
function mismatch(name: string, expected: string, found: string) {
  const message = `Expected type ${expected} but found type ${found}`;
  return {
    message: 'Validation errors',
    errors: [
      {
        code: 'INVALID_REQUEST_PARAMETER',
        message: `Invalid parameter (${name}): ${message}`,
        in: 'query',
        name,
        errors: [{ code: 'INVALID_TYPE', message, path: [] }],
      },
    ],
  };
}

function unknown(...names: readonly string[]) {
  return {
    message: 'Validation errors',
    errors: names.map((name) => {
      return { name, message: 'Unknown request parameter', in: 'query', code: 'UNKNOWN_PARAM' };
    }),
  };
}

const format = (name: string, value: string) =>
  ['INVALID_FORMAT', `Object didn't pass validation for format ${name}: ${value}`] as const;
const noEnum = (value: string) => ['ENUM_MISMATCH', `No enum match for: ${value}`] as const;
const below = (value: number, minimum: number) =>
  ['MINIMUM', `Value ${value} is less than minimum ${minimum}`] as const;
const above = (value: number, maximum: number) =>
  ['MAXIMUM', `Value ${value} is greater than maximum ${maximum}`] as const;
const short = (length: number, minimum: number) =>
  ['MIN_LENGTH', `String is too short (${length} chars), minimum ${minimum}`] as const;
const long = (length: number, maximum: number) =>
  ['MAX_LENGTH', `String is too long (${length} chars), maximum ${maximum}`] as const;
const fraction = ['INVALID_TYPE', 'Expected type integer but found type number'] as const;

const LONG_DIGITS = '9'.repeat(23);

/**
 * Request targets that nodes of both generations refuse, with and without the option `strictDialect`. For each target,
 * the table also contains the whole body of the answer.
 */
const REFUSED: readonly (readonly [target: string, body: object])[] = [
  ['/accounts?limit=0', refusal('limit', [below(0, 1)])],
  ['/accounts?limit=101', refusal('limit', [above(101, 100)])],
  ['/accounts?limit=abc', mismatch('limit', 'integer', 'string')],
  ['/accounts?limit=', mismatch('limit', 'integer', 'string')],
  ['/accounts?limit=1.5', refusal('limit', [fraction, format('int32', '1.5')])],
  ['/accounts?limit=-1.5', refusal('limit', [fraction, format('int32', '-1.5'), below(-1.5, 1)])],
  ['/accounts?limit=1&limit=2', mismatch('limit', 'integer', 'object')],
  ['/accounts?limit[x]=1', mismatch('limit', 'integer', 'object')],
  ['/accounts?address=1L&address=1L', mismatch('address', 'string', 'object')],
  ['/accounts?offset=-1', refusal('offset', [below(-1, 0)])],
  ['/accounts?address=abc', refusal('address', [format('address', 'abc')])],
  ['/accounts?address=1l', refusal('address', [format('address', '1l')])],
  ['/accounts?address=x', refusal('address', [format('address', 'x'), short(1, 2)])],
  ['/accounts?address=', refusal('address', [short(0, 2)])],
  [`/accounts?address=${LONG_DIGITS}L`, refusal('address', [format('address', `${LONG_DIGITS}L`), long(24, 22)])],
  ['/accounts?publicKey=zz', refusal('publicKey', [format('publicKey', 'zz')])],
  ['/accounts?publicKey=12', mismatch('publicKey', 'string', 'number')],
  ['/accounts?username=', refusal('username', [short(0, 1)])],
  ['/accounts?username=a%25', refusal('username', [format('username', 'a%')])],
  [`/accounts?username=${'a'.repeat(21)}`, refusal('username', [long(21, 20)])],
  ['/accounts?sort=', refusal('sort', [noEnum('')])],
  ['/accounts?sort=balance', refusal('sort', [noEnum('balance')])],
  ['/accounts?sort=balance:asc,balance:desc', refusal('sort', [noEnum('balance:asc,balance:desc')])],
  ['/accounts?foo=1', unknown('foo')],
  ['/accounts?foo=1&bar=2&foo=3', unknown('foo', 'bar')],
  ['/accounts?__proto__=1', unknown('__proto__')],
  ['/accounts?foo=1&limit=0', refusal('limit', [below(0, 1)])],
  ['/accounts/x/multisignature_groups', refusal('address', [format('address', 'x'), short(1, 2)], 'path')],
  ['/accounts/abc/multisignature_memberships', refusal('address', [format('address', 'abc')], 'path')],
  ['/blocks?height=0', refusal('height', [below(0, 1)])],
  ['/blocks?height=x', mismatch('height', 'integer', 'string')],
  ['/blocks?blockId=', refusal('blockId', [short(0, 1)])],
  [`/blocks?blockId=${LONG_DIGITS}`, refusal('blockId', [long(23, 20)])],
  ['/blocks?blockId=abc', refusal('blockId', [format('id', 'abc')])],
  ['/blocks?fromTimestamp=-1', refusal('fromTimestamp', [below(-1, 0)])],
  ['/blocks?toTimestamp=0', refusal('toTimestamp', [below(0, 1)])],
  ['/blocks?toTimestamp=1.5', refusal('toTimestamp', [fraction])],
  ['/blocks?generatorPublicKey=ab', refusal('generatorPublicKey', [format('publicKey', 'ab')])],
  ['/blocks?sort=id:asc', refusal('sort', [noEnum('id:asc')])],
  ['/blocks?id=1', unknown('id')],
  ['/delegates?limit=102', refusal('limit', [above(102, 101)])],
  ['/delegates?search=', refusal('search', [short(0, 1)])],
  [`/delegates?search=${'x'.repeat(21)}`, refusal('search', [long(21, 20)])],
  ['/delegates?sort=vote:asc', refusal('sort', [noEnum('vote:asc')])],
  ['/delegates?q=1', unknown('q')],
  ['/delegates/forgers?limit=102', refusal('limit', [above(102, 101)])],
  ['/delegates/forgers?offset=101', refusal('offset', [above(101, 100)])],
  ['/node/constants?x=1', unknown('x')],
  ['/node/status/forging?publicKey=zz', refusal('publicKey', [format('publicKey', 'zz')])],
  ['/node/transactions/bogus', refusal('state', [noEnum('bogus')], 'path')],
  ['/node/transactions/pending?x=1', unknown('x')],
  ['/node/transactions/pending?id=x', refusal('id', [format('id', 'x')])],
  ['/node/transactions?sort=id:asc', refusal('sort', [noEnum('id:asc')])],
  ['/peers?wsPort=0', refusal('wsPort', [below(0, 1)])],
  ['/peers?httpPort=65536', refusal('httpPort', [above(65_536, 65_535)])],
  ['/peers?ip=1.2.3', refusal('ip', [format('ip', '1.2.3')])],
  ['/peers?os=123', mismatch('os', 'string', 'number')],
  ['/peers?version=v1.0.0', refusal('version', [format('version', 'v1.0.0')])],
  ['/peers?version=1', mismatch('version', 'string', 'number')],
  ['/peers?protocolVersion=1.01', refusal('protocolVersion', [format('protocolVersion', '1.01')])],
  ['/peers?height=0', refusal('height', [below(0, 1)])],
  ['/peers?sort=ip:asc', refusal('sort', [noEnum('ip:asc')])],
  ['/peers?nonce=x', unknown('nonce')],
  ['/transactions?id=abc', refusal('id', [format('id', 'abc')])],
  ['/transactions?type=-1', refusal('type', [below(-1, 0)])],
  ['/transactions?type=x', mismatch('type', 'integer', 'string')],
  ['/transactions?type=1.5', refusal('type', [fraction])],
  ['/transactions?minAmount=-1', refusal('minAmount', [below(-1, 0)])],
  ['/transactions?senderId=1', refusal('senderId', [format('address', '1')])],
  ['/transactions?senderIdOrRecipientId=1', mismatch('senderIdOrRecipientId', 'string', 'number')],
  ['/transactions?senderPublicKey=', refusal('senderPublicKey', [short(0, 1)])],
  ['/transactions?blockID=1', unknown('blockID')],
  ['/transactions?data=', refusal('data', [short(0, 1)])],
  [
    `/transactions?data=${encodeURIComponent('é'.repeat(33))}`,
    refusal('data', [format('additionalData', 'é'.repeat(33))]),
  ],
  ['/transactions?sort=id:asc', refusal('sort', [noEnum('id:asc')])],
  ['/transactions?limit=1&limit=2', mismatch('limit', 'integer', 'object')],
  ['/voters?limit=101&address=1L', refusal('limit', [above(101, 100)])],
  ['/voters?foo=1', unknown('foo')],
  ['/voters?sort=rank:asc', refusal('sort', [noEnum('rank:asc')])],
  ['/votes?limit=102&address=1L', refusal('limit', [above(102, 101)])],
  ['/votes?sort=publicKey:asc', refusal('sort', [noEnum('publicKey:asc')])],
];

for (const [generation, strictDialect] of [
  [2, false],
  [2, true],
  [3, false],
  [3, true],
] as const) {
  const dialect = strictDialect ? 'strict' : 'extended';
  test(`generation ${generation} refuses parameters with the whole documented body in the ${dialect} dialect`, async (t) => {
    const fake = fakeNode(generation);
    const ask = await serve(t, fake, { strictDialect });
    for (const [target, body] of REFUSED) {
      const answer = await ask(`/api${target}`);
      t.is(answer.status, 400, target);
      t.deepEqual(answer.body, body, target);
      t.is(answer.text, JSON.stringify(body), `${target}: order of members`);
    }
    t.deepEqual(fake.asked, [], 'a refused request asks nothing');
  });
}

test('several failing parameters are reported in the order of their declaration', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const { body } = await ask('/accounts?sort=x&offset=-1&limit=0&address=abc');
  const { errors } = body as { errors: { name: string }[] };
  t.deepEqual(
    errors.map(({ name }) => name),
    ['address', 'limit', 'offset', 'sort'],
  );
});

/**
 * Wrong values that the extended dialect (the default, with names that lisk-sdk does not have) refuses. They are not in
 * `REFUSED`, because the answer depends on the generation or on the dialect. Each entry contains the generation of the
 * node, the request target and the body of the answer.
 */
const OWN: readonly (readonly [Generation, string, object])[] = [
  [3, '/peers?state=9', mismatch('state', 'string', 'number')],
  [3, '/peers?state=foo', refusal('state', [noEnum('foo')])],
  [3, '/peers?broadhash=xyz', refusal('broadhash', [format('hex', 'xyz')])],
  [3, '/transactions?recipientPublicKey=ab', refusal('recipientPublicKey', [format('publicKey', 'ab')])],
  [2, '/node/status/forging?forging=yes', mismatch('forging', 'boolean', 'string')],
  [3, '/node/status/forging?forging=1', mismatch('forging', 'boolean', 'number')],
  [3, '/node/status/forging?forging=', mismatch('forging', 'boolean', 'string')],
  [2, '/peers?state=9', refusal('state', [above(9, 2)])],
  [2, '/peers?state=foo', mismatch('state', 'integer', 'string')],
  [2, '/peers?broadhash=12', mismatch('broadhash', 'string', 'number')],
  [2, '/peers?broadhash=xyz', refusal('broadhash', [format('hex', 'xyz')])],
  [2, '/transactions?recipientPublicKey=ab', refusal('recipientPublicKey', [format('publicKey', 'ab')])],
];

test('a wrong value is refused with the text of the generation', async (t) => {
  const asks = { 2: await serve(t, fakeNode(2)), 3: await serve(t, fakeNode(3)) };
  for (const [generation, target, body] of OWN) {
    const answer = await asks[generation](target);
    t.is(answer.status, 400, target);
    t.deepEqual(answer.body, body, target);
  }
});

test("both spellings are accepted; a strict dialect refuses the other generation's", async (t) => {
  const targets = {
    2: ['/peers?state=connected', '/delegates?sort=voteWeight:asc', '/accounts?after='],
    3: [
      ...['/peers?state=2', '/delegates?sort=rank:asc', '/peers?broadhash=ab', '/accounts?after='],
      ...[`/transactions?recipientPublicKey=${ALICE_KEY}`, `/node/transactions/ready?recipientPublicKey=${ALICE_KEY}`],
    ],
  };
  for (const generation of [2, 3] as const) {
    const lenient = await serve(t, fakeNode(generation));
    const strict = await serve(t, fakeNode(generation), { strictDialect: true });
    for (const target of targets[generation]) {
      t.is((await lenient(`/api${target}`)).status, 200, target);
      t.is((await strict(`/api${target}`)).status, 400, target);
      // The option `strictDialect` does not change the routes without the prefix `/api`. These routes always use the
      // extended dialect, which has the names of both generations.
      t.is((await strict(target)).status, 200, target);
    }
  }
});

test('unknown parameters are ignored on routes where clients rely on it', async (t) => {
  const ask = await serve(t, fakeNode(3));
  for (const target of [
    '/votes?address=12345L&foo=1',
    '/delegates/forgers?foo=1',
    '/node/status?foo=1',
    '/node/status/forging?foo=1',
    `/accounts/${ALICE.address}/multisignature_memberships?foo=1&address=zz`,
  ])
    t.is((await ask(target)).status, 200, target);
  const strict = await serve(t, fakeNode(2), { strictDialect: true });
  t.is((await strict('/api/node/status/forging?forging=odd')).status, 200);
});

test('an answer header names each ignored parameter', async (t) => {
  const ask = await serve(t, fakeNode(3), { cacheResponses: true });
  const ignoredNames = async (target: string) => {
    const { status, headers } = await ask(target);
    t.is(status, 200, target);
    return headers.get('x-ignored-parameters');
  };
  for (const [target, names] of [
    ['/api/node/status', null],
    ['/api/node/status?foo=1&x%20y=2', 'foo, x%20y'],
    [`/api/votes?address=${ALICE.address}`, null],
    [`/api/votes?address=${ALICE.address}&Limit=1`, 'Limit'],
    ['/api/accounts?=1', '""'],
    ['/api/node/status/forging?publicKey=', 'publicKey'],
    [`/api/accounts/${ALICE.address}/multisignature_memberships?limit=1`, 'limit'],
  ] as const) {
    // The second answer may come from the response cache, but it must have the same header.
    t.is(await ignoredNames(target), names, target);
    t.is(await ignoredNames(target), names, target);
  }
  const signed = await ask(
    '/api/signatures?foo=1',
    withBody({ transactionId: '1', publicKey: ALICE_KEY, signature: 'ab'.repeat(64) }),
  );
  t.is(signed.headers.get('x-ignored-parameters'), 'foo');
  const many = await ignoredNames(
    `/api/node/status?${Array.from({ length: 900 }, (_, index) => `p${index}[`).join('&')}`,
  );
  t.true((many ?? '').length <= 1_010 && (many ?? '').startsWith('p0%5B, p1%5B') && (many ?? '').endsWith(', ...'));
});

test('an empty value is refused where a filter would ignore it', async (t) => {
  for (const generation of [2, 3] as const) {
    const ask = await serve(t, fakeNode(generation));
    const short = [['MIN_LENGTH', 'String is too short (0 chars), minimum 1']] as const;
    for (const [target, body] of [
      ['/node/transactions/ready?senderPublicKey=', refusal('senderPublicKey', short)],
      ['/node/transactions/pending?recipientPublicKey=', refusal('recipientPublicKey', short)],
      ['/transactions?recipientPublicKey=', refusal('recipientPublicKey', short)],
      ['/peers?ip=', refusal('ip', [format('ip', '')])],
    ] as const) {
      const answer = await ask(`/api${target}`);
      t.is(answer.status, 400, target);
      t.deepEqual(answer.body, body, target);
    }
  }
});

test('an empty key among the names of an account matches no account', async (t) => {
  const ask = await serve(t, fakeNode(3));
  for (const path of ['/api/voters', '/api/votes'])
    for (const name of ['publicKey', 'secondPublicKey'])
      t.is((await ask(`${path}?address=${ALICE.address}&${name}=`)).status, 404, `${path} ${name}`);
});

test('both generations filter forging delegates by whether they forge, and peers by their broadhash', async (t) => {
  for (const generation of [2, 3] as const) {
    const fake = fakeNode(generation);
    fake.forging = [
      { publicKey: ALICE_KEY, forging: true },
      { publicKey: GROUP_KEY, forging: false },
    ];
    fake.peers = [
      { info: { ip: '10.0.0.1', wsPort: 1, broadhash: 'ab' }, state: 'connected' },
      { info: { ip: '10.0.0.2', wsPort: 2, broadhash: 'cd' }, state: 'connected' },
    ];
    const ask = await serve(t, fake);
    const found = async (target: string) => ((await ask(target)).body as { data: unknown[] }).data.length;
    t.is(await found('/api/node/status/forging?forging=false'), 1);
    t.is(await found('/api/node/status/forging?forging=true'), 1);
    t.is(await found('/api/node/status/forging'), 2);
    t.is(await found('/api/peers?broadhash=ab'), 1);
  }
});

test('the digest of a height other than the tip is refused', async (t) => {
  const ask = await serve(t, fakeNode(3));
  t.is((await ask('/api/node/digest?height=2')).status, 200);
  const { status, body } = await ask('/api/node/digest?height=1');
  t.is(status, 400);
  t.like(body, { errors: [{ name: 'height', in: 'query', code: 'INVALID_PARAM' }] });
  t.is((await ask('/api/node/digest?heigth=1')).status, 400);
});

/** Sends a request, and returns the first argument of the latest query in the list `asked` of the fake node. */
async function askedBy(ask: Ask, fake: Fake, target: string): Promise<unknown> {
  await ask(target);
  return fake.asked.at(-1)?.[1];
}

test('parameters reach the chain as typed filters with defaults', async (t) => {
  const fake = fakeNode(2);
  const ask = await serve(t, fake);
  const page = { limit: 10, offset: 0 };
  const upper = ALICE_KEY.toUpperCase();
  const cases: readonly (readonly [string, object])[] = [
    ['/accounts', { ...page, sort: { field: 'balance', direction: 'asc' } }],
    [
      `/accounts?publicKey=${upper}&username=a_b&sort=balance:desc&limit=100&offset=010`,
      {
        limit: 100,
        offset: 10,
        publicKey: ALICE_KEY,
        usernamePattern: 'a_b',
        sort: { field: 'balance', direction: 'desc' },
      },
    ],
    ['/delegates', { ...page, sort: { field: 'rank', direction: 'asc' } }],
    ['/delegates?search=a%25', { ...page, usernamePattern: '%a%%', sort: { field: 'rank', direction: 'asc' } }],
    ['/blocks?height=1e1', { ...page, height: 10, sort: { field: 'height', direction: 'desc' } }],
    [
      '/transactions?minAmount=9007199254740993&maxAmount=10000000000000001&toTimestamp=999999999999999&type=0&data=%25a',
      {
        ...page,
        minAmount: 9_007_199_254_740_993n,
        maxAmount: 10_000_000_000_000_001n,
        toTimestampS: 2_147_483_647,
        type: 0,
        dataPattern: '%a',
        sort: { field: 'amount', direction: 'asc' },
      },
    ],
    [
      '/transactions?minAmount=9007199254740993e0&offset=9007199254740993',
      {
        limit: 10,
        offset: 2_147_483_647,
        minAmount: 9_007_199_254_740_992n,
        sort: { field: 'amount', direction: 'asc' },
      },
    ],
    [
      '/accounts?offset=99999999999',
      { limit: 10, offset: 2_147_483_647, sort: { field: 'balance', direction: 'asc' } },
    ],
  ];
  for (const [target, query] of cases) t.deepEqual(await askedBy(ask, fake, target), query, target);
  const three = fakeNode(3);
  t.deepEqual(await askedBy(await serve(t, three), three, '/delegates'), {
    ...page,
    sort: { field: 'voteWeight', direction: 'desc' },
  });
});

test('a valid value without a match gives an empty list without a query', async (t) => {
  const fake = fakeNode(2);
  const ask = await serve(t, fake);
  for (const target of [
    '/accounts?publicKey=',
    '/accounts?secondPublicKey=',
    '/delegates?publicKey=',
    '/blocks?generatorPublicKey=',
    '/blocks?height=3000000000000',
    '/blocks?blockId=99999999999999999999',
    '/blocks?blockId=007',
    '/blocks?fromTimestamp=999999999999999',
    '/transactions?type=256',
    '/transactions?minAmount=1e300',
    '/transactions?id=00',
  ]) {
    const answer = await ask(target);
    t.is(answer.status, 200, target);
    t.deepEqual((answer.body as { data: unknown }).data, [], target);
  }
  t.deepEqual(fake.asked, []);
});

test('votes and voters need an account, and an empty key does not name an account', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const sentence = (name: string, others: string) => {
    return { name, message: `${name} is required if ${others} not provided.`, in: 'query', code: 'INVALID_PARAM' };
  };
  const body = {
    message: 'Validation errors',
    errors: [
      sentence('address', 'publicKey, secondPublicKey and username'),
      sentence('publicKey', 'address, secondPublicKey and username'),
      sentence('secondPublicKey', 'address, publicKey and username'),
      sentence('username', 'publicKey, secondPublicKey and address'),
    ],
  };
  for (const target of ['/voters', '/votes', '/voters?publicKey=', '/votes?publicKey=&secondPublicKey=&limit=5']) {
    const answer = await ask(target);
    t.is(answer.status, 400, target);
    t.is(answer.text, JSON.stringify(body), target);
  }
});
