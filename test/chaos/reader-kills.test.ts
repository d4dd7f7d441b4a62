import test from 'ava';
import { runReaderKills } from './reader-kills.ts';
import { chanceOf } from './killed-nodes.ts';

test('when readers and their node are killed, no living reader loses a request, and no reader slot stays in the store', async (t) => {
  t.timeout(600_000);
  const report = await runReaderKills({ kills: 4, nodeKills: 2, chance: chanceOf(16), log: (line) => t.log(line) });
  t.log(`${report.load.answered} answered, ${report.load.ofKilled} ended with a killed reader`);
  t.true(report.load.answered > 20);
  if (report.load.lost.length > 0) t.log(report.readerLog.join('\n'));
  t.deepEqual(report.load.lost, []);
  t.deepEqual(report.stale, []);
  t.deepEqual(report.wrong, []);
  // This limit for the growth of the store is far above the size of the blocks of such a short run.
  t.true(report.grown.bytes < 4_000_000 + 100_000 * report.grown.blocks, JSON.stringify(report.grown));
});
