import { createHash } from 'node:crypto';
import test from 'ava';
import { payloadHashOf, type BlockFormat } from '../../../src/protocol/block/validate.ts';
import type { Transaction } from '../../../src/protocol/types.ts';
import { ChainMaker } from '../../support/chain-maker.ts';

test('the payload of a genesis block with hundreds of thousands of transactions is hashed', (t) => {
  const [transaction] = new ChainMaker().network.genesis.transactions;
  if (transaction === undefined) return t.fail();
  const bytes = Buffer.from('transaction');
  const format: BlockFormat = { headerBytes: () => bytes, transactionBytes: () => bytes };
  const transactions: readonly Transaction[] = Array.from({ length: 300_000 }, () => transaction);
  const expected = createHash('sha256').update('transaction'.repeat(300_000)).digest('hex');
  t.is(payloadHashOf(transactions, format), expected);
});
