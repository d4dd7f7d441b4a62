/** Tests the result for a received block in each case of the fork choice rule. */

import test from 'ava';

import { ChainMaker, keyPairOf, publicKeyOf, signBlock } from '../../support/chain-maker.ts';
import type { Block, KeyPair } from '../../../src/protocol/types.ts';
import { forkOf, grown, LoneChain } from './lone-chain.ts';

function ownerOf(maker: ChainMaker, block: Block): KeyPair {
  return maker.network.delegates.find((keyPair) => publicKeyOf(keyPair) === block.generatorPublicKey)!;
}

test('the next block is applied', async (t) => {
  const maker = new ChainMaker();
  const lone = await LoneChain.with(maker);
  const block = maker.forge();
  t.deepEqual(await lone.receive(block), { kind: 'applied' });
  t.is(lone.chain.tip.header.id, block.id);
  t.deepEqual(lone.events, ['received 2']);
});

test('the tip itself and lower blocks are ignored', async (t) => {
  const maker = new ChainMaker();
  const [first, tip] = grown(maker, 2);
  const lone = await LoneChain.with(maker);
  t.deepEqual(await lone.receive(tip!), { kind: 'ignored', status: 'same' });
  t.deepEqual(await lone.receive(first!), { kind: 'ignored', status: 'discard' });
});

test('a second block of the same delegate at the same height is ignored', async (t) => {
  const maker = new ChainMaker();
  const tip = maker.forge();
  const lone = await LoneChain.with(maker);
  const twin = signBlock(tip, { timestamp: tip.timestamp + 1 }, ownerOf(maker, tip));
  t.deepEqual(await lone.receive(twin), { kind: 'ignored', status: 'doubleForging' });
  t.is(lone.chain.tip.header.id, tip.id);
});

test('a tip that arrived late is replaced by a rival of a later slot that arrived in time', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 3);
  const lone = await LoneChain.with(maker);
  const rival = forkOf(maker).forge({ missedSlots: 1 });
  const late = maker.forge();
  await lone.receive(late, 1);
  t.deepEqual(await lone.receive(rival), { kind: 'applied' });
  t.is(lone.chain.tip.header.id, rival.id);
  t.deepEqual(lone.events.slice(-2), ['reverted 5', 'received 5']);
});

test('a tip that arrived in its slot stays, and so does one whose rival arrived late', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 3);
  const punctual = await LoneChain.with(maker);
  const late = await LoneChain.with(maker);
  const rival = forkOf(maker).forge({ missedSlots: 1 });
  const tip = maker.forge();
  await punctual.receive(tip);
  t.deepEqual(await punctual.receive(rival), { kind: 'ignored', status: 'discard' });
  await late.receive(tip, 1);
  t.deepEqual(await late.receive(rival, 1), { kind: 'ignored', status: 'discard' });
});

test('a downloaded tip counts as in time even when the block after it was refused', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 3);
  const lone = await LoneChain.with(maker);
  await lone.receive(maker.forge());
  const rival = forkOf(maker).forge({ missedSlots: 1 });
  const tip = maker.forge();
  const next = maker.forge();
  lone.nowS = next.timestamp;
  const bad = signBlock(next, { reward: 1n }, ownerOf(maker, next));
  await t.throwsAsync(lone.chain.append([tip, bad]));
  t.is(lone.chain.tip.header.id, tip.id);
  t.deepEqual(await lone.receive(rival), { kind: 'ignored', status: 'discard' });
});

test('an invalid rival does not replace the late tip', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 3);
  const lone = await LoneChain.with(maker);
  const fork = forkOf(maker);
  const rival = fork.forge({ missedSlots: 1 });
  const tip = maker.forge();
  await lone.receive(tip, 1);
  const digest = lone.store.stateDigest();
  const outcome = await lone.receive(signBlock(rival, { reward: 1n }, ownerOf(fork, rival)));
  t.is(outcome.kind, 'refused');
  t.is(lone.chain.tip.header.id, tip.id);
  t.is(lone.store.stateDigest(), digest);
});

test('the tip of a longer chain calls for synchronisation when the block itself is valid', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 3);
  const lone = await LoneChain.with(maker);
  const [, second] = grown(maker, 2);
  t.deepEqual(await lone.receive(second!), { kind: 'betterChain' });
  t.is(lone.chain.tip.header.height, 4);
});

test('an invalid block that claims a longer chain calls for no synchronisation', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 3);
  const lone = await LoneChain.with(maker);
  const [, second] = grown(maker, 2);
  const wrongly = await lone.receive({ ...second!, blockSignature: '00'.repeat(64) });
  t.is(wrongly.kind === 'refused' && wrongly.rejection.code, 'BLOCK_SIGNATURE_INVALID');
  const stranger = await lone.receive(signBlock(second!, {}, keyPairOf('nobody')));
  t.deepEqual(stranger, { kind: 'ignored', status: 'betterChain' });
  lone.nowS = second!.timestamp - 2;
  const future = await lone.importer.import(second!);
  t.is(future.kind === 'refused' && future.rejection.code, 'BLOCK_TIMESTAMP_INVALID');
});

test('an invalid next block changes nothing, and the refusal names the reason', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 3);
  const lone = await LoneChain.with(maker);
  const block = maker.forge();
  const digest = lone.store.stateDigest();
  const outcome = await lone.receive(signBlock(block, { reward: 7n }, ownerOf(maker, block)));
  t.is(outcome.kind === 'refused' && outcome.rejection.code, 'BLOCK_REWARD_INVALID');
  t.is(lone.store.stateDigest(), digest);
  t.deepEqual(await lone.receive(block), { kind: 'applied' });
});
