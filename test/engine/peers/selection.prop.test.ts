import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import { selectToDial } from '../../../src/engine/peers/selection.ts';
import { seeded } from './support.ts';

const ids = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index)}`);

test('drawn peers are distinct and known', (t) => {
  fc.assert(
    fc.property(fc.nat(40), fc.nat(40), fc.nat(50), fc.nat(), (fresh, tried, free, seed) => {
      const all = [...ids('n', fresh), ...ids('t', tried)];
      const chosen = selectToDial(ids('n', fresh), ids('t', tried), free, seeded(seed), {
        groupOf: () => undefined,
        taken: [],
      });
      t.is(chosen.length, Math.min(free, all.length));
      t.is(new Set(chosen).size, chosen.length);
      t.true(chosen.every((id) => all.includes(id)));
    }),
    { numRuns: 200 },
  );
});

test('no netgroup gets one more place while a candidate of a netgroup with fewer is left', (t) => {
  const group = fc.oneof({ weight: 1, arbitrary: fc.constant(undefined) }, { weight: 6, arbitrary: fc.nat(6) });
  const peers = fc.array(fc.record({ group, isTried: fc.boolean() }), { maxLength: 60 });
  fc.assert(
    fc.property(peers, fc.array(fc.nat(6), { maxLength: 12 }), fc.nat(25), fc.nat(), (known, taken, free, seed) => {
      const fresh = known.filter(({ isTried }) => !isTried);
      const tried = known.filter(({ isTried }) => isTried);
      const chosen = selectToDial(fresh, tried, free, seeded(seed), { groupOf: (peer) => peer.group, taken });
      t.is(chosen.length, Math.min(free, known.length));
      t.is(new Set(chosen).size, chosen.length);
      const placesOf = (asked: number): number =>
        [...taken, ...chosen.map((peer) => peer.group)].filter((each) => each === asked).length;
      for (const left of known.filter((peer) => !chosen.includes(peer))) {
        const places = left.group === undefined ? 0 : placesOf(left.group);
        for (const { group: other } of chosen) if (other !== undefined) t.true(placesOf(other) <= places + 1);
      }
    }),
    { numRuns: 300 },
  );
});
