/**
 * The time that a peer may take for the blocks that it sends. The budget is needed because a node follows one peer at a
 * time. Without this budget, a peer could send a single block just before each time-out. The node would then follow no
 * other peer for hours.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Block } from '../../protocol/types.ts';

/** Time for the first answer and for the last one. The last answer may be empty. */
const FREE_MS = 12_000;
/**
 * Time that a peer earns with each block that it sends. An answer of 34 blocks earns 10 s, which is as long as the
 * transport waits for an answer. An answer has fewer than 34 blocks only in two cases. An answer with fewer blocks is
 * either the last one, or its blocks are so full that the answer has the maximum size of a message.
 */
const PER_BLOCK_MS = 300;
const PER_TRANSACTION_MS = 5;
/**
 * Maximum of unused time that a peer can collect. Without this maximum, a peer that sent a whole chain fast could then
 * be slow for a day.
 */
const SAVED_MS_MAX = 60_000;

export class PeerTimeBudget {
  readonly #clock: Pick<Clock, 'nowMs'>;
  #waitedMs = 0;
  #earnedMs = FREE_MS;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** Time spent on waiting for the peer; the time for work on its blocks is not included. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** Waits for an answer of the peer, and adds the time to `waitedMs`. */
  async during<T>(answer: Promise<T>): Promise<T> {
    const sinceMs = this.#clock.nowMs();
    try {
      return await answer;
    } finally {
      this.#waitedMs += Math.max(0, this.#clock.nowMs() - sinceMs);
    }
  }

  /**
   * Adds time for received blocks.
   *
   * @throws ProtocolError `SYNC_TOO_SLOW` if the peer took too long for its blocks
   */
  reward(blocks: readonly Pick<Block, 'transactions'>[]): void {
    for (const { transactions } of blocks) this.#earnedMs += PER_BLOCK_MS + transactions.length * PER_TRANSACTION_MS;
    if (this.#waitedMs > this.#earnedMs) throw new ProtocolError('SYNC_TOO_SLOW', { waitedMs: this.#waitedMs });
    this.#earnedMs = Math.min(this.#earnedMs, this.#waitedMs + SAVED_MS_MAX);
  }
}
