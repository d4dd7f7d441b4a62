/** Tests how long after the start of a slot the node forges the block of the slot. */

import test from 'ava';
import { slotStartMs } from '../../../src/protocol/slots.ts';
import { setUpForging, type ForgingFixtureOptions } from './forging-fixture.ts';

/**
 * Returns, for each forged block except the first one, the milliseconds from the start of its slot until the chain has
 * applied the block. If the node waited for a late block of the previous slot, the result does not include this wait.
 */
async function delaysOf(slots: number, options: ForgingFixtureOptions): Promise<readonly number[]> {
  const { scheduler, chain, pass, currentSlot, nowMs } = setUpForging(options);
  const delays: number[] = [];
  const { params } = chain.rules;
  let tipSlot = currentSlot();
  chain.listen({
    applied: () => {
      const waitMs = tipSlot < currentSlot() - 1 ? 1001 : 0;
      delays.push(nowMs() - slotStartMs(currentSlot(), params) - waitMs);
      tipSlot = currentSlot();
    },
  });
  scheduler.start();
  await pass(slots);
  await scheduler.stop();
  return delays.slice(1);
}

test('blocks are forged at the start of their slots although timers fire up to 1 ms early', async (t) => {
  for (const timersEarlyMs of [0, 0.3, 0.6, 0.9]) {
    const delays = await delaysOf(200, { timersEarlyMs, readingMs: 0.3 });
    t.true(delays.length > 50);
    t.true(Math.max(...delays) <= 10, `${timersEarlyMs} ms early: worst ${Math.max(...delays)} ms`);
  }
});

test('when forging becomes ready within a slot, the rest of the slot is used for the block', async (t) => {
  const { scheduler, chain, pass, hinder, ownSlots, currentSlot, nowMs } = setUpForging();
  const { params } = chain.rules;
  scheduler.start();
  await pass(5);
  const [slot = 0] = ownSlots(currentSlot() + 1, currentSlot() + 20);
  hinder('synchronising with the network');
  // When this share of the slot has passed, the wait for a late block is over.
  const SHARE = 0.75;
  await pass((slotStartMs(slot, params) - nowMs()) / (params.blockTimeS * 1000) + SHARE);
  t.is(currentSlot(), slot);
  const { height } = chain.tip.header;
  hinder(undefined);
  scheduler.check();
  // `stop` waits for the block in progress, and no virtual time passes.
  await scheduler.stop();
  t.is(chain.tip.header.height, height + 1);
});
