import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import type { Transaction } from '../../../src/protocol/types.ts';
import { PendingIndexBatch } from '../../../src/store/index/pending-index-batch.ts';
import { TABLES } from '../../../src/store/tables/layout.ts';

/** Half of a transaction id (32 bits). Many ids share one half or both halves with other ids. */
const half = fc.oneof(fc.bigInt({ min: 0n, max: 0xffff_ffffn }), fc.constantFrom(0n, 1n, 255n, 0xffff_ffffn));
const id = fc.tuple(half, half).map(([high, low]) => (high << 32n) | low);
/** Some lists have more ids than a new `PendingIndexBatch` has room for, so that the batch must grow. */
const ids = fc.oneof(fc.array(id, { maxLength: 20 }), fc.array(id, { minLength: 200, maxLength: 600 }));

const place = (row: number) => ({ height: 1 + (row >> 4), index: row & 15 });

test('pending ids are found as in a map, and are listed in the order of their first bits', (t) => {
  const batch = new PendingIndexBatch();
  fc.assert(
    fc.property(ids, ids, (added, others) => {
      const rowOf = new Map<bigint, number>();
      for (const [row, number] of added.entries()) {
        batch.add(transfer(number), place(row));
        rowOf.set(number, row);
      }
      for (const number of [...added, ...others]) {
        const row = rowOf.get(number);
        t.deepEqual(
          batch.placeOfId(TABLES.transactionIds.key(String(number))),
          row === undefined ? undefined : place(row),
        );
      }
      const rows = added.map((number, row) => ({ number, row }));
      for (const { number, row } of rows) t.deepEqual(batch.idKey(row), TABLES.transactionIds.key(String(number)));
      rows.sort((a, b) => Number((a.number >> 43n) - (b.number >> 43n)) || a.row - b.row);
      t.deepEqual(
        [...batch.rowsById()],
        rows.map(({ row }) => row),
      );
      batch.clear();
      t.is(batch.placeOfId(TABLES.transactionIds.key(String(added[0] ?? 0n))), undefined);
    }),
  );
});

function transfer(number: bigint): Transaction {
  return {
    id: String(number),
    type: 8,
    timestamp: 0,
    senderPublicKey: '',
    senderId: '1L',
    fee: 0n,
    payload: { kind: 'transfer', amount: 1n, recipientId: '2L' },
    signature: '',
    signatures: [],
  };
}
