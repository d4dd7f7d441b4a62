/** The short form of `npm run sim -- --restores N`, and the schedules that once went wrong. */

import test from 'ava';

import { runRestore, type RestoreSchedule } from '../restores.ts';

const SEEDS = 40;

test('no schedule of backups, moves and late peers makes a delegate contradict itself', async (t) => {
  let signed = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { contradiction, signedAfter, schedule } = await runRestore(seed);
    t.is(contradiction?.text, undefined, `seed ${seed}: ${JSON.stringify(schedule)}`);
    signed += signedAfter;
  }
  t.true(signed > SEEDS);
});

/** A folder that is older by more than a round, as the delegates that signed since have slots again. */
const OLD: RestoreSchedule = {
  generation: 3,
  delegates: 50,
  beforeSlots: 2,
  afterSlots: 10,
  aloneSlots: 0,
  downSlots: 93,
  restSlots: 4,
  isRestBold: true,
  restored: 'folder',
  evidence: 'peers',
  lateSlots: 0,
  isWholeStopped: false,
  isMoved: false,
  endSlots: 14,
};

for (const generation of [2, 3] as const) {
  for (const [lateSlots, when] of [
    [0, 'are there'],
    [2.2, 'are late by 22 s'],
    [Infinity, 'are never there'],
  ] as const) {
    test(`an old folder of generation ${generation} signs nothing on its old tip when its peers ${when}`, async (t) => {
      const { contradiction, signedAfter } = await runRestore(7, { ...OLD, generation, lateSlots });
      t.is(contradiction?.text, undefined);
      // It goes on when it has caught up.
      t.is(signedAfter > 0, lateSlots < Infinity);
    });
  }
}
