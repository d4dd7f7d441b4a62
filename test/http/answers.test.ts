import test from 'ava';
import { allRoutes } from '../../src/http/routes/all.ts';
import type { Generation } from '../../src/protocol/params.ts';
import type { Payload } from '../../src/protocol/types.ts';
import {
  ALICE,
  ALICE_KEY,
  BOB_ADDRESS,
  fakeNode,
  firstOf,
  GROUP,
  serve,
  transactionOf,
  TRANSFER,
  type Envelope,
} from './fake-node.ts';
import { populatedNode } from './populated-node.ts';

const ENVELOPE = ['meta', 'data', 'links'];

/**
 * For each request target and each generation: the names of the members of `data` in the answer, in their order. If
 * `data` is a list, the names are those of its first element.
 */
const MEMBERS: readonly (readonly [target: string, two: string, three: string])[] = [
  [
    '/accounts',
    'address publicKey balance secondPublicKey asset delegate',
    'address publicKey balance secondPublicKey asset delegate',
  ],
  [
    '/delegates',
    'username vote rewards producedBlocks missedBlocks productivity rank account approval voteWeight',
    'username voteWeight rewards producedBlocks missedBlocks productivity account approval vote rank',
  ],
  ['/delegates/forgers', 'username address publicKey nextSlot', 'username address publicKey nextSlot'],
  [
    '/blocks',
    'id version timestamp height numberOfTransactions totalAmount totalFee reward payloadLength payloadHash ' +
      'generatorPublicKey blockSignature confirmations totalForged generatorAddress previousBlockId',
    'id version timestamp height previousBlockId numberOfTransactions totalAmount totalFee reward payloadLength ' +
      'payloadHash generatorPublicKey generatorAddress blockSignature confirmations totalForged maxHeightPrevoted ' +
      'maxHeightPreviouslyForged',
  ],
  [
    '/transactions',
    'id height blockId type timestamp senderPublicKey recipientPublicKey senderId recipientId amount fee signature ' +
      'signSignature signatures asset confirmations senderSecondPublicKey',
    'id height blockId type timestamp senderPublicKey senderId fee signature signSignature signatures asset ' +
      'confirmations amount recipientId recipientPublicKey senderSecondPublicKey',
  ],
  [
    '/node/transactions/verified',
    'id type amount fee timestamp senderPublicKey senderId signature signatures recipientPublicKey recipientId asset ' +
      'signSignature receivedAt',
    'id type timestamp senderPublicKey senderId fee signature signSignature signatures asset receivedAt amount ' +
      'recipientId recipientPublicKey',
  ],
  [
    '/node/transactions/pending',
    'id type amount fee timestamp senderPublicKey senderId signature signatures recipientPublicKey recipientId asset ' +
      'receivedAt ready',
    'id type timestamp senderPublicKey senderId fee signature signatures asset receivedAt amount recipientId ' +
      'recipientPublicKey ready',
  ],
  [
    '/node/status',
    'broadhash consensus currentTime secondsSinceEpoch height loaded networkHeight syncing transactions ' +
      'chainMaxHeightFinalized',
    'currentTime secondsSinceEpoch height chainMaxHeightFinalized syncing broadhash consensus loaded networkHeight ' +
      'transactions',
  ],
  [
    '/node/constants',
    'build commit epoch fees nethash nonce milestone reward supply version protocolVersion networkId networkName blockTime',
    'build commit epoch fees networkId milestone reward supply version protocolVersion nethash nonce networkName blockTime',
  ],
  ['/node/status/forging', 'forging publicKey', 'forging publicKey'],
  ['/node/digest', 'height blockId digest', 'height blockId digest'],
  [
    '/peers',
    'ip wsPort httpPort height os version protocolVersion state broadhash nonce networkId',
    'ip wsPort httpPort height os version protocolVersion state networkId broadhash nonce',
  ],
  [
    `/voters?address=${ALICE.address}`,
    'username publicKey address balance voters votes',
    'username publicKey address balance voters votes',
  ],
  [
    `/votes?address=${ALICE.address}`,
    'address balance username publicKey votesUsed votesAvailable votes',
    'address balance username publicKey votesUsed votesAvailable votes',
  ],
  [
    `/accounts/${GROUP.address}/multisignature_groups`,
    'address publicKey balance secondPublicKey min lifetime members',
    'address publicKey balance secondPublicKey min lifetime members',
  ],
];

for (const generation of [2, 3] as const) {
  test(`generation ${generation} answers with its own members first, in their order`, async (t) => {
    const ask = await serve(t, populatedNode(generation));
    for (const [target, two, three] of MEMBERS) {
      const { status, body } = await ask(`/api${target}`);
      t.is(status, 200, target);
      t.deepEqual(Object.keys(body as object), ENVELOPE, target);
      t.deepEqual((body as Envelope).links, {}, target);
      t.is(Object.keys(firstOf(body)).join(' '), generation === 2 ? two : three, target);
    }
  });

  test(`every answer of generation ${generation} has the shape that its route declares`, async (t) => {
    const ask = await serve(t, populatedNode(generation));
    const reads = allRoutes({ generation, strict: false }).filter(
      ({ method, kind }) => method === 'GET' && kind !== 'stream',
    );
    for (const route of reads) {
      const owner = route.path.endsWith('groups') ? GROUP.address : ALICE.address;
      const path = route.path.replace('{address}', owner).replace('{state}', 'pending').replace('{id}', '1');
      // Without the prefix `/api`, the path `/` belongs to the dashboard.
      if (path === '/') {
        t.is((await ask('/api')).status, 200);
        continue;
      }
      const target = route.path.startsWith('/vote') ? `${path}?address=${ALICE.address}` : path;
      const { status } = await ask(target);
      t.is(status, 200, target);
    }
  });
}

test('meta repeats the requested page, with the count where clients read it', async (t) => {
  const ask = await serve(t, populatedNode(3));
  const metaOf = async (target: string) => ((await ask(target)).body as Envelope).meta;
  t.deepEqual(await metaOf('/accounts'), { offset: 0, limit: 10 });
  t.deepEqual(await metaOf('/delegates?limit=101&offset=99999999999'), { offset: 99_999_999_999, limit: 101 });
  t.deepEqual(await metaOf('/transactions?limit=1'), { offset: 0, limit: 1, count: 2 });
  t.deepEqual(await metaOf('/peers'), { offset: 0, limit: 10, count: 1 });
  t.deepEqual(await metaOf('/node/status'), {});
  t.deepEqual(await metaOf('/delegates/forgers?limit=3&offset=2'), {
    lastBlock: 2,
    lastBlockSlot: 20,
    currentSlot: 30,
    limit: 3,
    offset: 2,
  });
});

test('a delegate account shows its delegate data in the member order of its generation', async (t) => {
  const forgingState = async (generation: Generation) => {
    const { body } = await (await serve(t, fakeNode(generation)))('/accounts');
    return firstOf(body)['delegate'];
  };
  const figures = { rewards: '500000000', producedBlocks: 2, missedBlocks: 1 };
  t.is(
    JSON.stringify(await forgingState(2)),
    JSON.stringify({
      username: 'alice',
      vote: '5000000000',
      ...figures,
      rank: 1,
      productivity: 66.67,
      approval: 12.5,
      voteWeight: '5000000000',
    }),
  );
  t.is(
    JSON.stringify(await forgingState(3)),
    JSON.stringify({
      username: 'alice',
      voteWeight: '5000000000',
      ...figures,
      productivity: 66.67,
      approval: 12.5,
      vote: '5000000000',
      rank: 1,
    }),
  );
});

test('a missing value of an account is an empty text, or null for the key in votes and voters', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const { data } = (await ask('/accounts')).body as { data: unknown[] };
  t.deepEqual(data[1], { address: BOB_ADDRESS, publicKey: '', balance: '3', secondPublicKey: '', asset: {} });
  const common = { address: BOB_ADDRESS, balance: '3', username: '', publicKey: null };
  t.deepEqual(firstOf((await ask(`/voters?address=${BOB_ADDRESS}`)).body), { ...common, voters: [], votes: 0 });
  const noVotes = { votesUsed: 0, votesAvailable: 101, votes: [] };
  t.deepEqual(firstOf((await ask(`/votes?address=${BOB_ADDRESS}`)).body), { ...common, ...noVotes });
});

test('votes and voters show the account, its totals and a page of the others', async (t) => {
  const ask = await serve(t, fakeNode(3));
  const target = `publicKey=${ALICE_KEY.toUpperCase()}`;
  const alice = { address: ALICE.address, publicKey: ALICE_KEY, balance: '5000000000' };
  t.like(firstOf((await ask(`/voters?${target}`)).body), { username: 'alice', votes: 1, voters: [alice] });
  const votes = [{ ...alice, username: 'alice' }];
  t.like(firstOf((await ask(`/votes?${target}`)).body), { votesUsed: 1, votesAvailable: 100, votes });
});

test('an unknown account or group gives 404 with the message of real nodes', async (t) => {
  const ask = await serve(t, fakeNode(3));
  for (const [target, message] of [
    ['/voters?username=nosuch', 'Delegate not found'],
    ['/votes?address=999999L', 'Delegate not found'],
    [`/accounts/${ALICE.address}/multisignature_groups`, 'Multisignature account not found'],
    ['/accounts/999999L/multisignature_memberships', 'Multisignature membership account not found'],
  ] as const) {
    const answer = await ask(target);
    t.is(answer.status, 404, target);
    t.deepEqual(answer.body, { message }, target);
  }
  t.deepEqual((await ask(`/accounts/${BOB_ADDRESS}/multisignature_memberships`)).body, {
    meta: {},
    data: [],
    links: {},
  });
});

test('confirmations of a block count from the tip, and the genesis block has an empty parent', async (t) => {
  const { body } = await (await serve(t, fakeNode(3)))('/blocks');
  const [tip, genesis] = (body as { data: Record<string, unknown>[] }).data;
  t.like(tip, { confirmations: 1, totalForged: '15', generatorAddress: ALICE.address, maxHeightPrevoted: 1 });
  t.like(genesis, { confirmations: 2, previousBlockId: '', totalAmount: '100', totalForged: '0' });
});

test('constants give fees as texts, the milestone as an index and the supply of the tip', async (t) => {
  const { body } = await (await serve(t, fakeNode(3)))('/node/constants');
  t.like(firstOf(body), {
    epoch: '2016-05-24T17:00:00.000Z',
    fees: {
      send: '10000000',
      vote: '100000000',
      secondSignature: '500000000',
      delegate: '2500000000',
      multisignature: '500000000',
      dappRegistration: '2500000000',
      dappWithdrawal: '10000000',
      dappDeposit: '10000000',
    },
    milestone: '0',
    reward: '0',
    supply: '10000000000000000',
    networkId: '11'.repeat(32),
  });
});

test('the status counts the transactions of the chain and of each queue', async (t) => {
  const { body } = await (await serve(t, fakeNode(2)))('/node/status');
  t.is(
    JSON.stringify(firstOf(body)['transactions']),
    '{"confirmed":104,"ready":1,"verified":2,"pending":3,"validated":4,"received":5,"total":119}',
  );
  t.like(firstOf(body), { consensus: 67, chainMaxHeightFinalized: 1, loaded: true, currentTime: 1_464_109_505_000 });
});

test('the status shows reverted branches, and no such member when there were none', async (t) => {
  for (const generation of [2, 3] as const) {
    const node = fakeNode(generation);
    const ask = await serve(t, node);
    t.false('reorgs' in firstOf((await ask('/node/status')).body));
    node.reorgs = { count: 25, latest: [{ timeMs: 1_500_000_000_000, commonHeight: 7, revertedBlocks: 2 }] };
    t.deepEqual(firstOf((await ask('/node/status')).body)['reorgs'], {
      count: 25,
      latest: [{ time: '2017-07-14T02:40:00.000Z', commonHeight: 7, revertedBlocks: 2 }],
    });
  }
});

const DAPP = { category: 1, name: 'app', description: 'd', tags: 't', type: 0, link: 'l', icon: 'i' };

const ASSETS: readonly (readonly [payload: Payload, two: object, three: object | undefined])[] = [
  [TRANSFER, { data: 'hi' }, { amount: '25', recipientId: BOB_ADDRESS, data: 'hi' }],
  [
    { kind: 'transfer', amount: 1n, recipientId: '1L', data: 'a\u0000' },
    { data: 'a\u0000' },
    { amount: '1', recipientId: '1L', data: 'a\u0000' },
  ],
  [{ kind: 'transfer', amount: 1n, recipientId: '1L' }, {}, { amount: '1', recipientId: '1L' }],
  [
    { kind: 'secondSignature', publicKey: ALICE_KEY },
    { signature: { publicKey: ALICE_KEY } },
    { publicKey: ALICE_KEY },
  ],
  [
    { kind: 'delegate', username: 'alice' },
    { delegate: { username: 'alice', publicKey: ALICE_KEY, address: ALICE.address } },
    { username: 'alice', publicKey: ALICE_KEY, address: ALICE.address },
  ],
  [{ kind: 'vote', votes: ['+a'], amount: 0n }, { votes: ['+a'] }, { votes: ['+a'] }],
  [
    { kind: 'multisignature', min: 2, lifetime: 24, keysgroup: ['+a'] },
    { multisignature: { min: 2, lifetime: 24, keysgroup: ['+a'] } },
    { min: 2, lifetime: 24, keysgroup: ['+a'] },
  ],
  [{ kind: 'dapp', dapp: DAPP }, { dapp: DAPP }, { dapp: DAPP }],
  [
    { kind: 'inTransfer', amount: 5n, dappId: '9', recipientId: '1L' },
    { inTransfer: { dappId: '9' } },
    { inTransfer: { dappId: '9' }, amount: '5', recipientId: '1L' },
  ],
  [
    { kind: 'outTransfer', amount: 5n, recipientId: '1L', dappId: '9', transactionId: '8' },
    { outTransfer: { dappId: '9', transactionId: '8' } },
    { outTransfer: { dappId: '9', transactionId: '8' }, amount: '5', recipientId: '1L' },
  ],
];

test('assets of every kind are nested in generation 2 and flat in generation 3', async (t) => {
  for (const generation of [2, 3] as const) {
    const fake = fakeNode(generation);
    const ask = await serve(t, fake);
    for (const [payload, two, three] of ASSETS) {
      fake.transactions = [{ transaction: transactionOf(generation, payload), blockId: '1', height: 1 }];
      const { body } = await ask('/transactions');
      t.is(JSON.stringify(firstOf(body)['asset']), JSON.stringify(generation === 2 ? two : three), payload.kind);
    }
  }
});

test('generation 3 shows amount and recipient at the top, empty where there is none', async (t) => {
  const fake = fakeNode(3);
  const ask = await serve(t, fake);
  const shown = async (payload: Payload) => {
    fake.transactions = [{ transaction: transactionOf(3, payload), blockId: '1', height: 1 }];
    return firstOf((await ask('/transactions')).body);
  };
  t.like(await shown(TRANSFER), { amount: '25', recipientId: BOB_ADDRESS, recipientPublicKey: '' });
  const vote = await shown({ kind: 'vote', votes: [], amount: 0n });
  t.is(vote['amount'], '0');
  t.is(vote['recipientId'], '');
  t.is(vote['recipientPublicKey'], '');
});

test('generation 2 shows empty texts where there is no recipient', async (t) => {
  const fake = fakeNode(2);
  const transaction = transactionOf(2, { kind: 'delegate', username: 'x' });
  fake.transactions = [{ transaction, blockId: '1', height: 1 }];
  const { body } = await (await serve(t, fake))('/transactions');
  t.like(firstOf(body), { recipientId: '', recipientPublicKey: '', amount: '0', confirmations: 2 });
});

test('the pool shows the submitted asset, the time of receipt and whether a group signed enough', async (t) => {
  const ask = await serve(t, populatedNode(3));
  const receivedAt = '2016-05-24T17:00:00.000Z';
  t.like(firstOf((await ask('/node/transactions/pending')).body), {
    asset: { submitted: true },
    receivedAt,
    ready: false,
  });
  const byDefault = await ask('/node/transactions');
  t.is(byDefault.text, (await ask('/node/transactions/verified')).text);
});
