/** Encodes the rows of a table as a Parquet file. */

import type { SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { columnsOf, valueIn, type ColumnType, type SinkTable } from '../tables.ts';

type ElementType = Pick<SchemaElement, 'type' | 'converted_type'>;

const TYPES: Readonly<Record<ColumnType, ElementType>> = {
  u8: { type: 'INT32', converted_type: 'UINT_8' },
  i8: { type: 'INT32', converted_type: 'INT_8' },
  u32: { type: 'INT32', converted_type: 'UINT_32' },
  i32: { type: 'INT32', converted_type: 'INT_32' },
  u64: { type: 'INT64', converted_type: 'UINT_64' },
  i64: { type: 'INT64', converted_type: 'INT_64' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
};

/**
 * Maximum number of rows in a row group. A row group contains the minimum and maximum of each column. If these values
 * show that no row of the group can match a query, a query engine can skip the group.
 */
const ROW_GROUP_ROWS = 100_000;

/**
 * Columns that are written without compression, because their texts are random. Compression with Snappy makes random
 * hexadecimal texts only 6 to 7 % shorter. Writing these texts with compression takes two to four times as long as
 * writing them without compression.
 */
const RANDOM_TEXTS: ReadonlySet<string> = new Set(['signature', 'payload_hash']);

/**
 * @param rows rows of the table, in their order in the file
 * @returns content of the file
 */
export function parquetFile(table: SinkTable, rows: readonly object[]): Uint8Array {
  const columns = columnsOf(table);
  const file = parquetWriteBuffer({
    columnData: columns.map(([name, type]) => ({
      name,
      data: valuesOf(rows, name, type),
      nullable: false,
      ...(type === 'u64' ? { encoding: 'PLAIN' as const } : {}),
      ...(RANDOM_TEXTS.has(name) ? { codec: 'UNCOMPRESSED' as const } : {}),
    })),
    schema: [
      { name: 'root', num_children: columns.length },
      ...columns.map(([name, type]) => ({ name, repetition_type: 'REQUIRED' as const, ...TYPES[type] })),
    ],
    rowGroupSize: ROW_GROUP_ROWS,
    createdBy: 'bloomery',
  });
  return new Uint8Array(file);
}

function valuesOf(rows: readonly object[], name: string, type: ColumnType): (bigint | number | string)[] {
  if (type === 'time') return rows.map((row) => BigInt(valueIn(row, name)) * 1000n);
  return rows.map((row) => valueIn(row, name));
}
