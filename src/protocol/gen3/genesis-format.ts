/** Defines the format of a genesis block in generation 3. */

import { assert } from '../../primitives/errors.ts';
import type { GenesisFormat } from '../genesis.ts';
import { basicBytes, headerBytes, transactionBytes } from './codec.ts';
import { BLOCK_VERSION } from './blocks.ts';
import { GEN3_TYPES } from './transaction-types.ts';

export const gen3GenesisFormat: GenesisFormat = {
  blockVersion: BLOCK_VERSION,
  headerBytes,
  transactionBytes,
  basicBytes,
  typeOf(kind) {
    const type = [...GEN3_TYPES.values()].find((each) => each.kind === kind);
    assert(type !== undefined, `generation 3 has ${kind} transactions`);
    return type.type;
  },
  votePayload: (votes) => ({ kind: 'vote', votes, amount: 0n }),
  toJson: (genesis, communityIdentifier) => ({
    version: genesis.version,
    timestamp: genesis.timestamp,
    height: genesis.height,
    maxHeightPreviouslyForged: genesis.maxHeightPreviouslyForged,
    maxHeightPrevoted: genesis.maxHeightPrevoted,
    previousBlockId: null,
    communityIdentifier,
    numberOfTransactions: genesis.numberOfTransactions,
    totalAmount: genesis.totalAmount.toString(),
    totalFee: genesis.totalFee.toString(),
    reward: genesis.reward.toString(),
    payloadLength: genesis.payloadLength,
    payloadHash: genesis.payloadHash,
    generatorPublicKey: genesis.generatorPublicKey,
    blockSignature: genesis.blockSignature,
    id: genesis.id,
    transactions: genesis.transactions.map((transaction) => ({
      id: transaction.id,
      type: transaction.type,
      timestamp: transaction.timestamp,
      senderPublicKey: transaction.senderPublicKey,
      signature: transaction.signature,
      asset: GEN3_TYPES.get(transaction.type)?.assetToJson(transaction.payload) ?? {},
    })),
  }),
};
