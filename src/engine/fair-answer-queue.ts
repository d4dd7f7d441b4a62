/**
 * A fair queue of answers to peers' questions: each peer waits behind its own questions only, named peers wait behind nobody else,
 * and all of them together draw on the time that strangers' work gets (`WorkShare`), so that no number of askers keeps the node
 * from its blocks. The questions of a peer that leaves go with it.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { WorkShare } from '../primitives/work-share.ts';
import type { PeerId, TransportHandlers } from '../ports/transport.ts';

/**
 * Questions that wait. A peer whose questions wait is refused more from here on; one that waits for nothing may always ask. An
 * answer takes 20 ms at most, so that the line is a few seconds long.
 */
export const QUESTIONS_WAITING_MAX = 64;

/**
 * Time to read and refuse a question, in milliseconds (measured: 0.25). It is charged, so a crowd that is refused leaves less
 * time for answers.
 */
const REFUSAL_MS = 0.25;
/** Made once, as the stack trace of an error costs more than the rest of a refusal. */
const TOO_MANY = new ProtocolError('TOO_MANY_QUESTIONS', {}, 'Too many requests wait for an answer');

type Answer = TransportHandlers['answer'];

interface Question {
  work(): Promise<void>;
  drop(error: Error): void;
}

export interface FairAnswerQueueOptions {
  readonly share: WorkShare;
  /** Whether the operator named the peer. */
  isNamed(peerId: PeerId): boolean;
}

export class FairAnswerQueue {
  readonly #answer: Answer;
  readonly #options: FairAnswerQueueOptions;
  readonly #named = new Map<PeerId, Question[]>();
  readonly #others = new Map<PeerId, Question[]>();
  #waiting = 0;
  #isBusy = false;

  constructor(answer: Answer, options: FairAnswerQueueOptions) {
    this.#answer = answer;
    this.#options = options;
  }

  /** Questions that wait for their answer. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * The same answer, queued.
   *
   * @throws ProtocolError `TOO_MANY_QUESTIONS` while too many wait, `PEER_GONE` when the peer left meanwhile
   */
  answer(peerId: PeerId, request: Parameters<Answer>[1]): Promise<unknown> {
    const queues = this.#options.isNamed(peerId) ? this.#named : this.#others;
    const queue = queues.get(peerId) ?? [];
    if (queue.length > 0 && this.#waiting >= QUESTIONS_WAITING_MAX) {
      this.#options.share.spend(REFUSAL_MS);
      return Promise.reject(TOO_MANY);
    }
    return new Promise((settle, fail) => {
      queue.push({ work: () => this.#answer(peerId, request).then(settle, fail), drop: fail });
      queues.set(peerId, queue);
      this.#waiting += 1;
      if (this.#isBusy) return;
      this.#isBusy = true;
      if (this.#options.share.isFree) void this.#serve();
      else this.#serveLater();
    });
  }

  /** The peer has left: nobody waits for its answers. */
  leave(peerId: PeerId): void {
    for (const queues of [this.#named, this.#others]) {
      const queue = queues.get(peerId) ?? [];
      queues.delete(peerId);
      this.#waiting -= queue.length;
      for (const { drop } of queue) drop(new ProtocolError('PEER_GONE', { peer: peerId }, 'The peer has left'));
    }
  }

  #serveLater(): void {
    this.#options.share.whenFree(() => void this.#serve());
  }

  async #serve(): Promise<void> {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const charge = this.#options.share.begin();
      await next.work();
      // Packing the answer follows from it, and costs as much.
      await settled();
      charge();
      if (this.#waiting > 0 && !this.#options.share.isFree) return this.#serveLater();
    }
    this.#isBusy = false;
  }

  /** The oldest question of the peer whose turn it is; the peer goes to the end of the line. */
  #next(): Question | undefined {
    const queues = this.#named.size > 0 ? this.#named : this.#others;
    const [first] = queues;
    if (first === undefined) return undefined;
    const [peerId, queue] = first;
    const next = queue.shift();
    this.#waiting -= 1;
    queues.delete(peerId);
    if (queue.length > 0) queues.set(peerId, queue);
    return next;
  }
}

/** Resolves after what follows at once from work that was just done, a few promises deep, so that it is charged, too. */
async function settled(): Promise<void> {
  for (let depth = 0; depth < SETTLING_DEPTH; depth += 1) await Promise.resolve();
}

const SETTLING_DEPTH = 6;
