/** Reads the data of transfers, for the index `transactionsByData` and for queries. */

import type { Transaction } from '../../protocol/types.ts';

/** The data of a transfer as UTF-8 bytes; undefined for a transfer without data and for every other transaction. */
export function dataOf({ payload }: Transaction): Buffer | undefined {
  return payload.kind === 'transfer' && payload.data !== undefined ? Buffer.from(payload.data, 'utf8') : undefined;
}
