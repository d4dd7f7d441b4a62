/**
 * A reader's way to the limits that all readers share: the node counts. Questions go in batches, one batch unanswered at a time,
 * so that a flood of strangers takes a small part of the node's time. No question waits for ever: while the node does not answer,
 * those that have waited for `LIMIT_ANSWER_MS_MAX` fail, and new ones fail at once.
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

/** Between the answers to some questions and the next. */
const REST_MS = 1;

interface Waiting {
  readonly ask: LimitAsk;
  readonly timer: Timer;
  readonly settle: (answer: LimitAnswer) => void;
  /** The caller was told that there is no answer. */
  isGivenUp: boolean;
}

export class LimitChannel implements SharedLimits {
  readonly #send: (message: FromReader) => void;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #waiting = new Set<Waiting>();
  #asked: readonly Waiting[] | undefined;
  /** A question that the node was asked has waited too long, and the node has not answered since. */
  #isSilent = false;
  #isPausing = false;
  /** Connections that went, by key: no more than there were. */
  readonly #left = new Map<string, number>();
  /** Refusals by key: more keys than `LIMIT_TOLD_MAX` between two messages are not told. */
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
    // The loop may have something to tell, which waits with all else.
    this.#isPausing = true;
    for (const [at, { ask, timer, settle, isGivenUp }] of asked.entries()) {
      const answer = answers[at] ?? null;
      // The node has counted a connection that was turned away meanwhile.
      if (isGivenUp && 'key' in ask && answer === null) this.left(ask.key);
      timer.cancel();
      settle(answer);
    }
    this.#clock.after(REST_MS, () => {
      this.#isPausing = false;
      this.#tell();
    });
  }

  /** The node shuts an address out. */
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
    // One that was not asked yet is forgotten.
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
