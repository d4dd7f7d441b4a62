/** Tests which of two nodes waits if both sign for a delegate, and one of them gets a block that it does not apply. */

import test from 'ava';
import { UnappliedWaits } from '../../../src/engine/forge/unapplied-waits.ts';
import type { SignedHeader } from '../../../src/protocol/rules.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import { ChainMaker } from '../../support/chain-maker.ts';
import { NO_JOURNAL } from '../../support/no-journal.ts';

/** A delegate that has signed the tip of this node's chain. */
function setUp() {
  const maker = new ChainMaker();
  const { rules, state } = maker;
  const { params } = maker.network;
  const own = maker.forge();
  const { generatorPublicKey, timestamp } = own;
  const last: SignedHeader = {
    ...{ blockId: own.id, height: own.height, timestamp },
    ...{ maxHeightPrevoted: 0, maxHeightPreviouslyForged: 0 },
  };
  const now = {
    slot: slotAt(timestamp, params),
    isEnabled: true,
    isOnChain: true,
    heldSinceS: 0,
    movedAtS: undefined as number | undefined,
  };
  const counted: string[] = [];
  const waits = new UnappliedWaits({
    chain: {
      rules,
      state: { header: (height) => (now.isOnChain ? state.header(height) : undefined) },
      currentSlot: () => now.slot,
    },
    journal: {
      ...NO_JOURNAL,
      last: () => last,
      heldSinceS: () => now.heldSinceS,
      movedAtS: () => now.movedAtS,
    },
    isEnabled: () => now.isEnabled,
    noteForeign: ({ id }) => counted.push(id) > 0,
  });
  waits.noteSigned(generatorPublicKey);
  const note = (id: string, laterS: number): boolean =>
    waits.note({ id, height: own.height, generatorPublicKey, timestamp: timestamp + laterS });
  return { own, now, waits, note, counted, params };
}

test('a delegate that signs on this node, and whose last header is on the chain, leaves the wait to the other node', (t) => {
  const { note, now, waits, own, counted, params } = setUp();
  t.deepEqual([note('2', 0), note('2', 10)], [false, false]);
  now.slot += 2 * params.activeDelegates - 1;
  t.false(note('2', 10));
  now.slot += 1;
  t.true(note('2', 10), 'its last header is too old');
  t.false(note('2', 0), 'a rival of its header on the chain');
  now.slot = slotAt(own.timestamp, params);
  now.heldSinceS = own.timestamp + 1;
  t.true(note('3', 10), 'it waits already');
  now.heldSinceS = 0;
  now.movedAtS = 5;
  t.true(note('4', 10), 'its record was exported');
  now.movedAtS = undefined;
  now.isEnabled = false;
  t.true(note('5', 10), 'it is disabled');
  now.isEnabled = true;
  waits.forget(own.generatorPublicKey);
  t.true(note('6', 10), 'it has not signed since it was enabled');
  t.deepEqual(counted, ['2', '3', '4', '5', '6']);
});

test('of two nodes that signed in one slot, and whose blocks both left the chain, the greater id waits', (t) => {
  const { note, now, own } = setUp();
  now.isOnChain = false;
  t.deepEqual([note(`${own.id}0`, 0), note('0', 0)], [false, true]);
  t.true(note(`${own.id}0`, 10), 'a block of a later slot counts');
});

test('after the last header of a delegate has left the chain, a block of the other node is judged again', (t) => {
  const { note, now, own, waits, counted } = setUp();
  t.false(note('0', 0));
  waits.reverted([{ ...own, id: '77' }]);
  t.deepEqual(counted, [], 'another block was reverted');
  now.isOnChain = false;
  waits.reverted([own]);
  t.deepEqual(counted, ['0']);
  waits.reverted([own]);
  t.deepEqual(counted, ['0']);
});

test('a block from before the delegate was disabled is not judged again: the delegate waits after it is enabled', (t) => {
  const { note, now, own, waits, counted } = setUp();
  t.false(note('0', 0));
  waits.forget(own.generatorPublicKey);
  now.isOnChain = false;
  waits.reverted([own]);
  t.deepEqual(counted, []);
});
