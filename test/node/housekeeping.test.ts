import test from 'ava';
import { SILENT, type Observer } from '../../src/ports/observer.ts';
import { startHousekeeping } from '../../src/node/housekeeping.ts';
import { systemClock, systemRandom } from '../../src/node/system.ts';

test('jobs run by the calendar, a failing one is logged, and none runs after the stop', async (t) => {
  let runs = 0;
  const codes: string[] = [];
  const observer: Observer = { ...SILENT, room: () => observer, log: (_level, code) => void codes.push(code) };
  const housekeeping = startHousekeeping(
    {
      snapshotPeers: () => undefined,
      expireBans: () => undefined,
      expirePool: () => {
        runs += 1;
        throw new Error('no');
      },
    },
    observer,
    { snapshotPeers: '* * * * * *', expireBans: '* * * * * *', expirePool: '* * * * * *' },
  );
  await wait(2500);
  await housekeeping.stop();
  t.true(runs >= 1 && runs <= 3, `${runs}`);
  t.deepEqual(new Set(codes), new Set(['HOUSEKEEPING_FAILED']));
  const after = runs;
  await wait(1500);
  t.is(runs, after);
});

test('the system’s chance stays within its bounds', (t) => {
  for (let round = 0; round < 1000; round++) {
    const fraction = systemRandom.fraction();
    t.true(fraction >= 0 && fraction < 1);
    t.true([0, 1, 2].includes(systemRandom.below(3)));
  }
  t.is(systemRandom.bytes(8).length, 8);
});

test('a timer of the system runs once, and not when it was cancelled', async (t) => {
  let runs = 0;
  systemClock.after(1, () => (runs += 1));
  systemClock.after(1, () => (runs += 10)).cancel();
  await wait(50);
  t.is(runs, 1);
});

function wait(ms: number): Promise<void> {
  return new Promise((done) => void setTimeout(done, ms));
}
