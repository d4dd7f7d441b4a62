/**
 * Decides whether a sink command repeats a failed request to a node, and after which pause. The command repeats the
 * request after a lost or failed connection, after HTTP status 408, 429 or 503, and while the chain of the node is too
 * short (`NODE_BEHIND`). Any other error ends the command, because the same request would fail again.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, messageOf, ProtocolError } from '../../primitives/errors.ts';

/**
 * Longest pause in milliseconds before the next attempt, if there is no answer or the answer has no `Retry-After`
 * header.
 */
const PAUSE_MS_MAX = 30_000;
/**
 * Longest pause after an answer with a `Retry-After` header, in milliseconds. If the header states a longer time, the
 * pause lasts only this maximum.
 */
const RETRY_AFTER_MS_MAX = 300_000;
const BUSY: ReadonlySet<unknown> = new Set([408, 429, 503]);

export interface NodeRetryOptions {
  readonly base: string;
  /** Signal that ends a pause. After the signal, `wait` throws the abort reason of the signal. */
  readonly signal: AbortSignal;
  /** First pause in milliseconds. Each further failure in a row doubles the pause, up to `PAUSE_MS_MAX`. */
  readonly pauseMs: number;
  /** Shows a line to the user. */
  readonly print: (line: string) => void;
}

export class NodeRetry {
  readonly #options: NodeRetryOptions;
  #failures = 0;
  #wasBehind = false;

  constructor(options: NodeRetryOptions) {
    this.#options = options;
  }

  /** True when the last attempt failed. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /**
   * Sets the number of consecutive failures to 0. If this number was not 0, prints that the node is back. Code that
   * calls `wait` must call `succeeded` after a success.
   */
  succeeded(): void {
    if (this.#failures > 0) this.#options.print(`${this.#options.base} is back`);
    this.#failures = 0;
  }

  /**
   * Waits before the next attempt. If several failures occur in a row, the function prints only the first failure, and
   * each `NODE_BEHIND` that directly follows a different error.
   *
   * @throws `error` itself if `isTransient` returns false for this error; the abort reason of the signal after an abort
   */
  async wait(error: unknown): Promise<void> {
    const { signal, pauseMs, print } = this.#options;
    signal.throwIfAborted();
    if (!isTransient(error)) throw error;
    const isBehind = codeOf(error) === 'NODE_BEHIND';
    if (this.#failures === 0 || (isBehind && !this.#wasBehind))
      print(`${messageOf(error)}; the command retries until the node answers`);
    this.#wasBehind = isBehind;
    const waitMs = retryAfterMs(error) ?? Math.min(PAUSE_MS_MAX, pauseMs * 2 ** Math.min(this.#failures, 16));
    this.#failures += 1;
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }

  /** Calls `attempt` until it succeeds, with the pauses of `wait`. @throws in the same cases as `wait` */
  async until<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const result = await attempt();
        this.succeeded();
        return result;
      } catch (error) {
        await this.wait(error);
      }
    }
  }
}

/**
 * Returns an error after which the caller opens the event stream again. Reasons are, for example, a lost or silent
 * connection, a node that changed its branch, and a block of which some transactions have not arrived.
 *
 * @param cause undefined if the stream ended without an error
 */
export function connectionLost(base: string, cause?: unknown): ProtocolError {
  const why = cause === undefined ? 'the node ended the answer' : messageOf(cause);
  return new ProtocolError('NODE_UNREACHABLE', { url: base }, `the connection to ${base} was lost (${why})`, { cause });
}

/**
 * Yields the body of an event stream.
 *
 * @param silenceMs the connection counts as lost when no byte arrives for this time, in milliseconds. Without this
 *   limit, a connection to a machine that has lost power would stay open for a long time.
 * @throws a ProtocolError of `open` unchanged; for any other failure, the error of `connectionLost`
 */
export async function* bodyOf(
  base: string,
  open: Promise<AsyncIterable<Uint8Array>>,
  silenceMs: number,
): AsyncIterable<Uint8Array> {
  try {
    yield* withoutSilence(await open, silenceMs);
  } catch (error) {
    throw error instanceof ProtocolError ? error : connectionLost(base, error);
  }
}

async function* withoutSilence(body: AsyncIterable<Uint8Array>, silenceMs: number): AsyncIterable<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no data arrived for ${silenceMs / 1000} s`)), silenceMs);
        void iterator
          .next()
          .then(resolve, reject)
          .finally(() => clearTimeout(timer));
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // `iterator.return` can wait for a pending read that never ends, so the code does not await the result of
    // `iterator.return`.
    void iterator.return?.().catch(() => undefined);
  }
}

/**
 * Returns the error for a node whose chain ends below `finalHeight`. The sink command has already treated the block at
 * this height as final.
 */
export function nodeBehind(base: string, height: number, finalHeight: number): ProtocolError {
  const message = `the chain of ${base} is at height ${height}, below block ${finalHeight}, which counted as final`;
  return new ProtocolError('NODE_BEHIND', { url: base, height, finalHeight }, message);
}

/** @returns true when it is possible that the same request succeeds later */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof ProtocolError)) return false;
  if (error.code === 'NODE_UNREACHABLE' || error.code === 'NODE_BEHIND') return true;
  return error.code === 'NODE_ANSWER_UNEXPECTED' && BUSY.has(error.data['status']);
}

function retryAfterMs(error: unknown): number | undefined {
  const seconds = error instanceof ProtocolError ? error.data['retryAfterS'] : undefined;
  return typeof seconds === 'number' ? Math.min(RETRY_AFTER_MS_MAX, seconds * 1000) : undefined;
}
