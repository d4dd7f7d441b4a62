/** Tests nodes that receive a branch which fork choice prefers, but whose last block is invalid. */

import test from 'ava';

import type { Block, KeyPair } from '../../../src/protocol/types.ts';
import { publicKeyOf, signBlock } from '../../support/chain-maker.ts';
import type { SimNode } from '../node.ts';
import { ScriptedWorld } from '../scripted-world.ts';
import { silentHandlers } from '../silent-handlers.ts';

const dealt = (node: number, delegates: readonly KeyPair[]): readonly KeyPair[] =>
  node === 0 ? delegates.slice(0, 51) : delegates.slice(51);

/** Returns a copy of `block`. The copy has a wrong reward and a valid signature of the slot owner. */
function corrupted(scripted: ScriptedWorld, block: Block): Block {
  const owner = scripted.world.network.delegates.find((each) => publicKeyOf(each) === block.generatorPublicKey);
  return signBlock(block, { reward: block.reward + 1n }, owner!);
}

/**
 * Connects a simulated peer to the node `victim`. The peer sends the blocks of the node `model` below `height`, and an
 * invalid block at `height`.
 */
async function liar(scripted: ScriptedWorld, model: SimNode, height: number, victim: SimNode): Promise<void> {
  const { world } = scripted;
  const { codec } = world.rules;
  const last = corrupted(scripted, model.store.block(height)!);
  const blockAt = (at: number): Block => (at === height ? last : model.store.block(at)!);
  const handlers = silentHandlers({
    answer: (_peerId, request) => {
      if (request.kind === 'tip') return Promise.resolve(codec.blockToJson(last));
      if (request.kind === 'highestCommonBlock') {
        const common = request.blockIds.map((id) => model.store.heightOf(id) ?? 0).sort((a, b) => b - a)[0] ?? 0;
        return Promise.resolve({ id: model.store.header(common)!.id, height: common });
      }
      if (request.kind !== 'blocksAfter') return Promise.reject(new Error('not answered'));
      const from = model.store.heightOf(request.blockId) ?? height;
      const blocks = Array.from({ length: Math.max(0, Math.min(34, height - from)) }, (_, index) =>
        codec.blockToJson(blockAt(from + 1 + index)),
      );
      return Promise.resolve(blocks);
    },
  });
  const transport = world.wire.transport({ ip: '172.30.0.1', wsPort: 6000 });
  transport.announce({
    os: 'sim',
    version: '3.0.2',
    wsPort: 6000,
    httpPort: 0,
    protocolVersion: '2.0',
    nonce: 'liar000000000000',
    height,
    blockVersion: 2,
    maxHeightPrevoted: last.maxHeightPrevoted,
    lastBlockId: last.id,
  });
  await transport.start(handlers);
  const [ip = '', wsPort = ''] = victim.peerId.split(':');
  transport.connect({ ip, wsPort: Number(wsPort) }).catch(() => undefined);
}

test('a branch better only by an invalid last block changes nothing, and its peer gets a penalty', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 2, forgersOf: dealt });
  await scripted.slots(20);
  const { world } = scripted;
  world.partition([[0], [1]]);
  await scripted.slots(120);
  const [ours, model] = [scripted.node(1), scripted.node(0)];
  for (const keyPair of ours.keys) ours.engine.forging.disable(publicKeyOf(keyPair));
  const { height, id } = ours.tip;
  while (model.tip.height <= height) await scripted.slots(1);
  t.is(model.tip.maxHeightPrevoted, ours.tip.maxHeightPrevoted);
  const digest = ours.store.stateDigest();

  // The peer with the invalid block can connect only to `ours`, and `ours` has no connection to `model`.
  world.wire.partition([[ours.peerId, '172.30.0.1:6000'], [model.peerId]]);
  await liar(scripted, model, height + 1, ours);
  await scripted.slots(12);
  t.true(scripted.countOf('BLOCK_REWARD_INVALID') > 0);
  t.is(ours.tip.id, id);
  t.is(ours.store.stateDigest(), digest);
  t.is(scripted.countOf('CHAIN_REORG'), 0);
  t.true(scripted.countOf('PEER_BANNED') + scripted.countOf('PEER_PENALISED') > 0, [...world.counts.keys()].join());

  // After `ours` can connect to the honest node `model` again, it switches to the valid branch of `model`.
  world.wire.heal();
  await scripted.meet();
  t.is(scripted.countOf('CHAIN_REORG'), 1);
  t.not(ours.store.header(height)?.id, id);
});
