/** State of a transaction or a block: in the pool, confirmed, or final. */

export type Confirmation =
  | { readonly state: 'in the pool' }
  /** `confirmations` counts the block itself (or the block of the transaction) and all blocks above this block. */
  | { readonly state: 'confirmed' | 'final'; readonly confirmations: number };

export interface Heights {
  /** Height of the block; undefined for a transaction in the pool. */
  readonly height: number | undefined;
  readonly tip: number;
  /** Height up to which blocks are final; 0 if the network has no finality. */
  readonly finalized: number;
}

export function confirmationOf({ height, tip, finalized }: Heights): Confirmation {
  if (height === undefined) return { state: 'in the pool' };
  // The answer about the tip can be older than the answer about the block. In this case, the tip can be below the
  // block.
  const confirmations = Math.max(1, tip - height + 1);
  return { state: height <= finalized ? 'final' : 'confirmed', confirmations };
}
