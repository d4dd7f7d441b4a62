/** Where the blocks come from that a sink is given: a store folder or a node. */

import type { Rules } from '../protocol/rules.ts';
import type { Block, BlockId } from '../protocol/types.ts';

/** What happens to a chain, from the view of one that follows it. */
export type ChainChange =
  | { readonly kind: 'applied'; readonly block: Block }
  | { readonly kind: 'reverted'; readonly height: number; readonly blockId: BlockId }
  /** Blocks up to this height will never be reverted. */
  | { readonly kind: 'final'; readonly height: number }
  /** All that there is was told; what follows happens from now on. */
  | { readonly kind: 'caughtUp' };

export interface ChainSource {
  readonly rules: Rules;
  readonly networkName: string;
  /** Height up to which no block can be reverted any more; 0 for none. */
  finalHeight(): Promise<number>;
  /** Blocks up to the final height, ascending. */
  blocks(fromHeight: number, toHeight: number): AsyncIterable<Block>;
  /** The blocks from a height on as they stand, then what happens, until the signal. */
  changes(fromHeight: number, signal: AbortSignal): AsyncIterable<ChainChange>;
  close(): Promise<void>;
}
