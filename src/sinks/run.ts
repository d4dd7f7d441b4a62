/**
 * Copies a chain into a sink and keeps the sink up to date. The present position is read from the sink alone, so the
 * process may end anywhere: the next run repeats the unfinished step.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { Block, BlockId } from '../protocol/types.ts';
import { RowMaker } from './row-maker.ts';
import {
  rangeAfter,
  type BlockPlace,
  type HeightSpan,
  type RangeDraft,
  type Sink,
  type SinkBlock,
  type SinkIdentity,
  type SinkPlace,
} from './sink.ts';
import type { ChainChange, ChainSource } from './source.ts';
import { rowCount, type Rows } from './tables.ts';

export interface SinkRun {
  readonly source: ChainSource;
  readonly sink: Sink;
  /** Number of heights in a range. */
  readonly rangeBlocks: number;
  /** Ends the run between two steps when it is aborted. */
  readonly signal: AbortSignal;
  /** False to end the run when the sink holds the present chain. */
  readonly follows: boolean;
  readonly onProgress?: (progress: SinkProgress) => void;
}

export interface SinkProgress {
  /**
   * `replay`: applies blocks that the sink has already; `backfill`: writes whole ranges; `live`: the tail follows the
   * chain.
   */
  readonly phase: 'replay' | 'backfill' | 'live';
  readonly height: number;
  readonly finalHeight: number;
  /** Rows written since the run began. */
  readonly rows: number;
}

/**
 * Maximum number of blocks of the tail that are written together. Until the sink has caught up, the sink waits for this
 * number of new blocks. Of 1,000 blocks, the inserts cost about a tenth of the time.
 */
const TAIL_BLOCKS_AT_ONCE = 1_000;
/**
 * Maximum number of ranges that the blocks of one write to the tail belong to. A ClickHouse server refuses an insert with more than 100
 * partitions, and a range of the tail is a partition.
 */
const TAIL_RANGES_AT_ONCE = 50;
/** Number of blocks between two progress reports of a replay. */
const REPLAY_REPORT_BLOCKS = 10_000;

/**
 * Runs until the signal is aborted or, without `follows`, until the sink has caught up.
 *
 * @throws ProtocolError `SINK_OF_OTHER_CHAIN`, `SINK_REVERTED_BELOW` when a block that counted as final was reverted,
 *   `SINK_BLOCK_REFUSED` and the errors of source and sink
 */
export async function runSink(run: SinkRun): Promise<void> {
  const { source, sink } = run;
  const { params } = source.rules;
  const identity: SinkIdentity = {
    network: source.networkName,
    generation: params.generation,
    genesisBlockId: params.genesisBlockId,
    rangeBlocks: run.rangeBlocks,
  };
  // The source is read first. If it cannot be read, for example because the flags name another network, nothing has
  // been created in the sink.
  await source.finalHeight();
  const place = await sink.begin(identity);
  const maker = new RowMaker(source.rules);
  const writer = new SinkWriter(run, maker, place);
  await writer.replay();
  await writer.backfill();
  await writer.follow();
}

class SinkWriter {
  readonly #run: SinkRun;
  readonly #maker: RowMaker;
  /** Maximum number of blocks of the tail that are written together. */
  readonly #tailBlocksAtOnce: number;
  /** Last height of the final part of the sink. */
  #finalHeight: number;
  readonly #finalBlockId: string | undefined;
  /** Height up to which no block can be reverted. */
  #settledHeight = 0;
  /** Blocks of the tail that the sink has stored. */
  #stored: readonly BlockPlace[];
  /** Blocks of the chain above the final part: at most a range and the blocks that are not final. */
  #tail: SinkBlock[] = [];
  #rows = 0;

  constructor(run: SinkRun, maker: RowMaker, { final, tail }: SinkPlace) {
    this.#run = run;
    this.#maker = maker;
    this.#tailBlocksAtOnce = Math.min(TAIL_BLOCKS_AT_ONCE, TAIL_RANGES_AT_ONCE * run.rangeBlocks);
    this.#finalHeight = final?.height ?? 0;
    this.#finalBlockId = final?.blockId;
    this.#stored = tail;
  }

  /** Applies the blocks of the final part again. */
  async replay(): Promise<void> {
    const { source, signal } = this.#run;
    if (this.#finalHeight === 0) return;
    // The replay of a large chain takes long, so a shorter chain is refused before the replay.
    const height = await source.height();
    if (height < this.#finalHeight) throw this.#tooShort(height);
    for await (const block of source.blocks(1, this.#finalHeight)) {
      if (signal.aborted) return;
      this.#checkParent(block);
      this.#maker.apply(block);
      if (block.height % REPLAY_REPORT_BLOCKS === 0) this.#report('replay', block.height);
    }
    this.#settleBlocks(this.#finalHeight);
    const tip = this.#maker.tip();
    if (tip?.height !== this.#finalHeight) throw this.#tooShort(await source.height());
    if (tip.id !== this.#finalBlockId)
      throw this.#ofOtherChain(`has ${tip.id} there`, 'create the sink again with a larger --depth');
  }

  #tooShort(height: number): ProtocolError {
    return this.#ofOtherChain(`is at height ${height}`, 'wait until the chain has reached this height');
  }

  #ofOtherChain(what: string, remedy: string): ProtocolError {
    return new ProtocolError(
      'SINK_OF_OTHER_CHAIN',
      { height: this.#finalHeight, blockId: this.#finalBlockId },
      `the sink ends with block ${this.#finalBlockId ?? '0'} at height ${this.#finalHeight}, the chain ${what}: ` +
        `name another sink, or ${remedy}`,
    );
  }

  /**
   * Writes whole ranges of final blocks. While the sink writes a range, this process makes the rows of the next range.
   */
  async backfill(): Promise<void> {
    const { source, sink, rangeBlocks, signal } = this.#run;
    let written: Promise<void> = Promise.resolve();
    try {
      for (let height = this.#finalHeight; ; height += rangeBlocks) {
        const span = rangeAfter(height, rangeBlocks);
        if (signal.aborted || (await source.finalHeight()) < span.toHeight) break;
        const draft = sink.draftRange();
        const blockIds: BlockId[] = [];
        for await (const block of source.blocks(span.fromHeight, span.toHeight)) {
          this.#checkParent(block);
          draft.add(this.#counted(this.#maker.rowsOf(block)));
          blockIds.push(block.id);
        }
        this.#refuseShortRange(span);
        this.#settleBlocks(span.toHeight);
        await written;
        written = this.#putRange(draft, span, blockIds);
        // The code that waits for the range throws the error.
        written.catch(() => undefined);
      }
    } catch (error) {
      // The sink must not be closed during a write.
      await written.catch(() => undefined);
      throw error;
    }
    await written;
  }

  /** The chain may have become shorter since its final height was read. */
  #refuseShortRange({ toHeight }: HeightSpan): void {
    const height = this.#maker.tip()?.height ?? 0;
    if (height === toHeight) return;
    throw this.#revertedBelow(toHeight);
  }

  /** @param blockIds ids of the blocks of the range, ascending */
  async #putRange(draft: RangeDraft, span: HeightSpan, blockIds: readonly BlockId[]): Promise<void> {
    await this.#storeRange(draft, span, blockIds);
    this.#report('backfill', span.toHeight);
  }

  async #storeRange(draft: RangeDraft, span: HeightSpan, blockIds: readonly BlockId[]): Promise<void> {
    // If stored blocks of another branch stayed above the range, readers would see rows of two branches.
    await this.#revertFrom(
      this.#stored.findIndex(({ blockId }, index) => index < blockIds.length && blockIds[index] !== blockId),
    );
    await draft.put(span, blockIds.at(-1) ?? '0');
    this.#finalHeight = span.toHeight;
    this.#stored = this.#stored.filter(({ height }) => height > span.toHeight);
  }

  /** @param index index of the lowest stored block to revert; negative for none */
  async #revertFrom(index: number): Promise<void> {
    if (index < 0) return;
    await this.#run.sink.revertTail(this.#finalHeight + index);
    this.#stored = this.#stored.slice(0, index);
  }

  /** Follows the chain with the tail, and writes a range when its last block is final. */
  async follow(): Promise<void> {
    const { source, signal, follows } = this.#run;
    if (signal.aborted) return;
    let isCatchingUp = true;
    for await (const change of source.changes(this.#finalHeight + 1, signal)) {
      await this.#take(change, isCatchingUp);
      if (change.kind === 'caughtUp') {
        isCatchingUp = false;
        if (!follows) return;
      }
      if (signal.aborted) return;
    }
  }

  async #take(change: ChainChange, isCatchingUp: boolean): Promise<void> {
    switch (change.kind) {
      case 'applied':
        this.#append(change.block);
        if (!isCatchingUp || this.#tail.length - this.#stored.length >= this.#tailBlocksAtOnce) await this.#write();
        return;
      case 'reverted':
        this.#revert(change.height);
        if (!isCatchingUp) await this.#write();
        return;
      case 'final':
        return this.#settle(change.height);
      case 'caughtUp':
        await this.#write();
    }
  }

  /**
   * Every block below the tail counts as final. If the next block has another parent, the last of these blocks was
   * reverted.
   */
  #checkParent({ previousBlockId }: Block): void {
    const parent = this.#tail.length === 0 ? this.#maker.tip() : undefined;
    if (parent !== undefined && parent.id !== previousBlockId) throw this.#revertedBelow(parent.height);
  }

  /** A run can replace the blocks above the last range, but not the blocks of a range. */
  #revertedBelow(height: number): ProtocolError {
    const remedy =
      height > this.#finalHeight ? 'start the command again' : 'create the sink again with a larger --depth';
    return new ProtocolError(
      'SINK_REVERTED_BELOW',
      { height, finalHeight: this.#finalHeight },
      `block ${height} was reverted, although it counted as final: ${remedy}`,
    );
  }

  #append(block: Block): void {
    this.#checkParent(block);
    const rows = this.#maker.rowsOf(block);
    this.#tail.push({ height: block.height, blockId: block.id, rows });
  }

  #revert(height: number): void {
    if (height <= this.#settledHeight || height !== this.#tail.at(-1)?.height) throw this.#revertedBelow(height);
    this.#maker.revert();
    this.#tail.pop();
  }

  /** Makes the stored tail equal to the tail of the chain. */
  async #write(): Promise<void> {
    const { sink } = this.#run;
    await this.#revertFrom(this.#stored.findIndex(({ blockId }, index) => this.#tail[index]?.blockId !== blockId));
    while (this.#stored.length < this.#tail.length) {
      const from = this.#stored.length;
      const blocks = this.#tail.slice(from, from + this.#tailBlocksAtOnce);
      await sink.putTail(blocks);
      for (const { rows } of blocks) this.#counted(rows);
      this.#stored = [...this.#stored, ...blocks.map(({ height, blockId }) => ({ height, blockId }))];
    }
    this.#report('live', this.#finalHeight + this.#tail.length);
  }

  async #settle(height: number): Promise<void> {
    const { sink, rangeBlocks } = this.#run;
    this.#settleBlocks(Math.min(height, this.#finalHeight + this.#tail.length));
    for (;;) {
      const span = rangeAfter(this.#finalHeight, rangeBlocks);
      if (height < span.toHeight || this.#tail.length < rangeBlocks) return;
      const blocks = this.#tail.slice(0, rangeBlocks);
      const draft = sink.draftRange();
      for (const { rows } of blocks) draft.add(this.#counted(rows));
      await this.#storeRange(
        draft,
        span,
        blocks.map(({ blockId }) => blockId),
      );
      this.#tail = this.#tail.slice(rangeBlocks);
    }
  }

  #settleBlocks(height: number): void {
    this.#settledHeight = Math.max(height, this.#settledHeight);
    this.#maker.settle(this.#settledHeight);
  }

  #counted(rows: Rows): Rows {
    this.#rows += rowCount(rows);
    return rows;
  }

  #report(phase: SinkProgress['phase'], height: number): void {
    this.#run.onProgress?.({ phase, height, finalHeight: this.#finalHeight, rows: this.#rows });
  }
}
