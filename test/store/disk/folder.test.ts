import { existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import test from 'ava';
import { makeFolder } from '../../../src/store/disk/folder.ts';
import { temporaryFolder } from '../../support/network-folder.ts';

test('a folder is created with its parents, and an existing one stays unchanged', (t) => {
  const folder = temporaryFolder(t);
  const deep = join(folder, 'a', 'b', 'c');
  makeFolder(deep);
  t.true(statSync(deep).isDirectory());
  writeFileSync(join(deep, 'file'), 'x');
  makeFolder(deep);
  makeFolder('/');
  t.true(existsSync(join(deep, 'file')));
});

test('a link to a folder is accepted like a folder', (t) => {
  const folder = temporaryFolder(t);
  makeFolder(join(folder, 'there'));
  symlinkSync(join(folder, 'there'), join(folder, 'link'));
  makeFolder(join(folder, 'link', 'deep'));
  makeFolder(join(folder, 'link'));
  t.true(statSync(join(folder, 'there', 'deep')).isDirectory());
});

test('a file in the place of the folder or a parent, and a broken link, are refused', (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'file'), '');
  symlinkSync(join(folder, 'nowhere'), join(folder, 'link'));
  t.throws(() => makeFolder(join(folder, 'file')), { code: 'EEXIST' });
  t.throws(() => makeFolder(join(folder, 'file', 'deep')), { code: 'ENOTDIR' });
  const link = join(folder, 'link');
  const leadsNowhere = 'is a link that leads to nothing, or to itself: remove it, or choose another place';
  t.is(t.throws(() => makeFolder(link), { code: 'FOLDER_IMPOSSIBLE' }).message, `${link} ${leadsNowhere}`);
  const own = join(folder, 'own');
  symlinkSync('own', own);
  for (const place of [own, join(own, 'deep')])
    t.is(t.throws(() => makeFolder(place), { code: 'FOLDER_IMPOSSIBLE' }).message, `${own} ${leadsNowhere}`);
});

test('when the system creates no folder, the error says so at once', (t) => {
  const error = t.throws(() => makeFolder('/proc/foo/bar'), { code: 'FOLDER_IMPOSSIBLE' });
  t.is(error.message, '/proc/foo: no folder can be made there: choose another place');
});
