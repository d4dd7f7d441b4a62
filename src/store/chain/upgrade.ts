/**
 * Upgrades a store of an earlier layout to the current layout, in place. The upgrade adds checksums of the state and of
 * the undo records. The upgrade also adds inner blocks to the counted key sets (`index/counted-key-sets.ts`). A counted
 * key set is a sorted set of keys, stored as leaf blocks of neighbouring keys. The inner blocks form a tree above the
 * leaf blocks, and store the numbers of keys. The upgrade does not change the leaf blocks. In an earlier layout, one
 * text contains the number of the layout and the index watermark (the height up to which the indexes contain all
 * transactions). The upgrade moves the watermark into a separate entry. The upgrade makes all its changes in one
 * transaction of the database. If the process is killed during the upgrade, the store does not change, and the next
 * process that opens the store begins the upgrade again.
 */

import { buildTree, type CountedLeaf } from '../index/build-tree.ts';
import { writeIndexWatermark } from '../index/index-watermark.ts';
import { BLOCK_SIZES } from '../index/leaf-blocks.ts';
import type { KeyValue, KeyValueReader, KeyValueWriter } from '../tables/key-value.ts';
import {
  COUNTED_TABLES,
  LAYOUT_VERSION,
  META_LAYOUT,
  META_STATE_CHECKSUM,
  STATE_RANGE,
  TABLES,
} from '../tables/layout.ts';
import { StateChecksum } from './state-checksum.ts';
import { withChecksum, verifiedContent } from '../tables/checksummed.ts';

/** The first layout that can be upgraded. Earlier layouts differ too much from the current layout. */
export const FIRST_LAYOUT_READ = 4;

/** The first layout whose undo records have checksums. */
const FIRST_LAYOUT_WITH_SEALS = 6;

const LAYOUT_KEY = TABLES.meta.key(META_LAYOUT);
const CHECKSUM_KEY = TABLES.meta.key(META_STATE_CHECKSUM);
/**
 * Up to layout 6, the store had a separate entry for each leaf block (a stored group of neighbouring keys), with the
 * number of keys in the block. This constant is the size of that number in bytes.
 */
const SIZE_BYTES = 4;

/**
 * Parses the text under `META_LAYOUT`. This text begins with the number of the layout. Up to layout 7, if the indexes
 * of the store lag behind the chain, the index watermark follows this number. The watermark is the height up to which
 * the indexes contain all transactions.
 */
export function layoutOf(text: string): { readonly layout: string; readonly watermark: number | undefined } {
  const [layout = '', height, ...rest] = text.split(' without indexes of transactions above height ');
  if (height === undefined || rest.length > 0 || !/^\d{1,10}$/.test(height))
    return { layout: text, watermark: undefined };
  return { layout, watermark: Number(height) };
}

/** True for a layout that this version of the node can open, directly or after an upgrade. */
export function isLayoutRead(layout: number): boolean {
  return Number.isInteger(layout) && layout >= FIRST_LAYOUT_READ && layout <= LAYOUT_VERSION;
}

/**
 * True if the layout of the store is not the current layout. The caller must have checked with `isLayoutRead` that this
 * version of the node can open the layout.
 */
export function isOlder(keyValue: KeyValueReader): boolean {
  return storedLayout(keyValue) !== String(LAYOUT_VERSION);
}

/**
 * Returns the number of a store's layout as text. In earlier layouts, the stored text with this number can also contain
 * the index watermark (the height up to which the indexes contain all transactions). The function leaves out this
 * height.
 */
export function storedLayout(keyValue: KeyValueReader): string {
  return layoutOf(layoutTextOf(keyValue)).layout;
}

/** Called before each step of an upgrade, with the name of the step and the fraction of the steps that is done. */
export type OnUpgradeStep = (step: string, fraction: number) => void;

/**
 * Upgrades a store to the current layout. The upgrade took 3 s for four million transactions (300,000 leaf blocks). In
 * another measurement, on a busy machine, the upgrade took 40 s for 1,500,000 leaf blocks. The stored layout number can
 * be damaged, and lower than the real layout. In this case, the steps of the upgrade find nothing to change.
 *
 * @param keyValue a store for which the function `isOlder` returns true
 */
export function upgradeStore(keyValue: KeyValue, onStep: OnUpgradeStep = () => undefined): void {
  const steps: readonly (readonly [step: string, work: (writer: KeyValueWriter) => void])[] = [
    ['checksum of the state', addStateChecksum],
    ['checksums of undo records', sealUndoRecords],
    ...COUNTED_TABLES.map(
      (name) => [`index ${name}`, (writer: KeyValueWriter) => treeOverLeaves(writer, TABLES[name].number)] as const,
    ),
  ];
  keyValue.transact((writer) => {
    for (const [index, [step, work]] of steps.entries()) {
      onStep(step, index / steps.length);
      work(writer);
    }
    const { watermark } = layoutOf(layoutTextOf(writer));
    if (watermark !== undefined) writeIndexWatermark(writer, watermark);
    writer.put(LAYOUT_KEY, Buffer.from(String(LAYOUT_VERSION)));
  });
}

/**
 * Layout 5 adds the checksum of the state. This step reads the whole state, which takes a second for a million
 * accounts.
 */
function addStateChecksum(writer: KeyValueWriter): void {
  if (writer.get(CHECKSUM_KEY) !== undefined) return;
  const checksum = new StateChecksum();
  let isEmpty = true;
  for (const { key, value } of writer.entries(STATE_RANGE)) {
    checksum.replace(key, undefined, value);
    isEmpty = false;
  }
  if (!isEmpty) writer.put(CHECKSUM_KEY, checksum.bytes());
}

/** Layout 6 adds a checksum to each undo record. */
function sealUndoRecords(writer: KeyValueWriter): void {
  // From layout 6 on, an undo record without a valid checksum is damaged. A new checksum would hide the damage.
  if (Number(storedLayout(writer)) >= FIRST_LAYOUT_WITH_SEALS) return;
  for (const key of Array.from(writer.keys(TABLES.undo.all))) {
    const value = writer.get(key);
    if (value !== undefined && verifiedContent(key, value) === undefined) writer.put(key, withChecksum(key, value));
  }
}

/**
 * Upgrades a counted table (a table of keys that the store can count fast) to layout 7. Before layout 7, the store has
 * a separate entry for each leaf block (a stored group of neighbouring keys), with the number of keys in the block.
 * From layout 7 on, the inner blocks contain these numbers.
 */
function treeOverLeaves(writer: KeyValueWriter, table: number): void {
  const leaves: CountedLeaf[] = [];
  for (const { key, value } of writer.entries(TABLES.innerBlocks.range(table))) {
    if (value.length !== SIZE_BYTES) return;
    leaves.push({ start: Buffer.from(key.subarray(1)), size: value.readUInt32BE() });
  }
  for (const { start } of leaves) writer.remove(Buffer.concat([TABLES.innerBlocks.start, start]));
  for (const block of buildTree(table, leaves, BLOCK_SIZES)) {
    writer.put(TABLES.innerBlocks.key(table, block.level, block.start.subarray(1)), block.packed());
  }
}

function layoutTextOf(keys: KeyValueReader): string {
  return keys.get(LAYOUT_KEY)?.toString() ?? '';
}
