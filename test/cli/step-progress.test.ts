import test from 'ava';
import { createStepProgress } from '../../src/cli/step-progress.ts';

function scene(isTTY: boolean, isQuiet = false) {
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

test('a terminal gets one line that is renewed and left, and nothing of what is over at once', (t) => {
  const { progress, written, show } = scene(true);
  show(300, 'copying', 0.1);
  show(600, 'copying', 0.256);
  show(650, 'copying', 0.3);
  show(12_400, 'checking');
  progress.end();
  progress.end();
  t.deepEqual(written, ['\rcopying: 25 %, 1 s\u001B[K', '\rchecking, 12 s\u001B[K', '\r\u001B[K']);
});

test('elsewhere a line comes every five seconds', (t) => {
  const { progress, written, show } = scene(false);
  for (const ms of [1000, 4999, 5000, 9000, 10_001]) show(ms, 'waiting', 1.2);
  progress.end();
  t.deepEqual(written, ['waiting: 100 %, 5 s\n', 'waiting: 100 %, 10 s\n']);
});

test('with --json nothing is shown', (t) => {
  for (const isTTY of [false, true]) {
    const { progress, written, show } = scene(isTTY, true);
    show(60_000, 'waiting');
    progress.end();
    t.deepEqual(written, []);
  }
});
