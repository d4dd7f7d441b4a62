/** Reads the text in the field `data` of a transfer, for the index `transactionsByData` and for queries. */

import type { Transaction } from '../../protocol/types.ts';

/**
 * The field `data` of a transfer as UTF-8 bytes; undefined for a transfer without this field and for every transaction
 * that is not a transfer.
 */
export function dataOf({ payload }: Transaction): Buffer | undefined {
  return payload.kind === 'transfer' && payload.data !== undefined ? Buffer.from(payload.data, 'utf8') : undefined;
}
