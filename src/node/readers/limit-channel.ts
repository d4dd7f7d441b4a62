/**
 * A reader's connection to the limits that all readers share; the node does the counting. Questions go to the node in
 * batches. Each batch waits for the answers to the batch before, so that a flood of requests takes only a small part of
 * the node's time. While the node does not answer, open questions fail after `LIMIT_ANSWER_MS_MAX`, and new questions
 * fail at once.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import type { SharedLimits, SharedObstacle } from '../../http/admission/shared-limits.ts';
import type { Allowance } from '../../http/admission/allowance.ts';
import {
  busy,
  LIMIT_ANSWER_MS_MAX,
  LIMIT_ASKS_AT_ONCE,
  LIMIT_ASKS_WAITING_MAX,
  LIMIT_TOLD_MAX,
  silent,
  type FromReader,
  type LimitAnswer,
  type LimitAsk,
} from './messages.ts';

/** Pause between the answers to a batch and the next batch. */
const REST_MS = 1;

interface Waiting {
  readonly ask: LimitAsk;
  readonly timer: Timer;
  readonly settle: (answer: LimitAnswer) => void;
  /** True when the call of this question has failed without an answer. */
  isGivenUp: boolean;
}

export class LimitChannel implements SharedLimits {
  readonly #send: (message: FromReader) => void;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #waiting = new Set<Waiting>();
  #asked: readonly Waiting[] | undefined;
  /** True when a question was not answered in time and the node has not answered since. */
  #isSilent = false;
  #isPausing = false;
  /** Number of closed connections by key. The number never exceeds that of the connections. */
  readonly #left = new Map<string, number>();
  /** Number of refusals by key. Keys beyond `LIMIT_TOLD_MAX` between two messages are not reported. */
  readonly #refused = new Map<string, number>();
  readonly #shutOut = new Set<string>();
  #tellShutOut: (key: string) => void = () => undefined;

  constructor(send: (message: FromReader) => void, clock: Pick<Clock, 'after'>) {
    this.#send = send;
    this.#clock = clock;
  }

  async take(client: string, cost: number): Promise<Allowance> {
    const answer = await this.#put({ client, cost });
    if (answer === null || typeof answer === 'string') throw new Error('the node answered another question');
    return answer;
  }

  async arrive(key: string): Promise<SharedObstacle | undefined> {
    const answer = await this.#put({ key });
    if (answer !== null && typeof answer !== 'string') throw new Error('the node answered another question');
    return answer ?? undefined;
  }

  left(key: string): void {
    this.#left.set(key, (this.#left.get(key) ?? 0) + 1);
    this.#tell();
  }

  refused(key: string): void {
    const times = this.#refused.get(key) ?? 0;
    if (times > 0 || this.#refused.size < LIMIT_TOLD_MAX) this.#refused.set(key, times + 1);
    this.#tell();
  }

  shutOut(key: string): void {
    if (this.#shutOut.size < LIMIT_TOLD_MAX) this.#shutOut.add(key);
    this.#tell();
  }

  listen(shutOut: (key: string) => void): void {
    this.#tellShutOut = shutOut;
  }

  answered(answers: readonly LimitAnswer[]): void {
    const asked = this.#asked ?? [];
    this.#asked = undefined;
    this.#isSilent = false;
    // Callers that have just got their answers may have something to report. The reports of these callers wait for the
    // next batch.
    this.#isPausing = true;
    for (const [at, { ask, timer, settle, isGivenUp }] of asked.entries()) {
      const answer = answers[at] ?? null;
      // The node has admitted a connection that this reader has given up meanwhile. The reader reports the connection
      // as closed.
      if (isGivenUp && 'key' in ask && answer === null) this.left(ask.key);
      timer.cancel();
      settle(answer);
    }
    this.#clock.after(REST_MS, () => {
      this.#isPausing = false;
      this.#tell();
    });
  }

  /** Called when the node reports that it shuts an address out. */
  shutOutElsewhere(key: string): void {
    this.#tellShutOut(key);
  }

  #put(ask: LimitAsk): Promise<LimitAnswer> {
    if (this.#isSilent) return Promise.reject(silent());
    if (this.#waiting.size >= LIMIT_ASKS_WAITING_MAX) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(LIMIT_ANSWER_MS_MAX, () => {
        this.#giveUp(waiting);
        reject(silent());
      });
      const waiting: Waiting = { ask, timer, settle: resolve, isGivenUp: false };
      this.#waiting.add(waiting);
      this.#tell();
    });
  }

  #giveUp(waiting: Waiting): void {
    waiting.isGivenUp = true;
    // A question that was not sent yet is dropped. If the question was sent, the node counts as silent.
    if (!this.#waiting.delete(waiting)) this.#isSilent = true;
  }

  #tell(): void {
    if (this.#isPausing || this.#asked !== undefined) return;
    if (this.#waiting.size + this.#left.size + this.#refused.size + this.#shutOut.size === 0) return;
    this.#asked = [...this.#waiting].slice(0, LIMIT_ASKS_AT_ONCE);
    for (const asked of this.#asked) this.#waiting.delete(asked);
    this.#send({
      kind: 'limits',
      telling: {
        left: [...this.#left],
        asks: this.#asked.map(({ ask }) => ask),
        refused: [...this.#refused],
        shutOut: [...this.#shutOut],
      },
    });
    this.#left.clear();
    this.#refused.clear();
    this.#shutOut.clear();
  }
}
