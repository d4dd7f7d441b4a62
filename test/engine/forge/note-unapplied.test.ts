/** Tests when a block that the chain does not get counts as a block of another node. */

import test from 'ava';
import type { SignedHeader } from '../../../src/protocol/rules.ts';
import { publicKeyOf } from '../../support/chain-maker.ts';
import { setUpForging } from './forging-fixture.ts';

/** A node with a header of an enabled delegate in its journal. `isOnChain`: whether the chain has this header. */
function setUp({ isOnChain }: { readonly isOnChain: boolean }) {
  const { scheduler, signed, held, own, chain, nowS } = setUpForging({ riskDoubleForging: false });
  const keyPair = own[0]!;
  const generatorPublicKey = publicKeyOf(keyPair);
  const timestamp = nowS();
  const last: SignedHeader = {
    blockId: isOnChain ? chain.tip.header.id : '500',
    height: chain.tip.header.height,
    timestamp,
    maxHeightPrevoted: 0,
    maxHeightPreviouslyForged: chain.tip.header.height,
  };
  signed.set(generatorPublicKey, last);
  const counts = (id: string, laterS: number): boolean =>
    scheduler.noteUnapplied({ id, height: 2, generatorPublicKey, timestamp: timestamp + laterS });
  return {
    counts,
    disable: () => scheduler.disable(generatorPublicKey),
    /** Begins a wait of the delegate. */
    hold: () => held.set(generatorPublicKey, timestamp + 1),
    complete: () => held.delete(generatorPublicKey),
  };
}

test('a node whose header is on the chain and that does not wait leaves the wait to the other node', (t) => {
  const { counts, complete, hold } = setUp({ isOnChain: true });
  complete();
  t.deepEqual([counts('1', 10), counts('1', 0)], [false, false]);
  hold();
  t.true(counts('1', 10), 'a node that waits counts each block');
  t.false(counts('1', 0), 'but not the rival of its header that is on the chain');
});

test('of two nodes that signed in one slot, and whose blocks both left the chain, the greater id waits', (t) => {
  const { counts, complete } = setUp({ isOnChain: false });
  complete();
  t.deepEqual([counts('1000', 0), counts('500', 0)], [false, false]);
  t.true(counts('499', 0));
  t.true(setUp({ isOnChain: false }).counts('1000', 10), 'a block of a later slot counts');
});

test('while the delegate is disabled, each later block counts', (t) => {
  const { counts, complete, disable } = setUp({ isOnChain: true });
  complete();
  disable();
  t.true(counts('1000', 10));
});
