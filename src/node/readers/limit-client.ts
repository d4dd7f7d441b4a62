/**
 * Gives a reader (a process that answers HTTP for the node) access to the limits that all readers share. For all
 * readers together, the node counts HTTP requests, connections and replays (event streams that still send old events to
 * a stranger). A stranger is a client that is not trusted. A question of the reader to the node about these limits is
 * called a limit check. The reader sends its limit checks to the node in batches. Each batch waits for the answers to
 * the batch before it, so that a flood of requests takes only a small part of the node's time. A limit check without an
 * answer fails after `LIMIT_ANSWER_MS_MAX`. If a sent limit check fails, the reader regards the node as silent. From
 * then until the next answer of the node, new limit checks fail immediately.
 *
 * The key of a client (`clientKey`) is its IPv4 address, or the /64 network of its IPv6 address.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import type { SharedLimits, SharedLimitsListener, SharedRefusalReason } from '../../http/admission/shared-limits.ts';
import type { Allowance } from '../../http/admission/allowance.ts';
import {
  busy,
  CLIENT_CHARS_MAX,
  LIMIT_ANSWER_MS_MAX,
  LIMIT_ASKS_AT_ONCE,
  LIMIT_ASKS_WAITING_MAX,
  LIMIT_REPORTED_MAX,
  silent,
  type FromReader,
  type LimitAnswer,
  type LimitAsk,
  type ToReader,
} from './messages.ts';

/** Pause between the answers to a batch and the next batch, in milliseconds. */
const REST_MS = 1;

interface Waiting {
  readonly ask: LimitAsk;
  readonly timer: Timer;
  readonly settle: (answer: LimitAnswer) => void;
  /** True if no answer to this limit check came within `LIMIT_ANSWER_MS_MAX`. */
  isGivenUp: boolean;
}

export class LimitClient implements SharedLimits {
  readonly #send: (message: FromReader) => void;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #waiting = new Set<Waiting>();
  #asked: readonly Waiting[] | undefined;
  /** True from the time when a sent limit check fails until the node answers. */
  #isSilent = false;
  #isPausing = false;
  /**
   * Number of connections of strangers (clients that are not trusted) that closed since the last `LimitReport` to the
   * node, by key of the client.
   */
  readonly #left = new Map<string, number>();
  /**
   * Number of times that the reader refused a client since the last `LimitReport` to the node, by key of the client.
   * The map has at most `LIMIT_REPORTED_MAX` keys. Refusals of further clients are not counted.
   */
  readonly #refused = new Map<string, number>();
  readonly #shutOut = new Set<string>();
  readonly #replaysEnded = new Map<string, number>();
  /**
   * Number of new connections of trusted clients, minus the number of their closed connections, since the last
   * `LimitReport` to the node.
   */
  #trusted = 0;
  #listener: SharedLimitsListener | undefined;

  constructor(send: (message: FromReader) => void, clock: Pick<Clock, 'after'>) {
    this.#send = send;
    this.#clock = clock;
  }

  async take(client: string, cost: number): Promise<Allowance> {
    const answer = await this.#put({ client: cut(client), cost });
    if (answer === null || typeof answer === 'string') throw new Error('the node sent the answer to another request');
    return answer;
  }

  async arrive(key: string): Promise<SharedRefusalReason | undefined> {
    const answer = await this.#put({ key: cut(key) });
    if (answer === 'replays' || (answer !== null && typeof answer !== 'string'))
      throw new Error('the node sent the answer to another request');
    return answer ?? undefined;
  }

  async replay(key: string): Promise<boolean> {
    return (await this.#put({ replay: cut(key) })) === null;
  }

  replayEnded(key: string): void {
    increment(this.#replaysEnded, cut(key));
    this.#sendReport();
  }

  trustedCame(): void {
    this.#trusted += 1;
    this.#sendReport();
  }

  trustedLeft(): void {
    this.#trusted -= 1;
    this.#sendReport();
  }

  left(key: string): void {
    increment(this.#left, cut(key));
    this.#sendReport();
  }

  refused(key: string): void {
    const known = cut(key);
    if (this.#refused.has(known) || this.#refused.size < LIMIT_REPORTED_MAX) increment(this.#refused, known);
    this.#sendReport();
  }

  shutOut(key: string): void {
    if (this.#shutOut.size < LIMIT_REPORTED_MAX) this.#shutOut.add(cut(key));
    this.#sendReport();
  }

  listen(listener: SharedLimitsListener): void {
    this.#listener = listener;
  }

  answered(answers: readonly LimitAnswer[]): void {
    const asked = this.#asked ?? [];
    this.#asked = undefined;
    this.#isSilent = false;
    // The loop below passes the answers to the callers of the limit checks. During the loop, a caller can report a
    // closed connection or a refusal. While `#isPausing` is true, the reader collects these reports and sends them with
    // the next batch.
    this.#isPausing = true;
    for (const [at, { ask, timer, settle, isGivenUp }] of asked.entries()) {
      const answer = answers[at] ?? null;
      // When a limit check failed, the reader refused the connection or the replay. The answer of the node has now
      // arrived late. If this answer is null, the node has admitted the connection or the replay, and counts it as
      // open. The reader therefore reports to the node that the connection or the replay has ended.
      if (isGivenUp && 'key' in ask && answer === null) this.left(ask.key);
      if (isGivenUp && 'replay' in ask && answer === null) this.replayEnded(ask.replay);
      timer.cancel();
      settle(answer);
    }
    this.#clock.after(REST_MS, () => {
      this.#isPausing = false;
      this.#sendReport();
    });
  }

  /** Handles a message of the node that is not an answer to a limit check: `shutOut`, `full` or `makeRoom`. */
  receive(message: Extract<ToReader, { readonly kind: 'shutOut' | 'full' | 'makeRoom' }>): void {
    if (message.kind === 'shutOut') this.#listener?.shutOut(message.key);
    else if (message.kind === 'full') this.#listener?.full(message.isFull);
    else this.#listener?.makeRoom(message.key);
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
      this.#sendReport();
    });
  }

  #giveUp(waiting: Waiting): void {
    waiting.isGivenUp = true;
    // If the limit check is not in `#waiting` any more, the reader has already sent the check to the node. In this
    // case, the node has not answered in time, so the reader treats the node as silent.
    if (!this.#waiting.delete(waiting)) this.#isSilent = true;
  }

  #sendReport(): void {
    if (this.#isPausing || this.#asked !== undefined) return;
    const reports = this.#left.size + this.#replaysEnded.size + this.#refused.size + this.#shutOut.size;
    if (this.#waiting.size + reports === 0 && this.#trusted === 0) return;
    this.#asked = [...this.#waiting].slice(0, LIMIT_ASKS_AT_ONCE);
    for (const asked of this.#asked) this.#waiting.delete(asked);
    this.#send({
      kind: 'limits',
      report: {
        trusted: this.#trusted,
        left: [...this.#left],
        replaysEnded: [...this.#replaysEnded],
        asks: this.#asked.map(({ ask }) => ask),
        refused: [...this.#refused],
        shutOut: [...this.#shutOut],
      },
    });
    this.#trusted = 0;
    this.#left.clear();
    this.#replaysEnded.clear();
    this.#refused.clear();
    this.#shutOut.clear();
  }
}

/** The node refuses a longer address or key. Each method cuts in the same way, so the counts stay correct. */
function cut(client: string): string {
  return client.slice(0, CLIENT_CHARS_MAX);
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
