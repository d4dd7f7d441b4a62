import test from 'ava';
import { isFirstTurn } from '../../../src/engine/forge/first-turn.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import { ChainMaker, makeNetwork, publicKeyOf } from '../../support/chain-maker.ts';

/** A chain in the first round, or in a later one, and the present order of its forgers. */
function chainUntil(height: number) {
  const maker = new ChainMaker(makeNetwork({ generation: 3 }));
  while (maker.tip.height < height) maker.forge();
  const { rules, tip, state } = maker;
  const { activeDelegates } = rules.params;
  const tipSlot = slotAt(tip.timestamp, rules.params);
  const firstTurn = (publicKey: string, ahead: number): boolean =>
    isFirstTurn(state, tip, rules, { publicKey, slot: tipSlot + ahead });
  /** The owner of a slot after the tip. */
  const ownerAfter = (ahead: number): string =>
    rules.forgers(state, tip.height + 1)[(tipSlot + ahead) % activeDelegates] ?? '';
  return { maker, firstTurn, ownerAfter, activeDelegates };
}

test('in the first round, a delegate without a block has its first turn until its first slot has passed', (t) => {
  const { maker, firstTurn, ownerAfter, activeDelegates } = chainUntil(2);
  t.false(firstTurn(maker.tip.generatorPublicKey, activeDelegates), 'it has forged block 2');
  for (const ahead of [1, 2, 50, activeDelegates - 1]) {
    const publicKey = ownerAfter(ahead);
    for (const slot of [1, ahead]) t.true(firstTurn(publicKey, slot), `${ahead} ${slot}`);
    t.false(firstTurn(publicKey, ahead + 1), 'its slot is over, and another node may have used it');
    t.false(firstTurn(publicKey, ahead + activeDelegates));
  }
});

test('after its first round, no delegate of the round has its first turn', (t) => {
  const { maker, firstTurn, activeDelegates } = chainUntil(102);
  for (const delegate of maker.network.delegates.slice(0, activeDelegates))
    t.false(firstTurn(publicKeyOf(delegate), 1));
});

test('an account that no round has listed has had no turn, and an unknown account counts as one that may have', (t) => {
  const { maker, firstTurn } = chainUntil(103);
  t.true(firstTurn(publicKeyOf(maker.network.accounts[0]!), 1));
  t.false(firstTurn('ab'.repeat(32), 1));
});
