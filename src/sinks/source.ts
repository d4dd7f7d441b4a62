/**
 * Defines the interface of a source, from which a sink gets the blocks of a chain. One kind of source reads the data
 * folder of a node. The other kind reads the event stream of a node (SSE over HTTP).
 *
 * In a generation with finality, a block counts as final when the rules of the generation say that the block is final.
 * Generation 2 has no finality. In generation 2, a block counts as final when it is at least `depth` blocks below the
 * tip; `depth` is an option of the source. It is possible that a node of generation 2 still reverts a block that counts
 * as final.
 */

import type { Rules } from '../protocol/rules.ts';
import type { Block, BlockId } from '../protocol/types.ts';

/** A report of a source to `runSink`: a change of the chain, a new final height, or the end of the catch-up. */
export type ChainChange =
  | { readonly kind: 'applied'; readonly block: Block }
  | { readonly kind: 'reverted'; readonly height: number; readonly blockId: BlockId }
  /** From now on, all blocks up to this height count as final. */
  | { readonly kind: 'final'; readonly height: number }
  /**
   * The source has reported the blocks from the height `fromHeight` (the argument of `changes`) up to the tip that the
   * source read. It is possible that the chain has grown since then. From now on, the source reports each change of the
   * chain soon after the change happens.
   */
  | { readonly kind: 'caughtUp' };

export interface ChainSource {
  readonly rules: Rules;
  readonly networkName: string;
  /** Returns the height of the newest block; 0 if the chain has no block. */
  height(): Promise<number>;
  /** Returns the height up to which all blocks count as final; 0 if no block counts as final. */
  finalHeight(): Promise<number>;
  /**
   * Yields the blocks from `fromHeight` to `toHeight` (both included), ascending. The caller must ask only for blocks
   * that count as final now, or that counted as final in an earlier run of the sink. If the chain no longer reaches
   * `toHeight`, the iteration ends early without an error.
   */
  blocks(fromHeight: number, toHeight: number): AsyncIterable<Block>;
  /** Reports the blocks of the chain from `fromHeight` on, and then each later change, until the signal is aborted. */
  changes(fromHeight: number, signal: AbortSignal): AsyncIterable<ChainChange>;
  close(): Promise<void>;
}
