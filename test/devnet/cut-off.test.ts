import test from 'ava';
import { runCutOff } from '../chaos/cut-off.ts';

test('a node that forged alone while it was cut off recovers by itself', async (t) => {
  t.timeout(480_000);
  const report = await runCutOff({ blocks: 15, log: (line) => t.log(line) });
  t.true(report.missedBlocks >= 15);
  // The node must revert blocks of its own branch, not only append new ones.
  t.true(report.deadBlocks >= 1, `${report.deadBlocks} blocks`);
  t.deepEqual(report.contradictions, []);
  t.regex(report.digest, /^[0-9a-f]{64}$/);
});
