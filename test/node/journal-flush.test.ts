/**
 * Tests that a block header is on the disk when a signing journal has recorded it, so that the header survives a power
 * cut. This file contains no other test, because this test replaces functions of `node:fs`.
 */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import test from 'ava';
import { openJournal } from '../../src/node/journal-file.ts';
import { temporaryFolder } from '../support/network-folder.ts';

test('a header is written and then flushed to the disk before record returns', (t) => {
  const journal = openJournal(join(temporaryFolder(t), 'journal'));
  const { fsyncSync, writeSync } = fs;
  const calls: string[] = [];
  fs.fsyncSync = (descriptor) => {
    calls.push(`flush ${descriptor}`);
    fsyncSync(descriptor);
  };
  fs.writeSync = ((descriptor: number, bytes: Uint8Array, offset?: number) => {
    calls.push(`write ${descriptor}`);
    return writeSync(descriptor, bytes, offset);
  }) as typeof writeSync;
  syncBuiltinESMExports();
  try {
    journal.record('aa'.repeat(32), {
      blockId: '1',
      height: 1,
      timestamp: 10,
      maxHeightPrevoted: 0,
      maxHeightPreviouslyForged: 0,
    });
  } finally {
    Object.assign(fs, { fsyncSync, writeSync });
    syncBuiltinESMExports();
    journal.close();
  }
  t.regex(calls.join(', '), /write (\d+), flush \1$/);
});
