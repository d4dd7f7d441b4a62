/** Whether two stores hold the same chain: every key and value of every table that follows from the blocks. */

import { CountedKeySets } from '../index/counted-key-sets.ts';
import type { KeyValueEntry, KeyValueReader } from '../tables/key-value.ts';
import { META_ACCOUNTS, META_STATE_CHECKSUM, TABLES, type TableName } from '../tables/layout.ts';
import { decodeUndo } from './undo.ts';
import { unsealed } from './sealed.ts';

export interface Difference {
  readonly table: TableName | 'unknown';
  /** The key behind the table's number, hexadecimal. */
  readonly key: string;
  /** `missing`: only the expected store has it; `surplus`: only the examined one; `wrong`: they hold different values. */
  readonly kind: 'missing' | 'surplus' | 'wrong';
}

export interface Comparison {
  /** The first key at which the stores part, in the order of the tables' numbers; undefined when there is none. */
  readonly difference: Difference | undefined;
  /** Keys compared. */
  readonly keys: number;
}

/**
 * Walks both stores. Notes belong to a node alone and are left out, and the leaf blocks of counted
 * keys are cut as the keys came, so their keys are compared instead; undo records are kept or not as each store came to its
 * tip, so one that only one store has counts above the finalized height only.
 *
 * @param finalizedHeight asked when everything else agrees
 */
export function compareStores(
  examined: KeyValueReader,
  expected: KeyValueReader,
  finalizedHeight: () => number,
): Comparison {
  let keys = 0;
  for (const name of NAMES) {
    const range = { gte: Buffer.from([TABLES[name].number]), lt: Buffer.from([TABLES[name].number + 1]) };
    for (const { key, left, right } of paired(examined.entries(range), expected.entries(range))) {
      keys += 1;
      const kind = left === undefined ? 'missing' : right === undefined ? 'surplus' : 'wrong';
      if (left !== undefined && right !== undefined) {
        if (left.equals(right)) continue;
        if (name === 'undo' && isSameUndo(unsealed(key, left), unsealed(key, right))) continue;
      }
      if (name === 'undo' && kind !== 'wrong' && TABLES.undo.read(key)[0] <= finalizedHeight()) continue;
      return { difference: { table: name, key: key.toString('hex', 1), kind }, keys };
    }
  }
  for (const name of [META_ACCOUNTS, META_STATE_CHECKSUM]) {
    const key = TABLES.meta.key(name);
    const [left, right] = [examined.get(key), expected.get(key)];
    if (left !== undefined && right?.equals(left) === true) continue;
    return { difference: { table: 'meta', key: key.toString('hex', 1), kind: 'wrong' }, keys };
  }
  const block = examined instanceof CountedKeySets ? examined.wrongBlock() : undefined;
  if (block !== undefined)
    return { difference: { table: 'innerBlocks', key: block.toString('hex'), kind: 'wrong' }, keys };
  const unknown = surplusTable(examined);
  const difference = unknown && { table: 'unknown' as const, key: unknown.toString('hex'), kind: 'surplus' as const };
  return { difference, keys };
}

/** Tables that are compared, undo records last: they count only where the rest agrees. */
const NAMES: readonly TableName[] = [
  ...(Object.keys(TABLES) as TableName[])
    .filter((name) => name !== 'meta' && name !== 'notes' && name !== 'innerBlocks' && name !== 'undo')
    .sort((a, b) => TABLES[a].number - TABLES[b].number),
  'undo',
];

interface Pair {
  readonly key: Buffer;
  readonly left: Buffer | undefined;
  readonly right: Buffer | undefined;
}

/** Entries of two ascending walks, those of equal keys together. */
function* paired(leftEntries: Iterable<KeyValueEntry>, rightEntries: Iterable<KeyValueEntry>): Iterable<Pair> {
  const lefts = leftEntries[Symbol.iterator]();
  const rights = rightEntries[Symbol.iterator]();
  let left = lefts.next();
  let right = rights.next();
  while (left.done !== true || right.done !== true) {
    const order = left.done === true ? 1 : right.done === true ? -1 : Buffer.compare(left.value.key, right.value.key);
    const mine = order <= 0 && left.done !== true ? left.value : undefined;
    const theirs = order >= 0 && right.done !== true ? right.value : undefined;
    const key = mine?.key ?? theirs?.key;
    if (key !== undefined) yield { key, left: mine?.value, right: theirs?.value };
    if (mine !== undefined) left = lefts.next();
    if (theirs !== undefined) right = rights.next();
  }
}

/** Undo records list what was overwritten in no stated order; all other values have one form. */
function isSameUndo(left: Buffer | undefined, right: Buffer | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  try {
    return sortedUndo(left) === sortedUndo(right);
  } catch {
    // Bytes that are no undo record.
    return false;
  }
}

function sortedUndo(bytes: Buffer): string {
  const texts = decodeUndo(bytes).map(({ key, before }) => `${key.toString('hex')}=${before?.toString('hex') ?? ''}`);
  return texts.sort().join();
}

/** A key whose first byte is no table's number. */
function surplusTable(examined: KeyValueReader): Buffer | undefined {
  const numbers = Object.values(TABLES).map(({ number }) => number);
  for (let number = 0; number < 255; number += 1) {
    if (numbers.some((known) => known === number)) continue;
    const range = { gte: Buffer.from([number]), lt: Buffer.from([number + 1]), limit: 1 };
    for (const key of examined.keys(range)) return key;
  }
  return undefined;
}
