import test from 'ava';

import { ReceivePause } from '../../src/p2p/receive-pause.ts';
import { VirtualTime } from '../sim/virtual-clock.ts';

function line() {
  const time = new VirtualTime(0);
  const socket = {
    isPaused: false,
    pause: () => void (socket.isPaused = true),
    resume: () => void (socket.isPaused = false),
  };
  const pause = new ReceivePause(socket, time.clock());
  return { pause, isPaused: () => socket.isPaused, at: (ms: number) => time.runUntil(ms) };
}

test('a connection with two pauses waits until the later end, in any order of the pauses', async (t) => {
  for (const [first, second] of [
    [1_000, 3_000],
    [3_000, 1_000],
  ] as const) {
    const { pause, isPaused, at } = line();
    pause.waitFor(first);
    pause.waitFor(second);
    await at(2_999);
    t.true(isPaused(), `${first} and ${second}`);
    await at(3_001);
    t.false(isPaused());
  }
});

test('a second pause that begins during the first is not ended by it', async (t) => {
  const { pause, isPaused, at } = line();
  pause.waitFor(1_000);
  await at(900);
  pause.waitFor(1_000);
  await at(1_800);
  t.true(isPaused());
  await at(1_901);
  t.false(isPaused());
});

test('a held connection resumes when it is released and its pause is over', async (t) => {
  const { pause, isPaused, at } = line();
  pause.hold();
  pause.waitFor(1_000);
  await at(2_000);
  t.true(isPaused());
  pause.release();
  t.false(isPaused());
  pause.hold();
  pause.waitFor(1_000);
  pause.release();
  t.true(isPaused());
  await at(3_001);
  t.false(isPaused());
});

test('a closed connection is not touched any more', async (t) => {
  const { pause, isPaused, at } = line();
  pause.waitFor(1_000);
  pause.end();
  await at(2_000);
  t.true(isPaused());
});
