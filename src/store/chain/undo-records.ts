/**
 * Stores the undo records. A database transaction keeps its undo records in memory, and writes these records only at
 * the end of the transaction. A long database transaction adds many undo records, and removes most of these records
 * before the end (`forgetUpTo`). The transaction never writes these removed records. On the disk, each undo record ends
 * with a checksum over its key and its content. The store checks this checksum before it reverts a block. Without this
 * check, a damaged undo record could put a wrong balance or vote into the state. The checksum of the state would then
 * include the wrong value, so a later check of the state could not find the damage.
 */

import type { KeyValueReader, KeyValueWriter } from '../tables/key-value.ts';
import { TABLES } from '../tables/layout.ts';
import { withChecksum, verifiedContent } from '../tables/checksummed.ts';
import { decodeUndo, encodeUndo, type Overwritten, type OverwrittenValues } from './undo.ts';

export class UndoRecords {
  readonly #keys: KeyValueReader;
  readonly #unsaved = new Map<number, OverwrittenValues>();

  constructor(keys: KeyValueReader) {
    this.#keys = keys;
  }

  /**
   * Returns the height of the lowest block that can be reverted; undefined if no block can be reverted. The result
   * ignores the undo records of the running database transaction.
   */
  floor(): number | undefined {
    const [lowest] = this.#keys.keys({ ...TABLES.undo.all, limit: 1 });
    return lowest === undefined ? undefined : TABLES.undo.read(lowest)[0];
  }

  add(height: number, overwritten: OverwrittenValues): void {
    this.#unsaved.set(height, overwritten);
  }

  /** @returns undefined if no record has this height; 'damaged' for a record with a wrong checksum */
  read(height: number): readonly Overwritten[] | undefined | 'damaged' {
    const unsaved = this.#unsaved.get(height);
    if (unsaved !== undefined) return decodeUndo(encodeUndo(unsaved));
    const key = TABLES.undo.key(height);
    const record = this.#keys.get(key);
    if (record === undefined) return undefined;
    const content = verifiedContent(key, record);
    return content === undefined ? 'damaged' : decodeUndo(content);
  }

  remove(writer: KeyValueWriter, height: number): void {
    if (!this.#unsaved.delete(height)) writer.remove(TABLES.undo.key(height));
  }

  forgetUpTo(writer: KeyValueWriter, height: number): void {
    for (const unsaved of [...this.#unsaved.keys()]) if (unsaved <= height) this.#unsaved.delete(unsaved);
    if (height < 1) return;
    const { gte } = TABLES.undo.all;
    const lt = TABLES.undo.key(Math.min(height, 0xffff_fffe) + 1);
    for (const key of Array.from(writer.keys({ gte, lt }))) writer.remove(key);
  }

  /** Writes the undo records of the running database transaction at the end of this transaction. */
  write(writer: KeyValueWriter): void {
    for (const [height, overwritten] of this.#unsaved) {
      const key = TABLES.undo.key(height);
      writer.put(key, withChecksum(key, encodeUndo(overwritten)));
    }
    this.#unsaved.clear();
  }

  /** Drops the undo records of a failed database transaction. */
  rollback(): void {
    this.#unsaved.clear();
  }

  /**
   * Compares undo records with their checksums, from the highest block down. The comparison takes about 5 ms for 2,000
   * undo records.
   *
   * @param recordsMax largest number of records to compare
   * @returns the greatest height whose record does not match its checksum; undefined if all compared records match
   */
  firstDamaged(recordsMax: number): number | undefined {
    const limit = Number.isFinite(recordsMax) ? { limit: recordsMax } : {};
    for (const { key, value } of this.#keys.entries({ ...TABLES.undo.all, ...limit, reverse: true })) {
      if (verifiedContent(key, value) === undefined) return TABLES.undo.read(key)[0];
    }
    return undefined;
  }
}

/** Text of the error for an undo record that does not match its checksum. */
export function undoChanged(height: number): string {
  return `the undo record of the block at height ${height} does not match its checksum`;
}
