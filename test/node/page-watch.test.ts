import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { chainDirectory } from '../../src/node/chain-tool.ts';
import { watchPages } from '../../src/node/page-watch.ts';
import { DATA_FILE } from '../../src/store/data-file.ts';
import { SILENT } from '../../src/ports/observer.ts';
import { madeChain, placeIn, storeChain } from '../support/chain-folder.ts';
import { pagesInUse } from '../support/damaged-pages.ts';
import { temporaryFolder } from '../support/network-folder.ts';

test('a watch goes through all pages again and again, and ends with the page that a disk has lost', async (t) => {
  const { network, blocks } = madeChain(300);
  const place = placeIn(temporaryFolder(t), network);
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
  const watch = watchPages(directory, { clock, observer: SILENT });
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
