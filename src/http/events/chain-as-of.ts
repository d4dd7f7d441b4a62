/** The chain as it stood behind one record of its log, although blocks may have come and gone since. */

import type { ChainRecord } from '../../ports/chain-log.ts';
import type { NodeApi } from '../../ports/node-api.ts';
import type { Block } from '../../protocol/types.ts';
import type { EventPlace } from './event.ts';
import type { Finality } from './expand.ts';

/** Records looked through at a time. */
const RECORDS_AT_ONCE = 1_000;

export class ChainAsOf {
  readonly sequence: number;
  readonly #api: Pick<NodeApi, 'chain' | 'log'>;
  /** The first record behind this one that reverted a block of a height: that block stood there. At most one a kept record. */
  readonly #reverted = new Map<number, ChainRecord>();
  #lookedTo: number;

  /** @param sequence of a record that is followed without a gap: at least one below the floor of the log */
  constructor(api: Pick<NodeApi, 'chain' | 'log'>, sequence: number) {
    this.#api = api;
    this.sequence = sequence;
    this.#lookedTo = sequence;
  }

  /** Height of its newest block; 0 without one. */
  tipHeight(): number {
    const next = this.#next();
    if (next === undefined) return this.#api.chain.tip()?.height ?? 0;
    return next.kind === 'applied' ? next.height - 1 : next.height;
  }

  /** Largest height that could not be reverted any more; 0 for none. */
  finalizedHeight(): number {
    return this.#next()?.finalizedBefore ?? this.#api.log.finalized();
  }

  /** The block that it had at a height; undefined where it had none, or where the log does not reach back any more. */
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

/** Up to where blocks are told that were there before the records of the log that follow. */
export function lastPastHeight(past: ChainAsOf, finality: Finality): number {
  return finality === 'final' ? past.finalizedHeight() : past.tipHeight();
}

/**
 * Where a stream begins that tells of all blocks from a height on, and then of what happens.
 *
 * @returns undefined where the block below that height is not there yet, or not final
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

/** Behind all that was told. */
export function endOfLog({ log }: Pick<NodeApi, 'log'>): EventPlace {
  return { sequence: log.last(), index: Number.MAX_SAFE_INTEGER };
}
