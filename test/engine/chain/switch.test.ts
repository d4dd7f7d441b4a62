/**
 * Tests the switch from one branch to another. The chain switches to the whole branch, to its valid part if this part
 * is better, or not at all.
 */

import test from 'ava';

import { BranchRejected } from '../../../src/engine/commit.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import type { Block } from '../../../src/protocol/types.ts';
import { ChainMaker, publicKeyOf, signBlock } from '../../support/chain-maker.ts';
import { Disk, ProcessDied } from '../../sim/disk.ts';
import { forkOf, grown, LoneChain } from './lone-chain.ts';

/**
 * Makes two branches above the common block at height `root`. One branch has `ours` blocks, and the other branch has
 * `theirs` blocks.
 */
async function branches(root: number, ours: number, theirs: number) {
  const maker = new ChainMaker();
  grown(maker, root - 1);
  const rival = forkOf(maker);
  grown(maker, ours);
  const lone = await LoneChain.with(maker);
  const branch = grown(rival, theirs, { missedSlots: 1 });
  lone.nowS = rival.tip.timestamp + 10_000;
  return { lone, maker, rival, branch };
}

/** Changes the reward of a block to a wrong value. The signature of the slot owner is valid. */
function corrupted(rival: ChainMaker, block: Block): Block {
  const owner = rival.network.delegates.find((keyPair) => publicKeyOf(keyPair) === block.generatorPublicKey)!;
  return signBlock(block, { reward: 1n }, owner);
}

test('a better branch replaces ours, and listeners get the reverted blocks before the new ones', async (t) => {
  const { lone, branch } = await branches(20, 2, 3);
  const before = lone.progress;
  await lone.chain.switchTo(20, branch);
  t.is(lone.progress - before, 5, 'one report for each reverted or applied block');
  t.is(lone.chain.tip.header.id, branch.at(-1)!.id);
  t.deepEqual(lone.events.slice(-2), ['reverted 22 21', 'synced 21 22 23']);
  const fresh = await LoneChain.with(forkOf((await branches(20, 2, 3)).rival));
  t.is(lone.store.stateDigest(), fresh.store.stateDigest());
});

test('a branch that fails at its last block leaves our tip unchanged', async (t) => {
  const { lone, rival, branch } = await branches(20, 3, 4);
  const [tip, digest, events] = [lone.chain.tip.header, lone.store.stateDigest(), lone.events.length];
  const bad = [...branch.slice(0, -1), corrupted(rival, branch.at(-1)!)];
  const error = await t.throwsAsync(lone.chain.switchTo(20, bad), { instanceOf: BranchRejected });
  t.is(error.rejection.code, 'BLOCK_REWARD_INVALID');
  t.is(error.block.height, 24);
  t.is(lone.chain.tip.header.id, tip.id);
  t.is(lone.store.stateDigest(), digest);
  t.is(lone.events.length, events);
  await lone.chain.switchTo(20, branch);
  t.is(lone.chain.tip.header.id, branch.at(-1)!.id);
});

test('a branch that fails at its last block is applied up to there when that part is already better', async (t) => {
  const { lone, rival, branch } = await branches(20, 2, 4);
  const bad = [...branch.slice(0, -1), corrupted(rival, branch.at(-1)!)];
  await t.throwsAsync(lone.chain.switchTo(20, bad), { instanceOf: BranchRejected });
  t.is(lone.chain.tip.header.id, branch.at(-2)!.id);
});

test('a slow clock applies the part of a better branch that it does not see in the future', async (t) => {
  const { lone, branch } = await branches(20, 1, 5);
  lone.nowS = branch[2]!.timestamp;
  const error = await t.throwsAsync(lone.chain.switchTo(20, branch), { instanceOf: BranchRejected });
  t.is(error.rejection.code, 'BLOCK_TIMESTAMP_INVALID');
  t.is(lone.chain.tip.header.id, branch[2]!.id);
});

test('a branch is refused if it is not better, forks below finality, or belongs to another chain', async (t) => {
  const { lone, rival, branch } = await branches(20, 3, 3);
  const refused = (work: Promise<void>) => t.throwsAsync(work, { instanceOf: ProtocolError });
  t.is((await refused(lone.chain.switchTo(20, branch)))?.code, 'SWITCH_NOT_BETTER');
  const [one] = grown(rival, 1);
  t.is((await refused(lone.chain.switchTo(0, [...branch, one!])))?.code, 'SWITCH_BELOW_FINALITY');
  t.is((await refused(lone.chain.switchTo(21, [...branch, one!])))?.code, 'TIP_MOVED');
  t.is((await refused(lone.chain.append([{ ...one!, height: 24 }])))?.code, 'TIP_MOVED');
  t.is(lone.chain.tip.header.height, 23);
});

test('finality survives a switch to a better branch that finalizes less, and a restart', async (t) => {
  const { lone, rival } = await branches(200, 1, 0);
  const finalized = lone.chain.finalizedHeight;
  // A delegate that has signed at height 500 of another chain does not vote for lower blocks, so these blocks finalize
  // nothing.
  const elsewhere = { blockId: '1', height: 500, timestamp: 0, maxHeightPrevoted: 0, maxHeightPreviouslyForged: 0 };
  const branch = [1, 0].map((missedSlots) => rival.forge({ missedSlots, previouslyForged: elsewhere }));
  lone.nowS = rival.tip.timestamp;
  await lone.chain.switchTo(200, branch);
  t.is(lone.chain.tip.header.id, rival.tip.id);
  t.true(rival.rules.finalizedHeight(lone.store) < finalized);
  t.is(lone.chain.finalizedHeight, finalized);
  lone.reopen();
  t.is(lone.chain.finalizedHeight, finalized);
});

test('a rollback below the finalized block is refused, and one down to it succeeds', async (t) => {
  const { lone } = await branches(200, 10, 11);
  const finalized = lone.chain.finalizedHeight;
  t.true(finalized > 1);
  const byHand = await t.throwsAsync(lone.chain.rollback(finalized - 1), { instanceOf: ProtocolError });
  t.is(byHand?.code, 'ROLLBACK_BELOW_FINALITY');
  await lone.chain.rollback(finalized);
  t.is(lone.chain.tip.header.height, finalized);
  t.is(lone.chain.finalizedHeight, finalized);
});

test('after a crash at any write of a switch the old tip is there, and the switch can be repeated', async (t) => {
  const { lone, maker, branch } = await branches(99, 2, 3);
  const before = { tip: lone.chain.tip.header.id, digest: lone.store.stateDigest() };
  const done = await LoneChain.with(maker, lone.disk.copy());
  done.nowS = lone.nowS;
  const writesBefore = done.disk.writes;
  await done.chain.switchTo(99, branch);
  const writes = done.disk.writes - writesBefore;
  t.true(writes > 40, `${writes} writes`);
  for (let write = 1; write <= writes; write += 1) {
    const disk = lone.disk.copy();
    const dying = await LoneChain.with(maker, disk);
    dying.nowS = lone.nowS;
    disk.dieAtWrite(write, () => undefined);
    await t.throwsAsync(dying.chain.switchTo(99, branch), { instanceOf: ProcessDied });
    dying.reopen();
    t.is(dying.chain.tip.header.id, before.tip);
    t.is(dying.store.stateDigest(), before.digest);
    await dying.chain.switchTo(99, branch);
    t.is(dying.store.stateDigest(), done.store.stateDigest());
  }
});

test('after a crash in a commit of hundreds of blocks none is there, and the commit can be repeated', async (t) => {
  const maker = new ChainMaker();
  const blocks = grown(maker, 320);
  const done = LoneChain.over(maker, new Disk());
  const writesBefore = done.disk.writes;
  done.nowS = maker.tip.timestamp;
  await done.chain.append(blocks, 400);
  const writes = done.disk.writes - writesBefore;
  // The process dies at one of the writes of the commit. Some of these writes are writes of undo records.
  for (const write of [1, 2, 3, 100, 1000, ...[400, 200, 100, 50, 1, 0].map((left) => writes - left)]) {
    const dying = LoneChain.over(maker, new Disk());
    dying.nowS = maker.tip.timestamp;
    const before = dying.store.stateDigest();
    dying.disk.dieAtWrite(write, () => undefined);
    await t.throwsAsync(dying.chain.append(blocks, 400), { instanceOf: ProcessDied }, `write ${write}`);
    dying.reopen();
    t.is(dying.chain.tip.header.height, 1);
    t.is(dying.store.stateDigest(), before);
    t.is(dying.store.undoFloor(), undefined);
    await dying.chain.append(blocks, 400);
    t.is(dying.store.stateDigest(), done.store.stateDigest());
    await dying.chain.rollback(dying.chain.finalizedHeight);
  }
});

test('after a crash at any write of a received block its parent is the tip, and it is accepted again', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 99);
  const lone = await LoneChain.with(maker);
  // The last block of a round pays the rewards of all delegates, so its commit consists of many writes.
  const block = maker.forge({
    transactions: [maker.transfer(maker.network.accounts[0]!, maker.network.accounts[1]!, 5n)],
  });
  t.is(block.height, 101);
  const digest = (await LoneChain.with(maker, lone.disk.copy())).store.stateDigest();
  let write = 0;
  for (let hasDied = true; hasDied;) {
    write += 1;
    const dying = LoneChain.over(maker, lone.disk.copy());
    dying.disk.dieAtWrite(write, () => undefined);
    hasDied = await dying.receive(block).then(
      () => false,
      (error: unknown) => error instanceof ProcessDied,
    );
    dying.reopen();
    if (hasDied) t.is(dying.store.stateDigest(), lone.store.stateDigest());
    await dying.receive(block);
    t.is(dying.store.stateDigest(), digest);
  }
  t.true(write > 100);
});
