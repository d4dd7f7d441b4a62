/**
 * Limits the total time that a sync peer can take to send blocks. A node syncs from one peer at a time. Without this
 * limit, a peer could send a single block just before each timeout, and the node would sync from no other peer for
 * hours. If same-tip peers send some of the blocks, these blocks also add time to the budget of the sync peer. The
 * waits for these blocks also use up this budget.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Block } from '../../protocol/types.ts';

/**
 * Time in milliseconds that the budget of a peer contains at the start of a sync from this peer. The time is longer
 * than the maximum wait for one answer. The peer therefore has enough time for its first answer. It also has enough
 * time for a last answer with few blocks, although such an answer earns little time.
 */
const FREE_MS = 12_000;
/**
 * Times in milliseconds that a peer earns with each block and each transaction that it sends. A block that we already
 * have earns time only if an honest peer would also send this block again (`sync-from-peer.ts`). An answer of 34 blocks
 * earns at least 10.2 s, which is more than the 10 s for which the transport waits for an answer. An honest peer sends
 * fewer than 34 blocks only in its last answer, and in an answer that reaches the maximum size of a message. In an
 * answer of maximum size, each block earns more than `PER_BLOCK_MS`, because such large blocks contain many
 * transactions.
 */
const PER_BLOCK_MS = 300;
const PER_TRANSACTION_MS = 5;
/**
 * Maximum unused time in milliseconds that a peer can collect. Without this maximum, a peer that sent many blocks fast
 * could afterwards delay its answers for a day.
 */
const SAVED_MS_MAX = 60_000;

export class PeerTimeBudget {
  readonly #clock: Pick<Clock, 'nowMs'>;
  #waitedMs = 0;
  #earnedMs = FREE_MS;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /**
   * Total time in milliseconds that the node has waited for blocks of the peer. The time in which the node validates
   * and applies blocks does not count.
   */
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
   * Adds the time that the peer earns with the given blocks. Call this method even for a batch in which no block earns
   * time, because the method also checks the limit.
   *
   * @throws ProtocolError `SYNC_TOO_SLOW` if the budget of the peer is used up: `waitedMs` exceeds the earned time. The
   *   earned time includes `FREE_MS`
   */
  reward(blocks: readonly Pick<Block, 'transactions'>[]): void {
    for (const { transactions } of blocks) this.#earnedMs += PER_BLOCK_MS + transactions.length * PER_TRANSACTION_MS;
    if (this.#waitedMs > this.#earnedMs) throw new ProtocolError('SYNC_TOO_SLOW', { waitedMs: this.#waitedMs });
    this.#earnedMs = Math.min(this.#earnedMs, this.#waitedMs + SAVED_MS_MAX);
  }
}
