/** Runs N schedules of exports, imports, restores and kills (`world.ts`): `npm run sim -- --records N`. */

import { performance } from 'node:perf_hooks';

import { runSchedule, shorten, textOfSchedule } from './run.ts';
import { drawSchedule } from './schedule.ts';

/** After this number of schedules, the event loop gets time to end the work that the closed journals left. */
const AT_A_TIME = 100;

/** @returns exit code */
export async function runRecords(from: number, count: number): Promise<number> {
  const startMs = performance.now();
  const ends = new Map<string, number>();
  let [signed, failed] = [0, 0];
  for (let seed = from; seed < from + count; seed += 1) {
    const schedule = drawSchedule(seed);
    const result = runSchedule(schedule);
    signed += result.signed;
    ends.set(result.end, (ends.get(result.end) ?? 0) + 1);
    if (result.violation !== undefined) {
      failed += 1;
      console.log(`seed ${seed}: ${result.violation}\n  ${textOfSchedule(shorten(schedule))}`);
    }
    if (seed % AT_A_TIME === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const seconds = (performance.now() - startMs) / 1000;
  const endings = [...ends].map(([end, times]) => `${end} ${times}`).join(', ');
  console.log(
    `${count} schedules with signing records in ${seconds.toFixed(1)} s, ${signed} headers signed, ends: ${endings}: ` +
      `${failed} that violate a guarantee`,
  );
  return failed === 0 ? 0 : 1;
}
