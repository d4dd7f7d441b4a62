/** Runs the test of `npm run chaos -- --kept 200` with only 4 kills in each generation. */

import test from 'ava';
import { runAccepted } from './kept.ts';
import { chanceOf } from './killed-nodes.ts';

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: a transaction accepted within 1 s before a kill gets into a block`, async (t) => {
    t.timeout(900_000);
    const seed = Date.now() % 1_000_000;
    t.log(`seed ${seed}`);
    const report = await runAccepted({ generation, kills: 4, chance: chanceOf(seed), log: (line) => t.log(line) });
    t.log(`${report.accepted} accepted, ${report.restored} restored after a kill`);
    t.deepEqual(report.lost, []);
  });
}
