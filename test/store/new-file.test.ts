import fs, { existsSync, readFileSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import test from 'ava';
import { writeNewFile } from '../../src/store/disk/new-file.ts';
import { recordFlushSteps } from '../support/flush-steps.ts';
import { temporaryFolder } from '../support/network-folder.ts';

test.serial('a new file and its name are on the disk, and only the owner can read it', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'secret');
  const steps = recordFlushSteps(t, folder);
  writeNewFile(file, 'a passphrase\n');
  t.deepEqual(steps, ['flush secret', 'flush .']);
  t.is(readFileSync(file, 'utf8'), 'a passphrase\n');
  t.is(statSync(file).mode & 0o777, 0o600);
  t.throws(() => writeNewFile(file, 'another'), { code: 'EEXIST' });
  t.is(readFileSync(file, 'utf8'), 'a passphrase\n');
});

test.serial('a file that cannot be flushed does not stay', (t) => {
  const file = join(temporaryFolder(t), 'secret');
  const { fsyncSync } = fs;
  t.teardown(() => {
    Object.assign(fs, { fsyncSync });
    syncBuiltinESMExports();
  });
  Object.assign(fs, {
    fsyncSync: () => {
      throw new Error('no space left on device');
    },
  });
  syncBuiltinESMExports();
  t.throws(() => writeNewFile(file, 'a passphrase\n'), { message: 'no space left on device' });
  t.false(existsSync(file));
});
