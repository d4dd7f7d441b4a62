import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { chainDirectory, openChain } from '../../src/node/chain-tool.ts';
import { startPageScrubber } from '../../src/node/page-scrubber.ts';
import { yieldToEventLoop } from '../../src/node/system.ts';
import type { ProtocolError } from '../../src/primitives/errors.ts';
import { DATA_FILE } from '../../src/store/disk/data-file.ts';
import { TABLES } from '../../src/store/tables/layout.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { madeChain, locationIn, storeChain } from '../support/chain-folder.ts';
import { pagesInUse } from '../support/damaged-pages.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const NO_CHECK = {
  checkState: () => ({ readTo: () => undefined, finish: () => true }),
  recordDamage: () => undefined,
};

/** Returns a clock with at most one timer. The timer runs when the test calls `next`. */
function handClock() {
  const waits: number[] = [];
  let due: (() => void) | undefined;
  const after = (ms: number, work: () => void) => {
    waits.push(ms);
    due = work;
    return { cancel: () => (due = undefined) };
  };
  return { nowMs: () => 0, after, waits, next: () => due?.() };
}

for (const [table, message] of [
  ['delegates', /its state does not match its checksum.*Restore it from a backup/],
  ['undo', /the undo record of the block at height \d+ does not match its checksum.*Restore it from a backup/],
] as const) {
  test(`a watch compares ${table} with checksums, a few pages at a time, while blocks come`, async (t) => {
    const { network, blocks } = madeChain(300);
    const place = locationIn(temporaryFolder(t), network);
    const { chain, store, close } = await openChain(place, true);
    t.teardown(close);
    await chain.append(blocks.slice(1, 150));
    const clock = handClock();
    const rounds = { finished: 0 };
    const state = {
      recordDamage: (recordsMax?: number) => store.recordDamage(recordsMax),
      checkState: () => {
        const check = store.checkState();
        return {
          readTo: (key: Uint8Array) => check.readTo(key),
          finish: () => {
            rounds.finished += 1;
            return check.finish();
          },
        };
      },
    };
    const watch = startPageScrubber(chainDirectory(place), { clock, observer: SILENT, state, statePagesPerLook: 1 });
    let found: ProtocolError | undefined;
    void watch.damaged.then((error) => (found = error));
    for (const block of blocks.slice(150, 250)) {
      clock.next();
      await chain.append([block]);
    }
    while (rounds.finished < 2) clock.next();
    await yieldToEventLoop();
    t.is(found, undefined, 'nothing is wrong');
    t.true(clock.waits.filter((ms) => ms === 1000).length > 10, 'many looks');

    // Flip a bit of a stored value on the disk. The node rarely reads this value, so the page scrubber must find the
    // damage.
    const path = join(chainDirectory(place), DATA_FILE);
    const bytes = readFileSync(path);
    const at = lastValueOf(bytes, TABLES[table].number);
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.from([(bytes[at] ?? 0) ^ 1]), 0, 1, at);
    closeSync(file);
    const until = rounds.finished + 2;
    while (rounds.finished < until) clock.next();
    const error = await watch.damaged;
    t.is(error.code, 'STORE_DAMAGED');
    t.regex(error.message, message);
    watch.stop();
  });
}

/** Searches the database file for a value of a table. Returns the offset of the last byte of this value. */
function lastValueOf(bytes: Buffer, table: number): number {
  for (const { number, kind } of pagesInUse(bytes)) {
    if (kind !== 'leaf') continue;
    const page = number * 4096;
    for (let index = 0; index < bytes.readUInt16LE(page + 20) / 2; index += 1) {
      const node = page + 24 + bytes.readUInt16LE(page + 24 + 2 * index);
      const [valueBytes, keyBytes] = [bytes.readUInt16LE(node), bytes.readUInt16LE(node + 6)];
      if (bytes[node + 8] === table && bytes.readUInt16LE(node + 4) === 0) return node + 8 + keyBytes + valueBytes - 1;
    }
  }
  throw new Error(`no value of table ${table}`);
}

test('a watch checks all pages again and again, and reports the page that a disk has lost', async (t) => {
  const { network, blocks } = madeChain(300);
  const place = locationIn(temporaryFolder(t), network);
  await storeChain(place, blocks);
  const directory = chainDirectory(place);
  let due: (() => void) | undefined;
  const waits: number[] = [];
  const clock = {
    nowMs: () => 0,
    after: (ms: number, work: () => void) => {
      waits.push(ms);
      due = work;
      return { cancel: () => (due = undefined) };
    },
  };
  const watch = startPageScrubber(directory, { clock, observer: SILENT, state: NO_CHECK });
  for (let look = 0; look < 20; look += 1) due?.();
  t.true(waits.includes(3_600_000), 'a round ends');
  const path = join(directory, DATA_FILE);
  const page = pagesInUse(readFileSync(path)).at(-1)?.number ?? 0;
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(4096), 0, 4096, page * 4096);
  closeSync(file);
  for (let look = 0; look < 20; look += 1) due?.();
  const error = await watch.damaged;
  t.is(error.code, 'STORE_DAMAGED');
  t.regex(error.message, new RegExp(`page ${page} is damaged: .*Restore it from a backup`));
  watch.stop();
  t.is(due, undefined);
});
