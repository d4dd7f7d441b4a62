/**
 * A process that makes a store in a folder, takes its own right to write to one of its files away, or to enter the folder
 * where the file is `.`, or to make files in it where that is `new` (as root by becoming somebody else), and says what becomes
 * of opening it: `other-user.js FOLDER FILE`.
 */

import { chmodSync, chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { ProtocolError } from '../../../src/primitives/errors.ts';
import type { KeyValue } from '../../../src/store/tables/key-value.ts';
import { openLmdb, openLmdbSnapshot } from '../../../src/store/disk/lmdb.ts';

/** The user `nobody` of most systems; one without rights is enough. */
const NOBODY = 65_534;

const [directory = '', file = ''] = process.argv.slice(2);
mkdirSync(directory);
const made = openLmdb(directory, true);
made.transact((writer) => writer.put(Buffer.from('key'), Buffer.from('value')));
await made.close();
/** What the folder allows others; undefined where it is theirs. */
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

// Again and again: a failure that leaves memory in disorder shows later.
const outcomes = new Set<string>();
for (let round = 0; round < 20; round += 1) {
  const read = await outcomeOf(() => openLmdbSnapshot(directory));
  const written = await outcomeOf(() => openLmdb(directory, false));
  outcomes.add(`${read}\n${written}\n`);
}
process.stdout.write([...outcomes].join(''));
