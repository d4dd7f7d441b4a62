/** Tests which log lines, metrics and calls of listeners report each change of the chain, and in which order. */

import test from 'ava';

import { ChainMaker } from '../../support/chain-maker.ts';
import { forkOf, grown, LoneChain } from './lone-chain.ts';

/** Makes a chain of four blocks, and returns it with an empty log. */
async function chainOfFour() {
  const maker = new ChainMaker();
  grown(maker, 3);
  const lone = await LoneChain.with(maker);
  lone.logged.length = 0;
  return { maker, lone };
}

test('a received block is logged, counted and reported before its delay is measured', async (t) => {
  const { maker, lone } = await chainOfFour();
  await lone.receive(maker.forge());
  t.deepEqual(lone.logged, ['BLOCK_APPLIED', 'blocks_applied_total 1', 'event: received 5', 'block_delay_seconds']);
});

test('when a block wins a tie, both the old tip and the new one are reported', async (t) => {
  const { maker, lone } = await chainOfFour();
  const rival = forkOf(maker).forge({ missedSlots: 1 });
  await lone.receive(maker.forge(), 1);
  lone.logged.length = 0;
  await lone.receive(rival);
  t.deepEqual(lone.logged, [
    'TIE_BROKEN',
    'BLOCK_REVERTED',
    'BRANCH_ABANDONED',
    'blocks_applied_total 1',
    'blocks_reverted_total 1',
    'reorgs_total 1',
    'event: reverted 5',
    'event: received 5',
    'block_delay_seconds',
  ]);
});

test('a move to a better branch is one reorg, whatever its length', async (t) => {
  const { maker, lone } = await chainOfFour();
  const rival = forkOf(maker);
  const ours = grown(maker, 2);
  lone.nowS = maker.tip.timestamp;
  await lone.chain.append(ours);
  lone.logged.length = 0;
  const branch = grown(rival, 3, { missedSlots: 1 });
  lone.nowS = rival.tip.timestamp;
  await lone.chain.switchTo(4, branch);
  t.deepEqual(lone.logged, [
    'CHAIN_REORG',
    'BLOCK_REVERTED',
    'BLOCK_REVERTED',
    'BRANCH_ABANDONED',
    'blocks_applied_total 3',
    'blocks_reverted_total 2',
    'reorgs_total 1',
    'event: reverted 6 5',
    'event: synced 5 6 7',
  ]);
});

test('a branch that begins at the tip is no reorg', async (t) => {
  const { maker, lone } = await chainOfFour();
  const branch = grown(maker, 2);
  lone.nowS = maker.tip.timestamp;
  lone.logged.length = 0;
  await lone.chain.switchTo(4, branch);
  t.deepEqual(lone.logged, ['blocks_applied_total 2', 'event: synced 5 6']);
});

test('the chain counts and reports forged and downloaded blocks, but does not log them', async (t) => {
  const { maker, lone } = await chainOfFour();
  const own = maker.forge();
  const downloaded = grown(maker, 2);
  lone.nowS = maker.tip.timestamp;
  await lone.chain.forge(() => own);
  await lone.chain.append(downloaded);
  t.deepEqual(lone.logged, [
    'blocks_applied_total 1',
    'event: forged 5',
    'blocks_applied_total 2',
    'event: synced 6 7',
  ]);
});

test('a rollback reports only the reverted blocks', async (t) => {
  const { lone } = await chainOfFour();
  await lone.chain.rollback(2);
  t.deepEqual(lone.logged, [
    'BLOCK_REVERTED',
    'BLOCK_REVERTED',
    'BRANCH_ABANDONED',
    'blocks_reverted_total 2',
    'reorgs_total 1',
    'event: reverted 4 3',
  ]);
});

test('a refused block is not reported to listeners, and the log has the reason', async (t) => {
  const { maker, lone } = await chainOfFour();
  const block = maker.forge();
  await lone.receive({ ...block, blockSignature: '00'.repeat(64) });
  t.deepEqual(lone.logged, ['BLOCK_SIGNATURE_INVALID']);
  t.deepEqual(lone.events, ['synced 2 3 4']);
});
