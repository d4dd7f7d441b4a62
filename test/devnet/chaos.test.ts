import test from 'ava';
import { RESTART_MS_MAX, chanceOf, runChaos } from '../chaos/killed-nodes.ts';
import { MachineWatch } from '../support/machine.ts';

test('killed nodes return at once, a late one catches up, all agree, and nothing is signed twice', async (t) => {
  t.timeout(600_000);
  const seed = Date.now() % 1_000_000;
  t.log(`seed ${seed}`);
  const machine = new MachineWatch();
  const report = await runChaos({ kills: 3, lateBlocks: 20, chance: chanceOf(seed), log: (line) => t.log(line) });
  t.is(report.restarts.length, 3);
  // Other tests run at the same time, so a restart may take up to three times `RESTART_MS_MAX` here. In `npm run
  // chaos`, the limit is `RESTART_MS_MAX`.
  const wasQuick = await machine.wasQuick();
  for (const { answerMs } of report.restarts) t.true(answerMs < 3 * RESTART_MS_MAX || !wasQuick, `${answerMs} ms`);
  t.deepEqual(report.contradictions, []);
  t.true(report.signedHeaders >= 20);
});
