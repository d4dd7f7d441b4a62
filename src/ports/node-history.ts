/** Defines the history of a node: values over the last hour or day, from which the dashboard draws charts. */

export type HistorySpan = 'hour' | 'day';

export interface NodeHistory {
  /**
   * Length in milliseconds of the interval that each point covers. In the view of a stopped node, there are no points,
   * and the length is 0.
   */
  readonly intervalMs: number;
  /**
   * The points, oldest first. An interval has a point only if a block was applied or reverted in the interval, or if
   * the history was read in the interval.
   */
  readonly points: readonly HistoryPoint[];
}

export interface HistoryPoint {
  /** Start of the interval; Unix time in milliseconds. */
  readonly timeMs: number;
  /** Number of blocks that the node applied in the interval. */
  readonly blocks: number;
  /** Number of transactions in the blocks that the node applied in the interval. */
  readonly transactions: number;
  /**
   * Number of empty slots between applied blocks. The empty slots before a block that the node downloaded in a sync do
   * not count.
   */
  readonly missedSlots: number;
  /** Number of reorgs in the interval. In a reorg, the node reverts one block, or several blocks together. */
  readonly reorgs: number;
  /**
   * Mean time in milliseconds from the timestamp of a block until this node applied the block. Blocks that the node
   * downloaded in a sync do not count. Undefined if the node applied no block in the interval, or if all applied blocks
   * were downloaded in a sync.
   */
  readonly delayMs?: number;
  /**
   * Number of transactions in the queues `verified`, `pending` and `ready` of the pool. The number is from the last
   * moment in this interval at which the node applied or reverted a block, or at which the history was read.
   */
  readonly pool: number;
  /** Number of connected peers at the same moment as `pool`. */
  readonly peers: number;
}
