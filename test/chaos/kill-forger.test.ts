/** Runs the test of `npm run chaos -- --forger-kills 1000` with only 8 kills. */

import test from 'ava';
import { temporaryFolder } from '../support/network-folder.ts';
import { killForger } from './kill-forger.ts';
import { chanceOf } from './killed-nodes.ts';

test('a forging node that is killed at random moments signs no contradicting headers, and its store stays intact', async (t) => {
  t.timeout(600_000);
  const seed = Date.now() % 1_000_000;
  t.log(`seed ${seed}`);
  const report = await killForger({ kills: 8, directory: temporaryFolder(t), chance: chanceOf(seed) });
  t.log(`height ${report.height}, ${report.signedHeaders} signed headers`);
  t.deepEqual(report.contradictions, []);
  t.deepEqual(report.complaints, []);
  t.is(report.deviation, undefined);
  t.true(report.signedHeaders >= report.height - 1);
});
