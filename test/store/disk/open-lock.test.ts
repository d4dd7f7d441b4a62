import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import test from 'ava';

import { ProtocolError } from '../../../src/primitives/errors.ts';
import { openLmdbSnapshot } from '../../../src/store/disk/lmdb.ts';
import { withOpenLock } from '../../../src/store/disk/open-lock.ts';
import { temporaryFolder } from '../backends.ts';

const HOLDER = fileURLToPath(new URL('../../support/lock-holder.js', import.meta.url));
const WRITER = fileURLToPath(new URL('./reopening-writer.js', import.meta.url));
/**
 * Number of times that the writer opens the store during the test. The open lock is the lock that a process takes
 * before it opens or closes the store (`withOpenLock`). In each of six runs without this lock, this number was large
 * enough to show the errors that the lock prevents: the writer was refused at least once, and a reader was refused at
 * least once.
 */
const OPENINGS = 600;

test.serial(
  'a store that another process opens and closes all the time can be read, and never seems damaged',
  async (t) => {
    t.timeout(600_000);
    const directory = join(temporaryFolder(), 'chain');
    const writer = spawn(process.execPath, [WRITER, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => writer.kill('SIGKILL'));
    const seen = { openings: 0, hasEnded: false };
    createInterface({ input: writer.stdout }).on('line', (line) => (seen.openings = Number(line)));
    const exited = once(writer, 'exit');
    void exited.then(() => (seen.hasEnded = true));
    let opened = 0;
    while (seen.openings < OPENINGS && !seen.hasEnded) {
      try {
        const keys = openLmdbSnapshot(directory);
        opened += keys.count({ gte: Buffer.from([0]), lt: Buffer.from([255]) }) > 0 ? 1 : 0;
        await keys.close();
      } catch (error) {
        // The store does not exist before the first opening is complete.
        t.true(error instanceof ProtocolError && error.code === 'STORE_MISSING', String(error));
        t.is(opened, 0);
      }
      await yieldToEventLoop();
    }
    t.true(opened > OPENINGS / 10, `opened ${opened} times`);
    t.false(seen.hasEnded, 'the writer was refused');
    writer.kill('SIGKILL');
    await exited;
    rmSync(join(directory, '..'), { recursive: true });
  },
);

test.serial(
  'a process that opens the store is waited for, and one that died or was stopped meanwhile only briefly',
  async (t) => {
    const directory = temporaryFolder();
    const locks = (): string[] => readdirSync(directory).filter((name) => name.startsWith('turn'));
    writeFileSync(join(directory, 'turn.4194399.abcdef01-5'), '');
    t.deepEqual(
      withOpenLock(directory, () => locks().length),
      1,
    );
    t.deepEqual(locks(), []);

    const other = spawn(process.execPath, [HOLDER, directory, '0', 'turn'], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => other.kill('SIGKILL'));
    t.regex(String(await once(other.stdout, 'data')), / taken\n$/);
    const start = process.hrtime.bigint();
    withOpenLock(directory, () => t.is(locks().length, 1), 200);
    t.true(process.hrtime.bigint() - start >= 200_000_000n);
    t.is(locks().length, 1, 'the lock of another is not taken from it');
    other.kill('SIGKILL');
    await once(other, 'exit');
    t.throws(
      () =>
        withOpenLock(directory, () => {
          t.is(locks().length, 1);
          throw new Error('work');
        }),
      { message: 'work' },
    );
    t.deepEqual(locks(), []);
    // A folder that does not exist needs no lock.
    t.is(
      withOpenLock(join(directory, 'none'), () => 5),
      5,
    );
    rmSync(directory, { recursive: true });
  },
);
