import { rmSync } from 'node:fs';

import test from 'ava';
import { chainDirectory, openIndexedSnapshot } from '../../src/node/chain-tool.ts';
import { writeIndexWatermark } from '../../src/store/index/index-watermark.ts';
import { openLmdb } from '../../src/store/disk/lmdb.ts';
import { madeChain, locationIn, storeChain } from '../support/chain-folder.ts';
import { lockElsewhere } from '../support/lock-elsewhere.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const { network, blocks } = madeChain(10);

test('a user who waits for the indexes of a store sees which container holds it', async (t) => {
  const place = locationIn(temporaryFolder(t), network);
  await storeChain(place, blocks);
  const directory = chainDirectory(place);
  const keys = openLmdb(directory, false);
  keys.transact((writer) => writeIndexWatermark(writer, 1));
  await keys.close();
  let asked = 0;
  let lockFile = '';
  const taken = {
    network: place.network,
    get dataDirectory() {
      asked += 1;
      // When the tool reads this property for the second time, it has read the store and is about to open the store for
      // writing. At this moment, the test creates a lock file that looks as if a process of another container used the
      // store.
      if (asked === 2) lockFile = lockElsewhere(directory, 'in-use');
      return place.dataDirectory;
    },
  };
  const error = await t.throwsAsync(openIndexedSnapshot(taken), { code: 'STORE_BEHIND' });
  t.regex(
    error?.message ?? '',
    /can be examined when process \d+ of another container \(.*\) has ended: it imports or downloads blocks/,
  );
  rmSync(lockFile);
  const { store } = await openIndexedSnapshot(place);
  t.is(store.indexLag, 0);
  await store.close();
});
