/** What readers see of a transaction, whatever its type. */

import type { Address, Transaction } from '../../protocol/types.ts';

/** What a transaction moves: 0 for those that move nothing. */
export function amountOf({ payload }: Transaction): bigint {
  return 'amount' in payload ? payload.amount : 0n;
}

/** Whom a transaction names as its recipient. */
export function recipientOf({ payload }: Transaction): Address | undefined {
  return 'recipientId' in payload ? payload.recipientId : undefined;
}

/** UTF-8 bytes of a transfer's data. */
export function dataOf({ payload }: Transaction): Buffer | undefined {
  return payload.kind === 'transfer' && payload.data !== undefined ? Buffer.from(payload.data, 'utf8') : undefined;
}
