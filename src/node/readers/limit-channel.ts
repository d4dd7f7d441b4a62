/**
 * A reader's way to the limits that all readers share: the node counts. Questions go in batches, one batch unanswered at a time,
 * so that a flood of strangers takes a small part of the node's time.
 */

import type { Clock } from '../../ports/clock.ts';
import type { SharedLimits, SharedObstacle } from '../../http/admission/shared-limits.ts';
import type { Allowance } from '../../http/admission/allowance.ts';
import {
  busy,
  LIMIT_ASKS_AT_ONCE,
  LIMIT_ASKS_WAITING_MAX,
  LIMIT_TOLD_MAX,
  type FromReader,
  type LimitAnswer,
  type LimitAsk,
} from './messages.ts';

/** Between the answers to some questions and the next. */
const REST_MS = 1;

interface Waiting {
  readonly ask: LimitAsk;
  readonly settle: (answer: LimitAnswer) => void;
}

export class LimitChannel implements SharedLimits {
  readonly #send: (message: FromReader) => void;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #waiting: Waiting[] = [];
  #asked: readonly Waiting[] | undefined;
  #isResting = false;
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
    for (const [at, { settle }] of asked.entries()) settle(answers[at] ?? null);
    this.#isResting = true;
    this.#clock.after(REST_MS, () => {
      this.#isResting = false;
      this.#tell();
    });
  }

  /** The node shuts an address out. */
  shutOutElsewhere(key: string): void {
    this.#tellShutOut(key);
  }

  #put(ask: LimitAsk): Promise<LimitAnswer> {
    if (this.#waiting.length >= LIMIT_ASKS_WAITING_MAX) return Promise.reject(busy());
    return new Promise((resolve) => {
      this.#waiting.push({ ask, settle: resolve });
      this.#tell();
    });
  }

  #tell(): void {
    if (this.#isResting || this.#asked !== undefined) return;
    if (this.#waiting.length + this.#left.size + this.#refused.size + this.#shutOut.size === 0) return;
    this.#asked = this.#waiting.splice(0, LIMIT_ASKS_AT_ONCE);
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
