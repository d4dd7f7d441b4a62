/**
 * Makes a read-only view of a store that has an earlier layout. In the view, the store has the current layout. The
 * changes of the upgrade stay in memory and are never written to the store. The view makes the upgrade only when a
 * table that the upgrade changes is read for the first time. Blocks and accounts can be read without the upgrade. This
 * delay saves time: an upgrade takes seconds for a long chain, and `bloomery sink`, which copies the chain to another
 * database or a folder, opens a view for every few blocks.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import { MemoryKeyValue } from '../disk/memory.ts';
import { afterPrefix, readsOf, type KeyRange, type KeyValue, type KeyValueEntry } from '../tables/key-value.ts';
import { TABLES } from '../tables/layout.ts';
import { upgradeStore } from './upgrade.ts';

/**
 * The tables that an upgrade changes. In memory, these tables take about 40 bytes for each leaf block (a stored group
 * of neighbouring index keys), plus the size of the undo records.
 */
const IN_MEMORY: readonly number[] = [TABLES.meta.number, TABLES.undo.number, TABLES.innerBlocks.number];

/**
 * Returns a read-only view of a store for which the function `isOlder` returns true.
 *
 * @param disk the store. The view never writes to the store. When the view is closed, the view also closes the store
 */
export function upgradedView(disk: KeyValue): KeyValue {
  let upgraded: MemoryKeyValue | undefined;
  return new View(disk, () => (upgraded ??= upgradedTables(disk)), true);
}

/** Returns the tables `IN_MEMORY` of a store with their content after the upgrade. */
function upgradedTables(disk: KeyValue): MemoryKeyValue {
  const memory = new MemoryKeyValue();
  memory.transact((writer) => {
    for (const number of IN_MEMORY) {
      const table = Buffer.from([number]);
      for (const { key, value } of disk.entries({ gte: table, lt: afterPrefix(table) })) {
        writer.put(Buffer.from(key), Buffer.from(value));
      }
    }
  });
  upgradeStore(new View(disk, () => memory));
  return memory;
}

class View implements KeyValue {
  readonly #disk: KeyValue;
  readonly #memory: () => MemoryKeyValue;
  readonly #isReadOnly: boolean;

  /** @param memory function that returns the tables `IN_MEMORY` after the upgrade */
  constructor(disk: KeyValue, memory: () => MemoryKeyValue, isReadOnly = false) {
    this.#disk = disk;
    this.#memory = memory;
    this.#isReadOnly = isReadOnly;
  }

  get(key: Uint8Array): Buffer | undefined {
    return this.#of(key[0]).get(key);
  }

  withValue<T>(key: Uint8Array, work: (value: Buffer) => T): T | undefined {
    return this.#of(key[0]).withValue(key, work);
  }

  *entries(range: KeyRange): Iterable<KeyValueEntry> {
    yield* this.#walk(range, (from, part) => from.entries(part));
  }

  *keys(range: KeyRange): Iterable<Buffer> {
    yield* this.#walk(range, (from, part) => from.keys(part));
  }

  count(range: KeyRange): number {
    return partsOf(range).reduce((sum, part) => sum + this.#of(part.gte[0]).count(part), 0);
  }

  transact<T>(work: Parameters<typeof MemoryKeyValue.prototype.transact<T>>[0]): T {
    if (this.#isReadOnly)
      throw new ProtocolError('STORE_READ_ONLY', {}, 'The chain store was opened for reading only.');
    return this.#memory().transact((writer) =>
      work({
        ...writer,
        ...readsOf(this),
      }),
    );
  }

  snapshot(): KeyValue {
    return new View(this.#disk.snapshot(), this.#memory, true);
  }

  close(): Promise<void> {
    return this.#disk.close();
  }

  #of(table = 0): KeyValue {
    return IN_MEMORY.includes(table) ? this.#memory() : this.#disk;
  }

  *#walk<T>(range: KeyRange, read: (from: KeyValue, part: KeyRange) => Iterable<T>): Iterable<T> {
    const { reverse = false, limit = Infinity, offset = 0 } = range;
    const parts = partsOf(range);
    let [skip, left] = [offset, limit];
    for (const part of reverse ? parts.reverse() : parts) {
      if (left <= 0) return;
      const from = this.#of(part.gte[0]);
      const size = parts.length === 1 || skip === 0 ? Infinity : from.count(part);
      if (skip >= size) {
        skip -= size;
        continue;
      }
      const some = { ...part, reverse, offset: skip };
      for (const each of read(from, left === Infinity ? some : { ...some, limit: left })) {
        yield each;
        left -= 1;
      }
      skip = 0;
    }
  }
}

/** Splits a range so that each part lies either in one table in memory, or only in tables on the disk. */
function partsOf({ gte, lt }: KeyRange): { gte: Uint8Array; lt: Uint8Array }[] {
  const parts: { gte: Uint8Array; lt: Uint8Array }[] = [];
  let from = gte;
  for (const number of IN_MEMORY) {
    for (const cut of [Buffer.from([number]), Buffer.from([number + 1])]) {
      if (Buffer.compare(cut, from) <= 0) continue;
      if (Buffer.compare(cut, lt) >= 0) break;
      parts.push({ gte: from, lt: cut });
      from = cut;
    }
  }
  if (Buffer.compare(from, lt) < 0) parts.push({ gte: from, lt });
  return parts;
}
