/** Converts blocks and transactions of generation 2 to bytes and JSON, and back. */

import { decodeHeader, encodeHeader } from '../block/header.ts';
import type { ChainParams } from '../params.ts';
import type { Codec } from '../rules.ts';
import { decodeTransaction, encodeTransaction } from '../tx/transaction-record.ts';
import { blockFromJson, blockToJson, genesisFromJson, headerToJson } from './block-json.ts';
import { LEGACY_LAYOUTS } from './layouts.ts';
import * as bytes from './transaction-bytes.ts';
import { genesisTransactionFromJson, transactionFromJson, transactionToJson } from './transaction-json.ts';
import { GEN2_TYPES, type Gen2Type } from './transaction-types.ts';

export { headerBytes } from '../block/header.ts';
export { basicBytes, transactionBytes } from './transaction-bytes.ts';

export interface Gen2Codec extends Codec {
  /** The transaction types of this network, by number. */
  readonly types: ReadonlyMap<number, Gen2Type>;
}

export function createGen2Codec(params: ChainParams): Gen2Codec {
  const types = typesOf(params);
  const readTransaction: Codec['transactionFromJson'] = (json) => transactionFromJson(json, types, params.exceptions);
  return {
    types,
    transactionFromJson: readTransaction,
    transactionToJson: (transaction) => transactionToJson(transaction, GEN2_TYPES),
    encodeTransaction: (transaction) => encodeTransaction(transaction, bytes, LEGACY_LAYOUTS),
    decodeTransaction: (record, id, senderId) => decodeTransaction(record, LEGACY_LAYOUTS, id, senderId),
    blockFromJson: (json) => blockFromJson(json, params, readTransaction),
    blockToJson: (block) => blockToJson(block, (transaction) => transactionToJson(transaction, GEN2_TYPES)),
    headerToJson,
    encodeHeader,
    decodeHeader,
    genesisFromJson: (json) => genesisFromJson(json, (each) => genesisTransactionFromJson(each, GEN2_TYPES)),
    forgetTransactions: bytes.forget,
  };
}

/**
 * The transaction types of a network. The result contains one of the types 5 to 7 only if `exceptions.precedent`
 * contains a height above 0 for this type. Only blocks below this height are allowed to contain the type.
 */
function typesOf({ exceptions }: ChainParams): ReadonlyMap<number, Gen2Type> {
  const { disableDappTransaction, disableDappTransfer } = exceptions.precedent;
  const ends = new Map([
    [5, disableDappTransaction],
    [6, disableDappTransfer],
    [7, disableDappTransfer],
  ]);
  return new Map(
    [...GEN2_TYPES].flatMap(([number, type]) => {
      const end = ends.get(number);
      if (end === undefined) return [[number, type] as const];
      const matches: Gen2Type['matches'] = ({ blockHeight }) => blockHeight !== undefined && blockHeight < end;
      return end > 0 ? [[number, { ...type, matches }] as const] : [];
    }),
  );
}
