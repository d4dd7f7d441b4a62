/**
 * Tests from which peers the node downloads blocks, how much time the node loses with slow, silent and lying peers, and
 * how far ahead the node requests blocks.
 */

import test from 'ava';
import type { Batch } from '../../../src/engine/sync/arrived-batches.ts';
import { downloadAfter } from '../../../src/engine/sync/download.ts';
import { codeOf, messageOf, ProtocolError } from '../../../src/primitives/errors.ts';
import type { AnswerTo, PeerRequest } from '../../../src/ports/transport.ts';
import type { Block, Json } from '../../../src/protocol/types.ts';
import { ChainMaker } from '../../support/chain-maker.ts';
import { VirtualTime } from '../../sim/virtual-clock.ts';
import { blocksOf, forkOf, grown } from '../chain/lone-chain.ts';

const BATCH = 10;
const HEIGHT = 201;

const maker = new ChainMaker();
maker.growTo(HEIGHT);
const chain: readonly Block[] = [maker.network.genesis, ...blocksOf(maker, 1)];
const { codec } = maker.rules;

interface Peer {
  /** Milliseconds until the answer; Infinity for no answer. */
  readonly latencyMs: number;
  /** Blocks that the peer has; the whole chain by default. */
  readonly blocks?: readonly Block[];
  readonly answer?: (blockId: string) => readonly unknown[];
}

/** A download of a chain from the given peers. The first one is the sync peer, and the others are same-tip peers. */
class DownloadFixture {
  readonly time = new VirtualTime(0);
  readonly asked: { readonly peerId: string; readonly atMs: number }[] = [];
  readonly failed: string[] = [];
  readonly prepared: number[] = [];
  readonly batches: Batch[] = [];
  readonly peers: ReadonlyMap<string, Peer>;
  /** Milliseconds that the consumer needs for each batch. */
  workMs = 0;
  /** The callback `prepare` fails for each batch whose first block has this height or a greater height. */
  unpreparedFrom = Infinity;
  isSyncPeerConnected = true;
  joinsAnswers = true;
  end: 'whole' | 'stopped' | ProtocolError | undefined;
  endedMs = 0;

  constructor(peers: Readonly<Record<string, Peer>>) {
    this.peers = new Map(Object.entries(peers));
  }

  /** @param takeMax number of downloaded batches after which the test takes no further batch */
  async run(takeMax = Infinity): Promise<void> {
    const done = this.#take(takeMax).then(
      (end) => (this.end = end),
      (error: unknown) => (this.end = error as ProtocolError),
    );
    for (let step = 0; step < 10_000 && this.end === undefined; step += 1) {
      await settled();
      await this.time.runUntil(this.time.nowMs + 10);
    }
    await done;
    this.endedMs = this.time.nowMs;
  }

  /** Heights of the received blocks. */
  get heights(): readonly number[] {
    return this.batches.flatMap(({ blocks }) => blocks.map(({ height }) => height));
  }

  askedOf(peerId: string): number {
    return this.asked.filter((each) => each.peerId === peerId).length;
  }

  async #take(takeMax: number): Promise<'whole' | 'stopped'> {
    const [syncPeer = '', ...others] = this.peers.keys();
    const download = downloadAfter(maker.network.genesis, {
      syncPeer,
      sameTipPeers: () => others,
      isSyncPeerConnected: () => this.isSyncPeerConnected,
      joinsAnswers: () => this.joinsAnswers,
      clock: this.time.clock(),
      codec,
      transport: {
        request: async <R extends PeerRequest>(peerId: string, request: R) =>
          (await this.#request(peerId, request)) as AnswerTo<R>,
      },
      peerFailed: (peerId, error) => {
        this.failed.push(`${peerId} ${codeOf(error) ?? messageOf(error)}`);
      },
      prepare: (blocks) => {
        const height = blocks[0]?.height ?? 0;
        this.prepared.push(height);
        return height < this.unpreparedFrom ? Promise.resolve() : Promise.reject(new ProtocolError('NOT_PREPARED'));
      },
    });
    for await (const batch of download) {
      await batch.prepared;
      this.batches.push(batch);
      if (this.batches.length >= takeMax) return 'stopped';
      await this.#pause(this.workMs);
    }
    return 'whole';
  }

  async #request(peerId: string, request: PeerRequest): Promise<readonly unknown[]> {
    const peer = this.peers.get(peerId);
    if (peer === undefined || request.kind !== 'blocksAfter') throw new Error('nobody asks for that here');
    this.asked.push({ peerId, atMs: this.time.nowMs });
    await this.#pause(peer.latencyMs);
    if (peer.answer !== undefined) return peer.answer(request.blockId);
    const blocks = peer.blocks ?? chain;
    const at = blocks.findIndex(({ id }) => id === request.blockId);
    if (at < 0) throw new ProtocolError('REQUEST_FAILED', { reason: 'unknown block' });
    return blocks.slice(at + 1, at + 1 + BATCH).map((block) => codec.blockToJson(block));
  }

  #pause(ms: number): Promise<void> {
    if (ms === 0) return Promise.resolve();
    return new Promise((resolve) => {
      if (ms !== Infinity) this.time.schedule(ms, () => resolve());
    });
  }
}

/** Resolves when all code that waited for an already settled promise has run. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const ALL = chain.slice(1).map(({ height }) => height);

test('one peer gives its whole chain, in order', async (t) => {
  const fixture = new DownloadFixture({ syncPeer: { latencyMs: 50 } });
  await fixture.run();
  t.is(fixture.end, 'whole');
  t.deepEqual(fixture.heights, ALL);
  t.deepEqual(fixture.failed, []);
});

test('each peer at the same tip is tried, and the fastest one sends most', async (t) => {
  const fixture = new DownloadFixture({
    syncPeer: { latencyMs: 300 },
    near: { latencyMs: 20 },
    far: { latencyMs: 900 },
  });
  await fixture.run();
  t.deepEqual(fixture.heights, ALL);
  t.is(fixture.askedOf('far'), 1);
  // The first request shows how slow the sync peer is, and the last request shows that there are no more blocks.
  t.is(fixture.askedOf('syncPeer'), 2);
  t.true(fixture.askedOf('near') >= 18);
  t.true(fixture.endedMs < 2500, `${fixture.endedMs}`);
});

test('a peer that is quick but sends single blocks does not slow a download down', async (t) => {
  const alone = new DownloadFixture({ syncPeer: { latencyMs: 60 } });
  await alone.run();
  const single = (id: string): readonly unknown[] => {
    const at = chain.findIndex((block) => block.id === id);
    return chain.slice(at + 1, at + 2).map((block) => codec.blockToJson(block));
  };
  const slowed = new DownloadFixture({ syncPeer: { latencyMs: 60 }, drip: { latencyMs: 40, answer: single } });
  await slowed.run();
  t.deepEqual(slowed.heights, ALL);
  t.true(slowed.askedOf('drip') < 5, `${slowed.askedOf('drip')} requests`);
  t.true(slowed.endedMs < 1.5 * alone.endedMs, `${slowed.endedMs} ms instead of ${alone.endedMs} ms`);
});

test('a silent sync peer costs only moments while others have its chain', async (t) => {
  const fixture = new DownloadFixture({
    syncPeer: { latencyMs: Infinity },
    one: { latencyMs: 30 },
    other: { latencyMs: 40 },
  });
  // Only the sync peer can say that there are no more blocks. The sync peer is silent, so the test stops after 20
  // batches, which contain all blocks.
  await fixture.run(20);
  t.deepEqual(fixture.heights, ALL);
  t.is(fixture.askedOf('syncPeer'), 1);
  t.true(fixture.endedMs < 3000, `${fixture.endedMs}`);
});

test('silent other peers cost only moments', async (t) => {
  const silent = { latencyMs: Infinity };
  const fixture = new DownloadFixture({ syncPeer: { latencyMs: 30 }, a: silent, b: silent, c: silent });
  await fixture.run();
  t.is(fixture.end, 'whole');
  t.deepEqual(fixture.heights, ALL);
  for (const peerId of ['a', 'b', 'c']) t.is(fixture.askedOf(peerId), 1);
  t.true(fixture.endedMs < 6500, `${fixture.endedMs}`);
});

test('a peer with one late answer is asked again before a peer that is always slow', async (t) => {
  let requests = 0;
  const late = {
    get latencyMs() {
      requests += 1;
      return requests === 1 ? Infinity : 10;
    },
  };
  const fixture = new DownloadFixture({ syncPeer: { latencyMs: 1400 }, late });
  await fixture.run();
  t.deepEqual(fixture.heights, ALL);
  t.true(fixture.askedOf('late') > 10, `${fixture.askedOf('late')}`);
});

test('another peer whose answer reveals a defect of ours is named, and others send the rest', async (t) => {
  const answer = (): never => {
    throw new RangeError('a number that nobody thought of');
  };
  const fixture = new DownloadFixture({ syncPeer: { latencyMs: 30 }, strange: { latencyMs: 5, answer } });
  await fixture.run();
  t.is(fixture.end, 'whole');
  t.deepEqual(fixture.heights, ALL);
  t.deepEqual(fixture.failed, ['strange a number that nobody thought of']);
});

test('another peer that lies or is gone is named, one with fewer blocks is not, and others send the rest', async (t) => {
  const unlinked = { latencyMs: 5, answer: () => [codec.blockToJson(maker.tip)] };
  const junk = { latencyMs: 5, answer: () => [{ version: 2 }] };
  const flood = { latencyMs: 5, answer: () => Array.from({ length: 101 }, () => codec.blockToJson(maker.tip)) };
  const short = { latencyMs: 5, blocks: chain.slice(0, 40) };
  const gone = { latencyMs: 5, blocks: [] };
  const fixture = new DownloadFixture({ syncPeer: { latencyMs: 30 }, unlinked, junk, flood, short, gone });
  await fixture.run();
  t.is(fixture.end, 'whole');
  t.deepEqual(fixture.heights, ALL);
  t.deepEqual([...fixture.failed].sort(), [
    'flood SYNC_BLOCKS_UNLINKED',
    'gone REQUEST_FAILED',
    'junk BLOCK_MALFORMED',
    'unlinked SYNC_BLOCKS_UNLINKED',
  ]);
});

test('a false answer or refusal of the sync peer ends the download after the earlier blocks', async (t) => {
  const liar = new DownloadFixture({
    syncPeer: {
      latencyMs: 10,
      answer: (id) =>
        (id === chain[0]?.id ? chain.slice(1, 5) : chain.slice(9, 12)).map((each) => codec.blockToJson(each)),
    },
  });
  await liar.run();
  t.deepEqual(liar.heights, [2, 3, 4, 5]);
  t.is((liar.end as ProtocolError).code, 'SYNC_BLOCKS_UNLINKED');

  const stranger = new DownloadFixture({ syncPeer: { latencyMs: 10, blocks: [] } });
  await stranger.run();
  t.is((stranger.end as ProtocolError).code, 'REQUEST_FAILED');
});

test('a sync peer that fails is reported while other peers continue', async (t) => {
  const lie = (): readonly unknown[] => [codec.blockToJson(maker.tip)];
  const fixture = new DownloadFixture({ syncPeer: { latencyMs: 10, answer: lie }, other: { latencyMs: 20 } });
  await fixture.run();
  t.is(fixture.end, 'whole');
  t.deepEqual(fixture.heights, ALL);
  t.deepEqual(fixture.failed, ['syncPeer SYNC_BLOCKS_UNLINKED']);
});

test('another peer on a branch that the sync peer does not know is reported as diverged', async (t) => {
  const rival = forkOf(maker);
  const blocks = [...chain.slice(0, 100), ...grownFrom(100)];
  const syncPeer = { latencyMs: 500 };
  const fixture = new DownloadFixture({ syncPeer, diverged: { latencyMs: 10, blocks: blocks.slice(0, 105) } });
  await fixture.run();
  t.is((fixture.end as ProtocolError).code, 'REQUEST_FAILED');
  t.deepEqual(fixture.failed, ['diverged SYNC_HELPER_DIVERGED']);
  // If the sync peer has disconnected, the node cannot find out whether the sync peer has the blocks of the other peer.
  // The node therefore does not report the other peer.
  const gone = new DownloadFixture({ syncPeer, diverged: { latencyMs: 10, blocks: blocks.slice(0, 105) } });
  gone.isSyncPeerConnected = false;
  await gone.run();
  t.is((gone.end as ProtocolError).code, 'REQUEST_FAILED');
  t.deepEqual(gone.failed, []);
  t.is(rival.tip.height, HEIGHT);

  /** Makes another branch above a height. */
  function grownFrom(height: number): readonly Block[] {
    const other = new ChainMaker(maker.network);
    for (const block of chain.slice(1, height)) other.apply(block);
    return grown(other, 20, { missedSlots: 1 });
  }
});

test('a limited number of batches is fetched ahead, and work on the first begins at once', async (t) => {
  const fixture = new DownloadFixture({ syncPeer: { latencyMs: 10 } });
  fixture.workMs = 5000;
  await fixture.run(3);
  t.is(fixture.end, 'stopped');
  t.deepEqual(
    fixture.batches.map(({ blocks }) => blocks.length),
    [BATCH, 4 * BATCH, 4 * BATCH],
    'the answers that arrived during the work on the first are joined',
  );
  t.is(fixture.prepared.length, 1 + 12, 'twelve answers are in memory when the consumer has released the first');
  const asked = fixture.asked.length;
  await fixture.time.runUntil(fixture.time.nowMs + 10_000);
  t.true(fixture.asked.length <= asked + 1);
});

test('answers are passed on one by one while they may not be joined', async (t) => {
  const fixture = new DownloadFixture({ syncPeer: { latencyMs: 10 } });
  fixture.workMs = 5000;
  fixture.joinsAnswers = false;
  await fixture.run(3);
  t.deepEqual(
    fixture.batches.map(({ blocks }) => blocks.length),
    [BATCH, BATCH, BATCH],
  );
});

test('large answers are fetched ahead up to a size, which counts the text that assets become', async (t) => {
  // The asset below registers a delegate. It also has a member `numbers`, which has no meaning for the registration. A
  // decoded block stores such an asset as text, in which `1e20` becomes 21 digits.
  const numbers = JSON.parse(`[${'1e20,'.repeat(45_000)}1]`) as Json;
  const [transaction] = maker.network.genesis.transactions;
  const registration = {
    ...codec.transactionToJson(transaction!),
    type: 10,
    asset: { username: 'alice', numbers },
  };
  const heavy: unknown[] = [];
  let previousBlockId = maker.network.genesis.id;
  for (const block of chain.slice(1)) {
    const json = { ...codec.blockToJson(block), previousBlockId, transactions: [registration] };
    heavy.push(json);
    previousBlockId = codec.blockFromJson(json).id;
    if (heavy.length === 20) break;
  }
  const setUp = (): DownloadFixture => {
    let answered = 0;
    return new DownloadFixture({ syncPeer: { latencyMs: 10, answer: () => heavy.slice(answered, (answered += 1)) } });
  };
  const fixture = setUp();
  fixture.workMs = 5000;
  await fixture.run(2);
  t.is(fixture.prepared.length, 1 + 9, 'each answer is a million characters in memory');

  const whole = setUp();
  whole.workMs = 100;
  await whole.run();
  t.is(whole.end, 'whole', 'the download goes on when the consumer has released answers');
  t.is(whole.heights.length, heavy.length);
});

test('a batch that cannot be prepared fails only when it is taken', async (t) => {
  // If the download left a rejection unhandled, the rejection would end a node. Here, it would make this test file
  // fail.
  const stopped = new DownloadFixture({ syncPeer: { latencyMs: 10 } });
  stopped.unpreparedFrom = 60;
  stopped.workMs = 500;
  await stopped.run(2);
  t.is(stopped.end, 'stopped');
  t.true(stopped.prepared.length > 6);
  const going = new DownloadFixture({ syncPeer: { latencyMs: 10 } });
  going.unpreparedFrom = 60;
  going.workMs = 500;
  await going.run();
  t.is((going.end as ProtocolError).code, 'NOT_PREPARED');
  await settled();
});
