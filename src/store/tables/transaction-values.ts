/** Computes values of transactions of all types, for readers. */

import type { Transaction } from '../../protocol/types.ts';

/** The data of a transfer as UTF-8 bytes; undefined if the transfer has no data. */
export function dataOf({ payload }: Transaction): Buffer | undefined {
  return payload.kind === 'transfer' && payload.data !== undefined ? Buffer.from(payload.data, 'utf8') : undefined;
}
