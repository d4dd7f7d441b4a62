import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import { selectToDial } from '../../../src/engine/peers/selection.ts';
import { seeded } from './support.ts';

const ids = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index)}`);

test('what is drawn is distinct and known', (t) => {
  fc.assert(
    fc.property(fc.nat(40), fc.nat(40), fc.nat(50), fc.nat(), (fresh, tried, free, seed) => {
      const all = [...ids('n', fresh), ...ids('t', tried)];
      const chosen = selectToDial(ids('n', fresh), ids('t', tried), free, seeded(seed));
      t.is(chosen.length, Math.min(free, all.length));
      t.is(new Set(chosen).size, chosen.length);
      t.true(chosen.every((id) => all.includes(id)));
    }),
    { numRuns: 200 },
  );
});
