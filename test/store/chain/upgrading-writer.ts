/** A process that upgrades a store of an earlier layout, and kills itself before a given write of the upgrade. */

import { upgradeStore } from '../../../src/store/chain/upgrade.ts';
import { openLmdb } from '../../../src/store/disk/lmdb.ts';
import { countingWrites } from '../older-layouts.ts';

const [directory, writes] = process.argv.slice(2);
if (directory === undefined) throw new Error('usage: upgrading-writer DIRECTORY WRITES');
const store = openLmdb(directory, false);
upgradeStore(countingWrites(store, Number(writes), () => process.kill(process.pid, 'SIGKILL')));
await store.close();
