import test from 'ava';
import { startDevnet, type TestDevnet } from '../../src/testing/index.ts';
import type { Untyped } from '../support/untyped.ts';

function heights(net: TestDevnet): Promise<readonly number[]> {
  return Promise.all(
    net.nodes.map(async ({ url }) => {
      const { data } = (await (await fetch(`${url}/api/node/status`)).json()) as Untyped;
      return data.height as number;
    }),
  );
}

test('waiting for a height ends when the last node has it', async (t) => {
  t.timeout(300_000);
  const net = await startDevnet({ nodes: 2, mine: 'on-demand', delegates: 5 });
  try {
    await net.partition([0], [1]);
    let [here = 0, there = 0] = await heights(net);
    while (here === there) {
      await net.mine();
      [here = 0, there = 0] = await heights(net);
    }
    await net.waitForHeight(Math.min(here, there), { timeoutMs: 0 });
    const highest = Math.max(here, there);
    await t.throwsAsync(net.waitForHeight(highest, { timeoutMs: 50 }), {
      message: `not all nodes have height ${highest} after 50 ms: node 0 is at ${here}, node 1 is at ${there}`,
    });
    const waiting = net.waitForHeight(highest + 1, { timeoutMs: 240_000 }).then(() => heights(net));
    await net.heal();
    await net.mine(5);
    t.true((await waiting).every((height) => height > highest));
  } finally {
    await net.close();
  }
});

test('a wait includes blocks that come by themselves, and ends when the devnet is closed', async (t) => {
  t.timeout(300_000);
  const net = await startDevnet({ mine: 'interval', delegates: 5 });
  try {
    const [height = 0] = await heights(net);
    await net.waitForHeight(height + 1, { timeoutMs: 240_000 });
    t.true((await heights(net)).every((each) => each > height));
    const waiting = t.throwsAsync(net.waitForHeight(1_000_000, { timeoutMs: 240_000 }), {
      message: /^the devnet is closed/,
    });
    await net.close();
    await waiting;
  } finally {
    await net.close();
  }
});

test('an impossible height or time is refused', async (t) => {
  const net = await startDevnet({ mine: 'on-demand', delegates: 5 });
  try {
    for (const height of [0, 1.5, 2 ** 32, Number.NaN]) {
      await t.throwsAsync(net.waitForHeight(height), { instanceOf: RangeError, message: /^the height must be/ });
    }
    for (const timeoutMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      await t.throwsAsync(net.waitForHeight(1, { timeoutMs }), { instanceOf: RangeError, message: /^timeoutMs/ });
    }
  } finally {
    await net.close();
  }
});
