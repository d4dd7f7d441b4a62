/**
 * Puts a devnet of each generation under load for 30 seconds. `npm run chaos -- --load-seconds 600` contains the same
 * test for one generation, but puts the devnet under load for 600 seconds.
 */

import test from 'ava';
import { runLoad } from '../chaos/steady-load.ts';

for (const generation of [3, 2] as const) {
  test(`generation ${generation}: a node of default configuration keeps its peers in a devnet under load`, async (t) => {
    t.timeout(600_000);
    const report = await runLoad({ generation, seconds: 30, perSecond: 5, log: (line) => t.log(line) });
    t.is(report.confirmed, report.sent);
    t.is(report.peersOfFifth, 4);
    t.deepEqual(report.wrongs, {});
  });
}
