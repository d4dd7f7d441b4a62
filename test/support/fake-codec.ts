/**
 * A codec that encodes headers and transactions as JSON text, for tests that store blocks but do not need the real
 * block format.
 */

import { createHash } from 'node:crypto';

import type { Codec } from '../../src/protocol/rules.ts';
import type { Block, BlockHeader, Transaction } from '../../src/protocol/types.ts';

const BIGINT_MARK = 'bigint:';

/**
 * Encodes headers and transactions as JSON, with each bigint as a string that begins with `bigint:`. The methods for
 * the JSON of peers and clients throw.
 */
export const FAKE_CODEC: Codec = {
  transactionFromJson: notOffered,
  transactionToJson: notOffered,
  blockFromJson: notOffered,
  blockToJson: notOffered,
  headerToJson: notOffered,
  genesisFromJson: notOffered,
  encodeTransaction: encode,
  decodeTransaction: (bytes) => decode(bytes) as Transaction,
  encodeHeader: encode,
  decodeHeader: (bytes) => decode(bytes) as BlockHeader,
  forgetTransactions: () => undefined,
};

/** Makes an id as the codecs do: the decimal text of the first 64 bits of a digest. */
export function fakeId(seed: string): string {
  return createHash('sha256').update(seed).digest().readBigUInt64LE(0).toString();
}

/**
 * Makes a block on top of `parent`. The totals of the block match the transactions of the block, unless `changes`
 * contains other totals.
 */
export function fakeBlock(
  parent: BlockHeader | undefined,
  transactions: readonly Transaction[],
  changes: Partial<Block> = {},
): Block {
  const height = (parent?.height ?? 0) + 1;
  const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);
  return {
    id: fakeId(`block ${parent?.id ?? ''} ${transactions.map(({ id }) => id).join()} ${JSON.stringify(changes, big)}`),
    version: 2,
    height,
    timestamp: (parent?.timestamp ?? -10) + 10,
    ...(parent === undefined ? {} : { previousBlockId: parent.id }),
    numberOfTransactions: transactions.length,
    totalAmount: sum(transactions.map(({ payload }) => ('amount' in payload ? payload.amount : 0n))),
    totalFee: sum(transactions.map(({ fee }) => fee)),
    reward: 0n,
    payloadLength: 0,
    payloadHash: '00'.repeat(32),
    generatorPublicKey: '01'.repeat(32),
    blockSignature: '00'.repeat(64),
    maxHeightPreviouslyForged: 0,
    maxHeightPrevoted: 0,
    ...changes,
    transactions,
  };
}

function notOffered(): never {
  throw new Error('the codec of these tests reads no JSON of the wire');
}

function encode(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value, big));
}

function decode(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString(), (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(BIGINT_MARK) ? BigInt(value.slice(BIGINT_MARK.length)) : value,
  );
}

function big(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${BIGINT_MARK}${value}` : value;
}
