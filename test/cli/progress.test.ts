import test from 'ava';
import { createProgress, createStepProgress, progressText } from '../../src/cli/progress.ts';
import { durationText } from '../../src/primitives/duration.ts';

/** Creates a progress display with recorded output and a clock that the test sets. */
function setUpProgress(isTTY: boolean, fromHeight: number) {
  const written: string[] = [];
  let nowMs = 0;
  const progress = createProgress({
    what: 'importing',
    fromHeight,
    output: { isTTY, write: (text: string | Uint8Array) => written.push(String(text)) > 0 },
    clock: { nowMs: () => nowMs },
  });
  return { progress, written, at: (ms: number) => (nowMs = ms) };
}

test('a progress line shows what is done, the rate and the time left', (t) => {
  const facts = { what: 'importing', height: 1341, blocks: 340, seconds: 2, fraction: 0.25 };
  t.is(progressText(facts), '25 %, importing: height 1341, 170 blocks/s, 6 s left');
  t.is(progressText({ ...facts, fraction: undefined }), 'importing: height 1341, 170 blocks/s');
  t.is(progressText({ ...facts, fraction: 1.01 }), '100 %, importing: height 1341, 170 blocks/s, 0 s left');
  t.is(progressText({ ...facts, seconds: 0, fraction: 0 }), 'importing: height 1341, 0 blocks/s');
});

test('durations are printed in one or two units', (t) => {
  t.is(durationText(11.6), '12 s');
  t.is(durationText(200), '3 min 20 s');
  t.is(durationText(3900), '1 h 05 min');
  t.is(durationText(47 * 3600), '47 h 00 min');
  t.is(durationText(331_762_804), '3839 d 20 h');
});

test('a terminal gets a progress bar that is redrawn in place and cleared at the end', (t) => {
  const { progress, written, at } = setUpProgress(true, 1000);
  at(200);
  progress.show(1340, 0.5);
  at(250);
  progress.show(1680, 0.6);
  progress.end();
  progress.end();
  t.deepEqual(written, [
    '\r[############------------] 50 %, importing: height 1340, 1700 blocks/s, 0 s left\u001B[K',
    '\r\u001B[K',
  ]);
});

test('a log file gets a progress line every ten seconds; the rate counts from the height at the start', (t) => {
  const { progress, written, at } = setUpProgress(false, 1000);
  for (const [ms, height, fraction] of [
    [5000, 1340, 0.1],
    [10_000, 1680, 0.2],
    [15_000, 2020, 0.3],
    [20_000, 2360, 0.4],
  ] as const) {
    at(ms);
    progress.show(height, fraction);
  }
  progress.end();
  t.deepEqual(written, [
    '20 %, importing: height 1680, 68 blocks/s, 40 s left\n',
    '40 %, importing: height 2360, 68 blocks/s, 30 s left\n',
  ]);
});

function setUpStepProgress(isTTY: boolean, isQuiet = false) {
  const written: string[] = [];
  let nowMs = 0;
  const progress = createStepProgress({
    isQuiet,
    output: { isTTY, write: (text: string) => written.push(text) },
    clock: { nowMs: () => nowMs },
  });
  const show = (ms: number, step: string, fraction?: number) => {
    nowMs = ms;
    progress.show(step, fraction);
  };
  return { progress, written, show };
}

test('a terminal gets one progress line that is redrawn and cleared, and none for a step that ends at once', (t) => {
  const { progress, written, show } = setUpStepProgress(true);
  show(300, 'copying', 0.1);
  show(600, 'copying', 0.256);
  show(650, 'copying', 0.3);
  show(12_400, 'checking');
  progress.end();
  progress.end();
  t.deepEqual(written, ['\rcopying: 25 %, 1 s\u001B[K', '\rchecking, 12 s\u001B[K', '\r\u001B[K']);
});

test('without a terminal a progress line is printed every five seconds', (t) => {
  const { progress, written, show } = setUpStepProgress(false);
  for (const ms of [1000, 4999, 5000, 9000, 10_001]) show(ms, 'waiting', 1.2);
  progress.end();
  t.deepEqual(written, ['waiting: 100 %, 5 s\n', 'waiting: 100 %, 10 s\n']);
});

test('with --json no progress is printed', (t) => {
  for (const isTTY of [false, true]) {
    const { progress, written, show } = setUpStepProgress(isTTY, true);
    show(60_000, 'waiting');
    progress.end();
    t.deepEqual(written, []);
  }
});
