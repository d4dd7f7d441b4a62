import test from 'ava';
import { defaultProcesses } from '../../src/cli/default-processes.ts';

test('a node has a reading process by default, except on a machine with one core or little memory', (t) => {
  t.is(defaultProcesses({ cores: 2, memoryBytes: 1_000_000_000 }), 1);
  t.is(defaultProcesses({ cores: 64, memoryBytes: 64e9 }), 1);
  t.is(defaultProcesses({ cores: 1, memoryBytes: 64e9 }), 0);
  t.is(defaultProcesses({ cores: 4, memoryBytes: 999_999_999 }), 0);
});
