import { readFileSync } from 'node:fs';
import test from 'ava';
import { isEnding, isEndingIn, parentOf, startOf } from '../../../src/store/disk/process-start.ts';

/** Content of `/proc/<pid>/stat` as Linux 6 writes it. */
const statOf = (state: string, threads: number): string =>
  `3860 (a ) name) ${state} 3857 3857 1155 0 -1 4227084 3023 6556 1 0 4 1 4 0 20 0 ${threads} 0 21135 0 0 1844674`;

test('a killed process is ending while a thread of it still holds its ports and files', (t) => {
  t.true(isEndingIn(statOf('Z', 2)));
  t.true(isEndingIn(statOf('X', 11)));
  t.false(isEndingIn(statOf('Z', 1)));
  t.false(isEndingIn(statOf('S', 11)));
  t.false(isEndingIn('3860 (node) Z 3857'));
});

test('the start and the parent of this process are those that the system reports', (t) => {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  t.regex(startOf(process.pid) ?? '', new RegExp(`^[0-9a-z]+-${ticks}$`));
  t.is(parentOf(process.pid), process.ppid);
  t.false(isEnding(process.pid));
  const none = 2 ** 30;
  t.is(startOf(none), undefined);
  t.is(parentOf(none), undefined);
  t.false(isEnding(none));
});
