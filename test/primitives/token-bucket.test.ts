import test from 'ava';

import { TokenBucket } from '../../src/primitives/token-bucket.ts';

test('tokens up to the capacity can be taken at once, then one per interval', (t) => {
  const bucket = new TokenBucket(3, 100);
  t.deepEqual(
    [0, 0, 0, 0, 99, 100, 150, 200].map((nowMs) => bucket.take(nowMs)),
    [true, true, true, false, false, true, false, true],
  );
  t.true(bucket.take(10_000, 3));
  t.false(bucket.take(10_000));
});

test('the bucket reports how long the next token takes', (t) => {
  const bucket = new TokenBucket(1, 5_000);
  t.is(bucket.waitMs(7), 0);
  t.true(bucket.take(7));
  t.is(bucket.waitMs(7), 5_000);
  t.is(bucket.waitMs(4_007), 1_000);
  t.is(bucket.waitMs(9_000), 0);
});

test('a clock that is set back neither adds tokens nor stops the refill', (t) => {
  const bucket = new TokenBucket(1, 1_000);
  t.true(bucket.take(3_600_000));
  t.false(bucket.take(0));
  t.false(bucket.take(999));
  t.true(bucket.take(1_000));
});
