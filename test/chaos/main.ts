/** `npm run chaos -- [--kills 20] [--late-blocks 100] [--seed N]`: the long form of the chaos test. */

import { parseArgs } from 'node:util';
import { RESTART_MS_MAX, chanceOf, runChaos } from './scenario.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    'late-blocks': { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

console.log(`chaos with ${values.kills} kills, a node ${values['late-blocks']} blocks late, seed ${values.seed}`);
try {
  const report = await runChaos({
    kills: Number(values.kills),
    lateBlocks: Number(values['late-blocks']),
    chance: chanceOf(Number(values.seed)),
    say: (line) => console.log(line),
  });
  const slow = report.restarts.filter(({ answerMs }) => answerMs >= RESTART_MS_MAX);
  console.log(`${report.signedHeaders} signed headers, ${report.contradictions.length} contradictions`);
  for (const contradiction of report.contradictions) console.log(contradiction);
  for (const { node, answerMs } of slow) console.log(`node ${node} answered only after ${answerMs} ms`);
  process.exitCode = report.contradictions.length > 0 || slow.length > 0 ? 1 : 0;
} catch (error) {
  console.error(`chaos failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
console.log(process.exitCode === 0 ? 'chaos passed' : 'chaos failed');
