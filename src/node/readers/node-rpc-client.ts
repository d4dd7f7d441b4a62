/**
 * The reader's end of the channel between the node and a reader (a process that answers HTTP for the node). A read asks
 * the node for data that only the node has. A write passes on an HTTP request that changes data. The numbers of
 * unanswered reads and of unanswered writes are limited separately. A read fails if no answer comes within
 * `READ_ANSWER_MS_MAX`. A sent write has no time limit, because only the node knows whether the write was done. A sent
 * write therefore fails only if the node answers with an error.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import {
  busy,
  errorOf,
  failedOutcome,
  READ_ANSWER_MS_MAX,
  READS_AT_ONCE,
  READS_WAITING_MAX,
  silent,
  WRITES_AT_ONCE,
  type Call,
  type FromReader,
  type Outcome,
  type Read,
  type Write,
} from './messages.ts';

/**
 * After the node has answered the reads of this client, the client waits for this number of milliseconds before it
 * sends the next reads. A flood of reads therefore takes only a small part of the node's time.
 */
const REST_MS = 2;

interface Waiting {
  readonly call: Call<Read>;
  readonly answer: Promise<unknown>;
  readonly settle: (outcome: Outcome) => void;
  readonly timer: Timer;
}

export class NodeRpcClient {
  readonly #send: (message: FromReader) => void;
  readonly #clock: Pick<Clock, 'after'>;
  /** Reads that were not sent yet, by name and arguments. */
  readonly #reads = new Map<string, Waiting>();
  /** Reads that were sent and not answered yet. */
  #asked: readonly Waiting[] = [];
  /**
   * True if the node has not answered a sent read within `READ_ANSWER_MS_MAX`. The next answer of the node sets the
   * value to false.
   */
  #isSilent = false;
  #isPausing = false;
  readonly #writes = new Map<number, (outcome: Outcome) => void>();
  #lastId = 0;

  constructor(send: (message: FromReader) => void, clock: Pick<Clock, 'after'>) {
    this.#send = send;
    this.#clock = clock;
  }

  /**
   * Asks the node. The answer shows the state of the node at a moment after this call.
   *
   * @throws ProtocolError `NODE_BUSY` when too many reads wait, `NODE_SILENT` when no answer comes in time, or the
   *   error of the node. After a sent read has failed with `NODE_SILENT`, further reads fail immediately until the next
   *   answer of the node
   */
  async read(method: Read, ...args: readonly unknown[]): Promise<unknown> {
    if (this.#isSilent) throw silent();
    const name = JSON.stringify([method, args]);
    const known = this.#reads.get(name);
    if (known !== undefined) return known.answer;
    if (this.#reads.size >= READS_WAITING_MAX) throw busy();
    const { promise, settle } = settled();
    const timer = this.#clock.after(READ_ANSWER_MS_MAX, () => {
      if (this.#reads.get(name) === waiting) this.#reads.delete(name);
      if (this.#asked.includes(waiting)) this.#isSilent = true;
      settle(failedOutcome(silent()));
    });
    const waiting: Waiting = { call: { method, args }, answer: promise, settle, timer };
    this.#reads.set(name, waiting);
    this.#ask();
    return promise;
  }

  /** @throws ProtocolError `NODE_BUSY` when too many writes are not answered yet, or the error of the node */
  async write(method: Write, ...args: readonly unknown[]): Promise<unknown> {
    if (this.#writes.size >= WRITES_AT_ONCE) throw busy();
    const id = (this.#lastId += 1);
    const { promise, settle } = settled();
    // `#send` throws if the arguments cannot be copied to another process. The write then gets no answer, so it must
    // not count as unanswered.
    this.#send({ kind: 'write', id, call: { method, args } });
    this.#writes.set(id, settle);
    return promise;
  }

  answered(outcomes: readonly Outcome[]): void {
    const asked = this.#asked;
    this.#asked = [];
    this.#isSilent = false;
    for (const [at, { settle, timer }] of asked.entries()) {
      timer.cancel();
      settle(outcomes[at] ?? { value: undefined });
    }
    this.#isPausing = true;
    this.#clock.after(REST_MS, () => {
      this.#isPausing = false;
      this.#ask();
    });
  }

  done(id: number, outcome: Outcome): void {
    this.#writes.get(id)?.(outcome);
    this.#writes.delete(id);
  }

  #ask(): void {
    if (this.#isPausing || this.#asked.length > 0 || this.#reads.size === 0) return;
    const next = [...this.#reads].slice(0, READS_AT_ONCE);
    for (const [name] of next) this.#reads.delete(name);
    this.#asked = next.map(([, waiting]) => waiting);
    this.#send({ kind: 'reads', calls: this.#asked.map(({ call }) => call) });
  }
}

function settled(): { readonly promise: Promise<unknown>; readonly settle: (outcome: Outcome) => void } {
  let settle: (outcome: Outcome) => void = () => undefined;
  const promise = new Promise((resolve, reject) => {
    settle = (outcome) => {
      const error = errorOf(outcome);
      if (error !== undefined) reject(error);
      else resolve('value' in outcome ? outcome.value : undefined);
    };
  });
  return { promise, settle };
}
