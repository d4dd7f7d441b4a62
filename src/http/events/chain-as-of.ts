/** Shows the chain as it was after one record of its log, even if blocks were applied or reverted since then. */

import type { ChainRecord } from '../../ports/chain-log.ts';
import type { NodeApi } from '../../ports/node-api.ts';
import type { Block } from '../../protocol/types.ts';
import type { EventPlace } from './event.ts';
import type { Finality } from './expand.ts';

/** Number of records that are read at once. */
const RECORDS_AT_ONCE = 1_000;

export class ChainAsOf {
  readonly sequence: number;
  readonly #api: Pick<NodeApi, 'chain' | 'log'>;
  /**
   * The first record after `sequence` that reverted a block, for each height. That block was in the chain after the
   * record `sequence`. The map has at most one entry for each record in the log.
   */
  readonly #reverted = new Map<number, ChainRecord>();
  #lookedTo: number;

  /** @param sequence number of the record; the log must contain all later records */
  constructor(api: Pick<NodeApi, 'chain' | 'log'>, sequence: number) {
    this.#api = api;
    this.sequence = sequence;
    this.#lookedTo = sequence;
  }

  /** Height of the newest block; 0 when there was none. */
  tipHeight(): number {
    const next = this.#next();
    if (next === undefined) return this.#api.chain.tip()?.height ?? 0;
    return next.kind === 'applied' ? next.height - 1 : next.height;
  }

  /** Largest height that could not be reverted; 0 when there was none. */
  finalizedHeight(): number {
    return this.#next()?.finalizedBefore ?? this.#api.log.finalized();
  }

  /**
   * The block at a height; undefined if there was no block at this height, or if the log does not reach back far
   * enough.
   */
  block(height: number): Block | undefined {
    this.#look();
    const reverted = this.#reverted.get(height);
    return reverted === undefined ? this.#api.chain.blockByHeight(height) : this.#api.log.block(reverted);
  }

  #next(): ChainRecord | undefined {
    const [record] = this.#api.log.records(this.sequence + 1, 1);
    return record;
  }

  #look(): void {
    const { log } = this.#api;
    while (this.#lookedTo < log.last()) {
      const records = log.records(this.#lookedTo + 1, RECORDS_AT_ONCE);
      for (const record of records)
        if (record.kind === 'reverted' && !this.#reverted.has(record.height)) this.#reverted.set(record.height, record);
      this.#lookedTo = records.at(-1)?.sequence ?? log.last();
    }
  }
}

/**
 * Height of the last block that the stream reads from the chain. The events after this block come from the records of
 * the log.
 */
export function lastPastHeight(past: ChainAsOf, finality: Finality): number {
  return finality === 'final' ? past.finalizedHeight() : past.tipHeight();
}

/**
 * Returns the place where a stream starts that sends all blocks from a height on, and then the following events.
 *
 * @returns undefined when the block below the height does not exist yet, or is not final
 */
export function placeAtHeight(
  api: Pick<NodeApi, 'chain' | 'log'>,
  height: number,
  finality: Finality,
): EventPlace | undefined {
  const sequence = api.log.last();
  const last = lastPastHeight(new ChainAsOf(api, sequence), finality);
  if (height > last + 1) return undefined;
  return height > last ? endOfLog(api) : { sequence, height, index: -1 };
}

/** Returns the place after all events of the log. */
export function endOfLog({ log }: Pick<NodeApi, 'log'>): EventPlace {
  return { sequence: log.last(), index: Number.MAX_SAFE_INTEGER };
}
