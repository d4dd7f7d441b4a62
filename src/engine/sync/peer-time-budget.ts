/**
 * The time that a peer may take for the blocks that it sends. A node follows one peer at a time. Without this budget, a peer
 * could send a single block just before each time-out, and keep the node from all others for hours.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Block } from '../../protocol/types.ts';

/** Time for the first answer and for the last, which may be empty. */
const FREE_MS = 12_000;
/**
 * For each block. An answer of 34 blocks may take as long as the wire waits for one, 10 s; only the last answer has fewer, or
 * one of blocks so full that it is as large as a message may be.
 */
const PER_BLOCK_MS = 300;
const PER_TRANSACTION_MS = 5;
/** Highest time that a peer can save up. Without it, a peer that was quick for a whole chain could then be slow for a day. */
const SAVED_MS_MAX = 60_000;

export class PeerTimeBudget {
  readonly #clock: Pick<Clock, 'nowMs'>;
  #waitedMs = 0;
  #earnedMs = FREE_MS;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** Time spent waiting for the peer, without the time for work on its blocks. */
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

  /** Adds time for received blocks. @throws ProtocolError `SYNC_TOO_SLOW` when the blocks so far took too long */
  reward(blocks: readonly Pick<Block, 'transactions'>[]): void {
    for (const { transactions } of blocks) this.#earnedMs += PER_BLOCK_MS + transactions.length * PER_TRANSACTION_MS;
    if (this.#waitedMs > this.#earnedMs) throw new ProtocolError('SYNC_TOO_SLOW', { waitedMs: this.#waitedMs });
    this.#earnedMs = Math.min(this.#earnedMs, this.#waitedMs + SAVED_MS_MAX);
  }
}
