import test from 'ava';
import { runNotified } from './notified.ts';
import { chanceOf } from './killed-nodes.ts';

test('each missed slot is reported once, even when the node and the receiver are killed in between', async (t) => {
  t.timeout(600_000);
  const report = await runNotified({ kills: 8, chance: chanceOf(7), log: (line) => t.log(line) });
  t.log(`${report.missed.length} slots missed, ${report.repeated} events came again under their id`);
  t.true(report.missed.length > 0);
  t.is(report.reported, report.missed.length);
  t.deepEqual(report.lost, []);
  t.deepEqual(report.twice, []);
});
