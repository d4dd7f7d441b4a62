/**
 * Tests that a node does not forge while forging is suspended. Also tests `forgeNow`, which forges a block on request.
 * A devnet mines blocks with `forgeNow`.
 */

import test from 'ava';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import { setUpForging } from './forging-fixture.ts';

test('while forging is suspended, no slot is filled, and none is reported as slept', async (t) => {
  const { scheduler, chain, pass, suspend, logged } = setUpForging();
  suspend(true);
  scheduler.start();
  await pass(30);
  t.is(chain.tip.header.height, 1);
  t.deepEqual(logged, []);
  suspend(false);
  await pass(30);
  await scheduler.stop();
  t.true(chain.tip.header.height > 1);
  t.false(logged.some(({ code }) => code === 'FORGING_SLOT_SLEPT'));
});

test('a block on request fills the present slot once, if the slot is ours', async (t) => {
  const { scheduler, chain, pass, suspend, ownSlots, currentSlot, logged } = setUpForging();
  suspend(true);
  scheduler.start();
  let forged = 0;
  for (let turn = 0; turn < 12; turn += 1) {
    await pass(1);
    const isOurs = ownSlots(currentSlot(), currentSlot() + 1).length === 1;
    const block = await scheduler.forgeNow();
    t.is(block !== undefined, isOurs);
    if (block === undefined) continue;
    forged += 1;
    t.is(slotAt(block.timestamp, chain.rules.params), currentSlot());
    t.is(chain.tip.header.id, block.id);
    t.is(await scheduler.forgeNow(), undefined, 'the slot is filled');
  }
  t.true(forged > 0);
  t.is(logged.filter(({ code }) => code === 'BLOCK_FORGED').length, forged);
  await scheduler.stop();
});

test('a block on request is in the journal before it is sent, and is dropped when the journal cannot record it', async (t) => {
  const { scheduler, chain, pass, suspend, ownSlots, currentSlot, signed, breakJournal } = setUpForging();
  suspend(true);
  scheduler.start();
  const [slot = 0] = ownSlots(currentSlot() + 1, currentSlot() + 20);
  await pass(slot - currentSlot());
  breakJournal(new ProtocolError('JOURNAL_WRITE_FAILED', {}, 'the disk is full'));
  t.is(await scheduler.forgeNow(), undefined);
  t.is(chain.tip.header.height, 1);
  t.is(signed.size, 0);
  await scheduler.stop();
  t.is(await scheduler.forgeNow(), undefined, 'a node that stops forges nothing');
});
