/** Converts blocks of generation 2 to JSON and back. */

import { headerId } from '../block/header.ts';
import {
  GENESIS_TRANSACTIONS_MAX,
  malformed,
  readCount,
  readHex,
  readLowerHex,
  readPreviousId,
  readTotal,
  readTransactions,
} from '../block/read-json.ts';
import type { ChainParams } from '../params.ts';
import { isVersionKnown } from '../block/version.ts';
import { member } from '../tx/json.ts';
import { amountOf } from '../tx/amounts.ts';
import type { Block, BlockHeader, Json, JsonObject, Transaction } from '../types.ts';
import { BlockRejected } from '../verdict.ts';

/** Version of blocks of this generation. Live networks began with blocks of version 0. */
export const BLOCK_VERSION = 1;

const U64_MAX = 0xffff_ffff_ffff_ffffn;
/**
 * Totals of at least this value are written as text. Receivers that run lisk-sdk throw an error for a number with more
 * than 15 decimal digits, but accept text.
 */
const TOTAL_AS_NUMBER_LIMIT = 1_000_000_000_000_000n;

/**
 * Reads a block. The function computes the id of the block, and ignores unknown members. Each of the members
 * `totalAmount`, `totalFee`, `reward`, `version` and `payloadLength` counts as 0 if it is missing or null. If
 * `numberOfTransactions` is missing, the length of the list `transactions` is used instead. The height comes from the
 * JSON. Because no signature covers the height, `applyBlock` checks the height later.
 *
 * @throws BlockRejected `BLOCK_VERSION_INVALID` if the network has no blocks of this version
 * @throws BlockRejected `BLOCK_UNSTORABLE` if a total of more than 64 bits agrees with the transactions (`totalOr`)
 * @throws BlockRejected `BLOCK_TRANSACTION_INVALID` if a transaction cannot be read; `BLOCK_MALFORMED` if another
 *   member cannot be read
 */
export function blockFromJson(
  json: unknown,
  params: ChainParams,
  transactionFromJson: (json: unknown) => Transaction,
): Block {
  const version = readCount(json, 'version', 0);
  if (!isVersionKnown(version, BLOCK_VERSION, params)) {
    throw new BlockRejected('BLOCK_VERSION_INVALID', 'Invalid block version', { version });
  }
  return readBlock(json, version, transactionFromJson);
}

/**
 * Reads the genesis block. The genesis block can have version 0, even if no other block of the network has version 0.
 */
export function genesisFromJson(json: unknown, transactionFromJson: (json: unknown) => Transaction): Block {
  const version = readCount(json, 'version');
  if (version > BLOCK_VERSION) throw malformed('version', `should be <= ${BLOCK_VERSION}`);
  return readBlock(json, version, transactionFromJson, GENESIS_TRANSACTIONS_MAX);
}

export function blockToJson(block: Block, transactionToJson: (transaction: Transaction) => JsonObject): JsonObject {
  return blockJson(block, { transactions: block.transactions.map((each) => transactionToJson(each)) });
}

export function headerToJson(header: BlockHeader): JsonObject {
  return blockJson(header, {});
}

/**
 * Writes the members in the order in which lisk-sdk sends them. The transactions of a block come between
 * `generatorPublicKey` and `blockSignature`.
 */
function blockJson(header: BlockHeader, transactions: { readonly transactions?: readonly Json[] }): JsonObject {
  return {
    version: header.version,
    totalAmount: totalJson(header.totalAmount),
    totalFee: totalJson(header.totalFee),
    reward: totalJson(header.reward),
    payloadHash: header.payloadHash,
    timestamp: header.timestamp,
    numberOfTransactions: header.numberOfTransactions,
    payloadLength: header.payloadLength,
    previousBlock: header.previousBlockId ?? null,
    generatorPublicKey: header.generatorPublicKey,
    ...transactions,
    blockSignature: header.blockSignature,
    height: header.height,
    id: header.id,
  };
}

function totalJson(beddows: bigint): number | string {
  return beddows < TOTAL_AS_NUMBER_LIMIT ? Number(beddows) : beddows.toString();
}

function readBlock(
  json: unknown,
  version: number,
  transactionFromJson: (json: unknown) => Transaction,
  transactionsMax?: number,
): Block {
  const previousBlockId = readPreviousId(json, 'previousBlock');
  const transactions = readTransactions(json, transactionFromJson, transactionsMax);
  const sum = (of: (transaction: Transaction) => bigint): bigint =>
    transactions.reduce((total, transaction) => total + of(transaction), 0n);
  const block: Block = {
    id: '',
    version,
    height: readCount(json, 'height'),
    timestamp: readCount(json, 'timestamp'),
    ...(previousBlockId === undefined ? {} : { previousBlockId }),
    numberOfTransactions: readNumberOfTransactions(json, transactions.length),
    totalAmount: totalOr(json, 'totalAmount', () => sum(amountOf)),
    totalFee: totalOr(json, 'totalFee', () => sum(({ fee }) => fee)),
    reward: readTotal(json, 'reward'),
    payloadLength: readCount(json, 'payloadLength', 0),
    payloadHash: readLowerHex(json, 'payloadHash', 32),
    generatorPublicKey: readLowerHex(json, 'generatorPublicKey', 32),
    blockSignature: readHex(json, 'blockSignature', 64),
    maxHeightPreviouslyForged: 0,
    maxHeightPrevoted: 0,
    transactions,
  };
  return { ...block, id: headerId(block) };
}

/**
 * Reads `numberOfTransactions`. If this member is missing, the result is the length of the list `transactions`; if the
 * list is also missing, the result is 0. The value null does not count as missing, and is refused. The function also
 * refuses a block without `numberOfTransactions` if the member `transactions` exists and is not a list.
 */
function readNumberOfTransactions(json: unknown, length: number): number {
  const list = member(json, 'transactions');
  const isCounted = member(json, 'numberOfTransactions') === undefined && (list === undefined || Array.isArray(list));
  return isCounted ? length : readCount(json, 'numberOfTransactions');
}

/**
 * Reads the total amount or the total fee. A JSON number above 2^53 - 1 can be inexact. The function therefore compares
 * such a number with the exact sum over the transactions, rounded to a double. If the number and the rounded sum are
 * equal, the result is the exact sum. In all other cases, the function returns the result of `readTotal`, or throws the
 * error of `readTotal`.
 *
 * Release 2.3.8 of lisk-sdk writes and accepts a header whose total amount or total fee needs more than 64 bits. This
 * release passes the block on, and then fails to store the block. The sender of such a block can therefore be honest,
 * and gets no penalty points.
 *
 * @throws BlockRejected `BLOCK_MALFORMED`, or `BLOCK_UNSTORABLE` for a sum of more than 64 bits
 */
function totalOr(json: unknown, name: string, sumOfTransactions: () => bigint): bigint {
  const value = member(json, name);
  if (typeof value !== 'number' || value <= Number.MAX_SAFE_INTEGER) return readTotal(json, name);
  const sum = sumOfTransactions();
  if (Number(sum) !== value) return readTotal(json, name);
  if (sum > U64_MAX) {
    throw new BlockRejected('BLOCK_UNSTORABLE', `'.${name}' is out of range for type bigint`, { member: name });
  }
  return sum;
}
