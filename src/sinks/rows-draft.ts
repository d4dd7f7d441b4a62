/** A range draft that keeps its rows as objects, for sinks that store all rows of a range in one step. */

import type { BlockId } from '../protocol/types.ts';
import type { HeightSpan, RangeDraft } from './sink.ts';
import { joinedRows, type Rows } from './tables.ts';

/** @param putRange stores a range; `RangeDraft.put` calls this function with all rows of the range */
export function rowsDraft(putRange: (span: HeightSpan, lastBlockId: BlockId, rows: Rows) => Promise<void>): RangeDraft {
  const parts: Rows[] = [];
  return {
    add: (rows) => void parts.push(rows),
    put: (span, lastBlockId) => putRange(span, lastBlockId, joinedRows(parts)),
  };
}
