/**
 * The ClickHouse type for each column type of a sink. The embedded engine of ClickHouse, which reads Parquet files, has
 * the same types.
 */

import type { ColumnType } from './tables.ts';

export const ENGINE_TYPES: Readonly<Record<ColumnType, string>> = {
  u8: 'UInt8',
  i8: 'Int8',
  u32: 'UInt32',
  i32: 'Int32',
  u64: 'UInt64',
  i64: 'Int64',
  time: "DateTime('UTC')",
  text: 'String',
};
