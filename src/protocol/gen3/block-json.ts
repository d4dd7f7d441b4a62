/** Converts blocks of generation 3 to JSON and back. */

import {
  GENESIS_TRANSACTIONS_MAX,
  malformed,
  readCount,
  readHex,
  readLowerHex,
  readPreviousId,
  readOpenTotal,
  readTotal,
  readTransactions,
} from '../block/read-json.ts';
import type { ChainParams } from '../params.ts';
import type { Block, BlockHeader, Json, JsonObject, Transaction } from '../types.ts';
import { BlockRejected } from '../verdict.ts';
import { headerId } from '../block/header.ts';

/**
 * Reads a block. The function computes the id of the block, and ignores the member `id` and unknown members. Each of
 * the members `totalAmount`, `totalFee`, `reward`, `version` and `payloadLength` counts as 0 if it is missing or null.
 * In the result, `numberOfTransactions` is the length of the list `transactions`. The function ignores the member
 * `numberOfTransactions` of the JSON. If the generator signed a header with a different `numberOfTransactions`, the
 * signature of the result is invalid.
 *
 * @throws BlockRejected `BLOCK_MALFORMED`, `BLOCK_UNSTORABLE`, `BLOCK_VERSION_INVALID` or `BLOCK_TRANSACTION_INVALID`
 */
export function blockFromJson(
  json: unknown,
  params: ChainParams,
  transactionFromJson: (json: unknown) => Transaction,
): Block {
  const version = readCount(json, 'version', 0);
  const registered = version === 2 || (version < 2 && params.exceptions.blockVersions.has(version));
  if (!registered) {
    throw new BlockRejected('BLOCK_VERSION_INVALID', 'Block processing version is not registered', { version });
  }
  return readBlock(json, version, transactionFromJson);
}

/**
 * Reads the genesis block. The version of this block can be any block version with a known byte layout (0, 1 or 2),
 * because the network defines the genesis block.
 */
export function genesisFromJson(json: unknown, transactionFromJson: (json: unknown) => Transaction): Block {
  const version = readCount(json, 'version');
  if (version > 2) throw malformed('version', 'should be <= 2');
  return readBlock(json, version, transactionFromJson, GENESIS_TRANSACTIONS_MAX);
}

/**
 * @param transactionToJson converts a transaction to JSON; `blockId` is the id of the block that contains the
 *   transaction
 */
export function blockToJson(
  block: Block,
  transactionToJson: (transaction: Transaction, blockId: string) => JsonObject,
): JsonObject {
  return blockJson(block, { transactions: block.transactions.map((each) => transactionToJson(each, block.id)) });
}

export function headerToJson(header: BlockHeader): JsonObject {
  return blockJson(header, {});
}

/**
 * Writes the members in the order in which lisk-sdk sends them. The transactions of a block come between
 * `generatorPublicKey` and `height`.
 */
function blockJson(header: BlockHeader, transactions: { readonly transactions?: readonly Json[] }): JsonObject {
  return {
    version: header.version,
    totalAmount: header.totalAmount.toString(),
    totalFee: header.totalFee.toString(),
    reward: header.reward.toString(),
    payloadHash: header.payloadHash,
    timestamp: header.timestamp,
    numberOfTransactions: header.numberOfTransactions,
    payloadLength: header.payloadLength,
    previousBlockId: header.previousBlockId ?? null,
    generatorPublicKey: header.generatorPublicKey,
    ...transactions,
    height: header.height,
    maxHeightPreviouslyForged: header.maxHeightPreviouslyForged,
    maxHeightPrevoted: header.maxHeightPrevoted,
    blockSignature: header.blockSignature,
    id: header.id,
  };
}

function readBlock(
  json: unknown,
  version: number,
  transactionFromJson: (json: unknown) => Transaction,
  transactionsMax?: number,
): Block {
  const previousBlockId = readPreviousId(json, 'previousBlockId');
  // The signature covers `maxHeightPreviouslyForged` and `maxHeightPrevoted` only in block version 2. The JSON of
  // blocks of older versions can lack both members.
  const unsigned = version < 2 ? 0 : undefined;
  const transactions = readTransactions(json, transactionFromJson, transactionsMax);
  const block: Block = {
    id: '',
    version,
    height: readCount(json, 'height'),
    timestamp: readCount(json, 'timestamp'),
    ...(previousBlockId === undefined ? {} : { previousBlockId }),
    numberOfTransactions: transactions.length,
    totalAmount: readOpenTotal(json, 'totalAmount'),
    totalFee: readTotal(json, 'totalFee'),
    reward: readTotal(json, 'reward'),
    payloadLength: readCount(json, 'payloadLength', 0),
    payloadHash: readLowerHex(json, 'payloadHash', 32),
    generatorPublicKey: readLowerHex(json, 'generatorPublicKey', 32),
    blockSignature: readHex(json, 'blockSignature', 64),
    maxHeightPreviouslyForged: readCount(json, 'maxHeightPreviouslyForged', unsigned),
    maxHeightPrevoted: readCount(json, 'maxHeightPrevoted', unsigned),
    transactions,
  };
  const heights = version < 2 ? { maxHeightPreviouslyForged: 0, maxHeightPrevoted: 0 } : {};
  return { ...block, ...heights, id: headerId(block) };
}
