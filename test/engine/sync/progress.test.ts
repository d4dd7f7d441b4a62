import test from 'ava';
import { ProgressMeter } from '../../../src/engine/sync/progress.ts';

test('a download without any block yet has no estimate', (t) => {
  const meter = new ProgressMeter();
  meter.begin(100, 0);
  t.deepEqual(meter.read(1000), { targetHeight: 1000, blocksPerS: 0 });
});

test('rate and time left follow from the applied blocks', (t) => {
  const meter = new ProgressMeter();
  meter.begin(100, 0);
  for (let second = 1; second <= 10; second += 1) meter.observe(100 + second * 34, second * 1000);
  t.deepEqual(meter.read(780), { targetHeight: 780, blocksPerS: 34, secondsLeft: 10 });
});

test('the rate covers the recent past, not the whole download', (t) => {
  const meter = new ProgressMeter();
  meter.begin(0, 0);
  let height = 0;
  for (let second = 1; second <= 100; second += 1) meter.observe((height += 1000), second * 1000);
  for (let second = 101; second <= 140; second += 1) meter.observe((height += 10), second * 1000);
  t.deepEqual(meter.read(height + 100), { targetHeight: height + 100, blocksPerS: 10, secondsLeft: 10 });
});

test('many blocks in a moment cost no accuracy', (t) => {
  const meter = new ProgressMeter();
  meter.begin(0, 0);
  for (let ms = 1; ms <= 20_000; ms += 1) meter.observe(ms, ms);
  t.deepEqual(meter.read(40_000), { targetHeight: 40_000, blocksPerS: 1000, secondsLeft: 20 });
});

test('the rate covers the recent past also if blocks arrive all the time', (t) => {
  const meter = new ProgressMeter();
  meter.begin(0, 0);
  let height = 0;
  for (let ms = 100; ms <= 100_000; ms += 100) meter.observe((height += 100), ms);
  for (let ms = 100_100; ms <= 140_000; ms += 100) meter.observe((height += 1), ms);
  t.deepEqual(meter.read(height + 100), { targetHeight: height + 100, blocksPerS: 10, secondsLeft: 10 });
});

test('a tip above the announced height counts as complete', (t) => {
  const meter = new ProgressMeter();
  meter.begin(0, 0);
  meter.observe(50, 1000);
  t.deepEqual(meter.read(40), { targetHeight: 50, blocksPerS: 50, secondsLeft: 0 });
});
