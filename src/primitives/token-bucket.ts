/**
 * Limits the rate of an action with a bucket of tokens. Each action takes tokens from the bucket, and time adds new
 * tokens. The caller passes the current time to each method.
 */

export class TokenBucket {
  readonly #capacity: number;
  readonly #everyMs: number;
  #tokens: number;
  #atMs = Number.NEGATIVE_INFINITY;

  /**
   * A new bucket is full.
   *
   * @param capacity maximum number of tokens in the bucket
   * @param everyMs time in milliseconds after which one token is added
   */
  constructor(capacity: number, everyMs: number) {
    this.#capacity = capacity;
    this.#everyMs = everyMs;
    this.#tokens = capacity;
  }

  /**
   * Removes `count` tokens and returns true. If the bucket has fewer than `count` tokens, returns false and removes no
   * tokens.
   */
  take(nowMs: number, count = 1): boolean {
    this.#fill(nowMs);
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Returns the time in milliseconds until the bucket has a token; 0 if the bucket has a token now. */
  waitMs(nowMs: number): number {
    this.#fill(nowMs);
    return this.#tokens >= 1 ? 0 : Math.ceil((1 - this.#tokens) * this.#everyMs);
  }

  #fill(nowMs: number): void {
    // If the clock was set back after the last call, the bucket neither gains nor loses tokens.
    const elapsedMs = Number.isFinite(this.#atMs) ? Math.max(0, nowMs - this.#atMs) : 0;
    this.#atMs = nowMs;
    this.#tokens = Math.min(this.#capacity, this.#tokens + elapsedMs / this.#everyMs);
  }
}
