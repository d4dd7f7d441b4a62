/** Tests when the indexes of transactions lag behind the chain, and that they are complete afterwards. */

import test from 'ava';
import { FAR_BEHIND_SLOTS } from '../../../src/engine/index-deferral.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { slotStartS } from '../../../src/protocol/slots.ts';
import { ChainMaker, makeNetwork } from '../../support/chain-maker.ts';
import { dump } from '../../store/backends.ts';
import { Disk } from '../../sim/disk.ts';
import { blocksOf, grown, LoneChain } from './lone-chain.ts';

const LENGTH = 80;

/** Makes blocks with transfers, and an empty chain that may defer its indexes. */
function setUpLag({ canWait = true, length = LENGTH } = {}) {
  const maker = new ChainMaker(makeNetwork());
  const [from, to] = maker.network.accounts;
  if (from === undefined || to === undefined) throw new Error('the network has accounts');
  for (let height = 2; height <= length; height += 1) {
    maker.forge({ transactions: [maker.transfer(from, to, BigInt(height))] });
  }
  const completed: number[] = [];
  const lone = LoneChain.over(maker, new Disk());
  lone.indexUsers = {
    canWait: () => canWait,
    isAwaited: () => false,
    completed: () => void completed.push(lone.store.tip()?.height ?? 0),
  };
  lone.reopen();
  const setSlotsBehind = (slots: number): void => {
    lone.nowS = maker.tip.timestamp + slotStartS(slots, maker.network.params);
  };
  const expected = async (): Promise<unknown> => dump((await LoneChain.with(maker)).store);
  return { maker, lone, completed, setSlotsBehind, expected };
}

test('indexes of blocks far behind the network lag until they are completed, and are then those of any chain', async (t) => {
  const { maker, lone, completed, setSlotsBehind, expected } = setUpLag();
  setSlotsBehind(FAR_BEHIND_SLOTS);
  await lone.chain.append(blocksOf(maker, 1));
  t.is(lone.store.indexLag, 2 * (LENGTH - 1));
  t.deepEqual(completed, []);
  await lone.chain.completeIndexes();
  t.is(lone.store.indexLag, 0);
  t.deepEqual(completed, [LENGTH]);
  t.deepEqual(dump(lone.store), await expected());
});

test('indexes do not lag for newer blocks, nor while a process needs them; newer blocks end a lag', async (t) => {
  const { maker, lone, completed, setSlotsBehind } = setUpLag();
  setSlotsBehind(FAR_BEHIND_SLOTS - 1);
  const blocks = blocksOf(maker, 1);
  await lone.chain.append(blocks.slice(0, 20));
  t.true(lone.store.indexLag > 0, 'these blocks are older than the tip of the network');
  await lone.chain.append(blocks.slice(20));
  t.is(lone.store.indexLag, 0);
  t.deepEqual(completed, [21]);

  const other = setUpLag({ canWait: false });
  other.setSlotsBehind(FAR_BEHIND_SLOTS);
  await other.lone.chain.append(blocksOf(other.maker, 1));
  t.is(other.lone.store.indexLag, 0);
});

test('commits are larger while the indexes lag', async (t) => {
  const sizesOf = async (canWait: boolean): Promise<readonly number[]> => {
    const { maker, lone, setSlotsBehind } = setUpLag({ canWait, length: 151 });
    setSlotsBehind(FAR_BEHIND_SLOTS);
    const sizes: number[] = [];
    lone.chain.listen({ applied: (blocks) => void sizes.push(blocks.length) });
    await lone.chain.append(blocksOf(maker, 1));
    await lone.chain.completeIndexes();
    return sizes;
  };
  t.deepEqual(await sizesOf(true), [136, 14]);
  t.deepEqual(await sizesOf(false), [34, 34, 34, 34, 14]);
});

test('a switch to another branch while the indexes lag leaves the indexes of a chain that switched without a lag', async (t) => {
  const { maker, lone, setSlotsBehind } = setUpLag();
  setSlotsBehind(FAR_BEHIND_SLOTS);
  const prompt = LoneChain.over(maker, new Disk());
  const ours = new ChainMaker(maker.network);
  const common = LENGTH - 10;
  const blocks = blocksOf(maker, 1);
  for (const block of blocks.slice(0, common - 1)) ours.apply(block);
  const [from, to] = maker.network.accounts;
  if (from === undefined || to === undefined) throw new Error('the network has accounts');
  grown(ours, 3, { missedSlots: 2, transactions: [ours.transfer(from, to, 5_000n)] });
  for (const each of [lone, prompt]) {
    await each.chain.append(blocksOf(ours, 1));
    t.is(each.store.indexLag > 0, each === lone);
    await each.chain.switchTo(common, blocks.slice(common - 1));
    await each.chain.completeIndexes();
    t.is(each.store.tip()?.id, maker.tip.id);
    t.is(each.store.indexLag, 0);
  }
  t.deepEqual(dump(lone.store), dump(prompt.store));
});

test('a refused block in a download leaves a lag that can be completed', async (t) => {
  const { maker, lone, setSlotsBehind } = setUpLag();
  setSlotsBehind(FAR_BEHIND_SLOTS);
  const blocks = blocksOf(maker, 1);
  const bad = blocks.map((block) => (block.height === 30 ? { ...block, reward: block.reward + 1n } : block));
  await t.throwsAsync(lone.chain.append(bad));
  t.is(lone.store.tip()?.height, 29);
  await lone.chain.completeIndexes();
  t.is(lone.store.indexLag, 0);
  await lone.chain.append(blocks);
  await lone.chain.completeIndexes();
  t.is(lone.store.tip()?.height, LENGTH);
});

test('after a failed write during a backfill, the next download first completes the indexes', async (t) => {
  const { maker, lone, setSlotsBehind, expected } = setUpLag();
  setSlotsBehind(FAR_BEHIND_SLOTS);
  const blocks = blocksOf(maker, 1);
  const disk = { isAlive: true };
  lone.reopen(disk);
  await lone.chain.append(blocks.slice(0, 50));
  disk.isAlive = false;
  await t.throwsAsync(lone.chain.completeIndexes(), { instanceOf: ProtocolError, code: 'STORE_BACKFILL_FAILED' });
  disk.isAlive = true;
  t.true(lone.store.indexLag > 0);
  setSlotsBehind(0);
  await lone.chain.append(blocks);
  t.is(lone.store.indexLag, 0);
  t.deepEqual(dump(lone.store), await expected());
});
