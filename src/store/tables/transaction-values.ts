/** Values of a transaction for readers, for all types. */

import type { Transaction } from '../../protocol/types.ts';

/** Data of a transfer as UTF-8 bytes. */
export function dataOf({ payload }: Transaction): Buffer | undefined {
  return payload.kind === 'transfer' && payload.data !== undefined ? Buffer.from(payload.data, 'utf8') : undefined;
}
