/**
 * Compares two stores, to find out whether they have the same chain. The comparison covers the tables whose content
 * depends on the blocks (see `compareStores`).
 */

import { CountedKeySets } from '../index/counted-key-sets.ts';
import type { KeyValueEntry, KeyValueReader } from '../tables/key-value.ts';
import { META_ACCOUNTS, META_STATE_CHECKSUM, TABLES, type TableName } from '../tables/layout.ts';
import { decodeUndo } from './undo.ts';
import { verifiedContent } from '../tables/checksummed.ts';

export interface Difference {
  readonly table: TableName | 'unknown';
  /**
   * Key in hexadecimal, without the number of its table (the first byte). In two cases, the member has other content.
   * If `table` is `unknown`, this member is the whole key. If `table` is `innerBlocks`, an index is damaged. The keys
   * of the index form a search tree, and this member is the start (the lowest possible key) of a damaged block of the
   * tree, or of the root block (see `CountedKeySets.wrongBlock`). The first byte of the start is the number of the
   * index's table.
   */
  readonly key: string;
  /**
   * `missing`: only the expected store has the key. `surplus`: only the examined store has the key. `wrong`: both
   * stores have the key, with different values. For two tables, the kind is always `wrong`. In the table `meta`, this
   * kind means that an entry differs, or that at least one of the two stores lacks the entry. In the table
   * `innerBlocks`, this kind means that an index of the examined store is damaged: the keys of the index form a search
   * tree, and a part of this tree is wrong.
   */
  readonly kind: 'missing' | 'surplus' | 'wrong';
}

export interface Comparison {
  /** The first difference in the order of the comparison; undefined if the stores agree. */
  readonly difference: Difference | undefined;
  /** Number of keys that were compared. */
  readonly keys: number;
}

/**
 * Walks through both stores, and compares the keys and values of the two stores. Notes (small values with names, for
 * example the peer book of a node) are not compared, because each node writes its own notes. In the table `meta`, only
 * the number of accounts and the checksum of the state are compared. Some indexes store many neighbouring keys together
 * in one value, which is called a leaf block. The keys of these indexes are compared one by one, and not as leaf
 * blocks. The borders of leaf blocks depend on the order in which the keys were added, so equal sets of keys can have
 * different leaf blocks.
 *
 * An undo record contains the values that a block overwrote, and serves to revert the block. It is possible that a
 * store has dropped the undo records of final blocks. If one of the two stores lacks the undo record of a final block,
 * the comparison therefore reports no difference. While no block is final, a store keeps only the undo records of the
 * newest blocks (`UNDO_BLOCKS_WITHOUT_FINALITY`). When blocks are appended, the store therefore drops the undo records
 * of older blocks. If the appended blocks are reverted later, the dropped records do not come back. After such a
 * revert, the examined store can lack its lowest undo records, although the expected store has them. Missing undo
 * records below the first undo record of the examined store therefore do not count as a difference.
 *
 * @param finalizedHeight returns the finalized height. `compareStores` calls the function only if, for some height,
 *   exactly one of the two stores has an undo record
 */
export function compareStores(
  examined: KeyValueReader,
  expected: KeyValueReader,
  finalizedHeight: () => number,
): Comparison {
  let keys = 0;
  const undoFrom = firstUndoHeight(examined);
  for (const name of NAMES) {
    const range = { gte: Buffer.from([TABLES[name].number]), lt: Buffer.from([TABLES[name].number + 1]) };
    for (const { key, left, right } of paired(examined.entries(range), expected.entries(range))) {
      keys += 1;
      const kind = left === undefined ? 'missing' : right === undefined ? 'surplus' : 'wrong';
      if (left !== undefined && right !== undefined) {
        if (left.equals(right)) continue;
        if (name === 'undo' && isSameUndo(verifiedContent(key, left), verifiedContent(key, right))) continue;
      }
      if (name === 'undo' && kind !== 'wrong') {
        const [height] = TABLES.undo.read(key);
        if ((kind === 'missing' && height < undoFrom) || height <= finalizedHeight()) continue;
      }
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

/**
 * The tables that are compared entry by entry. Undo records come last, so that a difference in any other table of this
 * list is reported first.
 */
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

/**
 * Merges the entries of two stores. The entries of each store must be in ascending order of keys. Entries with the same
 * key form one pair.
 */
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

/** Returns the height of the first undo record; `Infinity` if the store has no undo record. */
function firstUndoHeight(store: KeyValueReader): number {
  const [first] = store.keys({ ...TABLES.undo.all, limit: 1 });
  return first === undefined ? Number.POSITIVE_INFINITY : TABLES.undo.read(first)[0];
}

/**
 * True if two undo records have the same content. An undo record lists the overwritten entries in any order, so the
 * function sorts both lists before it compares them. The values in other tables are compared as bytes, because each of
 * those values has only one stored form.
 */
function isSameUndo(left: Buffer | undefined, right: Buffer | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  try {
    return sortedUndo(left) === sortedUndo(right);
  } catch {
    // `sortedUndo` throws an error if the bytes are not an undo record.
    return false;
  }
}

function sortedUndo(bytes: Buffer): string {
  const texts = decodeUndo(bytes).map(({ key, before }) => `${key.toString('hex')}=${before?.toString('hex') ?? ''}`);
  return texts.sort().join();
}

/** Finds a key whose first byte (0 to 254) is not the number of a table. */
function surplusTable(examined: KeyValueReader): Buffer | undefined {
  const numbers = Object.values(TABLES).map(({ number }) => number);
  for (let number = 0; number < 255; number += 1) {
    if (numbers.some((known) => known === number)) continue;
    const range = { gte: Buffer.from([number]), lt: Buffer.from([number + 1]), limit: 1 };
    for (const key of examined.keys(range)) return key;
  }
  return undefined;
}
