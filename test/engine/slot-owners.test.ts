/** Tests which delegate owns a slot before or after the tip, according to the chain of the node (`SlotOwners`). */

import test from 'ava';
import { SlotOwners, isOrderCertain } from '../../src/engine/slot-owners.ts';
import { chainStoreOver } from '../../src/store/chain/open.ts';
import { MemoryKeyValue } from '../../src/store/disk/memory.ts';
import { openGenesis } from '../../src/engine/genesis.ts';
import { commitBlocks } from '../../src/engine/commit.ts';
import { ownerOfSlot, roundOf } from '../../src/protocol/rounds.ts';
import { slotAt } from '../../src/protocol/slots.ts';
import { ChainMaker, makeNetwork } from '../support/chain-maker.ts';

for (const generation of [2, 3] as const) {
  test(`owners of empty slots follow from the height that their blocks would have had, in generation ${generation}`, (t) => {
    const maker = new ChainMaker(makeNetwork({ generation, delegates: 7, activeDelegates: 7 }));
    const { rules, network } = maker;
    const { params } = network;
    const store = chainStoreOver(new MemoryKeyValue(), { codec: rules.codec, params }, 'test');
    openGenesis(store, rules, network.genesis);
    const expected = new Map<number, { readonly delegate: string; readonly height: number }>();
    for (let count = 0; count < 80; count += 1) {
      const parent = store.tip()!;
      const block = maker.build({ missedSlots: count % 4 === 3 ? 3 : 0 });
      const order = rules.forgers(store, block.height);
      const from = parent.height === 1 ? slotAt(block.timestamp, params) : slotAt(parent.timestamp, params) + 1;
      for (let slot = from; slot <= slotAt(block.timestamp, params); slot += 1)
        expected.set(slot, { delegate: ownerOfSlot(order, slot, params) ?? '', height: block.height });
      commitBlocks(store, rules, { blocks: [block] }, { nowS: block.timestamp, verify: () => true });
      maker.apply(block);
    }
    const owners = new SlotOwners(rules, store);
    const tip = store.tip()!;
    const unknown: number[] = [];
    for (const [slot, { delegate, height }] of expected) {
      const owner = owners.of(slot);
      if (owner === undefined) unknown.push(roundOf(height, params));
      else t.deepEqual(owner, { delegate, height, isCertain: true }, `slot ${slot}`);
    }
    // The owner of a slot may be unknown only if its round is at least two rounds before the round of the tip. The
    // store may have deleted the delegate list of such a round.
    t.true(
      unknown.every((round) => round < roundOf(tip.height, params) - 1),
      unknown.join(' '),
    );

    const tipSlot = slotAt(tip.timestamp, params);
    const left = params.activeDelegates * roundOf(tip.height + 1, params) - tip.height;
    for (let ahead = 1; ahead <= 2 * params.activeDelegates; ahead += 1) {
      const isCertain = ahead <= left;
      t.is(isOrderCertain(tip, tipSlot + ahead, params), isCertain);
      const delegate = ownerOfSlot(rules.forgers(store, tip.height + 1), tipSlot + ahead, params);
      t.deepEqual(owners.of(tipSlot + ahead), { delegate: delegate ?? '', height: tip.height + 1, isCertain });
    }
  });
}
