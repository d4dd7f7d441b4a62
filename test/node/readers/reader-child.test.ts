/** Tests a reading process that starts before its node has opened the store. */

import { once } from 'node:events';
import test from 'ava';
import { forkReader } from '../../../src/node/readers/reader-child.ts';

test('a reader reports that it has loaded its modules, also to a listener that comes later', async (t) => {
  t.timeout(120_000);
  const child = forkReader();
  t.teardown(() => child.process.kill('SIGKILL'));
  await new Promise<void>((resolve) => child.whenLoaded(resolve));
  let isCalled = false;
  child.whenLoaded(() => (isCalled = true));
  t.true(isCalled);
  t.false(child.hasEnded());
});

test('a reader ends with the process that started it, and reports its end', async (t) => {
  t.timeout(120_000);
  const child = forkReader();
  t.teardown(() => child.process.kill('SIGKILL'));
  child.process.disconnect();
  await once(child.process, 'exit');
  t.true(child.hasEnded());
});
