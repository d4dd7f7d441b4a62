import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import { isIpv4 } from '../../../src/primitives/ip.ts';
import { isLoopback, netgroupOf, newBucketOf, triedBucketOf } from '../../../src/engine/peers/addresses.ts';

test('buckets depend on the secret and stay in range; private and local networks share one bucket each', (t) => {
  const secret = Uint8Array.from([1, 2, 3, 4]);
  const other = Uint8Array.from([4, 3, 2, 1]);
  fc.assert(
    fc.property(fc.ipV4(), fc.option(fc.ipV4(), { nil: undefined }), (ip, source) => {
      const fresh = newBucketOf(secret, ip, source);
      const tried = triedBucketOf(secret, ip);
      t.true(fresh >= 0 && fresh < 128 && tried >= 0 && tried < 64);
      t.is(newBucketOf(secret, ip, source), fresh);
      t.true(isIpv4(ip));
    }),
    { numRuns: 300 },
  );
  t.is(newBucketOf(secret, '127.0.0.1', '8.8.8.8'), newBucketOf(secret, '127.9.9.9', undefined));
  t.is(triedBucketOf(secret, '10.1.2.3'), triedBucketOf(secret, '192.168.7.7'));
  t.is(triedBucketOf(secret, '172.16.2.3'), triedBucketOf(secret, '172.31.7.7'));
  t.not(netgroupOf(secret, '8.8.8.8'), netgroupOf(other, '8.8.8.8'));
  t.is(netgroupOf(secret, '8.8.8.8'), netgroupOf(secret, '8.8.1.1'));
  t.true(isLoopback('127.0.0.5') && !isLoopback('128.0.0.1'));
});
