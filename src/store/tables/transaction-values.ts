/** Values of a transaction for readers, whatever its type. */

import type { Transaction } from '../../protocol/types.ts';

/** UTF-8 bytes of a transfer's data. */
export function dataOf({ payload }: Transaction): Buffer | undefined {
  return payload.kind === 'transfer' && payload.data !== undefined ? Buffer.from(payload.data, 'utf8') : undefined;
}
