/**
 * Makes the JSON objects that show blocks to clients of the HTTP API, and their schema. An object contains the members
 * of the header and some values that are computed from the header, but no transactions.
 */

import { addressOf } from '../../crypto/keys.ts';
import type { BlockHeader } from '../../protocol/types.ts';
import type { HttpDialect } from '../dialect.ts';
import type { Schema } from '../schema.ts';
import * as shape from './shapes.ts';

/**
 * @param tipHeight height of the tip, from which the number of confirmations is computed; the tip has one confirmation
 */
export function blockView(
  header: BlockHeader,
  tipHeight: number,
  dialect: HttpDialect,
): Readonly<Record<string, unknown>> {
  const previousBlockId = header.previousBlockId ?? '';
  const generatorAddress = addressOf(header.generatorPublicKey);
  const own = dialect.generation === 3;
  return {
    id: header.id,
    version: header.version,
    timestamp: header.timestamp,
    height: header.height,
    ...(own ? { previousBlockId } : {}),
    numberOfTransactions: header.numberOfTransactions,
    totalAmount: header.totalAmount.toString(),
    totalFee: header.totalFee.toString(),
    reward: header.reward.toString(),
    payloadLength: header.payloadLength,
    payloadHash: header.payloadHash,
    generatorPublicKey: header.generatorPublicKey,
    ...(own ? { generatorAddress } : {}),
    blockSignature: header.blockSignature,
    confirmations: tipHeight - header.height + 1,
    totalForged: (header.totalFee + header.reward).toString(),
    ...(own
      ? { maxHeightPrevoted: header.maxHeightPrevoted, maxHeightPreviouslyForged: header.maxHeightPreviouslyForged }
      : { generatorAddress, previousBlockId }),
  };
}

export function blockShape(dialect: HttpDialect): Schema {
  return shape.objectOf({
    id: shape.ID,
    version: shape.COUNT,
    timestamp: shape.INTEGER,
    height: { type: 'integer', minimum: 1 },
    previousBlockId: shape.ID,
    numberOfTransactions: shape.COUNT,
    totalAmount: shape.AMOUNT,
    totalFee: shape.AMOUNT,
    reward: shape.AMOUNT,
    payloadLength: shape.COUNT,
    payloadHash: shape.HEX,
    generatorPublicKey: shape.PUBLIC_KEY,
    generatorAddress: shape.ADDRESS,
    blockSignature: shape.SIGNATURE,
    confirmations: shape.COUNT,
    totalForged: shape.AMOUNT,
    ...(dialect.generation === 3 ? { maxHeightPrevoted: shape.COUNT, maxHeightPreviouslyForged: shape.COUNT } : {}),
  });
}
