/** A process that appends blocks to the store of a folder until it is killed, and says which heights are on the disk. */

import { writeSync } from 'node:fs';

import { openChainStore } from '../../../src/store/chain/open.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { followHistory } from '../world.ts';

/** More than a test waits for: a writer that nobody kills ends by itself. */
const HEIGHT_MAX = 20_000;

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error('usage: killed-writer DIRECTORY');
const store = await openChainStore({ directory, codec: FAKE_CODEC, params: paramsWith() });
followHistory(store, HEIGHT_MAX, (height) => writeSync(1, `${height}\n`));
await store.close();
