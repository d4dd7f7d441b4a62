/**
 * The interface through which a sink gets its blocks. One source reads the data folder of a node, and another source
 * reads the event stream of a node.
 *
 * In a generation with finality, a block counts as final when the rules say so. Generation 2 has no finality. In
 * generation 2, a block counts as final when it is `depth` blocks below the tip; `depth` is an option of the source. A
 * node may still revert such a block.
 */

import type { Rules } from '../protocol/rules.ts';
import type { Block, BlockId } from '../protocol/types.ts';

/** Report of a source to the run of a sink (`run.ts`). */
export type ChainChange =
  | { readonly kind: 'applied'; readonly block: Block }
  | { readonly kind: 'reverted'; readonly height: number; readonly blockId: BlockId }
  /** Blocks up to this height count as final. */
  | { readonly kind: 'final'; readonly height: number }
  /** All blocks of the present chain were reported. From now on, the source reports each change when it happens. */
  | { readonly kind: 'caughtUp' };

export interface ChainSource {
  readonly rules: Rules;
  readonly networkName: string;
  /** Height of the newest block; 0 if the chain has no block. */
  height(): Promise<number>;
  /** Height up to which all blocks count as final; 0 if no block counts as final. */
  finalHeight(): Promise<number>;
  /**
   * Blocks from `fromHeight` to `toHeight`, ascending. The caller asks only for blocks up to a height that
   * `finalHeight` or `changes` has reported as final in this run or in an earlier run. If the chain no longer reaches
   * `toHeight`, the iteration ends early without an error.
   */
  blocks(fromHeight: number, toHeight: number): AsyncIterable<Block>;
  /** Reports the blocks of the present chain from a height on, and then each change, until the signal is aborted. */
  changes(fromHeight: number, signal: AbortSignal): AsyncIterable<ChainChange>;
  close(): Promise<void>;
}
