import test from 'ava';
import { Closers } from '../../src/engine/closers.ts';

test('steps run once, in reverse order, each after the end of the one before', async (t) => {
  const taken: string[] = [];
  const closers = new Closers();
  closers.add(() => taken.push('first'));
  closers.add(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    taken.push('second');
  });
  closers.add(() => taken.push('third'));
  await closers.close();
  await closers.close();
  t.deepEqual(taken, ['third', 'second', 'first']);
});

test('a step that throws or rejects does not stop the others, and all errors are reported', async (t) => {
  const taken: string[] = [];
  const closers = new Closers();
  const thrown = new Error('a');
  const rejected = new Error('b');
  closers.add(() => taken.push('first'));
  closers.add(() => {
    throw thrown;
  });
  closers.add(() => taken.push('third'));
  closers.add(() => Promise.reject(rejected));
  const error = await t.throwsAsync(closers.close(), { instanceOf: AggregateError });
  t.is(error?.message, 'not everything could be closed: b; a');
  t.deepEqual(error?.errors, [rejected, thrown]);
  t.deepEqual(taken, ['third', 'first']);
  await closers.close();
});

test('the errors of a part that has steps of its own are reported once, not as an error of errors', async (t) => {
  const [outer, inner] = [new Closers(), new Closers()];
  const failed = new Error('a');
  inner.add(() => {
    throw failed;
  });
  outer.add(() => inner.close());
  const error = await t.throwsAsync(outer.close(), { instanceOf: AggregateError });
  t.is(error?.message, 'not everything could be closed: a');
  t.deepEqual(error?.errors, [failed]);
});
