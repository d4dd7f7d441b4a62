import test from 'ava';

import { ClockOffset, CLOCK_OFFSET_WARN_MS } from '../../../src/engine/peers/clock-offset.ts';
import type { Observer } from '../../../src/ports/observer.ts';

const HOUR_MS = 3_600_000;
const LASTING_MS = 120_000;

/** Makes an estimate of the clock offset, and records its log lines. */
function setUpEstimate() {
  const warnings: unknown[] = [];
  const now = { ms: 1_000_000_000 };
  const observer: Observer = {
    module: () => observer,
    log: (level, code, _message, fields) => void warnings.push([level, code, fields?.['offsetMs']]),
    count: () => undefined,
    gauge: () => undefined,
    observe: () => undefined,
  };
  const estimate = new ClockOffset({ nowMs: () => now.ms }, observer);
  let blocks = 0;
  /**
   * Adds blocks of a peer to the estimate. The slot of each block starts `offsetMs` after the block arrives. No other
   * peer sends these blocks.
   */
  const receive = (peerId: string, ...offsetsMs: number[]) => {
    for (const offsetMs of offsetsMs) {
      blocks += 1;
      const kind = offsetMs > 0 ? 'early' : 'imported';
      const slotStartMs = now.ms + offsetMs;
      estimate.addSample(peerId, { blockId: `${blocks}`, slotStartMs, receivedMs: now.ms, kind });
    }
  };
  return { estimate, receive, warnings, now };
}

test('the earliest block counts for a peer, and the median for all peers', (t) => {
  const { estimate, receive, warnings } = setUpEstimate();
  receive('1.0.0.1:5000', -900, -100, -4_000);
  t.is(estimate.estimateMs(), undefined, 'one peer says nothing');
  receive('1.0.0.2:5000', -300, -9_000, -800);
  receive('1.0.0.3:5000', -50, -60, -70);
  t.is(estimate.estimateMs(), -100);
  t.deepEqual(warnings, []);
});

test('a clock that differs from those of most peers is logged as a warning, once an hour', (t) => {
  const { estimate, receive, warnings, now } = setUpEstimate();
  for (const peer of ['1.0.0.1:5000', '1.0.0.2:5000', '1.0.0.3:5000']) receive(peer, 4_700, 4_900.25, 4_800);
  t.is(estimate.estimateMs(), 4_900.25);
  t.deepEqual(warnings, [['warn', 'CLOCK_OFFSET', 4_900]]);
  now.ms += HOUR_MS - 1;
  receive('1.0.0.1:5000', 4_900);
  t.is(warnings.length, 1);
  now.ms += 1;
  for (const peer of ['1.0.0.1:5000', '1.0.0.2:5000']) receive(peer, -CLOCK_OFFSET_WARN_MS, -9_000, -9_000);
  t.is(warnings.length, 2);
});

test('each address has one vote, however many peers it has, except the own machine', (t) => {
  const { estimate, receive } = setUpEstimate();
  for (let port = 5_000; port < 5_020; port += 1) receive(`6.6.6.6:${port}`, 90_000, 90_000, 90_000);
  t.is(estimate.estimateMs(), undefined);
  receive('1.0.0.1:5000', -100, -100, -100);
  receive('1.0.0.2:5000', -200, -200, -200);
  t.is(estimate.estimateMs(), -100);
  const own = setUpEstimate();
  for (const port of [5_001, 5_002]) own.receive(`127.0.0.1:${port}`, -10, -10, -10);
  t.is(own.estimate.estimateMs(), -10);
});

test('too few or too old blocks give no offset, and those of two thousand peers give one', (t) => {
  const { estimate, receive, now } = setUpEstimate();
  receive('1.0.0.1:5000', -1, -1);
  receive('1.0.0.2:5000', -1, -1);
  t.is(estimate.estimateMs(), undefined);
  for (let peer = 0; peer < 2_000; peer += 1) receive(`1.1.${peer % 250}.${Math.floor(peer / 250)}:5000`, -1, -1, -1);
  t.is(estimate.estimateMs(), -1);
  now.ms += HOUR_MS + 1;
  t.is(estimate.estimateMs(), undefined);
});

test('an offset counts when several chosen peers agree on it, until a good block leaves only one of them', (t) => {
  const { estimate, receive } = setUpEstimate();
  const [a, b, c] = ['1.0.0.1:5000', '1.0.0.2:5000', '1.0.0.3:5000'] as const;
  const all = [a, b, c];
  receive(a, 3 * HOUR_MS, 3 * HOUR_MS, 3 * HOUR_MS);
  t.is(estimate.agreedMs(all, 10_000), undefined, 'one is none');
  receive(b, HOUR_MS, HOUR_MS, HOUR_MS);
  t.is(estimate.agreedMs(all, 10_000), 3 * HOUR_MS);
  t.is(estimate.agreedMs([a, c], 10_000), undefined, 'b is not one of them');
  receive(c, -100, -50, -60);
  t.is(estimate.agreedMs(all, 10_000), 3 * HOUR_MS, 'two of three');
  receive(a, -20);
  t.is(estimate.agreedMs(all, 10_000), undefined);
});

test('a fast clock is distinguished from blocks that are late for a while', (t) => {
  const { estimate, receive } = setUpEstimate();
  const [a, b] = ['1.0.0.1:5000', '1.0.0.2:5000'] as const;
  for (const peer of [a, b]) receive(peer, -100, -90_000, -80_000, -70_000);
  t.is(estimate.agreedMs([a, b], 10_000), undefined, 'they queued up while this node stood still');
  const fast = setUpEstimate();
  for (const peer of [a, b]) fast.receive(peer, -HOUR_MS, -HOUR_MS - 40, -HOUR_MS - 7_000);
  t.is(fast.estimate.agreedMs([a, b], 10_000), -HOUR_MS);
  // Simulate an operator who sets the clock back to the right time.
  fast.now.ms -= HOUR_MS;
  t.is(fast.estimate.agreedMs([a, b], 10_000), undefined);
  for (const peer of [a, b]) fast.receive(peer, -100, -100, -100);
  t.is(fast.estimate.agreedMs([a, b], 10_000), undefined);
});

test('of three clocks, only the node with the wrong one reports its own clock; the others report that peer', (t) => {
  const [a, b] = ['1.0.0.1:5000', '1.0.0.2:5000'] as const;
  for (const offMs of [30_000, -30_000]) {
    const healthy = setUpEstimate();
    healthy.receive(a, -80, -90, -100);
    healthy.receive(b, offMs, offMs, offMs);
    t.deepEqual(healthy.warnings, [], 'this clock may have been set a moment ago');
    healthy.now.ms += LASTING_MS;
    healthy.receive(a, -85);
    t.deepEqual(healthy.warnings, [['info', 'PEER_CLOCK_OFF', offMs]]);
    t.deepEqual(healthy.estimate.verdict(), { kind: 'peer', peerId: b, offsetMs: offMs });
    t.is(healthy.estimate.estimateMs(), -80);
    const odd = setUpEstimate();
    for (const peer of [a, b]) odd.receive(peer, -offMs, -offMs, -offMs);
    t.deepEqual(odd.estimate.verdict(), { kind: 'own', offsetMs: -offMs });
    t.deepEqual(odd.warnings, [['warn', 'CLOCK_OFFSET', -offMs]]);
    t.is(odd.estimate.estimateMs(), -offMs);
  }
});

test('with two different clocks, neither clock is reported as wrong', (t) => {
  const { estimate, receive, warnings, now } = setUpEstimate();
  receive('1.0.0.1:5000', 30_000, 30_000, 30_000);
  now.ms += LASTING_MS;
  receive('1.0.0.1:5000', 30_000);
  t.deepEqual(warnings, [['warn', 'CLOCKS_DIFFER', 30_000]]);
  t.is(estimate.estimateMs(), undefined);
  // If the clocks of this node and of both peers all differ from each other, the verdict is unclear, too.
  receive('1.0.0.2:5000', 90_000, 90_000, 90_000);
  t.is(estimate.verdict()?.kind, 'unclear');
  t.is(estimate.estimateMs(), undefined);
  receive('1.0.0.3:5000', 30_100, 30_000, 30_000);
  receive('1.0.0.4:5000', 30_100, 30_000, 30_000);
  t.is(estimate.verdict()?.kind, 'own', 'three of five agree');
});

test('a clock that is set while the node runs is compared at once with the earlier offsets of the peers', (t) => {
  const { estimate, receive, now } = setUpEstimate();
  const peers = ['1.0.0.1:5000', '1.0.0.2:5000', '1.0.0.3:5000'];
  for (const peer of peers) receive(peer, -100, -90, -110);
  now.ms += HOUR_MS;
  estimate.wasSet(HOUR_MS);
  t.is(estimate.agreedMs(peers, 10_000), -HOUR_MS - 90);
  t.deepEqual(estimate.verdict(), { kind: 'own', offsetMs: -HOUR_MS - 90 });
  now.ms -= HOUR_MS;
  estimate.wasSet(-HOUR_MS);
  t.is(estimate.agreedMs(peers, 10_000), undefined);
  t.is(estimate.verdict(), undefined);
  estimate.wasSet(undefined);
  t.is(estimate.estimateMs(), undefined);
});

/** Adds a copy of an imported or forged block, `delayMs` after the start of its slot. */
function repeat({ estimate, now }: ReturnType<typeof setUpEstimate>, peerId: string, blockId: string, delayMs: number) {
  estimate.addSample(peerId, { blockId, slotStartMs: now.ms - delayMs, receivedMs: now.ms, kind: 'known' });
}

test('a late copy of a block counts with the arrival of the earliest copy', (t) => {
  const stage = setUpEstimate();
  const { estimate, now } = stage;
  const [honest, a, b] = ['1.0.0.1:5000', '1.0.0.2:5000', '1.0.0.3:5000'] as const;
  for (const [delayMs, expectedMs] of [
    [100, undefined],
    [20_000, -20_000],
  ] as const) {
    for (let block = 0; block < 8; block += 1) {
      const blockId = `${delayMs} ${block}`;
      const slotStartMs = now.ms - delayMs;
      estimate.addSample(honest, { blockId, slotStartMs, receivedMs: now.ms, kind: 'imported' });
      now.ms += 12_000;
      for (const peer of [a, b]) repeat(stage, peer, blockId, delayMs + 12_000);
    }
    t.is(estimate.agreedMs([honest, a, b], 10_000), expectedMs);
  }
});

test('peers that deliver nothing but late blocks are not believed while other blocks arrive on time', (t) => {
  const { estimate, receive } = setUpEstimate();
  const [honest, ...others] = ['1.0.0.1:5000', '1.0.0.2:5000', '1.0.0.3:5000'] as const;
  receive(honest, -100, -100, -100);
  for (const peer of others) receive(peer, -30_000, -30_000, -30_000);
  t.is(estimate.agreedMs([honest, ...others], 10_000), -30_000);
  // If two of the newest four blocks seem to be on time, this does not prove that our clock is right: another node
  // whose clock has the same error as our clock can have forged both blocks.
  receive(honest, -100, -100);
  t.is(estimate.agreedMs([honest, ...others], 10_000), -30_000);
  receive(honest, -100);
  t.is(estimate.agreedMs([honest, ...others], 10_000), undefined);
});

test('a block that first arrives too early is not late when it arrives again', (t) => {
  const { estimate, now } = setUpEstimate();
  const peers = ['1.0.0.1:5000', '1.0.0.2:5000'];
  for (const blockId of ['1', '2', '3', '4']) {
    const slotStartMs = now.ms + 200;
    estimate.addSample('1.0.0.3:5000', { blockId, slotStartMs, receivedMs: now.ms, kind: 'early' });
    now.ms += 20_000;
    for (const peer of peers) {
      const kind = peer === peers[0] ? 'imported' : 'known';
      estimate.addSample(peer, { blockId, slotStartMs, receivedMs: now.ms, kind });
    }
  }
  t.is(estimate.agreedMs(peers, 10_000), undefined);
  t.is(estimate.verdict(), undefined);
});

test('a late block stays late when it is imported again after a revert', (t) => {
  const { estimate, now } = setUpEstimate();
  const peers = ['1.0.0.1:5000', '1.0.0.2:5000'] as const;
  for (const blockId of ['1', '2', '3', '4']) {
    const slotStartMs = now.ms - 20_000;
    estimate.addSample(peers[0], { blockId, slotStartMs, receivedMs: now.ms, kind: 'imported' });
    estimate.addSample(peers[0], { blockId, slotStartMs, receivedMs: now.ms + 5_000, kind: 'imported' });
    estimate.addSample(peers[1], { blockId, slotStartMs, receivedMs: now.ms + 6_000, kind: 'known' });
    now.ms += 10_000;
  }
  t.is(estimate.agreedMs(peers, 10_000), -20_000);
});

test('only the first copy of a recent block that another node forged is a sample', (t) => {
  const stage = setUpEstimate();
  const [first, ...others] = ['1.0.0.1:5000', '1.0.0.2:5000', '1.0.0.3:5000'] as const;
  stage.receive(first, -100, -100, -100, -100, -100, -100);
  for (const peer of others) {
    for (const blockId of ['6', '6', '6', 'forged', 'forged again', '1', '2']) repeat(stage, peer, blockId, 200);
    for (const blockId of ['early', 'early', 'early']) {
      const [slotStartMs, receivedMs] = [stage.now.ms + 500, stage.now.ms];
      stage.estimate.addSample(peer, { blockId, slotStartMs, receivedMs, kind: 'early' });
    }
  }
  t.is(stage.estimate.estimateMs(), undefined, 'each of the others has two samples');
  for (const peer of others) repeat(stage, peer, '5', 200);
  t.is(stage.estimate.estimateMs(), 500);
});

test('after a peer has disconnected, its samples count for one more minute', (t) => {
  const { estimate, receive, now } = setUpEstimate();
  const peers = ['1.0.0.1:5000', '1.0.0.2:5000'];
  for (const peer of peers) receive(peer, 30_000, 30_000, 30_000);
  for (const peer of peers) estimate.disconnected(peer);
  now.ms += 60_000;
  t.is(estimate.verdict()?.kind, 'own', 'the connections may be back soon');
  now.ms += 1;
  t.is(estimate.verdict(), undefined);
  t.is(estimate.agreedMs(peers, 10_000), undefined);
});
