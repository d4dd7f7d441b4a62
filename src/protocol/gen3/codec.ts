/** Converts blocks and transactions of generation 3 to bytes and JSON, and back. */

import type { ChainParams } from '../params.ts';
import type { Codec } from '../rules.ts';
import type { TransactionType } from '../tx/transaction-type.ts';
import { blockFromJson, blockToJson, genesisFromJson, headerToJson } from './block-json.ts';
import { decodeHeader, encodeHeader } from '../block/header.ts';
import { genesisTransactionFromJson, transactionFromJson, transactionToJson } from './transaction-json.ts';
import { decodeTransaction, encodeTransaction } from '../tx/transaction-record.ts';
import { LEGACY_TYPES, legacyTypesOf } from './legacy-types.ts';
import * as bytes from './transaction-bytes.ts';
import { GEN3_TYPES } from './transaction-types.ts';

export { headerBytes } from '../block/header.ts';
export { basicBytes, signedBytes, transactionBytes } from './transaction-bytes.ts';

export interface Gen3Codec extends Codec {
  /** The transaction types that this network allows in the blocks after the genesis block, by number. */
  readonly types: ReadonlyMap<number, TransactionType>;
}

export function createGen3Codec(params: ChainParams): Gen3Codec {
  const older = legacyTypesOf(params);
  const types = new Map([...GEN3_TYPES, ...older.map((type) => [type.type, type] as const)]);
  // If a network has older transaction types or blocks of older versions, the genesis block of this network can contain
  // transaction types that no later block has.
  const hasOlderHistory = older.length > 0 || params.exceptions.blockVersions.size > 0;
  const stored = hasOlderHistory ? new Map([...LEGACY_TYPES, ...GEN3_TYPES]) : GEN3_TYPES;
  const readTransaction: Codec['transactionFromJson'] = (json) => transactionFromJson(json, types, params.exceptions);
  return {
    types,
    transactionFromJson: readTransaction,
    transactionToJson: (transaction) => transactionToJson(transaction, stored),
    encodeTransaction: (transaction) => encodeTransaction(transaction, bytes, stored),
    decodeTransaction: (record, id, senderId) => decodeTransaction(record, stored, id, senderId),
    blockFromJson: (json) => blockFromJson(json, params, readTransaction),
    blockToJson: (block) =>
      blockToJson(block, (transaction, blockId) => transactionToJson(transaction, stored, blockId)),
    headerToJson,
    encodeHeader,
    decodeHeader,
    genesisFromJson: (json) => genesisFromJson(json, (each) => genesisTransactionFromJson(each, stored)),
    forgetTransactions: bytes.forget,
  };
}
