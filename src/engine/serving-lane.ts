/**
 * Answers to peers' questions take turns: each peer waits behind its own questions only, and all of them together get no more
 * than half of the time, so that no number of askers keeps the node from its blocks.
 */

import type { Clock } from '../ports/clock.ts';
import type { PeerId, TransportHandlers } from '../ports/transport.ts';

/** Work in a row before others get a turn, in milliseconds. */
const SLICE_MS = 20;
/** The longest rest after a question that took longer than its slice. */
const REST_MS_MAX = 200;

type Answer = TransportHandlers['answer'];

/** The same answers, in turns. How many questions of a peer wait is bounded by who asks. */
export function inTurns(answer: Answer, clock: Clock): Answer {
  const queues = new Map<PeerId, (() => Promise<void>)[]>();
  let isBusy = false;

  return (peerId, request) =>
    new Promise((settle, fail) => {
      const queue = queues.get(peerId) ?? [];
      queue.push(() => answer(peerId, request).then(settle, fail));
      queues.set(peerId, queue);
      if (!isBusy) void serve();
    });

  async function serve(): Promise<void> {
    isBusy = true;
    const startMs = clock.nowMs();
    for (let next = takeNext(); next !== undefined; next = takeNext()) {
      await next();
      const workedMs = clock.nowMs() - startMs;
      if (workedMs < SLICE_MS) continue;
      clock.after(Math.min(workedMs, REST_MS_MAX), () => void serve());
      return;
    }
    isBusy = false;
  }

  /** The oldest question of the peer whose turn it is; the peer goes to the end of the line. */
  function takeNext(): (() => Promise<void>) | undefined {
    const [first] = queues;
    if (first === undefined) return undefined;
    const [peerId, queue] = first;
    const next = queue.shift();
    queues.delete(peerId);
    if (queue.length > 0) queues.set(peerId, queue);
    return next;
  }
}
