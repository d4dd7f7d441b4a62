/** Bytes and JSON of generation 3. */

import type { ChainParams } from '../params.ts';
import type { Codec } from '../rules.ts';
import type { TransactionType } from '../tx/transaction-type.ts';
import { blockFromJson, blockToJson, genesisFromJson, headerToJson } from './block-json.ts';
import { decodeHeader, encodeHeader } from '../block/header.ts';
import { genesisTransactionFromJson, transactionFromJson, transactionToJson } from './transaction-json.ts';
import { decodeTransaction, encodeTransaction } from '../tx/transaction-record.ts';
import { transactionBytes } from './transaction-bytes.ts';
import { GEN3_TYPES } from './transaction-types.ts';

export { headerBytes } from '../block/header.ts';
export { basicBytes, signedBytes, transactionBytes } from './transaction-bytes.ts';

export interface Gen3Codec extends Codec {
  /** The types that this network knows, by number. */
  readonly types: ReadonlyMap<number, TransactionType>;
}

export function createGen3Codec(params: ChainParams): Gen3Codec {
  const types = GEN3_TYPES;
  const readTransaction: Codec['transactionFromJson'] = (json) => transactionFromJson(json, types);
  return {
    types,
    transactionFromJson: readTransaction,
    transactionToJson: (transaction) => transactionToJson(transaction, types),
    encodeTransaction: (transaction) => encodeTransaction(transaction, transactionBytes(transaction), types),
    decodeTransaction: (bytes) => decodeTransaction(bytes, types),
    blockFromJson: (json) => blockFromJson(json, params, readTransaction),
    blockToJson: (block) =>
      blockToJson(block, (transaction, blockId) => transactionToJson(transaction, types, blockId)),
    headerToJson,
    encodeHeader,
    decodeHeader,
    genesisFromJson: (json) => genesisFromJson(json, (each) => genesisTransactionFromJson(each, types)),
  };
}
