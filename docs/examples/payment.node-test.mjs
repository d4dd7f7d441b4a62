// node --test payment.node-test.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transfer } from '@liskhq/lisk-transactions';
import { createClient } from 'bloomery/client';
import { startDevnet } from 'bloomery/testing';

test('a payment is signed, sent and waited for', async (t) => {
  const net = await startDevnet({ delegates: 5 });
  t.after(() => net.close());
  const client = createClient(net.url);

  const { data: constants } = await client.get('/node/constants');
  const payment = transfer({
    amount: '500000000',
    recipientId: '42L',
    passphrase: net.account('account_1').passphrase,
    networkIdentifier: constants.networkId,
  });
  await client.post('/transactions', payment);
  const { height } = await client.waitFor(payment.id);
  assert.equal(height, 2);

  await net.mine(20);
  await client.waitFor(payment.id, { final: true });
  const { data } = await client.get('/accounts', { address: '42L' });
  assert.equal(data[0]?.balance, 500_000_000n);
});
