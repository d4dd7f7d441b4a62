import test from 'ava';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import { startHousekeeping } from '../../src/node/housekeeping.ts';
import { systemClock, systemRandom } from '../../src/node/system.ts';

test('jobs run by schedule, a failing one is logged, and none runs after the stop', async (t) => {
  let runs = 0;
  const codes: string[] = [];
  const observer: Observer = { ...SILENT, module: () => observer, log: (_level, code) => void codes.push(code) };
  const housekeeping = startHousekeeping(
    {
      savePeerBook: () => undefined,
      expireBans: () => undefined,
      expirePool: () => {
        runs += 1;
        throw new Error('no');
      },
    },
    observer,
    {
      times: { savePeerBook: '* * * * * *', expireBans: '* * * * * *', expirePool: '* * * * * *' },
      beginsAfterMs: 0,
    },
  );
  const startedMs = Date.now();
  await until(() => runs >= 2);
  await housekeeping.stop();
  const passedS = (Date.now() - startedMs) / 1000;
  t.true(runs >= 2 && runs <= passedS + 1, `${runs} in ${passedS} s`);
  t.deepEqual(new Set(codes), new Set(['HOUSEKEEPING_FAILED']));
  const after = runs;
  await wait(1500);
  t.is(runs, after);
});

test('random numbers of the system stay within their bounds', (t) => {
  for (let round = 0; round < 1000; round++) {
    const fraction = systemRandom.fraction();
    t.true(fraction >= 0 && fraction < 1);
    t.true([0, 1, 2].includes(systemRandom.below(3)));
  }
  t.is(systemRandom.bytes(8).length, 8);
});

test('a timer of the system fires once, and not after it was cancelled', async (t) => {
  let runs = 0;
  systemClock.after(1, () => (runs += 1));
  systemClock.after(1, () => (runs += 10)).cancel();
  await until(() => runs > 0);
  await wait(50);
  t.is(runs, 1);
});

/** Waits until a condition holds, but not longer than about one minute. */
async function until(holds: () => boolean): Promise<void> {
  for (let waits = 0; waits < 6000 && !holds(); waits += 1) await wait(10);
}

function wait(ms: number): Promise<void> {
  return new Promise((done) => void setTimeout(done, ms));
}
