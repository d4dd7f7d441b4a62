import test from 'ava';
import { fc } from '../support/fast-check.ts';
import { packChecks, unpackChecks } from '../../src/workers/packed-checks.ts';

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const check = fc.record({
  publicKey: bytes(32),
  signature: bytes(64),
  message: fc.oneof(bytes(32), fc.uint8Array({ maxLength: 200 })),
});

test('packed checks are unpacked to the same checks', (t) => {
  fc.assert(
    fc.property(fc.array(check, { maxLength: 20 }), (checks) => {
      t.deepEqual(unpackChecks(packChecks(checks)), checks);
    }),
    { numRuns: 100 },
  );
});
