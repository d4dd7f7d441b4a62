/**
 * Tests the limit on the memory for a rival branch that has not yet proved to be better, and the log messages about a
 * download.
 */

import test from 'ava';

import { syncFromPeer } from '../../../src/engine/sync/sync-from-peer.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { SILENT } from '../../../src/ports/observer.ts';
import type { AnswerTo, PeerRequest } from '../../../src/ports/transport.ts';
import { ChainMaker, type TestNetwork } from '../../support/chain-maker.ts';
import { VirtualTime } from '../../sim/virtual-clock.ts';
import { forkOf, grown, LoneChain } from '../chain/lone-chain.ts';

const BATCH = 10;

/**
 * Makes a chain of height 60 and a rival branch. The rival branch starts after height 10 and ends at height 90. Some
 * blocks of the rival branch contain transfers.
 */
async function setUpBranches() {
  const maker = new ChainMaker();
  grown(maker, 9);
  const rival = forkOf(maker);
  grown(maker, 50);
  rival.forge({ missedSlots: 1 });
  for (let count = 79; count > 0; count -= 1) rival.forge({ transactions: transfersOf(rival, count % 3) });
  const lone = await LoneChain.with(maker);
  lone.nowS = Math.max(maker.tip.timestamp, rival.tip.timestamp);
  return { lone, maker, rival };
}

function transfersOf(maker: ChainMaker, count: number) {
  const [rich, poor] = (maker.network as TestNetwork).accounts;
  return Array.from({ length: count }, (_, index) =>
    maker.transfer(rich!, poor!, BigInt(maker.tip.height * 10 + index + 1)),
  );
}

/**
 * Follows the rival branch with a memory budget of `branchBytesMax` bytes. @returns `synced` or the error code, the
 * heights after which blocks were requested, and the log messages
 */
async function synced(
  { lone, rival }: Awaited<ReturnType<typeof setUpBranches>>,
  branchBytesMax?: number,
  isStopped = () => false,
) {
  const { codec } = rival.rules;
  const heightOf = new Map<string, number>();
  for (let height = 1; height <= rival.tip.height; height += 1) heightOf.set(rival.state.header(height)!.id, height);
  const askedAfter: number[] = [];
  const logged: string[] = [];
  const answer = (request: PeerRequest): unknown => {
    if (request.kind === 'highestCommonBlock') {
      const heights = request.blockIds.map((id) => heightOf.get(id) ?? 0);
      return rival.state.header(Math.max(...heights));
    }
    if (request.kind !== 'blocksAfter') return codec.blockToJson(rival.tip);
    const height = heightOf.get(request.blockId)!;
    askedAfter.push(height);
    const heights = Array.from({ length: BATCH }, (_, index) => height + 1 + index);
    return heights.flatMap((at) => rival.state.block(at) ?? []).map((block) => codec.blockToJson(block));
  };
  const code = await syncFromPeer('peer', true, {
    chain: lone.chain,
    transport: {
      request: <R extends PeerRequest>(_peerId: string, request: R) => Promise.resolve(answer(request) as AnswerTo<R>),
    },
    clock: new VirtualTime(0).clock(),
    observer: { ...SILENT, log: (_level, _code, text) => void logged.push(text) },
    sameTipPeers: () => [],
    isSyncPeerConnected: () => true,
    peerFailed: () => undefined,
    isTipAsked: true,
    isStopped,
    othersWait: () => false,
    ...(branchBytesMax === undefined ? {} : { branchBytesMax }),
  }).then(
    () => 'synced',
    (error: unknown) => (error instanceof ProtocolError ? error.code : String(error)),
  );
  return { code, askedAfter, logged };
}

test('a rival branch with more bytes than a node keeps is given up, and the tip stays', async (t) => {
  const all = await setUpBranches();
  const { id } = all.maker.tip;
  const { code, askedAfter } = await synced(all, 5_000);
  t.is(code, 'SYNC_BRANCH_TOO_LARGE');
  t.is(all.lone.chain.tip.header.id, id);
  // After the node has given up the branch, it requests no more blocks.
  t.true(Math.max(...askedAfter) < 60, askedAfter.join());
});

test('the same branch is synced when it fits', async (t) => {
  const all = await setUpBranches();
  t.is((await synced(all)).code, 'synced');
  t.is(all.lone.chain.tip.header.id, all.rival.tip.id);
});

test('the log does not claim a complete download if the node stopped it', async (t) => {
  const all = await setUpBranches();
  grown(all.maker, 3 * BATCH);
  all.lone.nowS = Math.max(all.lone.nowS, all.maker.tip.timestamp);
  const ahead = { ...all, rival: all.maker };
  t.deepEqual((await synced(ahead, undefined, () => true)).logged, ['downloading blocks', 'stopped the download']);
  t.true(all.lone.chain.tip.header.height < all.maker.tip.height);
  t.deepEqual((await synced(ahead)).logged, ['downloading blocks', 'the download has ended']);
  t.is(all.lone.chain.tip.header.id, all.maker.tip.id);
});
