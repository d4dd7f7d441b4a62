/**
 * Answers the requests of peers in a fair order. Requests of peers that the operator named come first. Among the named
 * peers, and among all other peers, the queue answers one request of each peer in turn. All answers share one limited
 * budget of main-thread time (`WorkShare`), so the node can process blocks even if many peers send many requests. When
 * a peer disconnects, the queue drops the waiting requests of the peer.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { WorkShare } from '../primitives/work-share.ts';
import type { PeerId, TransportHandlers } from '../ports/transport.ts';

/**
 * Number of waiting requests at which the queue is full. A full queue refuses a request of a peer that already has a
 * waiting request. A full queue still accepts a request of any other peer. Each answer takes 20 ms at most, and all
 * answers together can use half of the main thread's time (`WorkShare`). The node therefore answers all requests of a
 * full queue within a few seconds.
 */
export const REQUESTS_WAITING_MAX = 64;

/**
 * Approximate time in milliseconds to read and refuse a request. The queue takes this time for each refusal, and the
 * time for each answer, from the same budget (`WorkShare`).
 */
const REFUSAL_MS = 0.25;
/** All refusals use one error object, because a stack trace costs more time than the rest of a refusal. */
const TOO_MANY = new ProtocolError('TOO_MANY_REQUESTS', {}, 'Too many requests wait for an answer');

type Answer = TransportHandlers['answer'];

interface PendingRequest {
  work(): Promise<void>;
  drop(error: Error): void;
}

export interface FairAnswerQueueOptions {
  readonly share: WorkShare;
  /** Returns true if the peer is a named peer of the configuration. */
  isNamed(peerId: PeerId): boolean;
}

export class FairAnswerQueue {
  readonly #answer: Answer;
  readonly #options: FairAnswerQueueOptions;
  readonly #named = new Map<PeerId, PendingRequest[]>();
  readonly #others = new Map<PeerId, PendingRequest[]>();
  #waiting = 0;
  #isBusy = false;

  constructor(answer: Answer, options: FairAnswerQueueOptions) {
    this.#answer = answer;
    this.#options = options;
  }

  /** Number of queued requests, without the request that the queue is answering now. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Queues a request, and resolves with the answer. If the function `answer` of the constructor fails, this method
   * rejects with the error of that function. The queue answers the requests of one peer in the order of their arrival.
   *
   * @throws ProtocolError `TOO_MANY_REQUESTS` if the queue is full and the peer already has a waiting request;
   *   `PEER_GONE` if the peer disconnects before the queue begins the answer
   */
  answer(peerId: PeerId, request: Parameters<Answer>[1]): Promise<unknown> {
    const queues = this.#options.isNamed(peerId) ? this.#named : this.#others;
    const queue = queues.get(peerId) ?? [];
    if (queue.length > 0 && this.#waiting >= REQUESTS_WAITING_MAX) {
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

  /** Drops the waiting requests of a peer that has disconnected. */
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
      // `work` computes the answer. The transport then encodes the answer in promise callbacks. Encoding takes as much
      // time as computing the answer, so the time for encoding must also count towards the budget of main-thread time
      // (`share`). `charge` must therefore run after these callbacks.
      await settled();
      charge();
      if (this.#waiting > 0 && !this.#options.share.isFree) return this.#serveLater();
    }
    this.#isBusy = false;
  }

  /**
   * Removes and returns the oldest request of the peer whose turn it is; undefined if no request is waiting. If the
   * peer has further waiting requests, the peer moves behind all other peers in the same map (`#named` or `#others`).
   */
  #next(): PendingRequest | undefined {
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

/** Resolves when the promise callbacks that follow an answer have run (up to a chain of `SETTLING_DEPTH` callbacks). */
async function settled(): Promise<void> {
  for (let depth = 0; depth < SETTLING_DEPTH; depth += 1) await Promise.resolve();
}

const SETTLING_DEPTH = 6;
