import test from 'ava';
import {
  packBlock,
  packTransactions,
  unpackBlock,
  unpackTransaction,
} from '../../../src/protocol/block/packed-block.ts';
import { madeChain } from '../../support/chain-folder.ts';

const { maker, blocks } = madeChain(12);
const { codec } = maker.rules;

test('a packed block is unpacked unchanged', (t) => {
  t.true(blocks.some(({ transactions }) => transactions.length > 1));
  for (const block of blocks) t.deepEqual(unpackBlock(packBlock(block, codec), codec), block);
});

test('an unpacked block is packed again to the same bytes', (t) => {
  for (const block of blocks) {
    const unpacked = unpackBlock(packBlock(block, codec), codec);
    t.deepEqual(packTransactions(unpacked.transactions, codec), packTransactions(block.transactions, codec));
  }
});

test('each transaction is found by its position, and none after the last', (t) => {
  for (const { transactions } of blocks) {
    const packed = packTransactions(transactions, codec);
    transactions.forEach((each, index) => t.deepEqual(unpackTransaction(packed, index, codec), each));
    t.is(unpackTransaction(packed, transactions.length, codec), undefined);
  }
});
