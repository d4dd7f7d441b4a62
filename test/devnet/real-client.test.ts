import { createRequire } from 'node:module';
import test from 'ava';
import { sendAndCompare } from './real-client.ts';

const load = createRequire(import.meta.url);
const { APIClient } = load('lisk-api-client-3');
const transactions = load('lisk-transactions-3');

test('an existing client sends every kind of transaction to any node, reads the same from all and gets an answer to each method', async (t) => {
  await sendAndCompare(t, {
    network: 'devnet',
    APIClient,
    transactions,
    commonArguments: ({ network }) => ({ networkIdentifier: network.params.networkIdentifier }),
    createSignatureObject: (transaction, passphrase, common) =>
      transactions.createSignatureObject({ transaction, passphrase, ...common }),
    checkConstants: (_, constants, { network }) => t.is(constants.networkId, network.params.networkIdentifier),
    amountOf: (transaction) => transaction.asset.amount,
    checkDelegate: (_, delegate, votersBalance) => t.is(delegate.voteWeight, votersBalance),
  });
});
