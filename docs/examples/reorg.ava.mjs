// npx ava reorg.ava.mjs
import test from 'ava';
import { startDevnet } from 'bloomery/testing';

const LSK = 100_000_000n;

test('a payment on a branch that loses is in a block of the branch that wins', async (t) => {
  const net = await startDevnet({ nodes: 4, mine: 'on-demand', delegates: 5 });
  t.teardown(() => net.close());
  const ask = async (node, path) => (await (await fetch(`${net.nodes[node].url}/api/${path}`)).json()).data;

  await net.partition([0, 1], [2, 3]);
  const { id } = await net.send('account_1', { kind: 'transfer', to: '42L', amount: 5n * LSK }, 0);
  await net.mine(12);
  t.is((await ask(1, `transactions?id=${id}`)).length, 1);
  t.is((await ask(2, `transactions?id=${id}`)).length, 0);

  await net.heal();
  await net.mine(5);
  t.is((await ask(0, `transactions?id=${id}`)).length, 1);
  t.is((await ask(2, `transactions?id=${id}`)).length, 1);
});
