/**
 * Tests which peers a node follows, and how it treats lies and silence. Neither lies nor silence may move the tip of
 * the node.
 */

import test from 'ava';

import { DEFAULT_PROFILE } from '../../../src/engine/generation-profile.ts';
import { FAR_BEHIND_SLOTS } from '../../../src/engine/index-deferral.ts';
import { Synchronizer } from '../../../src/engine/sync/synchronizer.ts';
import { ProtocolError } from '../../../src/primitives/errors.ts';
import { addressOf } from '../../../src/crypto/keys.ts';
import { SILENT } from '../../../src/ports/observer.ts';
import type { AnswerTo, Connection, PeerRequest } from '../../../src/ports/transport.ts';
import { slotStartS } from '../../../src/protocol/slots.ts';
import type { Block, KeyPair } from '../../../src/protocol/types.ts';
import { ChainMaker, makeNetwork, publicKeyOf, signBlock, withPayload } from '../../support/chain-maker.ts';
import { Disk } from '../../sim/disk.ts';
import { SeededRandom } from '../../sim/seeded-random.ts';
import { blocksOf, forkOf, grown, LoneChain } from '../chain/lone-chain.ts';

/**
 * A simulated peer. The functions `tip`, `highestCommonBlock` and `blocksAfter` return its answers to the requests of
 * the same names. If such a function is absent, the peer answers the request as an honest node with the chain of
 * `maker` does.
 */
interface Peer {
  readonly maker: ChainMaker;
  readonly announced?: { readonly height: number; readonly maxHeightPrevoted: number; readonly lastBlockId?: string };
  readonly direction?: Connection['direction'];
  readonly tip?: () => unknown;
  readonly highestCommonBlock?: (ids: readonly string[]) => unknown;
  readonly blocksAfter?: (blockId: string) => readonly unknown[] | Promise<readonly unknown[]>;
}

/**
 * Time limit for a wait. The limit is far longer than a sync takes. If the awaited condition is not true after this
 * time, the test fails with an error.
 */
const WAIT_MS_MAX = 60_000;

async function until(what: string, holds: () => boolean): Promise<void> {
  const latestMs = Date.now() + WAIT_MS_MAX;
  while (!holds()) {
    if (Date.now() > latestMs) throw new Error(`after ${WAIT_MS_MAX} ms it is not so that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

class Bench {
  readonly lone: LoneChain;
  readonly peers = new Map<string, Peer>();
  readonly asked: string[] = [];
  readonly penalties: string[] = [];
  /** The logged errors, each with code and reason. */
  readonly errors: string[] = [];
  /** Codes of the log lines that name the node's clock as a possible cause of a refusal (`isByClock`). */
  readonly byClock: string[] = [];
  readonly synchronizer: Synchronizer;
  endings = 0;

  constructor(lone: LoneChain) {
    this.lone = lone;
    this.synchronizer = new Synchronizer({
      chain: lone.chain,
      transport: {
        connections: () => this.#connections(),
        request: (peerId, request) => this.#request(peerId, request),
      },
      // The test starts each sync itself, so no timer checks the announced tips.
      clock: { nowMs: () => lone.nowS * 1000, after: () => ({ cancel: () => undefined }) },
      random: new SeededRandom(1),
      observer: {
        ...SILENT,
        log: (level, code, _message, fields) => {
          if (fields?.['isByClock'] === true) this.byClock.push(code);
          if (level === 'error') this.errors.push(`${code} ${String(fields?.['reason'])}`);
        },
      },
      profile: DEFAULT_PROFILE,
      broadhash: () => '',
      netgroupOf: (peerId) => Number(peerId.length),
      penalise: (peerId, code) => this.penalties.push(`${peerId} ${code}`),
      onSyncEnd: () => {
        this.endings += 1;
      },
    });
    this.synchronizer.start();
  }

  async run(peerId?: string, hasShownTip = false): Promise<void> {
    const before = this.endings;
    const shown = hasShownTip && peerId !== undefined ? this.peers.get(peerId)?.maker.tip : undefined;
    this.synchronizer.trigger(peerId, shown);
    await until('the synchronisation has ended', () => this.endings > before);
  }

  get tipId(): string {
    return this.lone.chain.tip.header.id;
  }

  #connections(): readonly Connection[] {
    return [...this.peers].map(([peerId, { maker, announced, direction = 'outbound' }]): Connection => {
      const { id: lastBlockId, height, maxHeightPrevoted } = maker.tip;
      const info = { ip: peerId, wsPort: 1, height, maxHeightPrevoted, lastBlockId, ...announced };
      return { peerId, direction, info, sinceMs: 0, latencyMs: undefined };
    });
  }

  async #request<R extends PeerRequest>(peerId: string, request: R): Promise<AnswerTo<R>> {
    this.asked.push(`${peerId} ${request.kind}`);
    const peer = this.peers.get(peerId);
    if (peer === undefined) throw new ProtocolError('REQUEST_FAILED', { reason: 'not connected' });
    return (await this.#answer(peer, request)) as AnswerTo<R>;
  }

  async #answer({ maker, ...lies }: Peer, request: PeerRequest): Promise<unknown> {
    const { codec } = maker.rules;
    const all = [maker.network.genesis, ...blocksOf(maker, 1)];
    switch (request.kind) {
      case 'tip':
        return lies.tip === undefined ? codec.blockToJson(maker.tip) : lies.tip();
      case 'highestCommonBlock': {
        if (lies.highestCommonBlock !== undefined) return lies.highestCommonBlock(request.blockIds);
        const common = all.findLast(({ id }) => request.blockIds.includes(id));
        return common === undefined ? undefined : { id: common.id, height: common.height };
      }
      case 'blocksAfter': {
        if (lies.blocksAfter !== undefined) return lies.blocksAfter(request.blockId);
        const at = all.findIndex(({ id }) => id === request.blockId);
        if (at < 0) throw new ProtocolError('REQUEST_FAILED', { reason: 'unknown block' });
        return all.slice(at + 1, at + 35).map((block) => codec.blockToJson(block));
      }
      default:
        throw new Error(`nobody asks for ${request.kind} here`);
    }
  }
}

/**
 * Makes a test bench, the maker of its chain and the maker of a rival chain. The two chains have `root` blocks in
 * common. Above these blocks, the chain of the bench has `ours` blocks, and the rival chain has `theirs` blocks.
 */
async function bench(root: number, ours: number, theirs: number, network?: ReturnType<typeof makeNetwork>) {
  const maker = new ChainMaker(network);
  grown(maker, root - 1);
  const rival = forkOf(maker);
  if (ours > 0) grown(maker, ours);
  const lone = await LoneChain.with(maker);
  if (theirs > 0) grown(rival, theirs, { missedSlots: ours > 0 ? 1 : 0 });
  lone.nowS = Math.max(maker.tip.timestamp, rival.tip.timestamp) + 1000;
  return { bench: new Bench(lone), maker, rival };
}

function corrupted(rival: ChainMaker, block: Block): Block {
  const owner = rival.network.delegates.find((keyPair) => publicKeyOf(keyPair) === block.generatorPublicKey)!;
  return signBlock(block, { reward: 1n }, owner);
}

test('a lagging node fetches the missing blocks in several answers', async (t) => {
  const { bench: b, rival } = await bench(5, 0, 80);
  b.peers.set('honest', { maker: rival });
  await b.run();
  t.is(b.tipId, rival.tip.id);
  t.deepEqual(b.penalties, []);
  t.is(b.endings, 1);
});

test('when the sync peer disconnects, a peer with the same tip sends the rest, and the target height stays', async (t) => {
  const { bench: b, rival } = await bench(5, 0, 150);
  const { height } = rival.tip;
  const all = [rival.network.genesis, ...blocksOf(rival, 1)];
  const after = (id: string): readonly unknown[] => {
    const at = all.findIndex((block) => block.id === id);
    return all.slice(at + 1, at + 11).map((block) => rival.rules.codec.blockToJson(block));
  };
  const targets = new Set<number | undefined>();
  let requests = 0;
  b.peers.set('leaving', {
    maker: rival,
    blocksAfter: (id) => {
      b.lone.nowS += 2;
      requests += 1;
      if (requests === 1) return after(id);
      b.peers.delete('leaving');
      throw new ProtocolError('REQUEST_FAILED', { reason: 'closed' });
    },
  });
  b.peers.set('staying', {
    maker: rival,
    blocksAfter: (id) => {
      // The first answer of 'staying' is slower than the first answer of 'leaving', so the node sends the next request
      // to 'leaving'. This request asks for the blocks after a block that 'staying' sent.
      b.lone.nowS += requests === 1 ? 5 : 0;
      if (requests > 1) targets.add(b.synchronizer.progress?.targetHeight);
      return after(id);
    },
  });
  await b.run('leaving', true);
  t.is(requests, 2);
  t.is(b.tipId, rival.tip.id);
  t.deepEqual([...targets], [height]);
  t.deepEqual(b.penalties, []);
});

test('a sync far behind the network that its peer ends early leaves complete indexes', async (t) => {
  const rival = new ChainMaker();
  const [from, to] = rival.network.accounts;
  if (from === undefined || to === undefined) throw new Error('the network has accounts');
  for (let height = 2; height <= 60; height += 1)
    rival.forge({ transactions: [rival.transfer(from, to, BigInt(height))] });
  const lone = LoneChain.over(new ChainMaker(rival.network), new Disk());
  let completions = 0;
  lone.indexUsers = { canWait: () => true, isAwaited: () => false, completed: () => void (completions += 1) };
  lone.reopen();
  lone.nowS = rival.tip.timestamp + slotStartS(FAR_BEHIND_SLOTS, rival.network.params);
  const b = new Bench(lone);
  const { codec } = rival.rules;
  let answers = 0;
  const blocksAfter = () => {
    if ((answers += 1) > 1) throw new ProtocolError('REQUEST_FAILED', { reason: 'the peer is gone' });
    return blocksOf(rival, 1)
      .slice(0, 34)
      .map((block) => codec.blockToJson(block));
  };
  b.peers.set('short', { maker: rival, blocksAfter });
  // The backfill of the indexes may take longer than the time after which a sync without new blocks counts as stalled.
  const stalledS = 60;
  const seen: boolean[] = [];
  const look = setInterval(() => {
    if (!lone.chain.isCompletingIndexes) return;
    lone.nowS += stalledS;
    seen.push(b.synchronizer.syncing);
  }, 0);
  await b.run();
  clearInterval(look);
  t.true(seen.length > 0 && seen.every((isSyncing) => isSyncing), seen.join());
  t.is(lone.chain.tip.header.height, 35);
  t.is(completions, 1, 'the indexes lagged');
  t.is(lone.store.indexLag, 0);
});

test('a node on a dead branch finds the common block and switches', async (t) => {
  const { bench: b, rival } = await bench(5, 60, 75);
  b.peers.set('honest', { maker: rival });
  await b.run();
  t.is(b.tipId, rival.tip.id);
  t.is(b.lone.events.filter((line) => line.startsWith('reverted')).length, 1);
  t.true(b.lone.events.some((line) => line.startsWith('reverted 65 64') && line.endsWith(' 6')));
});

test('no peer is asked when none announces a better tip', async (t) => {
  const { bench: b, rival } = await bench(5, 3, 3);
  b.peers.set('equal', { maker: rival });
  await b.run();
  t.deepEqual(b.asked, []);
});

test('peers that agree on the best tip are asked before a single peer that claims another one', async (t) => {
  const { bench: b, rival } = await bench(5, 0, 10);
  const liar = { ...announcedBy(rival), lastBlockId: '1' };
  b.peers.set('liar', { maker: rival, announced: liar, tip: () => undefined });
  for (const name of ['one', 'two', 'three']) b.peers.set(name, { maker: rival });
  await b.run();
  t.is(b.tipId, rival.tip.id);
  t.false(b.asked[0]!.startsWith('liar'));
});

test('a peer that announces more than it can prove costs one request and is then ignored for a while', async (t) => {
  const { bench: b, maker } = await bench(5, 3, 0);
  b.peers.set('boaster', { maker, announced: { height: 9999, maxHeightPrevoted: 9999 } });
  await b.run();
  await b.run();
  t.deepEqual(b.asked, ['boaster tip']);
  b.lone.nowS += 11;
  await b.run();
  t.is(b.asked.length, 2);
  b.lone.nowS += 11;
  await b.run();
  t.is(b.asked.length, 2, 'the second backoff is longer');
});

test('a peer whose tip has a wrong signature gets a penalty', async (t) => {
  const { bench: b, rival } = await bench(5, 0, 5);
  const { codec } = rival.rules;
  b.peers.set('liar', {
    maker: rival,
    tip: () => ({ ...codec.blockToJson(rival.tip), blockSignature: '00'.repeat(64) }),
  });
  await b.run();
  t.deepEqual(b.penalties, ['liar SYNC_BRANCH_INVALID']);
  t.is(b.lone.chain.tip.header.height, 5);
});

test('a peer without a common block down to finality gets a penalty', async (t) => {
  const { bench: b, rival } = await bench(5, 2, 5);
  b.peers.set('liar', { maker: rival, highestCommonBlock: () => undefined });
  await b.run();
  t.deepEqual(b.penalties, ['liar SYNC_NO_COMMON_BLOCK']);
});

test('a peer whose blocks do not follow each other gets a penalty', async (t) => {
  const { bench: b, rival } = await bench(5, 2, 5);
  const { codec } = rival.rules;
  b.peers.set('liar', { maker: rival, blocksAfter: () => [codec.blockToJson(rival.tip)] });
  await b.run();
  t.deepEqual(b.penalties, ['liar SYNC_BLOCKS_UNLINKED']);
});

test('a branch that fails at its last block leaves our tip; its peer gets a penalty and another is followed', async (t) => {
  const { bench: b, rival } = await bench(5, 4, 5);
  const { codec } = rival.rules;
  const branch = blocksOf(rival, 5);
  const bad = [...branch.slice(0, -1), corrupted(rival, branch.at(-1)!)].map((block) => codec.blockToJson(block));
  b.peers.set('liar', { maker: rival, blocksAfter: () => bad });
  const [tip, digest] = [b.tipId, b.lone.store.stateDigest()];
  await b.run();
  t.deepEqual(b.penalties, ['liar SYNC_BRANCH_INVALID']);
  t.is(b.tipId, tip);
  t.is(b.lone.store.stateDigest(), digest);
  b.peers.set('honest', { maker: rival });
  await b.run();
  t.is(b.tipId, rival.tip.id);
});

/** A peer that announces the best tip of all, and answers block requests with `blocksAfter`. */
const liar = (rival: ChainMaker, blocksAfter: NonNullable<Peer['blocksAfter']>): Peer => {
  const announced = { height: rival.tip.height + 50, maxHeightPrevoted: rival.tip.maxHeightPrevoted };
  return { maker: rival, announced, blocksAfter };
};

test('a block of generation 2 with a total of more than 64 bits does not stop the sync: another peer is followed', async (t) => {
  const { bench: b, rival } = await bench(5, 0, 80, makeNetwork({ generation: 2 }));
  const { id: previousBlock, height } = b.lone.chain.tip.header;
  const senderPublicKey = 'ab'.repeat(32);
  const transfer = {
    ...{ type: 0, amount: '9223372036854775807', fee: '10000000', recipientId: '1L', asset: {} },
    ...{ senderPublicKey, senderId: addressOf(senderPublicKey), signature: 'cd'.repeat(64), signatures: [] },
  };
  const transactions = [1, 2, 3].map((timestamp) => ({ ...transfer, timestamp, id: String(timestamp) }));
  const totals = { numberOfTransactions: 3, totalAmount: Number(3n * 9223372036854775807n) };
  const template = rival.rules.codec.blockToJson(rival.tip);
  const block = { ...template, ...totals, height: height + 1, previousBlock, transactions };
  b.peers.set(
    'evil',
    liar(rival, () => [block]),
  );
  b.peers.set('honest', { maker: rival });
  await b.run();
  t.is(b.tipId, rival.tip.id);
  t.deepEqual(b.penalties, ['evil SYNC_BRANCH_INVALID']);
});

test('a peer that reveals a defect of ours is avoided, and another is followed in the same run', async (t) => {
  const { bench: b, rival } = await bench(5, 0, 80);
  b.peers.set(
    'strange',
    liar(rival, () => {
      throw new RangeError('a number that nobody thought of');
    }),
  );
  b.peers.set('honest', { maker: rival });
  await b.run();
  t.is(b.tipId, rival.tip.id);
  t.deepEqual(b.penalties, []);
  t.deepEqual(b.errors, ['SYNC_FAILED a number that nobody thought of']);
  const before = b.asked.length;
  await b.run();
  t.false(b.asked.slice(before).some((request) => request.startsWith('strange')));
});

test('a peer that stops before its branch is better changes nothing', async (t) => {
  const { bench: b, rival } = await bench(5, 60, 70);
  const { codec } = rival.rules;
  const branch = blocksOf(rival, 5).map((block) => codec.blockToJson(block));
  b.peers.set('tired', {
    maker: rival,
    blocksAfter: (id) => (id === rival.state.header(5)!.id ? branch.slice(0, 30) : []),
  });
  const tip = b.tipId;
  await b.run();
  t.is(b.tipId, tip);
  t.deepEqual(b.penalties, []);
});

test('a slow clock causes no penalty, and the node applies the blocks that it can', async (t) => {
  const { bench: b, rival } = await bench(5, 1, 6);
  b.lone.nowS = rival.state.header(9)!.timestamp;
  b.peers.set('honest', { maker: rival });
  await b.run();
  t.is(b.lone.chain.tip.header.id, rival.state.header(9)!.id);
  t.deepEqual(b.penalties, []);
  t.deepEqual(b.byClock, ['BLOCK_TIMESTAMP_INVALID']);
});

test("a peer that sends a block in its parent's slot gets a penalty, because no clock explains this block", async (t) => {
  const { bench: b, rival } = await bench(5, 0, 3);
  const plain = rival.build({});
  const block = signBlock(plain, { timestamp: rival.tip.timestamp }, rival.nextSlot().keyPair);
  const all = [...blocksOf(rival, 5), block].map((each) => rival.rules.codec.blockToJson(each));
  b.peers.set('liar', { maker: rival, blocksAfter: () => all });
  b.lone.nowS = plain.timestamp;
  await b.run('liar', true);
  t.deepEqual(b.penalties, ['liar SYNC_BRANCH_INVALID']);
  t.deepEqual(b.byClock, []);
});

test('a block refused for a transaction of the next slot causes no penalty', async (t) => {
  const { bench: b, rival } = await bench(5, 0, 3);
  const [rich, poor] = rival.network.accounts as [KeyPair, KeyPair];
  const { blockTimeS } = rival.network.params;
  // The block contains a transaction with a timestamp in the next slot. A node whose clock is slightly ahead, or that
  // receives the block slightly later, accepts this block, so the peer may be honest.
  const plain = rival.build({});
  const early = rival.transfer(rich, poor, 1n, { timestamp: plain.timestamp + blockTimeS });
  const block = withPayload(plain, rival.nextSlot().keyPair, [early]);
  const all = [...blocksOf(rival, 5), block].map((each) => rival.rules.codec.blockToJson(each));
  b.peers.set('honest', { maker: rival, blocksAfter: () => all });
  b.lone.nowS = plain.timestamp;
  await b.run('honest', true);
  t.deepEqual(b.penalties, []);
  t.is(b.tipId, rival.tip.id);
});

test('a peer that has shown its tip is not asked for it again', async (t) => {
  const { bench: b, rival } = await bench(5, 0, 5);
  b.peers.set('shown', { maker: rival });
  await b.run('shown', true);
  t.false(b.asked.includes('shown tip'));
  t.is(b.tipId, rival.tip.id);
});

test('a peer that goes silent is replaced by one that answers', async (t) => {
  const { bench: b, rival } = await bench(5, 0, 40);
  const silent = () => {
    throw new ProtocolError('REQUEST_FAILED', { reason: 'no answer in time' });
  };
  b.peers.set('silent', { maker: rival, blocksAfter: silent });
  b.peers.set('honest', { maker: rival });
  await b.run('silent', true);
  t.is(b.tipId, rival.tip.id);
  t.deepEqual(b.penalties, []);
});

test('a peer whose branch proves invalid is not asked for more of it', async (t) => {
  const { bench: b, rival } = await bench(5, 55, 65);
  const { codec } = rival.rules;
  const chain = [...blocksOf(rival, 0).slice(0, 5), ...junkBranch(rival, 5)];
  let answers = 0;
  let judge: () => void = () => undefined;
  const judged = new Promise<void>((resolve) => (judge = resolve));
  b.peers.set('liar', {
    maker: rival,
    blocksAfter: async (blockId) => {
      answers += 1;
      // The peer answers further requests only after the node has found that the first blocks are invalid.
      if (answers > 1) await judged;
      const at = chain.findIndex(({ id }) => id === blockId) + 1;
      return chain.slice(at, at + 10).map((block) => codec.blockToJson(block));
    },
  });
  await b.run();
  t.deepEqual(b.penalties, ['liar SYNC_BRANCH_INVALID']);
  judge();
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.true(answers <= 2, `${answers} answers`);
});

/** A peer that answers each request with `count` blocks of a chain, after `seconds` seconds. */
function slowly(b: Bench, maker: ChainMaker, count: number, seconds: number): Pick<Peer, 'blocksAfter'> {
  const chain = [maker.network.genesis, ...blocksOf(maker, 1)];
  return {
    blocksAfter: (blockId) => {
      b.lone.nowS += seconds;
      const at = chain.findIndex(({ id }) => id === blockId) + 1;
      return chain.slice(at, at + count).map((block) => maker.rules.codec.blockToJson(block));
    },
  };
}

test('a peer that sends a rival branch in single late blocks gets only a few requests', async (t) => {
  const { bench: b, rival } = await bench(5, 60, 75);
  b.peers.set('slow', { maker: rival, ...slowly(b, rival, 1, 9) });
  const tip = b.tipId;
  await b.run('slow', true);
  t.is(b.tipId, tip);
  // The count includes requests that the node sent before it had received the answers to earlier ones.
  t.true(b.asked.length < 12, b.asked.join());
  t.deepEqual(b.penalties, []);
  b.peers.set('honest', { maker: rival });
  await b.run('slow', true);
  t.is(b.tipId, rival.tip.id);
});

test('a peer that sends missing blocks one by one is left for a faster one', async (t) => {
  const { bench: b, rival } = await bench(5, 0, 80);
  b.peers.set('slow', { maker: rival, announced: { height: 9999, maxHeightPrevoted: 9999, lastBlockId: '7' } });
  b.peers.set('slow', { ...b.peers.get('slow')!, ...slowly(b, rival, 1, 9) });
  b.peers.set('honest', { maker: rival });
  await b.run('slow', true);
  t.is(b.tipId, rival.tip.id);
  // The count includes requests that the node sent before it had received the answers to earlier ones.
  const asked = b.asked.filter((line) => line === 'slow blocksAfter').length;
  t.true(asked < 16, `${asked}`);
});

test('a peer on a slow line that sends all it can is followed to the end', async (t) => {
  const { bench: b, rival } = await bench(5, 100, 115);
  b.peers.set('far', { maker: rival, ...slowly(b, rival, 34, 10) });
  await b.run();
  t.is(b.tipId, rival.tip.id);
});

test('a stranger whose branch proves nothing for long is replaced by a dialled peer', async (t) => {
  const { bench: b, rival } = await bench(5, 100, 115);
  const stranger: Peer = { maker: rival, direction: 'inbound', ...slowly(b, rival, 10, 3.2) };
  b.peers.set('stranger', stranger);
  b.peers.set('ours', { maker: rival });
  await b.run('stranger', true);
  t.is(b.tipId, rival.tip.id);
  t.true(b.asked.includes('ours blocksAfter'));
});

test('a stranger with a branch that no other peer has is followed to the end', async (t) => {
  const { bench: b, rival } = await bench(5, 100, 115);
  b.peers.set('stranger', { maker: rival, direction: 'inbound', ...slowly(b, rival, 10, 3.2) });
  await b.run('stranger', true);
  t.is(b.tipId, rival.tip.id);
});

for (const generation of [3, 2] as const) {
  test(`generation ${generation}: a stranger that repeats our own blocks one by one is replaced by a dialled peer`, async (t) => {
    const { bench: b, maker, rival } = await bench(5, 60, 75, makeNetwork({ generation }));
    const announced = { height: rival.tip.height + 1000, maxHeightPrevoted: rival.tip.maxHeightPrevoted + 1000 };
    const common = { id: maker.network.genesis.id, height: 1 };
    const lies = { announced, highestCommonBlock: () => common, ...slowly(b, maker, 1, 2.5) };
    b.peers.set('stranger', { maker: rival, direction: 'inbound', ...lies });
    // When the run begins, no dialled peer is connected, so the run begins with the stranger.
    const run = b.run('stranger', true);
    b.peers.set('ours', { maker: rival });
    await run;
    t.is(b.tipId, rival.tip.id);
    // The count includes requests that the node sent before it had received the answers to earlier ones.
    const asked = b.asked.filter((line) => line === 'stranger blocksAfter').length;
    t.true(asked < 20, `${asked}`);
    t.deepEqual(b.penalties, []);
  });
}

for (const [name, ageS, isSyncing] of [
  ['that is as new as possible does not count as syncing', 0, false],
  ['that is a minute old counts as syncing', 60, true],
] as const) {
  test(`a wait for more blocks after one ${name}`, async (t) => {
    const { bench: b, rival } = await bench(5, 0, 5);
    const blocks = blocksOf(rival, 5).map((block) => rival.rules.codec.blockToJson(block));
    let endOfChain: () => void = () => undefined;
    b.lone.nowS = rival.tip.timestamp + ageS - 3;
    b.peers.set('holder', {
      maker: rival,
      blocksAfter: (blockId) => {
        if (blockId !== rival.tip.id) {
          // The answer takes 4 s. Forging waits for the proof of a claim for at most `PROOF_MS` (3 s), so forging no
          // longer waits.
          b.lone.nowS += 4;
          return blocks;
        }
        return new Promise((resolve) => (endOfChain = () => resolve([])));
      },
    });
    const run = b.run('holder', true);
    await until('the tip is that of the rival', () => b.tipId === rival.tip.id);
    t.is(b.synchronizer.syncing, isSyncing);
    endOfChain();
    await run;
    t.false(b.synchronizer.syncing);
  });
}

test('a fork deeper than the revert limit is ignored before any block is fetched', async (t) => {
  const { bench: b, rival } = await bench(5, 60, 75);
  b.lone.store.transact((writer) => {
    writer.forgetUndo(20);
  });
  b.peers.set('honest', { maker: rival });
  const tip = b.tipId;
  await b.run();
  t.is(b.tipId, tip);
  t.deepEqual(b.asked, ['honest tip', 'honest highestCommonBlock']);
  t.deepEqual(b.penalties, []);
});

/**
 * Makes a branch whose first block states a fee that nobody paid. Each block has the right parent and a valid
 * signature.
 */
function junkBranch(rival: ChainMaker, aboveHeight: number): Block[] {
  let parent: Block | undefined;
  return blocksOf(rival, aboveHeight).map((block) => {
    const owner = rival.network.delegates.find((keyPair) => publicKeyOf(keyPair) === block.generatorPublicKey)!;
    const changes = parent === undefined ? { totalFee: 1n } : { previousBlockId: parent.id };
    return (parent = signBlock(block, changes, owner));
  });
}

function announcedBy(maker: ChainMaker) {
  const { height, maxHeightPrevoted } = maker.tip;
  return { height, maxHeightPrevoted };
}
