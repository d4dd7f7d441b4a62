/**
 * Tests that the frame filter parses the largest blocks and answers of honest nodes, and never penalises honest nodes.
 */

import test from 'ava';

import { arrivalOf, FrameFilter } from '../../src/p2p/frame-filter.ts';
import { FRAME_BYTES_MAX } from '../../src/p2p/frame-validation.ts';
import { UnsolicitedBytesBudget, SharedUnsolicitedBytesBudget } from '../../src/p2p/unsolicited-bytes.ts';
import { honestFramesMax } from '../../src/ports/rates.ts';

/**
 * JSON text of 2.8 MB. It is a list of 25 objects, in the place of 25 transactions, and each object contains a long
 * string.
 */
const TEXT = JSON.stringify(Array.from({ length: 25 }, () => ({ x: 'z'.repeat(112_000) })));
const NESTED = '['.repeat(480) + ']'.repeat(480);
const LISTS = `[${Array.from({ length: 25 }, () => `{"x":[${Array.from({ length: 116 }, () => NESTED).join(',')}]}`).join(',')}]`;

const NODE_INFO = '{"event":"remote-message","data":{"event":"postNodeInfo","data":{}}}';
const blockOf = (height: number, transactions: string): string =>
  `{"event":"remote-message","data":{"event":"postBlock","data":{"block":{"height":${height},"transactions":${transactions}}}}}`;
const answerOf = (transactions: string): string => `{"rid":7,"data":{"data":{"transactions":${transactions}}}}`;

class FilterFixture {
  nowMs = 1_000_000;
  readonly charges: string[] = [];
  readonly #shared = new SharedUnsolicitedBytesBudget();

  peer(role: 'dialer' | 'acceptor' = 'acceptor') {
    const on = {
      overused: (detail: string) => this.charges.push(detail),
      flooded: (detail: string) => this.charges.push(detail),
      overflowed: (detail: string) => this.charges.push(detail),
    };
    const unsolicited = new UnsolicitedBytesBudget(this.#shared, role === 'dialer');
    const filter = new FrameFilter(
      role,
      { events: ['remote-message'], generation: 3 },
      { nowMs: () => this.nowMs },
      on,
      unsolicited,
    );
    filter.open();
    const reads = (frame: string): boolean => {
      filter.count(arrivalOf(Buffer.from(frame)));
      return filter.admit(frame) !== null;
    };
    return { unsolicited, reads };
  }
}

for (const [what, payload] of [
  ['text', TEXT],
  ['lists', LISTS],
] as const) {
  test(`blocks of maximum size, full of ${what}, are read in each slot and silence no peer`, (t) => {
    const fixture = new FilterFixture();
    const peers = [fixture.peer(), fixture.peer('dialer')];
    for (let height = 1; height <= 4; height += 1) {
      const frame = blockOf(height, payload);
      t.true(frame.length < FRAME_BYTES_MAX);
      // Both peers send the block. The node must read the first copy, and may drop the second.
      t.true(peers[height % 2]?.reads(frame), `block ${height}`);
      for (const peer of peers) t.true(peer.reads(NODE_INFO), `node info after block ${height}`);
      peers[(height + 1) % 2]?.reads(frame);
      for (const peer of peers) t.true(peer.reads(NODE_INFO));
      fixture.nowMs += height % 2 === 0 ? 11_000 : 9_000;
    }
    t.deepEqual(fixture.charges, []);
  });
}

test('eight blocks of maximum size at once cause no penalty, and are not all read', (t) => {
  const fixture = new FilterFixture();
  const peer = fixture.peer();
  const isRead = Array.from({ length: 8 }, (_, index) => peer.reads(blockOf(index, LISTS)));
  t.true(isRead[0]);
  t.true(isRead.filter(Boolean).length <= 2);
  t.true(peer.reads(NODE_INFO));
  t.deepEqual(fixture.charges, []);
});

test('frames are weighed by their bytes, not by their characters', (t) => {
  const fixture = new FilterFixture();
  const peer = fixture.peer();
  // The node limits the bytes that it reads from a peer. There is one budget for small frames, and another budget for
  // heavy frames. Every frame of more than 256,000 bytes (`SMALL_WEIGHT_MAX`) is heavy. Each frame in this loop has
  // 100,000 characters of three bytes, so it is heavy, and uses nothing of the budget for small frames.
  for (let height = 1; height <= 45; height += 1) peer.reads(blockOf(height, JSON.stringify(['€'.repeat(100_000)])));
  t.true(peer.reads(blockOf(46, JSON.stringify(['x'.repeat(200_000)]))));
  t.deepEqual(fixture.charges, []);
});

test('a requested answer full of lists uses up no budget for blocks', (t) => {
  const fixture = new FilterFixture();
  const [asked, other] = [fixture.peer(), fixture.peer()];
  asked.unsolicited.asked(FRAME_BYTES_MAX, 'other');
  t.true(asked.reads(NODE_INFO));
  t.true(asked.reads(answerOf(LISTS)));
  asked.unsolicited.settled(FRAME_BYTES_MAX, 'other');
  t.true(asked.reads(NODE_INFO));
  t.true(other.reads(blockOf(1, TEXT)));
  t.true(asked.reads(NODE_INFO));
  t.deepEqual(fixture.charges, []);
});

test('few requested answers full of lists are read at a time, but all answers with blocks are', (t) => {
  const fixture = new FilterFixture();
  const inbound = Array.from({ length: 10 }, () => fixture.peer());
  const read = inbound.filter(({ unsolicited, reads }) => {
    unsolicited.asked(FRAME_BYTES_MAX, 'other');
    return reads(answerOf(LISTS));
  });
  t.is(read.length, 1);
  const syncPeer = fixture.peer('dialer');
  for (let batch = 0; batch < 3; batch += 1) {
    syncPeer.unsolicited.asked();
    t.true(syncPeer.reads(answerOf(LISTS)));
    syncPeer.unsolicited.settled();
  }
  fixture.nowMs += 8_000;
  const next = fixture.peer();
  next.unsolicited.asked(FRAME_BYTES_MAX, 'other');
  t.true(next.reads(answerOf(LISTS)));
});

test("inbound peers that use up the strangers' budget leave room for a dialled peer's block", (t) => {
  const fixture = new FilterFixture();
  const inbound = Array.from({ length: 30 }, () => fixture.peer());
  t.is(inbound.filter(({ reads }) => reads(blockOf(1, LISTS))).length, 1);
  t.true(fixture.peer('dialer').reads(blockOf(2, LISTS)));
  t.false(fixture.peer().reads(blockOf(3, TEXT)));
  t.true(fixture.peer().reads(NODE_INFO));
});

test('an event disguised as an answer is dropped, and no answer of its sender is read any more', (t) => {
  const fixture = new FilterFixture();
  const peer = fixture.peer();
  peer.unsolicited.asked(FRAME_BYTES_MAX, 'other');
  const event = blockOf(1, '[]').slice(1);
  for (const rid of ['7', 'null', '7,"rid":null', '"7"', '[]']) t.false(peer.reads(`{"rid":${rid},${event}`), rid);
  for (let block = 0; block < 10; block += 1) peer.reads(blockOf(block, LISTS));
  t.false(peer.reads(answerOf(TEXT)));
  t.true(peer.reads(NODE_INFO));
});

test('a peer that floods small frames for over half a minute is charged, one that floods for 25 s is not', (t) => {
  const flood = JSON.stringify({ event: 'remote-message', data: 'x'.repeat(250_000) });
  const fixture = new FilterFixture();
  const peer = fixture.peer();
  // The node accepts at most 4 MB per second over a connection (`ARRIVING_OF_PEER`), and this peer sends at this rate.
  const sendFor = (seconds: number): void => {
    for (let frame = 0; frame < 16 * seconds; frame += 1, fixture.nowMs += 62.5) peer.reads(flood);
  };
  sendFor(25);
  t.deepEqual(fixture.charges, []);
  fixture.nowMs += 60_000;
  sendFor(25);
  t.deepEqual(fixture.charges, [], 'counted by the minute');
  sendFor(10);
  t.true(fixture.charges.length > 0);
  t.true(fixture.charges.every((detail) => detail.includes('beyond the budget')));
});

test('an honest peer delivers fewer frames in a second than the comment of `FRAMES_PER_SECOND_CUT` says', (t) => {
  for (const generation of [2, 3] as const) t.true(honestFramesMax(generation) < 600, `generation ${generation}`);
});

test('before the end of the handshake, only small frames are parsed', (t) => {
  const on = { overused: t.fail, flooded: t.fail, overflowed: t.fail };
  const filterOf = (role: 'acceptor' | 'dialer') =>
    new FrameFilter(role, { events: ['remote-message'], generation: 3 }, { nowMs: () => 0 }, on);
  const push = (bytes: number): string => {
    const frame = JSON.stringify({ event: 'remote-message', data: '' });
    return frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`);
  };
  const accepted = filterOf('acceptor');
  t.is(accepted.admit(push(4_097)), null);
  t.not(accepted.admit(push(4_096)), null);
  t.not(accepted.admit('{"event":"#handshake","data":{"authToken":null},"cid":1}'), null);
  t.is(accepted.admit(push(4_097)), null, 'the node has not accepted the handshake yet');
  accepted.open();
  t.not(accepted.admit(push(3_000_000)), null);
  const dialled = filterOf('dialer');
  t.is(dialled.admit(push(32_769)), null);
  t.not(dialled.admit(push(32_768)), null, 'the info that a peer sends before it answers the handshake');
  t.not(dialled.admit('{"rid":1,"data":{"pingTimeout":20000}}'), null);
  t.not(dialled.admit(push(3_000_000)), null);
});
