import { readFileSync } from 'node:fs';
import test from 'ava';
import { parentOf, startOf, startTicksIn } from '../../../src/store/disk/process-start.ts';

/** Content of `/proc/<pid>/stat` of a killed process, as Linux 6 writes it. */
const killed = (state: string, threads: number): string =>
  `3860 (a ) name) ${state} 3857 3857 1155 0 -1 4227084 3023 6556 1 0 4 1 4 0 20 0 ${threads} 0 21135 0 0 1844674`;

test('a process without a main thread has ended only when its other threads have ended, too', (t) => {
  t.is(startTicksIn(killed('S', 11)), '21135');
  t.is(startTicksIn(killed('Z', 2)), '21135', 'a thread of a killed process still holds its ports and files');
  t.is(startTicksIn(killed('Z', 1)), 'ended');
  t.is(startTicksIn(killed('X', 0)), 'ended');
  t.is(startTicksIn('3860 (node) S 3857'), undefined);
});

test('the start and the parent of this process are those that the system reports', (t) => {
  const ticks = startTicksIn(readFileSync('/proc/self/stat', 'utf8'));
  t.regex(startOf(process.pid) ?? '', new RegExp(`^[0-9a-z]+-${ticks ?? 'none'}$`));
  t.is(parentOf(process.pid), process.ppid);
  t.is(startOf(2 ** 30), undefined);
  t.is(parentOf(2 ** 30), undefined);
});
