/** Types of columns in ClickHouse and in its embedded form. */

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
