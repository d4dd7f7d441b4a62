import test from 'ava';
import { connectionsWithin, openFilesMax } from '../../src/node/open-files.ts';

test('connections leave file descriptors for the rest of the node', (t) => {
  t.is(connectionsWithin(5000, undefined), 5000);
  t.is(connectionsWithin(5000, 1_048_576), 5000);
  t.is(connectionsWithin(5000, 4096), 3796);
  t.is(connectionsWithin(5000, 1024), 724);
  t.is(connectionsWithin(5000, 256), 64);
  t.is(connectionsWithin(100, 1024), 100);
});

test('the limit of open files of this process is known on Linux', (t) => {
  const filesMax = openFilesMax();
  t.true(process.platform === 'linux' ? (filesMax ?? 0) > 0 : true, `${filesMax}`);
});
