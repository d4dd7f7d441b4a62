import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { removeTemporaryPaths, withTemporaryPaths } from '../../src/node/temporary-paths.ts';
import { lockElsewhere } from '../support/lock-elsewhere.ts';
import { temporaryFolder } from '../support/network-folder.ts';

test.serial('files that a killed run has left are removed before and after the work', async (t) => {
  const folder = temporaryFolder(t);
  const draft = join(folder, 'deep', '.copy.part');
  mkdirSync(draft, { recursive: true });
  writeFileSync(join(draft, 'old'), '');
  await withTemporaryPaths([draft], () => {
    t.false(existsSync(draft));
    mkdirSync(draft);
    return Promise.resolve();
  });
  t.deepEqual(readdirSync(join(folder, 'deep')), []);
});

test.serial('a second run does not touch the files of the first run', async (t) => {
  const folder = temporaryFolder(t);
  const [one, two] = [join(folder, 'one'), join(folder, 'two')];
  await withTemporaryPaths([two], async () => {
    writeFileSync(two, 'in use');
    writeFileSync(one, 'of nobody');
    const second = withTemporaryPaths([one, two], () => Promise.resolve());
    await t.throwsAsync(second, { code: 'OUTPUT_IN_USE', message: /two is being written by .*: wait until/ });
    t.true(existsSync(two));
    t.true(existsSync(one));
  });
  await t.notThrowsAsync(withTemporaryPaths([one, two], () => Promise.resolve()));
});

test.serial('the end by a signal also removes the locks', async (t) => {
  const folder = temporaryFolder(t);
  const draft = join(folder, 'draft');
  await withTemporaryPaths([draft], () => {
    writeFileSync(draft, '');
    t.is(removeTemporaryPaths(), 1);
    t.deepEqual(readdirSync(folder), []);
    return Promise.resolve();
  });
});

test.serial('a run of another container counts, too', async (t) => {
  const folder = temporaryFolder(t);
  const file = lockElsewhere(folder, 'draft.in-use', 1_000);
  await t.throwsAsync(
    withTemporaryPaths([join(folder, 'draft')], () => Promise.resolve()),
    { code: 'OUTPUT_IN_USE' },
  );
  t.true(existsSync(file));
});
