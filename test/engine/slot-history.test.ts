/**
 * Tests what `SlotHistory` records from log lines (events of each slot, forging switched on or off, reverted branches).
 * Also tests the record of the slots in which the forging scheduler ran, and the limits of the history.
 */

import test from 'ava';
import { Diagnostics } from '../../src/engine/diagnostics.ts';
import { SlotHistory } from '../../src/engine/slot-history.ts';
import { SILENT } from '../../src/ports/observer.ts';

function records() {
  const now = { ms: 1000 };
  const slots = new SlotHistory({ nowMs: () => now.ms });
  const observer = slots.listenIn(SILENT);
  return {
    slots,
    now,
    forge: observer.module('forge'),
    chain: observer.module('chain'),
    sync: observer.module('sync'),
  };
}

test('facts are kept by slot, from the modules that report slots, with a limit per slot', (t) => {
  const { slots, forge, chain, sync } = records();
  forge.log('warn', 'FORGING_PAUSED', 'paused', { slot: 7, reason: 'x' });
  for (let times = 0; times < 20; times += 1) chain.log('warn', 'BLOCK_SIGNATURE_INVALID', 'refused', { slot: 8 });
  sync.log('info', 'SYNC_STARTED', 'began', { slot: 7 });
  chain.log('info', 'CHAIN_REORG', 'reorg');
  const { slots: [seven, eight, nine] = [], sinceMs } = slots.report(7, 3);
  t.is(sinceMs, 1000);
  t.deepEqual(seven?.facts, [
    { timeMs: 1000, module: 'forge', code: 'FORGING_PAUSED', message: 'paused', fields: { slot: 7, reason: 'x' } },
  ]);
  t.is(eight?.facts.length, 8);
  t.deepEqual(nine?.facts, []);
});

test('a thousand slots are kept, and the history states since when it is complete', (t) => {
  const { slots, now, forge } = records();
  for (let slot = 1; slot <= 1010; slot += 1) {
    now.ms = slot * 1000;
    forge.log('info', 'BLOCK_FORGED', 'forged', { slot });
  }
  t.is(slots.report(10, 1).slots[0]?.facts.length, 0);
  t.is(slots.report(11, 1).slots[0]?.facts.length, 1);
  t.is(slots.report(1, 1).sinceMs, 10_000);
});

test('switches of delegates are kept in order', (t) => {
  const { slots, forge } = records();
  for (const on of [true, false]) forge.log('debug', 'FORGING_SWITCHED', 'switched', { delegate: 'aa', on });
  t.deepEqual(slots.report(0, 1).switches, [
    { timeMs: 1000, delegate: 'aa', on: true },
    { timeMs: 1000, delegate: 'aa', on: false },
  ]);
});

test('reverted branches are kept with their slots, up to a limit', (t) => {
  const { slots, chain } = records();
  chain.log('debug', 'BRANCH_ABANDONED', 'left a branch', { fromSlot: 7, toSlot: 20, forHeight: 3, forBlockId: '17' });
  chain.log('debug', 'BRANCH_ABANDONED', 'left a branch', { fromSlot: 30, toSlot: 31 });
  t.deepEqual(slots.report(0, 1).branches, [
    { timeMs: 1000, fromSlot: 7, toSlot: 20, forHeight: 3, forBlockId: '17' },
    { timeMs: 1000, fromSlot: 30, toSlot: 31 },
  ]);
  for (let times = 0; times < 500; times += 1)
    chain.log('debug', 'BRANCH_ABANDONED', 'left', { fromSlot: 1, toSlot: 2 });
  t.is(slots.report(0, 1).branches.length, 200);
});

test('a slot that was paused and then used is no longer a diagnostic', (t) => {
  const diagnostics = new Diagnostics({ nowMs: () => 1 });
  const forge = diagnostics.listenIn(SILENT).module('forge');
  forge.log('warn', 'FORGING_PAUSED', 'paused', { slot: 7 });
  forge.log('warn', 'FORGING_PAUSED', 'paused', { slot: 8 });
  forge.log('info', 'BLOCK_FORGED', 'forged', { slot: 8 });
  t.deepEqual(
    diagnostics.latest(10).map(({ fields }) => fields['slot']),
    [7],
  );
});

test('slots that the node observed are kept as ranges; a sleep or a clock change leaves a gap', (t) => {
  const { slots } = records();
  for (const slot of [3, 3, 4, 5, 9, 9, 10, 4, 5]) slots.slotChecked(slot);
  t.deepEqual(slots.report(0, 1).looks, [
    { fromSlot: 3, toSlot: 5 },
    { fromSlot: 9, toSlot: 10 },
    { fromSlot: 4, toSlot: 5 },
  ]);
  for (let slot = 100; slot < 3000; slot += 2) slots.slotChecked(slot);
  t.is(slots.report(0, 1).looks.length, 500);
});
