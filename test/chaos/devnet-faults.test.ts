import test from 'ava';
import { FAULT_KINDS, drawFaults, gapsOf } from './devnet-faults.ts';
import { chanceOf } from './killed-nodes.ts';

test('each fault occurs once, within the run and at a distance from the other faults of its node', (t) => {
  const span = { fromMs: 100_000, toMs: 400_000 };
  const orders = new Set<string>();
  for (let seed = 0; seed < 200; seed += 1) {
    const faults = drawFaults(span, 45_000, chanceOf(seed));
    t.deepEqual(faults.map(({ kind }) => kind).toSorted(), FAULT_KINDS.toSorted());
    orders.add(faults.map(({ kind }) => kind).join());
    for (const [index, { atMs }] of faults.entries()) {
      t.true(atMs >= (index === 0 ? span.fromMs : (faults[index - 1]?.atMs ?? 0) + 45_000));
      t.true(atMs + 45_000 <= span.toMs);
    }
  }
  t.true(orders.size > 12, `${orders.size} orders`);
  t.deepEqual(drawFaults(span, 45_000, chanceOf(7)), drawFaults(span, 45_000, chanceOf(7)));
  t.throws(() => drawFaults({ fromMs: 0, toMs: 100_000 }, 45_000, chanceOf(1)), { instanceOf: RangeError });
});

test('an empty slot is explained only by an outage that overlaps it', (t) => {
  const whole = [0, 2000, 4000, 6000];
  const none = { emptySlots: 0, unexplainedSlots: 0, unexplainedInARow: 0 };
  t.deepEqual(gapsOf(whole, 2000, []), { slots: 4, longestMs: 2000, ...none });

  // The slots at 4, 6, 8 and 10 s are empty.
  const holed = [0, 2000, 12_000];
  const gap = { slots: 7, emptySlots: 4, longestMs: 10_000 };
  t.deepEqual(gapsOf(holed, 2000, []), { ...gap, unexplainedSlots: 4, unexplainedInARow: 4 });
  t.deepEqual(gapsOf(holed, 2000, [{ fromMs: 5500, toMs: 10_500 }]), {
    ...gap,
    ...{ unexplainedSlots: 0, unexplainedInARow: 0 },
  });
  t.deepEqual(gapsOf(holed, 2000, [{ fromMs: 6000, toMs: 8000 }]), {
    ...gap,
    ...{ unexplainedSlots: 3, unexplainedInARow: 2 },
  });
});
