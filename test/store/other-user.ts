/**
 * A process that makes a store in a folder, takes its own right to write to one of its files away, or to enter the folder
 * where the file is `.` (as root by becoming somebody else), and says what becomes of opening it: `other-user.js FOLDER FILE`.
 */

import { chmodSync, chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { ProtocolError } from '../../src/primitives/errors.ts';
import type { KeyValue } from '../../src/store/key-value.ts';
import { openLmdb, openLmdbSnapshot } from '../../src/store/lmdb.ts';

/** The user `nobody` of most systems; one without rights is enough. */
const NOBODY = 65_534;

const [directory = '', file = ''] = process.argv.slice(2);
mkdirSync(directory);
const made = openLmdb(directory, true);
made.transact((writer) => writer.put(Buffer.from('key'), Buffer.from('value')));
await made.close();
const isFolder = file === '.';
if (process.getuid?.() === 0) {
  if (isFolder) chmodSync(directory, 0o700);
  else chownSync(directory, NOBODY, NOBODY);
  for (const name of readdirSync(directory)) if (name !== file) chownSync(join(directory, name), NOBODY, NOBODY);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
} else {
  chmodSync(join(directory, file), isFolder ? 0 : 0o444);
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
