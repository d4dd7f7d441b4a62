/** Defines the values of a node over the last hour or day, for charts. */

export type HistorySpan = 'hour' | 'day';

export interface NodeHistory {
  /** Length of the interval of one point, in milliseconds; 0 in the view of a stopped node, which has no points. */
  readonly intervalMs: number;
  /**
   * Points, oldest first. There is no point for an interval in which no block was applied or reverted and nobody read
   * the history.
   */
  readonly points: readonly HistoryPoint[];
}

export interface HistoryPoint {
  /** Start of the interval; Unix time in milliseconds. */
  readonly timeMs: number;
  /** Number of blocks that were applied. */
  readonly blocks: number;
  /** Number of transactions in the blocks that were applied. */
  readonly transactions: number;
  /**
   * Number of empty slots between applied blocks. The empty slots before a block that the node downloaded in a sync do
   * not count.
   */
  readonly missedSlots: number;
  /** Number of times that blocks were reverted. */
  readonly reorgs: number;
  /**
   * Mean time in milliseconds from the timestamp of a block until this node applied the block. Blocks that the node
   * downloaded in a sync do not count. Undefined if the node applied no blocks, or only downloaded blocks.
   */
  readonly delayMs?: number;
  /**
   * Number of transactions in the queues `verified`, `pending` and `ready` of the pool. The number is from the last
   * moment in this interval at which the history changed or was read.
   */
  readonly pool: number;
  /** Number of connected peers at the same moment as `pool`. */
  readonly peers: number;
}
