/** Blocks of generation 3 as JSON. */

import { isCanonicalHex, isU64Decimal } from '../../primitives/bytes.ts';
import type { ChainParams } from '../params.ts';
import { canonicalDigits, member } from '../tx/json.ts';
import type { Block, BlockHeader, Json, JsonObject, Transaction } from '../types.ts';
import { BlockRejected, TransactionRejected } from '../verdict.ts';
import { headerId } from '../block/header.ts';

const U32_MAX = 0xffff_ffff;
const U64_MAX = 0xffff_ffff_ffff_ffffn;

/** Far above what any network allows in a block (150), so that a rogue list costs little. */
const TRANSACTIONS_MAX = 1000;

/**
 * Reads a block. Ids are computed, members that no one knows are ignored, missing totals are 0, and the count of
 * transactions is the real one (a wrong count therefore breaks the signature).
 *
 * @throws BlockRejected `BLOCK_MALFORMED`, `BLOCK_VERSION_INVALID` or `BLOCK_TRANSACTION_INVALID`
 */
export function blockFromJson(
  json: unknown,
  params: ChainParams,
  transactionFromJson: (json: unknown) => Transaction,
): Block {
  const version = count(json, 'version', 0);
  const registered = version === 2 || (version < 2 && params.exceptions.blockVersions.has(version));
  if (!registered) {
    throw new BlockRejected('BLOCK_VERSION_INVALID', 'Block processing version is not registered', { version });
  }
  return readBlock(json, version, transactionFromJson);
}

/** Reads a block of any version that has a layout: the genesis block, whose content is given. */
export function genesisFromJson(json: unknown, transactionFromJson: (json: unknown) => Transaction): Block {
  const version = count(json, 'version');
  if (version > 2) throw malformed('version', 'should be <= 2');
  return readBlock(json, version, transactionFromJson);
}

/** @param transactionToJson writes a transaction with the id of the block that holds it */
export function blockToJson(
  block: Block,
  transactionToJson: (transaction: Transaction, blockId: string) => JsonObject,
): JsonObject {
  return blockJson(block, { transactions: block.transactions.map((each) => transactionToJson(each, block.id)) });
}

export function headerToJson(header: BlockHeader): JsonObject {
  return blockJson(header, {});
}

/** Members in the order of the reference's messages, the transactions among them where it puts them. */
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

function readBlock(json: unknown, version: number, transactionFromJson: (json: unknown) => Transaction): Block {
  const previousBlockId = previousOf(json);
  // Only version 2 signs these heights; older blocks may come without them.
  const unsigned = version < 2 ? 0 : undefined;
  const transactions = readTransactions(json, transactionFromJson);
  const block: Block = {
    id: '',
    version,
    height: count(json, 'height'),
    timestamp: count(json, 'timestamp'),
    ...(previousBlockId === undefined ? {} : { previousBlockId }),
    numberOfTransactions: transactions.length,
    totalAmount: total(json, 'totalAmount'),
    totalFee: total(json, 'totalFee'),
    reward: total(json, 'reward'),
    payloadLength: count(json, 'payloadLength', 0),
    payloadHash: hex(json, 'payloadHash', 32),
    generatorPublicKey: hex(json, 'generatorPublicKey', 32),
    blockSignature: hex(json, 'blockSignature', 64),
    maxHeightPreviouslyForged: count(json, 'maxHeightPreviouslyForged', unsigned),
    maxHeightPrevoted: count(json, 'maxHeightPrevoted', unsigned),
    transactions,
  };
  const heights = version < 2 ? { maxHeightPreviouslyForged: 0, maxHeightPrevoted: 0 } : {};
  return { ...block, ...heights, id: headerId(block) };
}

function readTransactions(json: unknown, transactionFromJson: (json: unknown) => Transaction): Transaction[] {
  const list = member(json, 'transactions') ?? [];
  if (!Array.isArray(list)) throw malformed('transactions', 'should be array');
  if (list.length > TRANSACTIONS_MAX) {
    throw malformed('transactions', `should NOT have more than ${TRANSACTIONS_MAX} items`);
  }
  return list.map((each: unknown, index) => {
    try {
      return transactionFromJson(each);
    } catch (error) {
      if (!(error instanceof TransactionRejected)) throw error;
      const data = { index, reason: error.code };
      throw new BlockRejected('BLOCK_TRANSACTION_INVALID', error.message, data, error.errors);
    }
  });
}

function previousOf(json: unknown): string | undefined {
  const id = member(json, 'previousBlockId');
  if (id === undefined || id === null) return undefined;
  if (typeof id !== 'string' || !isU64Decimal(id) || id === '0') {
    throw malformed('previousBlockId', 'should match format "id"');
  }
  return id;
}

/** A member that is written as four unsigned bytes. */
function count(json: unknown, name: string, missing?: number): number {
  const value = member(json, name) ?? missing;
  if (value === undefined) throw malformed(name, 'is required');
  if (typeof value !== 'number' || !Number.isInteger(value)) throw malformed(name, 'should be integer');
  if (value < 0 || value > U32_MAX) throw malformed(name, `should be >= 0 and <= ${U32_MAX}`);
  return value === 0 ? 0 : value;
}

/** Beddows as a string of digits or, as some peers send them, as a number that is exact. */
function total(json: unknown, name: string): bigint {
  const value = member(json, name) ?? '0';
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  const digits = canonicalDigits(value);
  if (digits === undefined || digits.length > 20 || BigInt(digits) > U64_MAX) {
    throw malformed(name, 'should be an amount in beddows');
  }
  return BigInt(digits);
}

function hex(json: unknown, name: string, byteLength: number): string {
  const value = member(json, name);
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  if (!isCanonicalHex(text, byteLength)) throw malformed(name, `should be ${byteLength} bytes in hexadecimal`);
  return text;
}

function malformed(name: string, fault: string): BlockRejected {
  return new BlockRejected('BLOCK_MALFORMED', `'.${name}' ${fault}`, { member: name });
}
