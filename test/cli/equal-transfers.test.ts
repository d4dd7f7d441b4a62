import test from 'ava';
import { LSK } from '../support/chain-maker.ts';
import { accountsOf, begunDevnet, FUNDER } from './timekeeper-devnet.ts';

const TO = '77L';

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: equal fundings are different transactions`, async (t) => {
    const devnet = await begunDevnet(t, { generation });
    await devnet.timekeeper.freeze();
    const funded = [];
    for (let count = 0; count < 6; count += 1) funded.push(await devnet.accounts.fund(TO, LSK.toString()));
    funded.push(...(await Promise.all([1, 2, 3].map(() => devnet.accounts.fund(TO, LSK.toString())))));
    t.is(new Set(funded.map(({ transactionId }) => transactionId)).size, 9);
    t.is(devnet.nodes[0]!.store.account(TO)?.balance, 9n * LSK);
  });
}

test('a funding differs from an equal funding before the restart of the devnet', async (t) => {
  const devnet = await begunDevnet(t);
  await devnet.timekeeper.freeze();
  // The first funding goes into the block of the present slot, so the stopped clock of the devnet does not move to a
  // later slot. The second funding is therefore made at the same time as the first.
  const before = await devnet.accounts.fund(TO, LSK.toString());
  const after = await accountsOf(devnet).fund(TO, LSK.toString());
  t.not(before.transactionId, after.transactionId);
});

test('equal transfers to the pool are different transactions', async (t) => {
  const { accounts } = await begunDevnet(t);
  const transfer = { from: 'genesis', address: TO, amount: LSK.toString(), data: '' };
  const ids = [await accounts.send(transfer), await accounts.send(transfer)].map(({ id }) => id);
  ids.push(accounts.transfer(FUNDER, TO, LSK).id);
  t.is(new Set(ids).size, 3);
});
