// Each function is a test: it gets a devnet in its first state, and asserts with node:assert, which all test runners understand.
import assert from 'node:assert/strict';
import { createClient } from 'bloomery/client';

const LSK = 100_000_000n;

export const options = { nodes: 2, delegates: 5, mine: 'on-demand' };

export const behaviour = {
  'a payment arrives': async (net) => {
    const client = createClient(net.url);
    const shop = net.account('account_2').address;
    const { id } = await net.send('account_1', { kind: 'transfer', to: shop, amount: 5n * LSK, data: 'order 17' });
    await net.mine();
    const { data } = await client.get('/transactions', { id });
    assert.equal(data[0].amount, 5n * LSK);
    assert.equal(data[0].asset.data, 'order 17');
  },

  'a newcomer becomes a delegate and is voted for': async (net) => {
    const client = createClient(net.url);
    const newcomer = net.account('account_3');
    await net.send(newcomer, { kind: 'delegate', username: 'newcomer' });
    await net.mine();
    await net.send('account_1', { kind: 'vote', for: [newcomer.publicKey] });
    await net.mine();
    const { data } = await client.get('/voters', { username: 'newcomer' });
    assert.equal(data.voters.length, 1);
    assert.equal(data.voters[0].address, net.account('account_1').address);
  },

  'a payment on a branch that loses is paid on the branch that wins': async (net) => {
    const [here, there] = net.nodes.map(({ url }) => createClient(url));
    await net.partition([0], [1]);
    const { id } = await net.send('account_1', { kind: 'transfer', to: '42L', amount: 5n * LSK }, 0);
    await net.mine(10);
    assert.equal((await here.get('/transactions', { id })).data.length, 1);
    assert.equal((await there.get('/transactions', { id })).data.length, 0);

    await net.heal();
    await net.mine(5);
    const tips = await Promise.all([here, there].map((client) => client.get('/blocks', { limit: 1 })));
    assert.equal(tips[0].data[0].id, tips[1].data[0].id);
    for (const client of [here, there]) {
      const { data } = await client.get('/accounts', { address: '42L' });
      assert.equal(data[0].balance, 5n * LSK);
    }
  },

  'a payment is final some blocks later': async (net) => {
    const client = createClient(net.url);
    const { id } = await net.send('account_1', { kind: 'transfer', to: '42L', amount: LSK });
    const { height } = await net.mine();
    await net.mine(20);
    await client.waitFor(id, { final: true });
    const { data } = await client.get('/node/status');
    assert.ok(data.chainMaxHeightFinalized >= height);
  },

  'a year later': async (net) => {
    const client = createClient(net.url);
    const before = net.now();
    await net.warp('1y');
    await net.mine();
    const { data } = await client.get('/blocks', { limit: 1 });
    const time = net.network.epoch.getTime() + data[0].timestamp * 1000;
    assert.ok(time - before.getTime() > 364 * 86_400_000);
  },
};
