import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { descriptionOf } from '../../src/cli/chain-query/format-rows.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { populatedNode } from '../http/populated-node.ts';
import { CLI_ENTRY, isProblemLine, runCli } from '../support/cli.ts';
import { nodeAnswering } from '../support/node-answering.ts';

const KEY = 'ab'.repeat(32);
const BLOCK = {
  id: '123',
  height: 7,
  timestamp: 60,
  generatorPublicKey: KEY,
  numberOfTransactions: 1,
  totalAmount: '350000000',
  totalFee: '10000000',
  reward: '500000000',
  confirmations: 2,
  previousBlockId: '122',
};
const TRANSFER = {
  id: '17',
  type: 0,
  senderId: '1L',
  recipientId: '2L',
  amount: '350000000',
  fee: '10000000',
  asset: { data: 'rent\u001B[31m' },
  height: 7,
  blockId: '123',
  timestamp: 55,
  confirmations: 2,
};
const DELEGATE = {
  username: 'smith',
  rank: 3,
  vote: '9900000000000000',
  producedBlocks: 5,
  missedBlocks: 1,
  productivity: 83.33,
  account: { address: '9L', publicKey: KEY },
};
const CONSTANTS = { '/api/node/constants': { data: { epoch: '2016-05-24T17:00:00.000Z' } } };

test.serial('a block is shown by its height, by its id and as the latest', async (t) => {
  const node = await nodeAnswering(t, {
    ...CONSTANTS,
    '/api/blocks?limit=1': { data: [BLOCK] },
    '/api/blocks?height=7': { data: [BLOCK] },
    // The number 123 could be a height, but it is an id.
    '/api/blocks?height=123': { data: [] },
    '/api/blocks?blockId=123': { data: [BLOCK] },
    [`/api/delegates?publicKey=${KEY}`]: { data: [DELEGATE] },
    '/api/transactions?blockId=123&limit=100': { data: [TRANSFER] },
  });
  for (const which of [[], ['latest'], ['7'], ['123']]) {
    const { code, stdout, stderr } = await runCli(['block', ...which, '--node', node]);
    t.is(stderr, '');
    t.is(code, 0);
    t.is(
      stdout,
      [
        'block           123',
        'height          7, 2 confirmations',
        'time            2016-05-24 17:01:00 UTC',
        `forged by       smith, ${KEY}`,
        'after block     122',
        'reward          5 LSK',
        'fees            0.1 LSK',
        'transactions    1, 3.5 LSK',
        '  17                    1L sends 3.5 LSK to 2L with the text "rent\\u001b[31m"',
        '',
      ].join('\n'),
    );
  }
  const { stdout } = await runCli(['block', '7', '--json', '--node', node]);
  t.deepEqual(JSON.parse(stdout), { block: BLOCK, transactions: [TRANSFER] });
});

test.serial('a query for data that the node lacks is refused in one line', async (t) => {
  const empty = { data: [] };
  const node = await nodeAnswering(t, {
    '/api/blocks?height=8': empty,
    '/api/blocks?blockId=8': empty,
    '/api/transactions?id=8': empty,
    ...Object.fromEntries(
      ['ready', 'verified', 'pending', 'validated', 'received'].map((state) => [
        `/api/node/transactions/${state}?id=8`,
        empty,
      ]),
    ),
    '/api/delegates?username=nobody': empty,
  });
  for (const [args, message] of [
    [['block', '8'], /has no block 8/],
    [['tx', '8'], /knows no transaction 8/],
    [['account', 'nobody'], /knows no account nobody/],
  ] as const) {
    const { code, stdout, stderr } = await runCli([...args, '--node', node]);
    t.is(code, 1);
    t.is(stdout, '');
    t.true(isProblemLine(stderr), stderr);
    t.regex(stderr, message);
  }
});

test.serial('a transaction is shown in its block, or in the pool with its signatures', async (t) => {
  const node = await nodeAnswering(t, {
    ...CONSTANTS,
    '/api/transactions?id=17': { data: [TRANSFER] },
    '/api/transactions?id=18': { data: [] },
    '/api/node/transactions/received?id=18': { data: [] },
    '/api/node/transactions/validated?id=18': { data: [] },
    '/api/node/transactions/pending?id=18': {
      data: [
        { id: '18', type: 10, senderId: '1L', fee: '2500000000', asset: { username: 'smith' }, signatures: [KEY] },
      ],
    },
  });
  const confirmed = await runCli(['tx', '17', '--node', node]);
  t.regex(confirmed.stdout, /^place {11}block 123 at height 7, 2 confirmations$/m);
  t.regex(confirmed.stdout, /^type {12}0, transfer$/m);
  const pending = await runCli(['tx', '18', '--node', node]);
  t.is(pending.stderr, '');
  t.regex(pending.stdout, /^sender {10}1L registers the delegate smith$/m);
  t.regex(pending.stdout, /^signatures {6}1 of members$/m);
  t.regex(pending.stdout, /^place {11}waits in the pool \(pending\)$/m);
});

test.serial('an account is found by address, by public key and by the name of its delegate', async (t) => {
  const account = { address: '9L', publicKey: KEY, balance: '123', secondPublicKey: '', delegate: DELEGATE };
  const answer = { data: [account] };
  const node = await nodeAnswering(t, {
    '/api/accounts?address=9L': answer,
    [`/api/accounts?publicKey=${KEY}`]: answer,
    '/api/delegates?username=sm%26ith': { data: [DELEGATE] },
    '/api/transactions?senderIdOrRecipientId=9L&sort=timestamp:desc&limit=10': { data: [TRANSFER] },
  });
  for (const which of ['9L', '9', '9l', KEY.toUpperCase(), 'Sm&ith']) {
    const { stdout, stderr } = await runCli(['account', which, '--node', node]);
    t.is(stderr, '');
    t.regex(stdout, /^balance {9}0\.00000123 LSK$/m);
    t.regex(stdout, /^delegate {8}smith, rank 3$/m);
    t.regex(stdout, /^blocks {10}5 forged, 1 missed, productivity 83\.33 %$/m);
    t.regex(stdout, /^17 +7 {2}1L sends 3\.5 LSK to 2L/m);
  }
});

test.serial('an account is shown with its multisignature group', async (t) => {
  const account = { address: '9L', publicKey: KEY, balance: '123' };
  const members = [
    { address: '3L', publicKey: 'cd'.repeat(32) },
    { address: '4L', publicKey: 'ef'.repeat(32) },
  ];
  const answered = members.map((each) => ({ ...each, secondPublicKey: '' }));
  const group = { ...account, secondPublicKey: '', min: 2, lifetime: 24, members: answered };
  const latest = { data: [] };
  const node = await nodeAnswering(t, {
    '/api/accounts?address=9L': { data: [account] },
    '/api/accounts/9L/multisignature_groups': { data: [group] },
    '/api/transactions?senderIdOrRecipientId=9L&sort=timestamp:desc&limit=10': latest,
    '/api/accounts?address=8L': { data: [{ ...account, address: '8L' }] },
    '/api/transactions?senderIdOrRecipientId=8L&sort=timestamp:desc&limit=10': latest,
  });
  const { stdout, stderr } = await runCli(['account', '9L', '--node', node]);
  t.is(stderr, '');
  t.regex(stdout, /^multisignature {2}2 of 2 members must sign$/m);
  t.regex(stdout, /^member {10}3L, (cd){32}\nmember {10}4L, (ef){32}$/m);
  const json = await runCli(['account', '9L', '--json', '--node', node]);
  t.deepEqual(JSON.parse(json.stdout), { account, group: { min: 2, members }, latestTransactions: [] });
  const single = await runCli(['account', '8L', '--json', '--node', node]);
  t.is((JSON.parse(single.stdout) as { group: unknown }).group, null, single.stdout);
  const text = await runCli(['account', '8L', '--node', node]);
  t.notRegex(text.stdout, /multisignature|member/);
});

test.serial('delegates are listed by rank, and pool transactions by what they wait for', async (t) => {
  const empty = { data: [] };
  const node = await nodeAnswering(t, {
    '/api/delegates?sort=rank:asc&limit=2&offset=2': { data: [DELEGATE] },
    '/api/node/transactions/ready?sort=timestamp:asc&limit=100': { data: [TRANSFER] },
    '/api/node/transactions/verified?sort=timestamp:asc&limit=100': { data: [TRANSFER] },
    '/api/node/transactions/pending?sort=timestamp:asc&limit=100': {
      data: [{ ...TRANSFER, id: '18', signatures: [KEY] }],
    },
    '/api/node/transactions/validated?sort=timestamp:asc&limit=100': empty,
    '/api/node/transactions/received?sort=timestamp:asc&limit=100': empty,
  });
  const listed = await runCli(['delegates', '--limit', '2', '--offset', '2', '--node', node]);
  t.regex(listed.stdout, /^ +3 {2}smith +9L +99000000 LSK +5 +1 +83\.33 %\n$/m);
  const { stdout } = await runCli(['pool', '--node', node]);
  const lines = stdout.split('\n');
  t.is(lines.length, 4);
  t.regex(lines[0] ?? '', /^transaction +waits +fee +sender +does$/);
  t.regex(lines[1] ?? '', /^17 +for a block  +0\.1 LSK +1L +sends 3\.5 LSK to 2L/);
  t.regex(lines[2] ?? '', /^18 +for signatures of its group, has 1 +0\.1 LSK /);
});

test.serial(
  'a lisk-sdk node of generation 3, which sends no ranks and another name of the votes, is shown',
  async (t) => {
    const { rank: _rank, vote, ...members } = DELEGATE;
    const sent = { ...members, voteWeight: vote };
    const { account: _account, ...delegate } = sent;
    const node = await nodeAnswering(
      t,
      {
        ...CONSTANTS,
        '/api/delegates?limit=101&offset=0': { data: [sent] },
        '/api/blocks?limit=1': { data: [BLOCK] },
        [`/api/delegates?publicKey=${KEY}`]: { data: [sent] },
        '/api/transactions?blockId=123&limit=100': { data: [] },
        '/api/accounts?address=9L': { data: [{ address: '9L', publicKey: KEY, balance: '1', delegate }] },
        '/api/transactions?senderIdOrRecipientId=9L&sort=timestamp:desc&limit=10': { data: [] },
        '/api/accounts/9L/multisignature_groups': { data: [] },
      },
      ['/api/delegates?sort=rank:asc&limit=101&offset=0'],
    );
    const listed = await runCli(['delegates', '--node', node]);
    t.is(listed.stderr, '');
    t.regex(listed.stdout, /^ +- {2}smith +9L +99000000 LSK +5 +1 +83\.33 %\n$/m);
    t.regex((await runCli(['block', 'latest', '--node', node])).stdout, /^forged by {7}smith, /m);
    const account = await runCli(['account', '9L', '--node', node]);
    t.regex(account.stdout, /^delegate {8}smith\nvotes {11}99000000 LSK$/m, account.stderr);
  },
);

test.serial('the account that paid out the supply has a balance below zero', async (t) => {
  const node = await nodeAnswering(t, {
    '/api/accounts?address=1L': { data: [{ address: '1L', publicKey: KEY, balance: '-10000000000000000' }] },
    '/api/transactions?senderIdOrRecipientId=1L&sort=timestamp:desc&limit=10': { data: [] },
  });
  const { stdout, stderr } = await runCli(['account', '1L', '--node', node]);
  t.regex(stdout, /^balance {9}-100000000 LSK$/m, stderr);
});

test.serial('a transaction that moves through the queues into a block during the requests is found', async (t) => {
  const { id } = TRANSFER;
  let places: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const isThere = pathname.endsWith(places[0] ?? '');
    // After each request for transactions, the server shows the transaction under the next path in `places` instead of
    // the previous one. Under the last path, the transaction stays.
    if (places.length > 1 && /transactions/.test(pathname)) places.shift();
    const data = pathname.endsWith('constants') ? CONSTANTS['/api/node/constants'].data : isThere ? [TRANSFER] : [];
    response.end(JSON.stringify({ data }));
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const node = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const order = ['/received', '/validated', '/pending', '/verified', '/ready', '/transactions'];
  for (const last of order) {
    places = order.slice(0, order.indexOf(last) + 1);
    const { code, stderr } = await runCli(['tx', id, '--node', node]);
    t.is(code, 0, `${last}: ${stderr}`);
  }
  // A new block moves the transaction from `ready` back to `validated`, a queue that `bloomery tx` has already
  // searched.
  places = ['/ready', '/ready', '/ready', '/ready', '/validated'];
  t.is((await runCli(['tx', id, '--node', node])).code, 0);
  // A new block again moves the transaction from `ready` to `validated`. The pool then verifies the transaction and
  // moves it to `ready`, before `bloomery tx` searches the queue `validated` for the second time.
  places = ['/ready', '/ready', '/ready', '/ready', '/ready', '/validated', '/ready'];
  t.is((await runCli(['tx', id, '--node', node])).code, 0);
  places = ['/ready', '/ready', '/ready', '/validated'];
  t.regex((await runCli(['pool', '--node', node])).stdout, /^17 /m);
  places = ['/received', '/received', '/verified'];
  t.regex((await runCli(['pool', '--node', node])).stdout, /^17 /m);
  places = ['/verified', '/verified', '/verified', '/verified', '/ready'];
  t.regex((await runCli(['pool', '--node', node])).stdout, /^17 /m);
});

for (const [type, asset, words] of [
  [8, { amount: '1', recipientId: '2L' }, 'sends 0.00000001 LSK to 2L'],
  [1, { signature: { publicKey: KEY } }, 'registers a second passphrase'],
  [2, { delegate: { username: 'smith' } }, 'registers the delegate smith'],
  [11, { votes: ['+aa', '+bb', '-cc'] }, 'votes for aa, bb; takes its vote back from cc'],
  [4, { multisignature: { min: 2, keysgroup: ['+a', '+b', '+c'] } }, 'registers a group of 3, of whom 2 must sign'],
  [12, { min: 1, keysgroup: ['+a'] }, 'registers a group of 1, of whom 1 must sign'],
  [5, {}, 'is of type 5'],
  [13, {}, 'is of type 13'],
  [11, null, 'votes for nobody'],
] as const) {
  test(`a transaction of type ${type} with ${JSON.stringify(asset).slice(0, 40)} ${words}`, (t) => {
    t.is(descriptionOf({ id: '1', type, senderId: '1L', fee: '1', asset }), words);
  });
}

test.serial('the command reconnects after the end of a stream, and continues after the last event', async (t) => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    // A balancer answers 503 while no node behind it is ready.
    if (asked.length === 2) return void response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>503</h1>');
    response.setHeader('Content-Type', 'text/event-stream');
    const sequence = asked.length === 1 ? 1 : 2;
    response.write(`id: ${sequence}.0\nevent: finalized/change\ndata: {"height":${sequence}}\n\n`);
    if (asked.length === 1) response.end();
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const args = ['events', '--follow', '--json', '--final', '--node', `127.0.0.1:${port}`];
  const child = spawn(process.execPath, [CLI_ENTRY, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  let stdout = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    stdout += String(text);
    if (stdout.split('\n').length > 2) break;
  }
  t.is(
    stdout,
    [1, 2].map((height) => `{"id":"${height}.0","event":"finalized/change","data":{"height":${height}}}\n`).join(''),
  );
  const again = '/events?finality=final&lastEventId=1.0';
  t.deepEqual(asked, ['/events?finality=final', again, again]);
});

test.serial('an address that answers but streams no events is refused', async (t) => {
  const node = await nodeAnswering(t, { '/events?lastEventId=0.0&follow=false': { data: [] } });
  const { code, stderr } = await runCli(['events', '--node', node]);
  t.is(code, 1);
  t.true(isProblemLine(stderr), stderr);
  const nobody = await runCli(['events', '--follow', '--node', '127.0.0.1:9']);
  t.is(nobody.code, 1);
  t.regex(nobody.stderr, /no node answers at/);
});

for (const generation of [2, 3] as const) {
  test.serial(`generation ${generation}: a node with the strict dialect gives commands all members`, async (t) => {
    const { api } = populatedNode(generation);
    const server = createHttpServer(api, { port: 0, address: '127.0.0.1', strictDialect: true });
    const { port } = await server.start();
    t.teardown(() => server.close());
    for (const args of [['delegates'], ['block', 'latest'], ['account', 'alice'], ['pool']]) {
      const { code, stderr } = await runCli([...args, '--node', `http://127.0.0.1:${port}`]);
      t.deepEqual({ code, stderr }, { code: 0, stderr: '' }, args.join(' '));
    }
  });
}
