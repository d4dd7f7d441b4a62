/** A process that appends blocks to a store until it is killed, and prints the heights that are on the disk. */

import { writeSync } from 'node:fs';

import { openChainStore } from '../../../src/store/chain/open.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { followHistory } from '../world.ts';

/** Height at which a writer ends if no test kills it. The height is above every height for which a test waits. */
const HEIGHT_MAX = 20_000;

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error('usage: killed-writer DIRECTORY');
const store = await openChainStore({ directory, codec: FAKE_CODEC, params: paramsWith() });
followHistory(store, HEIGHT_MAX, (height) => writeSync(1, `${height}\n`));
await store.close();
