import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { setUpEvents } from '../../http/event-fixture.ts';
import { watchForks } from '../../support/forked-readers.ts';

/** A stall must be shorter than the time after which the pool starts another reader beside a silent one. */
const STALLED_MS = 700;
const ROUNDS = 5;

/** A node with one reader and a connection to this reader. */
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
  return {
    fixture,
    signal: (name: 'SIGSTOP' | 'SIGCONT') => reader?.kill(name),
    request: () => void socket.write('HEAD /api/blocks?limit=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'),
    heightOfAnswer: async (): Promise<number> => {
      let text = '';
      while (!/\r\n\r\n/.test(text)) text += String(((await once(socket, 'data')) as [Buffer])[0]);
      return Number(/^X-Height: (\d+)/im.exec(text)?.[1]);
    },
    tipHeight: (): number => fixture.blocks.at(-1)?.height ?? 0,
  };
}

test.serial('requests that waited while a reader was stopped are answered for the newest block', async (t) => {
  const { fixture, signal, request, heightOfAnswer, tipHeight } = await stalledReader(t);
  request();
  t.is(await heightOfAnswer(), tipHeight());
  for (let round = 0; round < ROUNDS; round += 1) {
    signal('SIGSTOP');
    request();
    await sleep(STALLED_MS);
    fixture.append(1);
    await sleep(50);
    signal('SIGCONT');
    t.is(await heightOfAnswer(), tipHeight(), `round ${round}`);
  }
});

test.serial('a reader that was stopped and then hears only a ping answers for the newest block', async (t) => {
  const { fixture, signal, request, heightOfAnswer, tipHeight } = await stalledReader(t);
  request();
  t.is(await heightOfAnswer(), tipHeight());
  // The test simulates a node that sends no update, because the reader has not confirmed the previous update yet.
  fixture.listeners.clear();
  for (let round = 0; round < ROUNDS; round += 1) {
    signal('SIGSTOP');
    fixture.append(1);
    await sleep(STALLED_MS);
    request();
    signal('SIGCONT');
    t.is(await heightOfAnswer(), tipHeight(), `round ${round}`);
  }
});
