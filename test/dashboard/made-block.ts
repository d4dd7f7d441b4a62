import type { Block } from '../../src/dashboard/answers.ts';

/** Makes a block in the format of the HTTP API. The members in `changes` replace the default members. */
export function madeBlock(changes: Partial<Block>): Block {
  return {
    id: '10',
    version: 2,
    timestamp: 0,
    height: 10,
    previousBlockId: '9',
    numberOfTransactions: 0,
    totalAmount: '0',
    totalFee: '0',
    reward: '0',
    payloadLength: 0,
    payloadHash: 'ab'.repeat(32),
    generatorPublicKey: 'cd'.repeat(32),
    generatorAddress: '1L',
    blockSignature: 'ef'.repeat(64),
    confirmations: 1,
    totalForged: '0',
    ...changes,
  };
}
