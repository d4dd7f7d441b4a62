import test from 'ava';
import { publicKeyOf } from '../../support/chain-maker.ts';
import { setUpForging } from './forging-fixture.ts';

/** Enables an account that has had no slot, and makes its need to wait unprovable after a number of slots. */
async function waitingAfter(provableSlots: number) {
  let finalizedHeight = 2;
  const its = setUpForging({ riskDoubleForging: false, finalizedHeight: () => finalizedHeight });
  const keyPair = its.accounts[0]!;
  its.scheduler.start();
  await its.receiveBlockOf(its.currentSlot());
  await its.pass(2);
  its.scheduler.enable(keyPair);
  await its.pass(provableSlots);
  // The proof needs the lists of the rounds since the final block, which the state drops if finality stands for long.
  finalizedHeight = 0;
  await its.pass(3);
  await its.scheduler.stop();
  return its.scheduler.waiting(publicKeyOf(keyPair));
}

test('the scheduler finds out at its checks which waits are needless, and later needs no proof', async (t) => {
  t.is(await waitingAfter(1), undefined);
  t.like(await waitingAfter(0), { code: 'FORGING_HAND_OVER' });
});

test('with the first block of a network, its delegates are noted, until one is disabled', async (t) => {
  const its = setUpForging({ riskDoubleForging: false });
  its.scheduler.start();
  await its.pass(120);
  const first = its.chain.state.header(2)!;
  const isSigner = (publicKey: string): boolean => its.signed.has(publicKey);
  const own = its.own.map(publicKeyOf);
  t.true(isSigner(first.generatorPublicKey));
  const noted = own.filter((publicKey) => its.began.get(publicKey) === first.id);
  t.deepEqual([...noted, first.generatorPublicKey].sort(), own.toSorted());
  const [other = ''] = noted.filter((publicKey) => !isSigner(publicKey));
  its.scheduler.disable(other);
  t.false(its.began.has(other));
  t.true((its.held.get(other) ?? 0) >= its.chain.nowS());
  await its.scheduler.stop();
});

test('a journal that cannot note the beginning does not keep the first block back', async (t) => {
  const its = setUpForging({ riskDoubleForging: false });
  its.scheduler.start();
  its.breakHolds(true);
  await its.pass(210);
  await its.scheduler.stop();
  t.true(its.chain.tip.header.height >= 2);
  t.is(its.began.size, 0);
});
