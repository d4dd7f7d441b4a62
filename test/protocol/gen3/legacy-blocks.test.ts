import test from 'ava';
import { lastHeightIn } from '../../../src/protocol/gen3/bft.ts';
import { loadBftState } from '../../../src/protocol/gen3/bft-state.ts';
import { NO_EXCEPTIONS } from '../../../src/protocol/params.ts';
import { StateOverlay } from '../../../src/protocol/state.ts';
import type { Block } from '../../../src/protocol/types.ts';
import { BlockRejected } from '../../../src/protocol/verdict.ts';
import { ChainMaker, makeNetwork, signBlock, verify } from '../../support/chain-maker.ts';

const blockVersions = new Map([[1, { start: 2, end: 5 }]]);
const network = makeNetwork({
  exceptions: { ...NO_EXCEPTIONS, blockVersions },
  rewards: { milestones: [400n], offset: 1, distance: 1000 },
});
const plain = new ChainMaker({ ...network, params: { ...network.params, exceptions: NO_EXCEPTIONS } });

/** Makes the next block of the chain, with version 1 (the format of generation 2). */
function oldBlock(maker: ChainMaker): Block {
  const { slot, keyPair } = maker.nextSlot();
  const template = plain.build();
  const heights = { height: maker.tip.height + 1, maxHeightPreviouslyForged: 0, maxHeightPrevoted: 0 };
  const timestamp = slot * network.params.blockTimeS;
  return signBlock(
    template,
    { ...heights, version: 1, timestamp, previousBlockId: maker.tip.id, reward: 400n },
    keyPair,
  );
}

test('blocks of an older version apply in their range and do not vote; finality begins after them', (t) => {
  const maker = new ChainMaker(network);
  while (maker.tip.height < 5) maker.apply(oldBlock(maker));
  t.is(maker.state.header(3)?.version, 1);
  const before = loadBftState(maker.state);
  t.is(before && lastHeightIn(before), 1);

  const first = maker.forge();
  t.is(first.version, 2);
  t.is(first.height, 6);
  const bftState = loadBftState(maker.state);
  t.is(bftState?.firstHeight, 6);
  t.is(bftState?.finalized, 1);
  t.is(maker.growTo(20).height, 20);
});

test('within the range of an older version blocks of this generation are neither forged nor accepted', (t) => {
  const maker = new ChainMaker(network);
  const own = plain.build();
  t.throws(
    () => {
      maker.rules.validateBlock(own, verify);
    },
    { instanceOf: BlockRejected, message: 'Invalid version' },
  );
  t.throws(() => maker.build(), { code: 'FORGE_REFUSED' });
});

test('above its range an older version is refused', (t) => {
  const maker = new ChainMaker(network);
  while (maker.tip.height < 5) maker.apply(oldBlock(maker));
  const late = oldBlock(maker);
  t.throws(
    () => {
      maker.rules.validateBlock(late, verify);
    },
    { instanceOf: BlockRejected, message: 'Invalid version' },
  );
});

test('applying a block changes only the given state', (t) => {
  const maker = new ChainMaker(makeNetwork());
  const block = maker.build();
  const overlay = new StateOverlay(maker.state);
  maker.rules.applyBlock(overlay, block, { nowS: block.timestamp, verify });
  t.is(maker.state.tip().height, 1);
  t.deepEqual(maker.build(), block);
});
