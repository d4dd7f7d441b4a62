// node --test shop.node-test.mjs
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { startDevnet } from 'bloomery/testing';

const LSK = 100_000_000n;
let net;

before(async () => {
  net = await startDevnet({ delegates: 5 });
  await net.snapshot('clean');
});
beforeEach(() => net.revert('clean'));
after(() => net.close());

async function ask(path) {
  return (await (await fetch(`${net.url}/api/${path}`)).json()).data;
}

test('a payment arrives', async () => {
  const shop = net.account('account_2').address;
  const { id } = await net.send('account_1', { kind: 'transfer', to: shop, amount: 5n * LSK, data: 'order 17' });
  const [payment] = await ask(`transactions?id=${id}`);
  assert.equal(payment.amount, '500000000');
  assert.equal(payment.asset.data, 'order 17');
});

test('a newcomer becomes a delegate', async () => {
  const newcomer = net.account('account_3');
  await net.send(newcomer, { kind: 'delegate', username: 'newcomer' });
  await net.send('account_1', { kind: 'vote', for: [newcomer.publicKey] });
  const { voters } = await ask('voters?username=newcomer');
  assert.deepEqual(
    voters.map(({ address }) => address),
    [net.account('account_1').address],
  );
});

test('a payment is final some blocks later', async () => {
  const { height } = await net.send('account_1', { kind: 'transfer', to: '42L', amount: LSK });
  await net.mine(20);
  const { chainMaxHeightFinalized } = await ask('node/status');
  assert.ok(chainMaxHeightFinalized >= height);
});

test('a year later', async () => {
  const before = net.now();
  await net.warp('1y');
  await net.mine();
  const [{ timestamp }] = await ask('blocks?limit=1');
  assert.ok(net.network.epoch.getTime() + timestamp * 1000 - before.getTime() > 364 * 86_400_000);
});
