/** Defines the format of a genesis block in generation 2. */

import { assert } from '../../primitives/errors.ts';
import type { GenesisFormat } from '../genesis.ts';
import { basicBytes, headerBytes, transactionBytes } from './codec.ts';
import { transactionToJson } from './transaction-json.ts';
import { GEN2_TYPES } from './transaction-types.ts';

/** The genesis block of a new network has version 0. The later blocks of this network never have version 0. */
const GENESIS_VERSION = 0;

export const gen2GenesisFormat: GenesisFormat = {
  blockVersion: GENESIS_VERSION,
  headerBytes,
  transactionBytes,
  basicBytes,
  typeOf(kind) {
    const type = [...GEN2_TYPES.values()].find((each) => each.kind === kind);
    assert(type !== undefined, `generation 2 has ${kind} transactions`);
    return type.type;
  },
  votePayload: (votes, voter) => ({ kind: 'vote', votes, amount: 0n, recipientId: voter }),
  toJson: (genesis) => ({
    version: genesis.version,
    totalAmount: genesis.totalAmount.toString(),
    totalFee: genesis.totalFee.toString(),
    reward: genesis.reward.toString(),
    payloadHash: genesis.payloadHash,
    timestamp: genesis.timestamp,
    numberOfTransactions: genesis.numberOfTransactions,
    payloadLength: genesis.payloadLength,
    previousBlock: null,
    generatorPublicKey: genesis.generatorPublicKey,
    transactions: genesis.transactions.map((transaction) => {
      const json = transactionToJson(transaction, GEN2_TYPES);
      return {
        type: transaction.type,
        amount: json['amount'] ?? '0',
        fee: transaction.fee.toString(),
        timestamp: transaction.timestamp,
        recipientId: json['recipientId'] || null,
        senderId: transaction.senderId,
        senderPublicKey: transaction.senderPublicKey,
        asset: json['asset'] ?? {},
        signature: transaction.signature,
        id: transaction.id,
      };
    }),
    height: genesis.height,
    blockSignature: genesis.blockSignature,
    id: genesis.id,
  }),
};
