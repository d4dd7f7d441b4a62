import test from 'ava';
import { isFirstTurn } from '../../../src/engine/forge/first-turn.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import type { PublicKey } from '../../../src/protocol/types.ts';
import { ChainMaker, makeNetwork, publicKeyOf } from '../../support/chain-maker.ts';

const ROUND = 101;

/** A chain, and the owners of the slots after its tip. The member `missed` has the number of slots that the chain missed. */
function chainOf({
  height,
  finalizedHeight = 50,
  missed = 0,
}: {
  height: number;
  finalizedHeight?: number;
  missed?: number;
}) {
  const maker = new ChainMaker(makeNetwork({ generation: 3 }));
  while (maker.tip.height < ROUND - 2 && maker.tip.height < height) maker.forge();
  if (missed > 0) maker.forge({ missedSlots: missed });
  while (maker.tip.height < height) maker.forge();
  const { tip, state } = maker;
  const rules = { ...maker.rules, finalizedHeight: () => finalizedHeight };
  const tipSlot = slotAt(tip.timestamp, rules.params);
  const list = [...rules.forgers(state, tip.height + 1)];
  /** Whether a new delegate that has the slot `turn` after the tip has its first turn in the slot `ahead` after the tip. */
  const firstTurn = (turn: number, ahead: number): boolean => {
    const publicKey = publicKeyOf(maker.network.accounts[0]!);
    const forgers = [...list];
    forgers[(tipSlot + turn + 10 * ROUND) % ROUND] = publicKey;
    return isFirstTurn(state, tip, { ...rules, forgers: () => forgers }, { publicKey, slot: tipSlot + ahead });
  };
  const isFirst = (publicKey: PublicKey): boolean => isFirstTurn(state, tip, rules, { publicKey, slot: tipSlot + 1 });
  return { maker, firstTurn, isFirst };
}

test('a new delegate has its first turn until its first slot of the round has passed', (t) => {
  const { firstTurn } = chainOf({ height: ROUND + 5 });
  for (const turn of [1, 2, 50]) {
    for (const ahead of [1, turn]) t.true(firstTurn(turn, ahead), `${turn} ${ahead}`);
    t.false(firstTurn(turn, turn + 1), 'its slot is over, and another node may have used it');
    t.false(firstTurn(turn, turn + ROUND));
  }
  t.false(firstTurn(-3, 1), 'the round has begun four blocks before the tip');
  t.true(firstTurn(-5, 1), 'this slot was in the round before');
});

test('the round of another branch can have begun earlier by the slots that this chain has missed', (t) => {
  const { firstTurn } = chainOf({ height: ROUND + 5, missed: 3 });
  t.false(firstTurn(-5, 1));
  t.false(firstTurn(-7, 1));
  t.true(firstTurn(-8, 1));
  t.true(
    chainOf({ height: ROUND + 5, missed: 3, finalizedHeight: ROUND }).firstTurn(-5, 1),
    'the missed slots are final',
  );
});

test('before a forged block is final, no turn counts as the first one', (t) => {
  t.false(chainOf({ height: ROUND + 5, finalizedHeight: 1 }).firstTurn(2, 1));
  t.false(chainOf({ height: 20, finalizedHeight: 1 }).firstTurn(2, 1));
});

test('while the list of the round is not final, no turn counts as the first one', (t) => {
  // The list of round 4 was frozen at the end of round 1.
  const height = 3 * ROUND + 5;
  t.false(chainOf({ height, finalizedHeight: ROUND - 1 }).firstTurn(2, 1));
  t.true(chainOf({ height, finalizedHeight: ROUND }).firstTurn(2, 1));
});

test('an account that no round has listed has had no turn, a delegate of a round had one, and an unknown account may have', (t) => {
  const { maker, isFirst } = chainOf({ height: ROUND + 5 });
  t.true(isFirst(publicKeyOf(maker.network.accounts[0]!)));
  for (const delegate of maker.network.delegates.slice(0, ROUND)) t.false(isFirst(publicKeyOf(delegate)));
  t.false(isFirst('ab'.repeat(32)));
});
