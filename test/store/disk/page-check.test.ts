import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  readSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import { chainDirectory } from '../../../src/node/chain-tool.ts';
import { systemClock } from '../../../src/node/system.ts';
import { createRules } from '../../../src/protocol/generations.ts';
import { ChainReader } from '../../../src/store/chain/reader.ts';
import { DATA_FILE } from '../../../src/store/disk/data-file.ts';
import { openLmdbReader } from '../../../src/store/disk/lmdb.ts';
import { checkPages } from '../../../src/store/disk/page-check.ts';
import { madeChain, locationIn, storeChain } from '../../support/chain-folder.ts';
import { temporaryFolder } from '../../support/network-folder.ts';
import { pagesInUse } from '../../support/damaged-pages.ts';

const PAGE_BYTES = 4096;
const { network, blocks } = madeChain(300);

test('an intact store passes, at once and in chunks, and each chunk continues the last', async (t) => {
  const place = locationIn(temporaryFolder(t), network);
  await storeChain(place, blocks);
  const path = join(chainDirectory(place), DATA_FILE);
  t.deepEqual(checkPages(path), {});
  let chunks = 0;
  for (let from: Buffer | undefined, isFirst = true; isFirst || from !== undefined; isFirst = false) {
    const found = checkPages(path, { pagesMax: 5, ...(from === undefined ? {} : { from }) });
    t.is(found.damage, undefined);
    if (from !== undefined && found.next !== undefined) t.true(Buffer.compare(found.next, from) > 0);
    from = found.next;
    chunks += 1;
  }
  t.true(chunks > 20, `${chunks} chunks`);
});

test('each used page that is zeroed, garbled or replaced by another page is found', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(folder, network);
  await storeChain(place, blocks);
  const path = join(folder, 'copy');
  const whole = readFileSync(join(chainDirectory(place), DATA_FILE));
  writeFileSync(path, whole);
  const pages = pagesInUse(whole);
  t.true(pages.length > 100);
  const garbage = Buffer.alloc(PAGE_BYTES, 0xa5);
  for (const { number } of pages) {
    const at = number * PAGE_BYTES;
    const other = (number === 5 ? 6 : 5) * PAGE_BYTES;
    for (const bytes of [Buffer.alloc(PAGE_BYTES), garbage, whole.subarray(other, other + PAGE_BYTES)]) {
      write(path, at, bytes);
      t.regex(checkPages(path).damage ?? 'none', /^page \d+ is damaged: /, `page ${number}`);
      write(path, at, whole.subarray(at, at + PAGE_BYTES));
    }
  }
  t.deepEqual(checkPages(path), {});
});

test('whatever bytes of a page change, the check ends with a result and reads nothing else', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(folder, network);
  await storeChain(place, blocks);
  const path = join(folder, 'copy');
  copyFileSync(join(chainDirectory(place), DATA_FILE), path);
  const whole = readFileSync(path);
  const pages = pagesInUse(whole).map(({ number }) => number);
  fc.assert(
    fc.property(
      fc.constantFrom(0, 1, ...pages),
      fc.nat(200),
      fc.uint8Array({ minLength: 1, maxLength: 8 }),
      (page, at, bytes) => {
        write(path, page * PAGE_BYTES + at, Buffer.from(bytes));
        try {
          const { damage } = checkPages(path);
          return damage === undefined || damage.length > 5;
        } catch (error) {
          // If the page size in the file is invalid, it is possible that `checkPages` throws a `RangeError`. The test
          // accepts this error, because the store first calls `examineDataFile`, which refuses an invalid page size.
          return page < 2 && error instanceof RangeError;
        } finally {
          write(path, page * PAGE_BYTES, whole.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES));
        }
      },
    ),
    { numRuns: 2000 },
  );
  t.pass();
});

test('a file truncated after its first pages is detected', async (t) => {
  const folder = temporaryFolder(t);
  const place = locationIn(folder, network);
  await storeChain(place, blocks);
  const path = join(folder, 'copy');
  copyFileSync(join(chainDirectory(place), DATA_FILE), path);
  const last = Math.max(...pagesInUse(readFileSync(path)).map(({ number }) => number));
  for (let pages = last; pages > 2; pages = Math.floor(pages * 0.8)) {
    truncateSync(path, pages * PAGE_BYTES + (pages % 2) * 100);
    t.not(checkPages(path).damage, undefined, `${pages} pages`);
  }
});

test('a reading process of a node does not check the pages of the store again', async (t) => {
  const place = locationIn(temporaryFolder(t), network);
  await storeChain(place, blocks);
  const directory = chainDirectory(place);
  const path = join(directory, DATA_FILE);
  const leaves = pagesInUse(readFileSync(path)).filter(({ kind }) => kind === 'leaf');
  write(path, (leaves.at(-1)?.number ?? 0) * PAGE_BYTES, Buffer.alloc(PAGE_BYTES));
  t.throws(() => openLmdbReader(directory), { code: 'STORE_DAMAGED' });
  const { params } = place.network;
  const reader = new ChainReader({ directory, params, codec: createRules(params).codec }, systemClock);
  t.is(reader.current.store.tip()?.height, blocks.length);
  await reader.close();
});

function write(path: string, at: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, at);
  const back = Buffer.alloc(1);
  readSync(file, back, 0, 1, at);
  closeSync(file);
}
