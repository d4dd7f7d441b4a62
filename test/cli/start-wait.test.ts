import test from 'ava';
import type { ControlOperation } from '../../src/cli/devnet/control-server.ts';
import { afterStart } from '../../src/cli/devnet/start-wait.ts';

/**
 * Creates fake operations of a devnet. The start of the devnet is complete when a fake clock reaches `beginsAtMs`. The
 * clock advances while an operation waits for the start.
 */
function starting(beginsAtMs: number) {
  let nowMs = 0;
  const calls: string[] = [];
  const named =
    (name: string): ControlOperation =>
    () => {
      calls.push(`${name} at ${nowMs}`);
      return Promise.resolve({});
    };
  const operations = new Map(['mine', 'warp', 'resume', 'kill', 'list'].map((name) => [name, named(name)]));
  const clock = {
    nowMs: () => nowMs,
    after: (delayMs: number, work: () => void) => {
      setImmediate(() => {
        nowMs += delayMs;
        work();
      });
      return { cancel: () => undefined };
    },
  };
  const start = { hasBegun: () => nowMs >= beginsAtMs, missing: () => [1, 3], clock, waitMsMax: 1000 };
  return { calls, asked: afterStart(operations, start) };
}

test('a command that moves the clock waits for the start of the devnet, others do not', async (t) => {
  const { calls, asked } = starting(300);
  for (const name of ['list', 'kill', 'mine', 'warp']) await asked.get(name)?.({});
  t.deepEqual(calls, ['list at 0', 'kill at 0', 'mine at 300', 'warp at 300']);
});

test('a single node is resumed during a start', async (t) => {
  const { calls, asked } = starting(300);
  await asked.get('resume')?.({ node: 1 });
  await asked.get('resume')?.({});
  t.deepEqual(calls, ['resume at 0', 'resume at 300']);
});

test('a start that takes too long is reported with the missing nodes', async (t) => {
  const { calls, asked } = starting(5000);
  await t.throwsAsync(asked.get('mine')!({}), {
    code: 'DEVNET_STARTING',
    message: 'the devnet is still starting: not up yet: node 1, 3',
  });
  t.deepEqual(calls, []);
});
