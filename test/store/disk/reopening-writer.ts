/**
 * A process that opens, writes and closes the store of a folder repeatedly until it is killed, and prints the number of
 * openings.
 */

import { writeSync } from 'node:fs';

import { openLmdb } from '../../../src/store/disk/lmdb.ts';

/**
 * Number of openings after which a writer ends if no test kills it. The number is above every number for which a test
 * waits.
 */
const OPENINGS_MAX = 5_000;

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error('usage: reopening-writer DIRECTORY');
for (let opening = 1; opening <= OPENINGS_MAX; opening += 1) {
  const keys = openLmdb(directory, true, false);
  keys.transact((writer) => writer.put(Buffer.from(`${opening % 100}`), Buffer.alloc(1000, opening)));
  await keys.close();
  writeSync(1, `${opening}\n`);
}
