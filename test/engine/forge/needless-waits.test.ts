import test from 'ava';
import { publicKeyOf } from '../../support/chain-maker.ts';
import { setUpForging } from './forging-fixture.ts';

/**
 * Enables an account that has had no slot. During the next `provableSlots` slots, the node can prove that the account
 * need not wait. After these slots, the node can no longer prove this.
 */
async function waitingAfter(provableSlots: number) {
  let finalizedHeight = 2;
  const its = setUpForging({ riskDoubleForging: false, finalizedHeight: () => finalizedHeight });
  const keyPair = its.accounts[0]!;
  its.scheduler.start();
  await its.receiveBlockOf(its.currentSlot());
  await its.pass(2);
  its.scheduler.enable(keyPair);
  await its.pass(provableSlots);
  // To prove that the account need not wait, the node needs the lists of delegates of all rounds since the final block.
  // If no block becomes final for many rounds, the state drops some of these lists. The test simulates this with the
  // final height 0, at which the chain has no block.
  finalizedHeight = 0;
  await its.pass(3);
  await its.scheduler.stop();
  return its.scheduler.waiting(publicKeyOf(keyPair));
}

test('the scheduler finds out at its checks which waits are needless, and later needs no proof', async (t) => {
  t.is(await waitingAfter(1), undefined);
  t.like(await waitingAfter(0), { code: 'FORGING_HAND_OVER' });
});

test('a step of the clock does not begin the waits again that began before the first block of a network', async (t) => {
  const its = setUpForging({ riskDoubleForging: false });
  its.scheduler.start();
  await its.pass(120);
  const first = its.chain.state.header(2)!;
  const waiting = its.own.map(publicKeyOf).filter((publicKey) => !its.signed.has(publicKey));
  t.true(its.signed.has(first.generatorPublicKey) && waiting.length > 2);
  const before = waiting.map((publicKey) => its.held.get(publicKey));
  its.setClock(20);
  await its.pass(2);
  t.deepEqual(
    waiting.map((publicKey) => its.held.get(publicKey)),
    before,
  );
  const [again, other] = its.own.filter((each) => waiting.includes(publicKeyOf(each)));
  its.scheduler.disable(publicKeyOf(again!));
  its.scheduler.enable(again!);
  const enabledS = its.held.get(publicKeyOf(again!)) ?? 0;
  t.true(enabledS > (before[waiting.indexOf(publicKeyOf(again!))] ?? 0));
  its.setClock(20);
  await its.pass(2);
  await its.scheduler.stop();
  t.true((its.held.get(publicKeyOf(again!)) ?? 0) > enabledS, 'it was enabled again after the first block');
  t.is(its.held.get(publicKeyOf(other!)), before[waiting.indexOf(publicKeyOf(other!))]);
});

for (const how of ['receiveBlockOf', 'downloadBlockOf'] as const)
  test(`the wait of a delegate begins again after a block that another node signed for it (${how})`, async (t) => {
    const its = setUpForging({ riskDoubleForging: false });
    its.scheduler.start();
    const [slot = 0] = its.ownSlots(its.currentSlot() + 1, its.currentSlot() + 20);
    await its.pass(slot - its.currentSlot());
    const before = new Map(its.held);
    await Promise.all([its[how](slot), its.pass(0.1)]);
    await its.scheduler.stop();
    const { generatorPublicKey, timestamp } = its.chain.tip.header;
    t.true((before.get(generatorPublicKey) ?? 0) <= timestamp);
    t.true((its.held.get(generatorPublicKey) ?? 0) > timestamp);
  });
