/** The inner blocks over runs that are there already, made from below in one pass. */

import { InnerBlock } from './inner-block.ts';
import { KeyRun } from './key-run.ts';
import type { RunSizes } from './run-tree.ts';

/** A run, by what it begins with. */
export interface CountedRun {
  /** Its table first; that alone for the first run of a table. */
  readonly start: Buffer;
  /** Its keys. */
  readonly size: number;
}

/**
 * @param table number of the table
 * @param runs all of the table, ascending
 * @returns blocks of all levels, those above the runs first and the root last; none without runs
 */
export function buildTree(
  table: number,
  runs: readonly CountedRun[],
  { innerBytesCut }: Pick<RunSizes, 'innerBytesCut'>,
): readonly InnerBlock[] {
  if (runs.length === 0) return [];
  const first = Buffer.from([table]);
  // The tree begins with the first run also where that has lost its keys and is not on the disk.
  const hasFirst = runs[0]?.start.equals(first) === true;
  const children: readonly CountedRun[] = hasFirst ? runs : [{ start: first, size: 0 }, ...runs];
  const blocks: InnerBlock[] = [];
  for (let [level, below] = [1, children]; ; level += 1) {
    const starts = KeyRun.from(below.map(({ start }) => start));
    const sizes = below.map(({ size }) => size);
    const pieces = new InnerBlock(level, first, starts, sizes).split(innerBytesCut);
    blocks.push(...pieces);
    if (pieces.length === 1) return blocks;
    below = pieces.map(({ start, total }) => ({ start, size: total }));
  }
}
