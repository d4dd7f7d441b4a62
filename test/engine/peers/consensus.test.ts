import test from 'ava';
import { consensusPercent } from '../../../src/engine/peers/consensus.ts';
import type { PeerInfo } from '../../../src/ports/transport.ts';

const NETHASH = '11'.repeat(32);
const OURS = { id: '12', height: 7, broadhash: '22'.repeat(32) };
const agreeing = peer({ height: 7, broadhash: OURS.broadhash });
const elsewhere = peer({ height: 7, broadhash: '33'.repeat(32) });
const silent = peer({ height: 1, broadhash: NETHASH });

function peer(info: Partial<PeerInfo>): PeerInfo {
  return { ip: '10.0.0.1', wsPort: 5000, version: '2.3.8', ...info };
}

test('consensus is the share of peers at our tip, by id or broadhash, in two significant digits', (t) => {
  t.is(consensusPercent([agreeing, elsewhere], OURS, NETHASH), 50);
  t.is(consensusPercent([peer({ height: 7, lastBlockId: '12' }), elsewhere, elsewhere], OURS, NETHASH), 33);
  t.is(consensusPercent([agreeing], OURS, NETHASH), 100);
  t.is(consensusPercent([peer({})], OURS, NETHASH), 0);
});

test('without peers the consensus is 0', (t) => {
  t.is(consensusPercent([], OURS, NETHASH), 0);
});

test('a peer that still reports the genesis block has not announced its tip, and does not count', (t) => {
  t.is(consensusPercent([agreeing, silent, silent], OURS, NETHASH), 100);
  t.is(consensusPercent([agreeing, elsewhere, silent], OURS, NETHASH), 50);
  t.is(consensusPercent([silent, silent], OURS, NETHASH), 0);
});

test('when our tip is the genesis block, peers at the genesis block agree', (t) => {
  const atGenesis = { id: '1', height: 1, broadhash: NETHASH };
  t.is(consensusPercent([silent, silent, agreeing, agreeing], atGenesis, NETHASH), 50);
});

test("a peer with the genesis block's broadhash at another height, or another broadhash at its height, counts", (t) => {
  t.is(consensusPercent([agreeing, peer({ height: 2, broadhash: NETHASH })], OURS, NETHASH), 50);
  t.is(consensusPercent([agreeing, peer({ height: 1, broadhash: '44'.repeat(32) })], OURS, NETHASH), 50);
});
