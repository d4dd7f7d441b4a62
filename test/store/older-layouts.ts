/** Makes stores of earlier layouts, as the earlier versions wrote them. */

import { InnerBlock } from '../../src/store/index/inner-block.ts';
import { readsOf, type KeyValue } from '../../src/store/tables/key-value.ts';
import { COUNTED_TABLES, TABLES } from '../../src/store/tables/layout.ts';
import { CHECKSUM_BYTES } from '../../src/store/tables/entry-checksum.ts';

/** @param layout text of the entry `META_LAYOUT`; begins with the number of the older layout */
export function makeOlder(keyValue: KeyValue, layout: string): void {
  keyValue.transact((writer) => {
    writer.put(TABLES.meta.key('layout'), Buffer.from(layout));
    writer.remove(TABLES.meta.key('indexWatermark'));
    if (layout.startsWith('7')) return;
    if (layout.startsWith('4')) writer.remove(TABLES.meta.key('stateChecksum'));
    if (/^[45]/.test(layout)) {
      for (const { key, value } of Array.from(writer.entries(TABLES.undo.all))) {
        writer.put(Buffer.from(key), Buffer.from(value.subarray(0, -CHECKSUM_BYTES)));
      }
    }
    for (const name of COUNTED_TABLES) {
      const { number } = TABLES[name];
      const blocks = Array.from(writer.entries(TABLES.innerBlocks.range(number)), ({ key, value }) => {
        const [, level, start] = TABLES.innerBlocks.read(key);
        return {
          key: Buffer.from(key),
          level,
          block: InnerBlock.read(level, Buffer.concat([Buffer.from([number]), start]), Buffer.from(value)),
        };
      });
      for (const { key } of blocks) writer.remove(key);
      for (const { block } of blocks.filter(({ level }) => level === 1)) {
        for (const [child, size] of block.sizes.entries()) {
          const keys = Buffer.alloc(4);
          keys.writeUInt32BE(size);
          if (size > 0) writer.put(Buffer.concat([TABLES.innerBlocks.start, block.starts.key(child)]), keys);
        }
      }
    }
  });
}

/** Wraps a store, and calls `happens` before the write with the number `at`. The first write has number 0. */
export function countingWrites(keyValue: KeyValue, at: number, happens: () => void): KeyValue {
  let writes = 0;
  const count = (): void => {
    if (writes === at) happens();
    writes += 1;
  };
  return {
    ...readsOf(keyValue),
    snapshot: () => keyValue.snapshot(),
    close: () => keyValue.close(),
    transact: (work) =>
      keyValue.transact((writer) =>
        work({
          ...writer,
          put: (key, value, isNew) => {
            count();
            writer.put(key, value, isNew);
          },
          remove: (key, isThere) => {
            count();
            writer.remove(key, isThere);
          },
        }),
      ),
  };
}
