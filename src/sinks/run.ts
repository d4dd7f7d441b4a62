/**
 * Copies a chain into a sink and keeps the sink up to date. A run reads its start position only from the sink.
 * Therefore the process can end at any moment: the next run repeats an unfinished write.
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
  /**
   * When this signal is aborted, the run ends after its current step. A step is the replay of a block, the write of a
   * range, or the handling of one change of the chain.
   */
  readonly signal: AbortSignal;
  /**
   * If true, the run waits for new blocks. If false, the run ends when the sink has all blocks of the current chain.
   */
  readonly follows: boolean;
  readonly onProgress?: (progress: SinkProgress) => void;
}

export interface SinkProgress {
  /**
   * The phases of a run, in their order. `replay`: the sink already has the rows of some ranges, and the run applies
   * the blocks of these ranges in memory, to compute the state after them. `backfill`: the run writes further ranges. A
   * range consists of `rangeBlocks` blocks that count as final. `live`: the run applies each change of the chain to the
   * tail of the sink (the newest blocks, which the sink can still remove).
   */
  readonly phase: 'replay' | 'backfill' | 'live';
  /** Height of the last block that the run has handled in the phase that the member `phase` names. */
  readonly height: number;
  /** Last height of the final part of the sink (the ranges that the sink has stored); 0 while the sink has no range. */
  readonly finalHeight: number;
  /**
   * Number of rows that the run has passed to the sink. When blocks move from the tail to a range, this number counts
   * the rows of these blocks a second time.
   */
  readonly rows: number;
}

/**
 * Maximum number of blocks in one write to the tail. `TAIL_RANGES_AT_ONCE` can set a lower maximum. While the sink
 * catches up with the chain, the run collects as many new blocks as the two constants allow, and then writes these
 * blocks together. The reason: an insert into ClickHouse has a fixed cost, which is about as high as the cost of
 * inserting the rows of 100 blocks. With 1,000 blocks in an insert, the fixed cost is about a tenth of the cost of the
 * insert.
 */
const TAIL_BLOCKS_AT_ONCE = 1_000;
/**
 * Maximum number of blocks in one write to the tail, given as a multiple of `rangeBlocks`. The first block of a write
 * can be inside a range, so the write touches at most 51 ranges. In ClickHouse, each partition of the tail contains the
 * blocks of one range, and a server refuses an insert into more than 100 partitions.
 */
const TAIL_RANGES_AT_ONCE = 50;
/** Number of blocks between two progress reports of a replay. */
const REPLAY_REPORT_BLOCKS = 10_000;

/**
 * Fills the sink until the signal is aborted. If `follows` is false, the function also ends when the sink has all
 * blocks of the chain. After this function has returned or thrown an error, the caller must call the method `end` of
 * the sink and the method `close` of the source.
 *
 * @throws ProtocolError `SINK_OF_OTHER_CHAIN` when the chain does not contain the final part of the sink;
 *   `SINK_REVERTED_BELOW` when a block that counted as final was reverted; the errors of `RowMaker`, of the source and
 *   of the sink
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
  // This call reads the source before `begin` opens the sink. If the source cannot be read, for example because the
  // flags of the command name another network, the run therefore fails before `begin` creates tables in the sink.
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
  /** The lower of the limits `TAIL_BLOCKS_AT_ONCE` and `TAIL_RANGES_AT_ONCE`, in blocks. */
  readonly #tailBlocksAtOnce: number;
  /** Last height of the final part of the sink (the ranges that the sink has stored); 0 while the sink has no range. */
  #finalHeight: number;
  /** Id of the last block of the final part at the start of the run. */
  readonly #finalBlockId: string | undefined;
  /**
   * Height up to which blocks count as final (see `source.ts`). If the source reports the revert of one of these
   * blocks, the run ends with an error.
   */
  #settledHeight = 0;
  /** The blocks that the sink has stored in its tail. */
  #stored: readonly BlockPlace[];
  /**
   * Blocks of the chain above the final part of the sink (the ranges that the sink has stored). It is possible that the
   * lowest of these blocks already count as final, because the final part grows only by whole ranges of `rangeBlocks`
   * blocks.
   */
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

  /**
   * Applies the blocks from height 1 to `#finalHeight` again in memory. The sink already has the rows of these blocks,
   * but the rows of later blocks depend on the state after block `#finalHeight`.
   */
  async replay(): Promise<void> {
    const { source, signal } = this.#run;
    if (this.#finalHeight === 0) return;
    // The replay of a large chain takes a long time. Before the replay, this method therefore refuses a chain that is
    // shorter than the final part.
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
    if (tip.id !== this.#finalBlockId) throw this.#ofOtherChain(`has ${tip.id} there`, this.#createAgain());
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
   * Writes blocks to the sink, one range (`rangeBlocks` blocks) after another, as long as all blocks of the next range
   * count as final. While the sink writes a range, this process makes the rows of the next range.
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
        // If the write fails, a later `await written` throws the error of the write. Without this handler, Node.js
        // would report an unhandled rejection.
        written.catch(() => undefined);
      }
    } catch (error) {
      // The caller closes the sink after this error, so the write must end first.
      await written.catch(() => undefined);
      throw error;
    }
    await written;
  }

  /**
   * Throws an error if the source did not deliver the whole range. In this case, the chain became shorter during the
   * read.
   */
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
    // If the stored tail has a block of another branch at a height of this range, this method first reverts this block
    // and all blocks above it. Without this revert, the blocks of the other branch above the range would stay in the
    // tail, and readers would see rows of two branches.
    await this.#revertFrom(
      this.#stored.findIndex(({ blockId }, index) => index < blockIds.length && blockIds[index] !== blockId),
    );
    await draft.put(span, blockIds.at(-1) ?? '0');
    this.#finalHeight = span.toHeight;
    this.#stored = this.#stored.filter(({ height }) => height > span.toHeight);
  }

  /** @param index index in `#stored` of the lowest block to revert; negative to revert no block */
  async #revertFrom(index: number): Promise<void> {
    if (index < 0) return;
    await this.#run.sink.revertTail(this.#finalHeight + index);
    this.#stored = this.#stored.slice(0, index);
  }

  /**
   * Applies each change of the chain to the tail of the sink. As soon as the last block of a range counts as final,
   * this method writes the range to the final part.
   */
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
   * Throws an error if `#tail` is empty and the parent of the next block is not the last block that the row maker
   * applied. In this case, the chain has reverted the last applied block, although this block counted as final.
   */
  #checkParent({ previousBlockId }: Block): void {
    const parent = this.#tail.length === 0 ? this.#maker.tip() : undefined;
    if (parent !== undefined && parent.id !== previousBlockId) throw this.#revertedBelow(parent.height);
  }

  /**
   * The remedy if a block of a stored range was reverted. In generation 2, a block counts as final if it is at least
   * `--depth` blocks below the tip (`--depth` is an option of `bloomery sink`). With a larger `--depth`, such a revert
   * is less likely. In generation 3, the command refuses `--depth`.
   */
  #createAgain(): string {
    return `create the sink again${this.#run.source.rules.params.generation === 2 ? ' with a larger --depth' : ''}`;
  }

  /**
   * Makes the error for the revert of a block that counted as final. The remedy depends on the lowest reverted block. A
   * new run can replace blocks above the last range of the sink. No run can replace a block of a stored range.
   *
   * @param height height of a reverted block; perhaps lower blocks were reverted, too
   */
  #revertedBelow(height: number): ProtocolError {
    const last = this.#finalHeight;
    const otherwise =
      last === 0
        ? ''
        : `; if block ${last} was reverted, too, this start ends with SINK_OF_OTHER_CHAIN: then ${this.#createAgain()}`;
    const remedy = height > last ? `start the command again${otherwise}` : this.#createAgain();
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

  /** Makes the stored tail of the sink equal to `#tail`. */
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
