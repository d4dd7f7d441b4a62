import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import { IdBloomFilter } from '../../../src/store/index/id-bloom-filter.ts';
import { TABLES } from '../../../src/store/tables/layout.ts';

const key = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }).map((id) => TABLES.transactionIds.key(String(id)));

test('a filter accepts all ids that were added, and few others', (t) => {
  let others = 0;
  let passed = 0;
  fc.assert(
    fc.property(fc.array(key, { maxLength: 50 }), fc.array(key, { maxLength: 50 }), (added, asked) => {
      const filter = new IdBloomFilter();
      for (const each of added) filter.add(each);
      for (const each of added) t.true(filter.mayHold(each));
      const known = new Set(added.map((each) => each.toString('hex')));
      for (const each of asked) {
        if (known.has(each.toString('hex'))) continue;
        others += 1;
        passed += Number(filter.mayHold(each));
      }
    }),
    { numRuns: 30 },
  );
  t.true(passed < others / 10, `${passed} of ${others}`);
});
