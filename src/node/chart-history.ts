/**
 * Counts the blocks, transactions, missed slots and reorgs of the last hour and of the last day, for the charts of the
 * dashboard. The counts take bounded memory.
 */

import type { BlockOrigin } from '../engine/chain-listeners.ts';
import type { Clock } from '../ports/clock.ts';
import type { HistoryPoint, HistorySpan, NodeHistory } from '../ports/node-history.ts';
import type { ChainParams } from '../protocol/params.ts';
import { momentMs, slotAt } from '../protocol/slots.ts';

/** Interval and maximum number of points of each span: one hour in steps of 30 s, one day in steps of 10 min. */
const SPANS: Readonly<Record<HistorySpan, { readonly intervalMs: number; readonly pointsMax: number }>> = {
  hour: { intervalMs: 30_000, pointsMax: 120 },
  day: { intervalMs: 600_000, pointsMax: 144 },
};

/** The members of an applied block that the history uses. */
export interface HistoryBlock {
  /** Timestamp of the block, in seconds since the epoch of the network. */
  readonly timestamp: number;
  readonly transactions: { readonly length: number };
}

export interface HistoryDependencies {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly params: Pick<ChainParams, 'blockTimeS' | 'epochMs'>;
  /**
   * The present number of transactions in the queues `verified`, `pending` and `ready` of the pool, and the present
   * number of connected peers.
   */
  readonly now: () => { readonly pool: number; readonly peers: number };
}

interface Sums {
  readonly timeMs: number;
  blocks: number;
  transactions: number;
  missedSlots: number;
  reorgs: number;
  /**
   * Sum of the delays of blocks in milliseconds. The delay is the time from the timestamp of a block until the node
   * applied the block. `delaysMs` and `delayed` do not include downloaded blocks.
   */
  delaysMs: number;
  /** Number of blocks whose delays are in `delaysMs`. */
  delayed: number;
  pool: number;
  peers: number;
}

export class ChartHistory {
  readonly #dependencies: HistoryDependencies;
  readonly #points: Readonly<Record<HistorySpan, Sums[]>> = { hour: [], day: [] };
  /**
   * Slot of the newest applied block. Undefined before the first applied block. Also undefined after a revert, until
   * the next block is applied.
   */
  #tipSlot: number | undefined;

  constructor(dependencies: HistoryDependencies) {
    this.#dependencies = dependencies;
  }

  applied(blocks: readonly HistoryBlock[], origin: BlockOrigin): void {
    const { clock, params } = this.#dependencies;
    // For downloaded blocks, which are old, the history counts no missed slots and no delays. Their missed slots belong
    // to earlier intervals, and their delays depend on the time of the download.
    const isLive = origin !== 'synced';
    let missed = 0;
    let delaysMs = 0;
    for (const { timestamp } of blocks) {
      const slot = slotAt(timestamp, params);
      if (isLive && this.#tipSlot !== undefined) missed += Math.max(0, slot - this.#tipSlot - 1);
      this.#tipSlot = slot;
      delaysMs += Math.max(0, clock.nowMs() - momentMs(timestamp, params));
    }
    const transactions = blocks.reduce((sum, block) => sum + block.transactions.length, 0);
    this.#add((point) => {
      point.blocks += blocks.length;
      point.transactions += transactions;
      point.missedSlots += missed;
      if (!isLive) return;
      point.delaysMs += delaysMs;
      point.delayed += blocks.length;
    });
  }

  reverted(): void {
    this.#tipSlot = undefined;
    this.#add((point) => {
      point.reorgs += 1;
    });
  }

  /**
   * Returns the points of a span, oldest first. The last point belongs to the current interval. An earlier interval has
   * a point only if the node applied or reverted a block in this interval, or if this method was called in this
   * interval.
   */
  of(span: HistorySpan): NodeHistory {
    this.#add(() => undefined);
    const { intervalMs } = SPANS[span];
    return { intervalMs, points: this.#points[span].map(pointOf) };
  }

  #add(change: (point: Sums) => void): void {
    const nowMs = this.#dependencies.clock.nowMs();
    const { pool, peers } = this.#dependencies.now();
    for (const span of ['hour', 'day'] as const) {
      const { intervalMs, pointsMax } = SPANS[span];
      const points = this.#points[span];
      const timeMs = Math.floor(nowMs / intervalMs) * intervalMs;
      let point = points.at(-1);
      // If the clock was set back, the newest point can belong to an interval after the current one. In this case, new
      // blocks and reorgs are added to this newest point.
      if (point === undefined || point.timeMs < timeMs) {
        point = { timeMs, blocks: 0, transactions: 0, missedSlots: 0, reorgs: 0, delaysMs: 0, delayed: 0, pool, peers };
        points.push(point);
      }
      while (points.length > pointsMax || (points[0]?.timeMs ?? timeMs) <= timeMs - intervalMs * pointsMax)
        points.shift();
      point.pool = pool;
      point.peers = peers;
      change(point);
    }
  }
}

function pointOf({ delaysMs, delayed, ...point }: Sums): HistoryPoint {
  return { ...point, ...(delayed === 0 ? {} : { delayMs: Math.round(delaysMs / delayed) }) };
}
