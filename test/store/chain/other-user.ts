/**
 * A process that makes a store in a folder, gives up a right, tries to open the store, and prints the results. Usage:
 * `other-user.js FOLDER FILE`. If FILE is a file name, the process gives up the right to write to this file. If FILE is
 * `.`, the process gives up the right to enter the folder. If FILE is `new`, the process gives up the right to make
 * files in the folder. To give up the right, a process of root changes to the user `nobody`. A process of any other
 * user changes the mode of the file or folder.
 */

import { chmodSync, chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { ProtocolError } from '../../../src/primitives/errors.ts';
import type { KeyValue } from '../../../src/store/tables/key-value.ts';
import { openLmdb, openLmdbSnapshot } from '../../../src/store/disk/lmdb.ts';

/** The id of the user `nobody` on most systems. The id of any other user without permissions would also work. */
const NOBODY = 65_534;

const [directory = '', file = ''] = process.argv.slice(2);
mkdirSync(directory);
const made = openLmdb(directory, true);
made.transact((writer) => writer.put(Buffer.from('key'), Buffer.from('value')));
await made.close();
/** Mode that root sets on the folder; undefined if root gives the folder to the user `nobody`. */
const folderMode = file === '.' ? 0o700 : file === 'new' ? 0o755 : undefined;
if (process.getuid?.() === 0) {
  if (folderMode === undefined) chownSync(directory, NOBODY, NOBODY);
  else chmodSync(directory, folderMode);
  for (const name of readdirSync(directory)) if (name !== file) chownSync(join(directory, name), NOBODY, NOBODY);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
} else {
  chmodSync(folderMode === undefined ? join(directory, file) : directory, file === '.' ? 0 : 0o555);
}

async function outcomeOf(open: () => KeyValue): Promise<string> {
  try {
    const keys = open();
    const value = keys.get(Buffer.from('key'));
    await keys.close();
    return String(value);
  } catch (error) {
    return error instanceof ProtocolError ? `${error.code}: ${error.message}` : String(error);
  }
}

// The process repeats the attempts: if a failed attempt corrupts memory, only a later attempt shows the damage.
const outcomes = new Set<string>();
for (let round = 0; round < 20; round += 1) {
  const read = await outcomeOf(() => openLmdbSnapshot(directory));
  const written = await outcomeOf(() => openLmdb(directory, false));
  outcomes.add(`${read}\n${written}\n`);
}
process.stdout.write([...outcomes].join(''));
