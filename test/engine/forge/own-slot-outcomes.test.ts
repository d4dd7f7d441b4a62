/**
 * Tests the outcomes of the slots of this node's delegates. A slot is missed if a later block exists and the slot has
 * no block. A slot is reverted if a reorg removes its block.
 */

import test from 'ava';
import { OwnSlotOutcomes, type OwnSlotsEvent } from '../../../src/engine/forge/own-slot-outcomes.ts';
import { SILENT } from '../../../src/ports/observer.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import type { Block } from '../../../src/protocol/types.ts';
import { setUpForging } from './forging-fixture.ts';

/**
 * Sets up forging. Records each `OwnSlotsEvent`. For each outcome, also counts the slots of this node's delegates that
 * have this outcome.
 */
function watched(isHeld = (): boolean => false) {
  const made = setUpForging();
  const events: OwnSlotsEvent[] = [];
  const counts = new Map<string, number>();
  const slots = new OwnSlotOutcomes({
    rules: made.chain.rules,
    state: () => made.chain.state,
    isOwn: (publicKey) => made.scheduler.isEnabled(publicKey),
    isForgingSuspended: isHeld,
    observer: {
      ...SILENT,
      count: (_metric, by = 1, labels = {}) =>
        counts.set(labels['result'] ?? '', (counts.get(labels['result'] ?? '') ?? 0) + by),
    },
  });
  slots.listen((event) => events.push(event));
  made.chain.listen(slots);
  const eventSlots = (kind: OwnSlotsEvent['kind']): readonly number[] =>
    events
      .filter((event) => event.kind === kind)
      .flatMap((event) => event.slots)
      .sort((a, b) => a - b);
  return { ...made, slots, events, counts, eventSlots };
}

test('own slots left empty because forging was not ready count as missed at the next block, each once', async (t) => {
  const { scheduler, pass, hinder, ownSlots, currentSlot, eventSlots, counts, chain } = watched();
  scheduler.start();
  await pass(10);
  t.deepEqual(eventSlots('missed'), []);
  hinder('synchronising with the network');
  const from = currentSlot() + 1;
  await pass(15);
  // The outcome of an empty slot is certain only when a block of a later slot exists.
  t.deepEqual(eventSlots('missed'), []);
  const filled: number[] = [];
  const { params } = chain.rules;
  chain.listen({ applied: (blocks) => filled.push(...blocks.map(({ timestamp }) => slotAt(timestamp, params))) });
  hinder(undefined);
  await pass(10);
  await scheduler.stop();
  const missed = eventSlots('missed');
  t.true(missed.length > 2);
  t.deepEqual(missed, ownSlots(from, filled[0] ?? 0));
  t.is(counts.get('missed'), missed.length);
  t.true((counts.get('forged') ?? 0) > 2);
});

test('each event names the owner of its slots', async (t) => {
  const { scheduler, pass, hinder, currentSlot, events } = watched();
  scheduler.start();
  await pass(10);
  hinder('synchronising with the network');
  const from = currentSlot() + 1;
  await pass(15);
  hinder(undefined);
  await pass(10);
  await scheduler.stop();
  const owners = events.map(({ delegate }) => delegate);
  t.is(new Set(owners).size, owners.length, 'in so short a time each has one slot at most');
  t.true(events.every(({ slots }) => slots.every((slot) => slot >= from)));
  t.true(owners.every((owner) => scheduler.isEnabled(owner)));
});

test('slots paused or skipped on purpose do not count as missed', async (t) => {
  let isHeld = false;
  const { scheduler, pass, hinder, currentSlot, slots, eventSlots } = watched(() => isHeld);
  scheduler.start();
  await pass(10);
  hinder('held');
  await pass(12);
  isHeld = true;
  hinder(undefined);
  await pass(5);
  t.deepEqual(eventSlots('missed'), []);
  hinder('held');
  await pass(12);
  isHeld = false;
  slots.skipTo(currentSlot());
  hinder(undefined);
  await pass(5);
  await scheduler.stop();
  t.deepEqual(eventSlots('missed'), []);
});

test('no slot before the first block counts as missed', async (t) => {
  const { scheduler, pass, hinder, eventSlots } = watched();
  hinder('no peer has reported its tip yet');
  scheduler.start();
  await pass(30);
  hinder(undefined);
  await pass(10);
  await scheduler.stop();
  t.deepEqual(eventSlots('missed'), []);
});

test('own blocks that lose to another branch are reported, those of other nodes are not', async (t) => {
  const { scheduler, pass, slots, eventSlots, counts, chain } = watched();
  const blocks: Block[] = [];
  chain.listen({ applied: (applied) => blocks.push(...applied) });
  scheduler.start();
  await pass(10);
  await scheduler.stop();
  const [first, second] = blocks.slice(-2);
  if (first === undefined || second === undefined) throw new Error('there are no two blocks');
  scheduler.disable(first.generatorPublicKey);
  slots.reverted([second, first]);
  t.deepEqual(eventSlots('reverted'), [slotAt(second.timestamp, chain.rules.params)]);
  t.is(counts.get('reverted'), 1);
});
