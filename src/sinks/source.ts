/** The source of the blocks for a sink: a store folder or a node. */

import type { Rules } from '../protocol/rules.ts';
import type { Block, BlockId } from '../protocol/types.ts';

/** A change of a chain, reported to a sink that follows it. */
export type ChainChange =
  | { readonly kind: 'applied'; readonly block: Block }
  | { readonly kind: 'reverted'; readonly height: number; readonly blockId: BlockId }
  /** Blocks up to this height will never be reverted. */
  | { readonly kind: 'final'; readonly height: number }
  /** All blocks of the present chain were reported; later changes are reported when they happen. */
  | { readonly kind: 'caughtUp' };

export interface ChainSource {
  readonly rules: Rules;
  readonly networkName: string;
  /** Height of the newest block; 0 when there is none. */
  height(): Promise<number>;
  /** Height up to which no block can be reverted; 0 when every block can be reverted. */
  finalHeight(): Promise<number>;
  /** Blocks up to the final height, ascending. When the chain has become shorter, the last blocks are missing. */
  blocks(fromHeight: number, toHeight: number): AsyncIterable<Block>;
  /** Reports the blocks of the present chain from a height on, and then each change, until the signal is aborted. */
  changes(fromHeight: number, signal: AbortSignal): AsyncIterable<ChainChange>;
  close(): Promise<void>;
}
