import test from 'ava';
import { DiskWatch } from '../../src/engine/disk-watch.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';
import { SILENT, type Observer } from '../../src/ports/observer.ts';

function setUpDiskWatch(observer: Observer = SILENT) {
  const world = { nowMs: 0, failure: undefined as Error | undefined, trials: 0 };
  const watch = new DiskWatch({
    store: {
      transact: (work) => {
        world.trials += 1;
        if (world.failure !== undefined) throw world.failure;
        return work({ setNote: () => undefined });
      },
    },
    clock: { nowMs: () => world.nowMs },
    observer,
  });
  const fail = (): void => {
    watch.watch(() => {
      throw full();
    });
  };
  return { world, watch, fail };
}

function full(): ProtocolError {
  return new ProtocolError('STORE_WRITE_FAILED', {}, 'no space left');
}

test('the error of a failed write is rethrown, and keeps forging not ready until a trial write succeeds', (t) => {
  const { world, watch, fail } = setUpDiskWatch();
  t.is(watch.checkWritable(), undefined);
  t.throws(fail, { message: 'no space left' });
  world.failure = full();
  const failure = { reason: 'no space left', cause: 'STORE_WRITE_FAILED', writesFailSinceMs: 0 };
  t.deepEqual(watch.checkWritable(), failure);
  t.is(world.trials, 0, 'no trial so soon');
  world.nowMs = 2000;
  t.deepEqual(watch.checkWritable(), failure);
  t.is(world.trials, 1);
  world.failure = undefined;
  world.nowMs = 4000;
  t.is(watch.checkWritable(), undefined);
});

test('the reason keeps the time of the first failure until a write succeeds; trials do not change it', (t) => {
  const { world, watch, fail } = setUpDiskWatch();
  world.nowMs = 1000;
  t.throws(fail);
  world.failure = full();
  world.nowMs = 5000;
  t.is(watch.checkWritable()?.writesFailSinceMs, 1000);
  t.throws(fail);
  t.is(watch.checkWritable()?.writesFailSinceMs, 1000);
  world.failure = undefined;
  world.nowMs = 9000;
  t.is(watch.checkWritable(), undefined);
  t.throws(fail);
  t.is(watch.checkWritable()?.writesFailSinceMs, 9000);
});

test('the advice fits the failure: a folder in use by another process gives no advice about the disk', (t) => {
  const logged: string[] = [];
  const { watch, world } = setUpDiskWatch({
    ...SILENT,
    log: (level, code, message) => void logged.push(`${level} ${code}: ${message}`),
  });
  for (const failure of [full(), new ProtocolError('STORE_TAKEN_OVER', {}, 'the lock is gone')]) {
    const change = (): void => {
      throw failure;
    };
    t.throws(() => watch.watch(change), { is: failure });
    const notReady = { reason: failure.message, cause: failure.code, writesFailSinceMs: 0 };
    t.deepEqual(watch.checkWritable(), notReady);
    world.failure = failure;
    world.nowMs += 2000;
    t.deepEqual(watch.checkWritable(), notReady);
  }
  t.deepEqual(logged, [
    'error STORE_WRITE_FAILED: blocks cannot be stored: free space on the disk or repair the disk; the node then continues without a restart',
    'error STORE_TAKEN_OVER: blocks cannot be stored: stop this process, and start it again when no other process uses the folder',
  ]);
});

test('an error other than a write failure is rethrown, and does not pause forging', (t) => {
  const { watch } = setUpDiskWatch();
  const refuse = (): void =>
    watch.watch(() => {
      throw new Error('refused');
    });
  t.throws(refuse, { message: 'refused' });
  t.is(watch.checkWritable(), undefined);
});

test('a change on the disk stays valid, whatever the result of the later trial write', (t) => {
  const { world, watch, fail } = setUpDiskWatch();
  t.throws(fail);
  world.nowMs = 5000;
  world.failure = new Error('the library says something else');
  t.is(
    watch.watch(() => 'changed'),
    'changed',
  );
  t.deepEqual(watch.checkWritable(), { reason: 'the library says something else', writesFailSinceMs: 0 });
});
