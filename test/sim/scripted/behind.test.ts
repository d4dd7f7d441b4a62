/** Tests a node that has no blocks and downloads thousands of blocks from a running network. */

import test from 'ava';

import { syncAfterOutage } from '../catch-up.ts';

test('a node that missed thousands of blocks downloads them within minutes from a running network', async (t) => {
  const { blocks, slots, isSame } = await syncAfterOutage(2000);
  t.true(isSame);
  t.true(slots <= 30, `${blocks} blocks took ${slots} slots`);
});
