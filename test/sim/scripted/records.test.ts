/** Runs a small number of the schedules of `npm run sim -- --records N`. */

import test from 'ava';

import { runSchedule, shorten, textOfSchedule } from '../records/run.ts';
import { drawSchedule } from '../records/schedule.ts';

const SEEDS = 400;

test('no schedule of exports, imports, restores and kills makes a delegate contradict itself, or ends its signing', (t) => {
  let signed = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const schedule = drawSchedule(seed);
    const result = runSchedule(schedule);
    if (result.violation !== undefined)
      return t.fail(`seed ${seed}: ${result.violation}\n  ${textOfSchedule(shorten(schedule))}`);
    signed += result.signed;
  }
  return t.true(signed > 5 * SEEDS, `${signed}`);
});
