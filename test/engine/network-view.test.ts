import test from 'ava';

import { NetworkView } from '../../src/engine/network-view.ts';
import type { PeerEntry } from '../../src/ports/node-api.ts';
import type { Connection } from '../../src/ports/transport.ts';
import { ChainMaker } from '../support/chain-maker.ts';
import { grown, LoneChain } from './chain/lone-chain.ts';
import { address, connection } from './peers/support.ts';

const FOREIGN = '77'.repeat(32);

/**
 * Makes a chain of ten blocks, and peers with the tip of this chain or with another tip. The returned function takes
 * the ids of the named peers (the peers that the operator lists in the configuration), and makes the network view.
 */
async function viewWith(
  peers: readonly (readonly [tip: 'ours' | 'foreign', direction: Connection['direction']])[],
): Promise<(named?: readonly string[]) => NetworkView> {
  const maker = new ChainMaker();
  grown(maker, 9);
  const { store } = await LoneChain.with(maker);
  const { params } = maker.network;
  const over = (connections: readonly Connection[], named: readonly string[]) =>
    new NetworkView({
      store,
      params,
      transport: { connections: () => connections },
      isNamed: (peerId) => named.includes(peerId),
      fixedPeers: () => named,
      arePeersExpected: () => named.length > 0,
      areDialsExpected: () => named.length > 0,
    });
  const broadhash = over([], []).broadhash();
  const connections = peers.map(([tip, direction], index) => {
    const peerId = `10.0.0.1:${5000 + index}`;
    const place = tip === 'ours' ? { height: 10, broadhash } : { height: 4, broadhash: FOREIGN };
    return connection(peerId, { direction, info: { ...address(peerId), ...place } });
  });
  return (named = []) => over(connections, named);
}

const strangers = Array.from({ length: 90 }, () => ['foreign', 'inbound'] as const);

test('many inbound peers cannot outvote the peers that we dialled', async (t) => {
  const view = (await viewWith([['ours', 'outbound'], ['ours', 'outbound'], ['foreign', 'outbound'], ...strangers]))();
  t.true(view.consensusPercent() < 5);
  t.is(view.lowConsensusReason(51), undefined);
});

test('many inbound peers cannot outvote a peer that the operator named, even an inbound one', async (t) => {
  const peers = await viewWith([['ours', 'inbound'], ...strangers]);
  t.regex(peers().lowConsensusReason(51) ?? '', /^1\.1 % of the peers share this node's tip/);
  t.is(peers(['10.0.0.1:5000']).lowConsensusReason(51), undefined);
});

test('the height of the network comes from the dialled and named peers, if there are any', async (t) => {
  const peers = await viewWith([['ours', 'inbound'], ...strangers]);
  t.is(peers().networkHeight(), 4);
  t.is(peers(['10.0.0.1:5000']).networkHeight(), 10);
  t.is((await viewWith([['ours', 'outbound'], ...strangers]))().networkHeight(), 10);
  t.is((await viewWith([]))().networkHeight(), 0);
});

test('when the dialled peers disagree with us, the share of all peers may still suffice', async (t) => {
  const view = (
    await viewWith([
      ['foreign', 'outbound'],
      ['ours', 'inbound'],
      ['ours', 'inbound'],
    ])
  )();
  t.is(view.lowConsensusReason(51), undefined);
});

test('a node without peers does not forge, and neither does one that all kinds of its peers have left', async (t) => {
  const left = (await viewWith([['ours', 'outbound'], ['foreign', 'outbound'], ...strangers]))();
  t.is(left.lowConsensusReason(51), "50 % of the peers share this node's tip, and forging requires 51 %");
  t.is(left.lowConsensusReason(0), undefined);
  t.is(
    (await viewWith([]))().lowConsensusReason(51),
    "0 % of the peers share this node's tip, and forging requires 51 %",
  );
});

test('the broadhash of a tip id is read once, and only for connected peers', async (t) => {
  const maker = new ChainMaker();
  grown(maker, 9);
  const { store } = await LoneChain.with(maker);
  let reads = 0;
  const view = new NetworkView({
    store: {
      tip: () => store.tip(),
      heightOf: (id) => {
        reads += 1;
        return store.heightOf(id);
      },
      header: (height) => {
        reads += 1;
        return store.header(height);
      },
    },
    params: maker.network.params,
    transport: { connections: () => [] },
    isNamed: () => false,
    fixedPeers: () => [],
    arePeersExpected: () => true,
    areDialsExpected: () => true,
  });
  const idAt = (height: number): string => store.header(height)!.id;
  const peer = (info: object, state: PeerEntry['state']): PeerEntry => ({
    info: { ...address('10.0.0.1:5000'), ...info },
    state,
  });
  const strangers = Array.from({ length: 100 }, (_, at) => peer({ lastBlockId: idAt(1 + (at % 9)) }, 'disconnected'));
  t.deepEqual(view.withBroadhashes(strangers), strangers);
  t.is(reads, 0);

  const connected = Array.from({ length: 50 }, () => peer({ lastBlockId: idAt(8) }, 'connected'));
  const other = [
    peer({ lastBlockId: '5' }, 'connected'),
    peer({ broadhash: FOREIGN, lastBlockId: idAt(8) }, 'connected'),
    peer({ broadhash: FOREIGN }, 'disconnected'),
    peer({}, 'connected'),
  ];
  const found = view.withBroadhashes([...connected, ...other]);
  t.is(reads, 1 + 5 + 1);
  const broadhash = view.broadhash(8);
  t.deepEqual(found, [...connected.map(({ info, state }) => ({ info: { ...info, broadhash }, state })), ...other]);
});
