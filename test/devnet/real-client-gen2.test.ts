import { createRequire } from 'node:module';
import test from 'ava';
import { sendAndCompare } from './real-client.ts';

const load = createRequire(import.meta.url);
const { APIClient } = load('lisk-api-client-2');
const transactions = load('lisk-transactions-2');

test('an existing client of generation 2 sends every kind of transaction, reads the same from all nodes and gets an answer to each method', async (t) => {
  await sendAndCompare(t, {
    network: 'devnet-gen2',
    APIClient,
    transactions,
    commonArguments: () => ({}),
    createSignatureObject: (transaction, passphrase) => transactions.createSignatureObject(transaction, passphrase),
    checkConstants: (_, constants, { network }) => {
      t.is(constants.nethash, network.params.nethash);
      t.is(constants.protocolVersion, '1.1');
    },
    amountOf: (transaction) => transaction.amount,
    // A vote changes the delegate's vote weight only at the end of the round, so the weight is still 0.
    checkDelegate: (_, delegate) => t.is(delegate.vote, '0'),
  });
});
