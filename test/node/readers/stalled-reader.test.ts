import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { setUpEvents } from '../../http/event-fixture.ts';
import { watchForks } from '../../support/forked-readers.ts';

/**
 * The test suspends the reader (SIGSTOP) for this time. The time must be short, because the pool starts another reader
 * if a reader is silent for too long.
 */
const STALLED_MS = 700;
const ROUNDS = 5;
/**
 * Maximum number of attempts for a test, including the first attempt. A test that fails begins again if the pool has
 * replaced the reader. On a busy machine, the reader can be silent for longer than `STALLED_MS`, and a replaced reader
 * closes its connections.
 */
const ATTEMPTS_MAX = 6;
const ANSWER_MS_MAX = 30_000;

/** Starts a node with one reader, and opens a connection to this reader. */
async function stalledReader(t: ExecutionContext) {
  const fixture = await setUpEvents(t, { processes: 1 });
  const readers = watchForks(t);
  fixture.append(5);
  const { port } = new URL(await fixture.serve());
  const [reader] = readers;
  t.truthy(reader);
  const socket = connect(Number(port), '127.0.0.1');
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  // Collect all data from the beginning, so that the test does not lose an answer that arrives before the test waits
  // for it.
  let text = '';
  socket.on('data', (part: Buffer) => (text += part.toString('latin1')));
  return {
    fixture,
    resume: () => reader?.kill('SIGCONT'),
    /**
     * Suspends the reader with the signal SIGSTOP. The signal takes effect a moment after the call of `kill`, so the
     * function waits 20 ms. The reader can then read no further request.
     */
    stop: async (): Promise<void> => {
      reader?.kill('SIGSTOP');
      await sleep(20);
    },
    request: () => void socket.write('HEAD /api/blocks?limit=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'),
    heightOfAnswer: async (): Promise<number> => {
      for (const endMs = Date.now() + ANSWER_MS_MAX; !/\r\n\r\n/.test(text); await sleep(5))
        if (socket.closed || Date.now() > endMs) throw new Error('the reader gave no answer');
      const height = Number(/^X-Height: (\d+)/im.exec(text)?.[1]);
      text = '';
      return height;
    },
    tipHeight: (): number => fixture.blocks.at(-1)?.height ?? 0,
    isReplaced: (): boolean => readers.length > 1,
  };
}

/**
 * Runs a test with a node that has one reader. If the test fails and the pool has replaced the reader, runs the test
 * again with a new node. Makes at most `ATTEMPTS_MAX` attempts.
 */
async function withStalledReader(
  t: ExecutionContext,
  work: (stalled: Awaited<ReturnType<typeof stalledReader>>) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const stalled = await stalledReader(t);
    try {
      await work(stalled);
      return;
    } catch (error) {
      if (!stalled.isReplaced() || attempt === ATTEMPTS_MAX) throw error;
      t.log('the machine was busy, so the pool replaced the reader: the test begins again');
    }
  }
}

test.serial('requests that waited while a reader was stopped are answered for the newest block', (t) =>
  withStalledReader(t, async ({ fixture, stop, resume, request, heightOfAnswer, tipHeight }) => {
    request();
    t.is(await heightOfAnswer(), tipHeight());
    for (let round = 0; round < ROUNDS; round += 1) {
      await stop();
      request();
      await sleep(STALLED_MS);
      fixture.append(1);
      await sleep(50);
      resume();
      t.is(await heightOfAnswer(), tipHeight(), `round ${round}`);
    }
  }),
);

test.serial('a reader that was stopped and then hears only a ping answers for the newest block', (t) =>
  withStalledReader(t, async ({ fixture, stop, resume, request, heightOfAnswer, tipHeight }) => {
    request();
    t.is(await heightOfAnswer(), tipHeight());
    // A node sends no update while the reader has not confirmed the previous update. To simulate such a node, the test
    // removes the listeners that send updates.
    fixture.listeners.clear();
    for (let round = 0; round < ROUNDS; round += 1) {
      await stop();
      fixture.append(1);
      await sleep(STALLED_MS);
      request();
      resume();
      t.is(await heightOfAnswer(), tipHeight(), `round ${round}`);
    }
  }),
);
