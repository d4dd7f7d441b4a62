import test from 'ava';
import * as library2 from 'lisk-transactions-2';
import * as library3 from 'lisk-transactions-3';
import { createClient } from '../../src/client/index.ts';
import {
  startDevnet,
  type DevnetOptions,
  type MiningMode,
  type TestDevnet,
  type TransactionPayload,
} from '../../src/testing/index.ts';
import type { Untyped } from '../support/untyped.ts';

const LSK = 100_000_000n;

async function get(url: string, path: string): Promise<Untyped> {
  const response = await fetch(`${url}/api/${path}`);
  return ((await response.json()) as Untyped).data;
}

async function balanceOf(net: TestDevnet, address: string, node = 0): Promise<bigint> {
  const [account] = await get(net.nodes[node]?.url ?? '', `accounts?address=${address}`);
  return BigInt(account?.balance ?? 0);
}

async function post(url: string, path: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
}

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: a transfer, a delegate with votes, and a year later, each in a block when it was sent`, async (t) => {
    const net = await startDevnet({ generation });
    try {
      const [to, candidate] = [net.account('account_2'), net.account('account_3')];
      const before = await balanceOf(net, to.address);
      const { id, height } = await net.send('account_1', {
        kind: 'transfer',
        to: to.address,
        amount: 5n * LSK,
        data: 'rent',
      });
      t.is(height, 2);
      t.is(await balanceOf(net, to.address), before + 5n * LSK);
      t.is((await get(net.url, `transactions?id=${id}`))[0].asset.data, 'rent');

      await net.send(candidate, { kind: 'delegate', username: 'candidate' });
      await net.send('account_1', { kind: 'vote', for: [candidate.publicKey] });
      const { voters } = await get(net.url, 'voters?username=candidate');
      t.deepEqual(
        voters.map(({ address }: Untyped) => address),
        [net.account('account_1').address],
      );

      const then = net.now();
      await net.warp('1y');
      t.true(net.now().getTime() - then.getTime() >= 365 * 86_400_000);
      await net.send('account_1', { kind: 'transfer', to: to.address, amount: LSK });
      const tip = (await get(net.url, 'blocks?limit=1'))[0];
      t.true(tip.timestamp * 1000 + net.network.epoch.getTime() > then.getTime() + 364 * 86_400_000);
    } finally {
      await net.close();
    }
  });

  test(`generation ${generation}: a group transaction is in a block at once after the last signature, whoever forges`, async (t) => {
    const net = await startDevnet({ generation, nodes: 3, delegates: 5 });
    try {
      const library: Untyped = generation === 2 ? library2 : library3;
      const common = generation === 2 ? {} : { networkIdentifier: net.network.networkIdentifier };
      const [owner, ...members] = ['account_1', 'account_2', 'account_3'].map((name) => net.account(name));
      const group = library.registerMultisignature({
        ...{ passphrase: owner?.passphrase, keysgroup: members.map(({ publicKey }) => publicKey) },
        ...{ lifetime: 24, minimum: 2, ...common },
      });
      const include = async (transaction: Untyped): Promise<void> => {
        await post(net.url, 'transactions', transaction);
        for (const { passphrase } of members) {
          const signature =
            generation === 2
              ? library.createSignatureObject(transaction, passphrase)
              : library.createSignatureObject({ transaction, passphrase, ...common });
          await post(net.url, 'signatures', signature);
        }
        const { height } = await createClient(net.url, { generation }).waitFor(transaction.id);
        t.true(height > 1);
      };
      await include(group);
      // Different nodes forge the blocks of these transfers.
      for (const amount of ['1', '2', '3', '4', '5']) {
        await include(library.transfer({ passphrase: owner?.passphrase, recipientId: '42L', amount, ...common }));
      }
      t.is(await balanceOf(net, '42L', 2), 15n);
    } finally {
      await net.close();
    }
  });

  test(`generation ${generation}: a transaction of the Lisk library is in a block at once`, async (t) => {
    const net = await startDevnet({ generation });
    try {
      const { passphrase } = net.account('account_1');
      const recipientId = net.account('account_2').address;
      const amount = String(LSK);
      const transaction: Untyped =
        generation === 2
          ? library2.transfer({ amount, recipientId, passphrase })
          : library3.transfer({ amount, recipientId, passphrase, networkIdentifier: net.network.networkIdentifier });
      const response = await fetch(`${net.url}/api/transactions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(transaction),
      });
      t.is(response.status, 200, await response.text());
      let found: Untyped[] = [];
      while (found.length === 0) found = await get(net.url, `transactions?id=${transaction.id}`);
      t.is(found[0].height, 2);
    } finally {
      await net.close();
    }
  });
}

test('a revert restores state, pool, clock and ports, any number of times', async (t) => {
  const net = await startDevnet({ nodes: 2, mine: 'on-demand', delegates: 5 });
  try {
    const { address } = net.account('account_2');
    await net.mine(7);
    const { id } = await net.send('account_1', { kind: 'transfer', to: address, amount: LSK });
    const before = await balanceOf(net, address);
    const urls = net.nodes.map(({ url }) => url);
    const kept = await net.snapshot('waiting');
    for (let round = 0; round < 2; round += 1) {
      await net.mine(3);
      await net.warp('1d');
      t.is(await balanceOf(net, address), before + LSK);
      t.deepEqual(await net.revert('waiting'), kept);
      t.is((await net.mine(1)).height, kept.height + 1);
      t.is((await get(net.url, `transactions?id=${id}`))[0].height, kept.height + 1);
      t.deepEqual(await net.revert('waiting'), kept);
      t.is(await balanceOf(net, address), before);
      t.deepEqual(
        net.nodes.map(({ url }) => url),
        urls,
      );
    }
    await t.throwsAsync(net.revert('other'), { message: 'there is no snapshot other: there are waiting' });
  } finally {
    await net.close();
  }
});

test('a request directly after a revert does not use a connection that the revert has closed', async (t) => {
  const net = await startDevnet({ delegates: 5 });
  try {
    await net.snapshot('clean');
    const ask = async (): Promise<void> => void (await (await fetch(`${net.url}/api/node/constants`)).text());
    for (let round = 0; round < 150; round += 1) {
      await Promise.all([ask(), ask(), ask()]);
      await net.revert('clean');
      await t.notThrowsAsync(ask(), `revert ${round}`);
    }
  } finally {
    await net.close();
  }
});

test('the parts of a partition diverge, and one of them is reverted after the healing', async (t) => {
  const net = await startDevnet({ nodes: 4, mine: 'on-demand', delegates: 5 });
  try {
    await net.mine(3);
    await net.partition([0, 1]);
    const { address } = net.account('account_2');
    const before = await balanceOf(net, address);
    const other = net.account('account_4').address;
    const otherBefore = await balanceOf(net, other);
    await net.send('account_1', { kind: 'transfer', to: address, amount: LSK }, 0);
    await net.send('account_3', { kind: 'transfer', to: other, amount: LSK }, 2);
    await net.mine(12);
    t.is(await balanceOf(net, address, 1), before + LSK);
    t.is(await balanceOf(net, address, 2), before, 'the other part knows nothing of it');
    const tips = await Promise.all(net.nodes.map(async ({ url }) => (await get(url, 'blocks?limit=1'))[0].id));
    t.is(tips[0], tips[1]);
    t.is(tips[2], tips[3]);
    t.not(tips[0], tips[2]);
    await net.heal();
    await net.mine(5);
    const healed = await Promise.all(net.nodes.map(async ({ url }) => (await get(url, 'blocks?limit=1'))[0].id));
    t.is(new Set(healed).size, 1);
    // The healing has reverted the branch of one part of the network. The transfers of both parts must now be in the
    // chain.
    t.is(await balanceOf(net, address, 3), before + LSK);
    t.is(await balanceOf(net, other, 0), otherBefore + LSK);
  } finally {
    await net.close();
  }
});

test('blocks become final', async (t) => {
  const net = await startDevnet({ mine: 'on-demand', delegates: 5 });
  try {
    const { height } = await net.mine(40);
    const { chainMaxHeightFinalized } = await get(net.url, 'node/status');
    // Any ten consecutive blocks contain a whole round, in which each delegate forges once. A block therefore has
    // enough prevotes after ten blocks, and enough precommits after twenty blocks.
    t.true(chainMaxHeightFinalized >= height - 20 && chainMaxHeightFinalized < height);
  } finally {
    await net.close();
  }
});

test('many devnets at once share nothing', async (t) => {
  const nets = await Promise.all(Array.from({ length: 5 }, () => startDevnet({ delegates: 1 })));
  try {
    t.is(new Set(nets.map(({ url }) => url)).size, 5);
    await Promise.all(nets.map((net, index) => net.mine(index + 1)));
    const heights = await Promise.all(nets.map(async ({ url }) => (await get(url, 'node/status')).height));
    t.deepEqual(heights, [2, 3, 4, 5, 6]);
  } finally {
    await Promise.all(nets.map((net) => net.close()));
  }
});

test('an account can be impersonated and funded', async (t) => {
  const net = await startDevnet({ delegates: 5 });
  try {
    const { address, publicKey } = net.account('account_1');
    await net.fund('42L', 7n * LSK);
    t.is(await balanceOf(net, '42L'), 7n * LSK);
    await net.send('account_1', { kind: 'transfer', to: '42L', amount: LSK });
    await net.impersonate(address);
    const signed: Untyped = library3.transfer({
      ...{ amount: String(LSK), recipientId: '42L', passphrase: 'somebody else' },
      networkIdentifier: net.network.networkIdentifier,
    });
    const { senderId: _senderId, ...rest } = signed;
    const response = await fetch(`${net.url}/api/transactions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      // A node of generation 3 computes the transaction id itself, so a wrong id in the request has no effect.
      body: JSON.stringify({ ...rest, id: '1', senderPublicKey: publicKey }),
    });
    t.is(response.status, 200, await response.text());
    while ((await balanceOf(net, '42L')) < 9n * LSK) await net.mine(1);
    t.pass();
  } finally {
    await net.close();
  }
});

test('a link that loses all messages separates its nodes until it is healed', async (t) => {
  t.timeout(300_000);
  const net = await startDevnet({ nodes: 2, mine: 'interval', delegates: 5 });
  const tips = () => Promise.all(net.nodes.map(async ({ url }) => (await get(url, 'blocks?limit=1'))[0].id));
  try {
    await net.loss(1, [1]);
    // Each node forges in the slots of its own delegates and receives nothing from the other node.
    let [mine, others] = await tips();
    while (mine === others) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      [mine, others] = await tips();
    }
    await net.heal();
    // New blocks keep arriving, so the test compares the blocks at one height instead of the tips.
    const { height } = (await get(net.url, 'blocks?limit=1'))[0];
    const there = await Promise.all(net.nodes.map(({ url }) => get(url, `blocks?height=${height - 1}`)));
    [mine, others] = there.map(([block]) => block.id);
    t.is(mine, others);
  } finally {
    await net.close();
  }
});

test('a slow link delays blocks', async (t) => {
  t.timeout(300_000);
  const net = await startDevnet({ nodes: 2, mine: 'interval', delegates: 5 });
  const tips = () => Promise.all(net.nodes.map(async ({ url }) => (await get(url, 'blocks?limit=1'))[0]));
  try {
    await net.delay('60s');
    const before = Math.max(...(await tips()).map(({ height }) => height as number));
    while ((await tips()).some(({ height }) => height <= before)) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    t.is(
      new Set((await tips()).map(({ id }) => id as string)).size,
      2,
      'each has blocks that are on their way to the other',
    );
  } finally {
    await net.close();
  }
});

test('a skewed clock is ahead by its configured time', async (t) => {
  const net = await startDevnet({ nodes: 2, mine: 'on-demand', delegates: 5 });
  const timeOf = async (node: number) => (await get(net.nodes[node]?.url ?? '', 'node/status')).currentTime as number;
  try {
    await net.skew(1, '+2h');
    const apartMs = (await timeOf(1)) - (await timeOf(0));
    t.true(apartMs > 1.9 * 3_600_000 && apartMs < 2.1 * 3_600_000, `${apartMs}`);
    await net.heal();
    t.true(Math.abs((await timeOf(1)) - (await timeOf(0))) < 600_000);
  } finally {
    await net.close();
  }
});

test('impossible operations are refused with the reason', async (t) => {
  await t.throwsAsync(startDevnet({ nodes: 17 }), { message: 'nodes must be an integer from 1 to 16' });
  await t.throwsAsync(startDevnet({ network: '/nowhere' }), { message: /nowhere/ });
  const net = await startDevnet({ delegates: 5 });
  try {
    await t.throwsAsync(net.send('account_1', { kind: 'transfer', to: '1L', amount: 10n ** 18n }), {
      message: /does not have enough/,
    });
    t.throws(() => net.account('nobody'), { message: /no account nobody/ });
    await t.throwsAsync(net.mine(0), { instanceOf: RangeError });
    await t.throwsAsync(net.delay('2h'), { message: /is not a delay/ });
    await t.throwsAsync(net.delay(1, [1]), { message: 'there is no node 1: the last one is 0' });
    await t.throwsAsync(net.loss(2), { message: /from 0 to 1/ });
    await t.throwsAsync(net.skew(0, 'now'), { message: /not a clock offset/ });
    await t.throwsAsync(net.warp(new Date(0)), { message: /cannot go back/ });
  } finally {
    await net.close();
  }
});

test('invalid options are refused by name before anything starts', async (t) => {
  const cases: readonly (readonly [options: unknown, message: string])[] = [
    [{ mine: 'x' }, 'mine must be one of interval, instant, on-demand'],
    [{ generation: 4 }, 'generation must be 2 or 3'],
    [{ node: 2 }, 'startDevnet() has no option node: it has nodes, mine, generation, delegates, network, log'],
    [{ delegates: 0 }, 'delegates must be an integer from 1 to 101'],
    [{ delegates: 102 }, 'delegates must be an integer from 1 to 101'],
    [{ delegates: '5' }, 'delegates must be an integer from 1 to 101'],
    [{ nodes: 1.5 }, 'nodes must be an integer from 1 to 16'],
    [{ network: '' }, 'network must be the name or folder of a network'],
    [
      { network: 'devnet', delegates: 5 },
      'delegates is for the packaged devnets: a network has its own number of delegates',
    ],
    [{ log: 'loud' }, 'log must be one of debug, info, warn, error'],
    ['instant', 'the options of startDevnet() must be an object'],
  ];
  for (const [options, message] of cases) await t.throwsAsync(startDevnet(options as DevnetOptions), { message });
});

test('operations of a devnet are validated before anything changes', async (t) => {
  const net = await startDevnet({ delegates: 5 });
  try {
    const { height } = await net.mine();
    const now = net.now();
    await t.throwsAsync(net.warp(new Date('x')), { instanceOf: RangeError, message: /invalid/ });
    await t.throwsAsync(net.warp('2030-02-30'), { message: /is not a time in the future/ });
    t.true(net.now().getTime() - now.getTime() < 600_000);
    await t.throwsAsync(net.setMining('zz' as MiningMode), {
      message: 'the mode must be one of interval, instant, on-demand',
    });
    await t.throwsAsync(net.snapshot('../x'), { message: /the name of a snapshot has 1 to 64 letters/ });
    await t.throwsAsync(net.revert('nope'), { message: 'there is no snapshot nope: none was made yet' });
    const to = net.account('account_2').address;
    const transfer = { kind: 'transfer', to, amount: 1n } as const;
    const sends: readonly (readonly [payload: unknown, message: RegExp])[] = [
      [undefined, /the payload must be an object with a `kind`/],
      [{ kind: 'fly' }, /the kind of a payload must be one of transfer, delegate, vote, secondSignature/],
      [{ ...transfer, amount: 5 }, /`amount` must be a bigint of beddows from 0 on/],
      [{ ...transfer, amount: -1n }, /`amount` must be a bigint of beddows from 0 on/],
      [{ kind: 'transfer', amount: 1n }, /`to` must be a string/],
      [{ ...transfer, recipient: to }, /a payload of the kind transfer has no `recipient`/],
      [{ kind: 'delegate' }, /`username` must be a string/],
      [{ kind: 'vote', for: 'genesis_1' }, /`for` must be a list of public keys/],
      [{ kind: 'secondSignature', publicKey: 'ab' }, /`publicKey` must have 64 hexadecimal digits/],
    ];
    for (const [payload, message] of sends) {
      await t.throwsAsync(net.send('account_1', payload as TransactionPayload), { message });
    }
    await t.throwsAsync(net.send('acount_1', transfer), { message: /^there is no account acount_1: the first one is/ });
    await t.throwsAsync(net.send('two words', transfer), { message: /neither the name of an account nor .* BIP-39/ });
    await t.throwsAsync(net.send('account_1', transfer, 1), { message: 'there is no node 1: the last one is 0' });
    await t.throwsAsync(net.fund(to, 0n), { message: '`amount` must be a bigint of beddows from 1 on' });
    t.is((await get(net.url, 'node/status')).height, height);
  } finally {
    await net.close();
  }
});

test('a BIP-39 passphrase can send, and with an option any other passphrase can', async (t) => {
  const net = await startDevnet({ delegates: 5 });
  try {
    const { address, passphrase } = net.account('account_1');
    const before = await balanceOf(net, '42L');
    await net.send(passphrase, { kind: 'transfer', to: '42L', amount: LSK });
    const payload = { kind: 'transfer', to: address, amount: LSK } as const;
    const error = await t.throwsAsync(net.send('some text', payload, { anyPassphrase: true }));
    t.regex(error?.message ?? '', /does not have enough/);
    t.is(await balanceOf(net, '42L'), before + LSK);
  } finally {
    await net.close();
  }
});

test('a closed devnet leaves nothing that keeps the process alive', async (t) => {
  const net = await startDevnet({ nodes: 2, delegates: 5, mine: 'interval' });
  const { url } = net;
  await net[Symbol.asyncDispose]();
  await t.throwsAsync(fetch(`${url}/api/node/status`));
  await net.close();
});
