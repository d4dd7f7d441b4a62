import test from 'ava';

import {
  type Cuttable,
  PreHandshakeLimiter,
  HANDSHAKES_AT_ONCE_MAX,
  HANDSHAKES_PER_SECOND,
  NAMED_HANDSHAKES_AT_ONCE_MAX,
} from '../../src/p2p/pre-handshake-limiter.ts';
import { codeLabel } from '../../src/p2p/close-codes.ts';
import { FakeClock } from '../engine/peers/support.ts';
import { greetedPeer, pause, rawPeer, startNode, until } from './support.ts';

function setUpLimiter(handshakesPendingMax: number, arrivalsPerIpMax = 1_000) {
  const cut: string[] = [];
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, after: () => ({ cancel: () => undefined }) };
  const limiter = new PreHandshakeLimiter({ clock, handshakesPendingMax, arrivalsPerIpMax });
  const socket = (name: string): Cuttable => ({ destroy: () => cut.push(name) });
  return { limiter, socket, cut, pass: (ms: number) => (nowMs += ms) };
}

test('the address with most strangers loses its oldest one to a newcomer', (t) => {
  const { limiter, socket, cut } = setUpLimiter(4);
  for (const name of ['a1', 'b1', 'a2', 'a3']) limiter.enter(socket(name), name.slice(0, 1));
  t.true(limiter.enter(socket('c1'), 'c'));
  t.true(limiter.enter(socket('d1'), 'd'));
  t.deepEqual(cut, ['a1', 'a2']);
  t.is(limiter.pending, 4);
});

test('a stranger that became a peer or left no longer counts', (t) => {
  const { limiter, socket, cut } = setUpLimiter(2);
  const first = socket('a1');
  limiter.enter(first, 'a');
  limiter.leave(first);
  limiter.enter(socket('a2'), 'a');
  limiter.enter(socket('a3'), 'a');
  t.deepEqual(cut, []);
});

test('an address that connects again and again is cut before any read, until ten seconds are over', (t) => {
  const { limiter, socket, cut, pass } = setUpLimiter(100, 3);
  const enter = (name: string) => limiter.enter(socket(name), name.slice(0, 1));
  t.deepEqual(['a1', 'a2', 'a3', 'a4', 'b1'].map(enter), [true, true, true, false, true]);
  t.deepEqual(cut, ['a4']);
  pass(10_000);
  t.true(enter('a5'));
});

test('handshakes are limited in total: a repeated address leaves half to newcomers, named peers have their own', async (t) => {
  const clock = new FakeClock();
  const limiter = new PreHandshakeLimiter({ clock, handshakesPendingMax: 10_000, arrivalsPerIpMax: 10_000 });
  let begun: string[] = [];
  const greet = (count: number, name: string, isNamed = false): void => {
    for (let index = 0; index < count; index += 1) {
      const socket = { destroy: () => undefined };
      const ip = name.replace('#', String(index));
      limiter.enter(socket, ip);
      limiter.greet(socket, ip, isNamed, () => begun.push(name));
    }
  };
  const count = (name: string): number => begun.filter((each) => each === name).length;
  greet(1_000, 'flood');
  t.is(count('flood'), HANDSHAKES_AT_ONCE_MAX / 2 + 1);
  greet(NAMED_HANDSHAKES_AT_ONCE_MAX, 'named', true);
  t.is(count('named'), NAMED_HANDSHAKES_AT_ONCE_MAX);
  greet(10, 'newcomer #');
  await clock.advance(100);
  t.is(count('newcomer #'), 10, 'newcomers wait behind no flood');
  begun = [];
  await clock.advance(10_000);
  t.true(count('flood') <= 10 * HANDSHAKES_PER_SECOND, `${count('flood')} in ten seconds`);
  t.true(count('flood') >= 4 * HANDSHAKES_PER_SECOND, `${count('flood')} in ten seconds`);
});

test('a connection that is cut while it waits for its handshake gets no handshake', async (t) => {
  const clock = new FakeClock();
  const limiter = new PreHandshakeLimiter({ clock, handshakesPendingMax: 10_000, arrivalsPerIpMax: 10_000 });
  const begun: number[] = [];
  const sockets = Array.from({ length: HANDSHAKES_AT_ONCE_MAX }, () => ({ destroy: () => undefined }));
  for (const [index, socket] of sockets.entries()) {
    limiter.enter(socket, 'a');
    limiter.greet(socket, 'a', false, () => begun.push(index));
  }
  const last = sockets.at(-1);
  if (last !== undefined) limiter.leave(last);
  await clock.advance(60_000);
  t.is(begun.length, HANDSHAKES_AT_ONCE_MAX - 1);
  t.is(clock.waiting, 0);
});

test('unknown close codes count as one', (t) => {
  t.deepEqual([1000, 1006, 4000, 4104, 4403, 4429].map(codeLabel), ['1000', '1006', '4000', '4104', '4403', '4429']);
  t.deepEqual(new Set([-1, 0, 3000, 4999, 70_000].map(codeLabel)), new Set(['other']));
});

test('slow strangers at one address do not keep a peer out', async (t) => {
  const node = await startNode();
  const slow = await Promise.all(Array.from({ length: 70 }, () => rawPeer(node.address.wsPort)));
  const peer = await greetedPeer(node.address.wsPort);
  await until(() => slow.filter((stranger) => stranger.closed() !== undefined).length >= 6, 'the surplus is cut');
  await pause(20);
  t.is(peer.closed(), undefined);
  t.is(node.transport.connections().length, 1);
  for (const stranger of slow) stranger.webSocket.terminate();
  await node.transport.close();
});
