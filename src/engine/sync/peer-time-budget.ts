/**
 * How long a peer may take for the blocks that it gives. A node follows one peer at a time, so one that gives a single block
 * whenever it is about to be given up would keep the node from all others for hours.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Block } from '../../protocol/types.ts';

/** For the first answer and the last, which may be empty. */
const FREE_MS = 12_000;
/**
 * For each block. An answer of 34 blocks may take as long as the wire waits for one, 10 s; only the last answer has fewer, or
 * one of blocks so full that it is as large as a message may be.
 */
const PER_BLOCK_MS = 300;
const PER_TRANSACTION_MS = 5;
/** What may be saved up: else a peer that was quick for a whole chain could afterwards be as slow as it likes for a day. */
const SAVED_MS_MAX = 60_000;

export class PeerTimeBudget {
  readonly #clock: Pick<Clock, 'nowMs'>;
  #waitedMs = 0;
  #earnedMs = FREE_MS;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** Time spent waiting, what was done with the blocks apart. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** Waits for something of the peer's. */
  async during<T>(answer: Promise<T>): Promise<T> {
    const sinceMs = this.#clock.nowMs();
    try {
      return await answer;
    } finally {
      this.#waitedMs += Math.max(0, this.#clock.nowMs() - sinceMs);
    }
  }

  /** These came. @throws ProtocolError `SYNC_TOO_SLOW` when what came so far took too long */
  reward(blocks: readonly Block[]): void {
    for (const { transactions } of blocks) this.#earnedMs += PER_BLOCK_MS + transactions.length * PER_TRANSACTION_MS;
    if (this.#waitedMs > this.#earnedMs) throw new ProtocolError('SYNC_TOO_SLOW', { waitedMs: this.#waitedMs });
    this.#earnedMs = Math.min(this.#earnedMs, this.#waitedMs + SAVED_MS_MAX);
  }
}
