/**
 * Tests the limit on the memory for a rival branch that has not yet proved to be better, the limit on the time for
 * blocks that the node already has, and the log messages about a download.
 */

import test from 'ava';

import { syncFromPeer } from '../../../src/engine/sync/sync-from-peer.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { SILENT } from '../../../src/ports/observer.ts';
import type { AnswerTo, PeerRequest } from '../../../src/ports/transport.ts';
import { ChainMaker, makeNetwork, type TestNetwork } from '../../support/chain-maker.ts';
import { VirtualTime } from '../../sim/virtual-clock.ts';
import { blocksOf, forkOf, grown, LoneChain } from '../chain/lone-chain.ts';

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

/**
 * Makes a chain with `ours` blocks above height 5, and a rival branch that starts after height 5 and is 5 blocks
 * longer.
 */
async function setUpFork(ours: number, generation: 2 | 3) {
  const maker = new ChainMaker(makeNetwork({ generation }));
  grown(maker, 4);
  const rival = forkOf(maker);
  grown(maker, ours);
  grown(rival, ours + 5, { missedSlots: 1 });
  const lone = await LoneChain.with(maker);
  lone.nowS = Math.max(maker.tip.timestamp, rival.tip.timestamp);
  return { lone, maker, rival };
}

interface Answers {
  /** The chain of the peer. */
  readonly maker: ChainMaker;
  /** Number of blocks in each answer, and the time in milliseconds that each answer takes. */
  readonly count: number;
  readonly tookMs: number;
  /** Chooses the common block that the peer names, among the asked ids in ascending order of their heights. */
  readonly named?: (ids: readonly string[]) => string;
  /** Called before each answer with blocks. */
  readonly before?: () => void;
  /**
   * Returns whether the node gives up the sync peer in favour of another peer (`SyncFromPeerDependencies.othersWait`).
   * `waitedMs` is the time in milliseconds that the node has waited for blocks of the sync peer.
   */
  readonly othersWait?: (waitedMs: number) => boolean;
}

/**
 * Syncs from a peer whose answers take time. @returns `synced` or the error code, the time in milliseconds that the
 * sync took, and the height of the common block that the peer named
 */
async function timed(lone: LoneChain, { maker, count, tookMs, named, before, othersWait }: Answers) {
  const time = new VirtualTime(0);
  const all = [maker.network.genesis, ...blocksOf(maker, 1)];
  let namedHeight = 0;
  const answer = async (request: PeerRequest): Promise<unknown> => {
    if (request.kind === 'highestCommonBlock') {
      const id = named?.(request.blockIds);
      const common = all.findLast((block) =>
        id === undefined ? request.blockIds.includes(block.id) : block.id === id,
      )!;
      namedHeight = common.height;
      return { id: common.id, height: common.height };
    }
    if (request.kind !== 'blocksAfter') throw new Error(`unexpected request ${request.kind}`);
    await new Promise<void>((resolve) => void time.schedule(tookMs, resolve));
    before?.();
    const at = all.findIndex(({ id }) => id === request.blockId) + 1;
    return all.slice(at, at + count).map((block) => maker.rules.codec.blockToJson(block));
  };
  const end: { ms?: number } = {};
  const sync = syncFromPeer('peer', true, {
    chain: lone.chain,
    transport: { request: <R extends PeerRequest>(_: string, request: R) => answer(request) as Promise<AnswerTo<R>> },
    clock: time.clock(),
    observer: SILENT,
    sameTipPeers: () => [],
    isSyncPeerConnected: () => true,
    peerFailed: () => undefined,
    isTipAsked: true,
    isStopped: () => false,
    othersWait: othersWait ?? (() => false),
  })
    .then(
      () => 'synced',
      (error: unknown) => (error instanceof ProtocolError ? error.code : String(error)),
    )
    .finally(() => (end.ms = time.nowMs));
  while (end.ms === undefined) {
    await time.runUntil(time.nowMs + 100);
    // The chain uses real timers, so the virtual time waits until the node has handled the answer.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return { code: await sync, endMs: end.ms, namedHeight };
}

for (const generation of [3, 2] as const) {
  test(`generation ${generation}: a peer that repeats our blocks one by one uses up its time`, async (t) => {
    const { lone, maker } = await setUpFork(60, generation);
    const { code, endMs } = await timed(lone, { maker, count: 1, tookMs: 2_500, named: (ids) => ids[0]! });
    t.is(code, 'SYNC_TOO_SLOW');
    t.true(endMs < 20_000, `${endMs} ms`);
  });

  test(`generation ${generation}: blocks that no honest peer repeats earn no time`, async (t) => {
    const { lone, maker } = await setUpFork(90, generation);
    // The request names all heights from 62. The peer names the block of height 62. An honest peer that names this
    // block has none of our blocks above height 62.
    const named = (ids: readonly string[]) => ids.at(-34)!;
    const { code, endMs, namedHeight } = await timed(lone, { maker, count: 10, tookMs: 5_000, named });
    t.is(namedHeight, 62);
    t.is(code, 'SYNC_TOO_SLOW');
    t.true(endMs < 20_000, `${endMs} ms`);
  });

  test(`generation ${generation}: a peer that repeats our blocks yields to a waiting peer`, async (t) => {
    const { lone, maker } = await setUpFork(140, generation);
    // The node sends ids of its blocks, and the peer names the lowest of these blocks as the highest common block. An
    // honest peer with this highest common block sends up to 42 blocks (48 in generation 2) that the node already has.
    // The node therefore adds time to the budget of the peer (`PeerTimeBudget`) for each of these blocks, and the
    // budget lasts longer than the first four answers (40 blocks).
    const named = (ids: readonly string[]) => ids[0]!;
    const othersWait = (waitedMs: number) => waitedMs > 10_000;
    const { code, endMs } = await timed(lone, { maker, count: 10, tookMs: 3_200, named, othersWait });
    t.is(code, 'SYNC_TOO_SLOW');
    t.true(endMs > 10_000 && endMs < 20_000, `${endMs} ms`);
  });

  test(`generation ${generation}: an honest peer on a slow line may repeat blocks between two named blocks`, async (t) => {
    // The rival branch starts after height 171, 96 blocks below our tip. The next lower height that the request names
    // is 108 (159 blocks below our tip), or the finalized height 129 in generation 3.
    const maker = new ChainMaker(makeNetwork({ generation }));
    grown(maker, 170);
    const rival = forkOf(maker);
    grown(maker, 96);
    grown(rival, 101, { missedSlots: 1 });
    const lone = await LoneChain.with(maker);
    lone.nowS = Math.max(maker.tip.timestamp, rival.tip.timestamp);
    const { code, namedHeight } = await timed(lone, { maker: rival, count: 20, tookMs: 6_000 });
    t.is(namedHeight, generation === 3 ? 129 : 108);
    t.is(code, 'synced');
    t.is(lone.chain.tip.header.id, rival.tip.id);
  });

  test(`generation ${generation}: blocks that reach the node another way meanwhile earn no time`, async (t) => {
    const { code, endMs } = await timedBehindOthers(generation, () => false);
    t.is(code, 'SYNC_TOO_SLOW');
    t.true(endMs < 20_000, `${endMs} ms`);
  });

  test(`generation ${generation}: a peer that sends only such blocks yields to a waiting peer`, async (t) => {
    const { code, endMs } = await timedBehindOthers(generation, (waitedMs) => waitedMs > 6_000);
    t.is(code, 'SYNC_TOO_SLOW');
    t.true(endMs < 14_000, `${endMs} ms`);
  });

  test(`generation ${generation}: a peer whose blocks the node appends yields to no other peer`, async (t) => {
    const { lone, maker } = await setUpFork(60, generation);
    grown(maker, 60);
    lone.nowS = maker.tip.timestamp;
    const { code } = await timed(lone, { maker, count: 20, tookMs: 5_000, othersWait: () => true });
    t.is(code, 'synced');
    t.is(lone.chain.tip.header.id, maker.tip.id);
  });
}

/** Syncs from a peer whose blocks extend our chain. Another peer sends each of these blocks to the node first. */
async function timedBehindOthers(generation: 2 | 3, othersWait: (waitedMs: number) => boolean) {
  const { lone, maker } = await setUpFork(60, generation);
  const arriving = grown(maker, 100);
  lone.nowS = maker.tip.timestamp;
  let next = 0;
  const before = () => {
    void lone.chain.append(arriving.slice(next, (next += 10)));
  };
  return timed(lone, { maker, count: 10, tookMs: 5_000, before, othersWait });
}
