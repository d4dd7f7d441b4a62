/**
 * Finds the newest block of a delegate on the chain. The caller decides how far back the search must go (`sinceS`). For
 * each new tip, the search reads the highest `settledBlocks` blocks of the chain again, because the node can still
 * revert these blocks. This file calls all blocks below them the older blocks, and the highest of the older blocks the
 * anchor. The search reads each older block only one time. The search of the older blocks begins again only if the
 * anchor is reverted. A long search runs in chunks, so that other work can run between two chunks.
 */

import type { StateReader } from '../../protocol/state.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';

/**
 * One call of the method `of` reads the headers of at most this number of older blocks (blocks below the highest
 * `settledBlocks` blocks of the chain). Reading this number of headers takes some hundredths of a second. If the search
 * has not ended, the next call continues the search. During a slot of the delegate, the next call follows within a
 * second.
 */
const HEADERS_PER_STEP = 5000;
const GENESIS_HEIGHT = 1;

/**
 * If neither the journal nor the watermark has a header of a delegate, the guard searches this number of newest rounds
 * for a block of the delegate. These rounds have one block more than the range over which the finality protocol looks
 * back (`BftLimits.range`).
 */
export const SEARCHED_ROUNDS = 3;

/** The members of `Chain` that the search uses. */
export interface SearchedChain {
  readonly state: Pick<StateReader, 'header'>;
  readonly tip: { readonly header: BlockHeader };
}

/**
 * The newest block of a delegate; undefined if the search found no such block; `unknown` if the search has not gone
 * back far enough yet.
 */
export type Newest = BlockHeader | undefined | 'unknown';

export class NewestBlocks {
  readonly #chain: SearchedChain;
  readonly #settledBlocks: number;
  /**
   * The anchor: the highest of the older blocks. For each delegate of which the search has found a block at or below
   * the anchor, `#below` contains the newest of these blocks.
   */
  #anchor: BlockHeader | undefined;
  #below = new Map<PublicKey, BlockHeader>();
  /** The lowest height that the search has reached. */
  #searchedTo = 0;
  /**
   * `headers` contains the header of the newest block of each delegate that has a block above the anchor. The blocks
   * belong to the chain whose tip has the id `tipId`.
   */
  #above: { readonly tipId: string; readonly headers: Map<PublicKey, BlockHeader> } = { tipId: '', headers: new Map() };

  /** @param settledBlocks number of the chain's highest blocks, which the search reads again for each new tip */
  constructor(chain: SearchedChain, settledBlocks: number) {
    this.#chain = chain;
    this.#settledBlocks = settledBlocks;
  }

  /**
   * Continues the search for the newest block of a delegate, if the block is not known yet.
   *
   * @param sinceS chain time in whole seconds; it is possible that the search does not find blocks from before this
   *   time
   * @returns the newest block of the delegate, even if it is older than `sinceS`; undefined if the search found no such
   *   block; `unknown` if a later call must continue the search
   */
  of(publicKey: PublicKey, sinceS: number): Newest {
    this.#refresh();
    const known = (): BlockHeader | undefined => this.#above.headers.get(publicKey) ?? this.#below.get(publicKey);
    const { state } = this.#chain;
    for (let read = 0; known() === undefined && this.#searchedTo > GENESIS_HEIGHT; read += 1) {
      const lowest = state.header(this.#searchedTo);
      if (lowest !== undefined && lowest.timestamp <= sinceS) break;
      if (read >= HEADERS_PER_STEP) return 'unknown';
      this.#searchedTo -= 1;
      addNewest(this.#below, state, this.#searchedTo);
    }
    return known();
  }

  /** Updates `#above` and `#below` after the tip has changed. If the anchor was reverted, the search begins again. */
  #refresh(): void {
    const { state, tip } = this.#chain;
    const { id, height } = tip.header;
    if (this.#above.tipId === id) return;
    const isAnchored = this.#anchor !== undefined && state.header(this.#anchor.height)?.id === this.#anchor.id;
    const anchorHeight = Math.max(GENESIS_HEIGHT, height - this.#settledBlocks);
    const searchedBefore = isAnchored && this.#anchor !== undefined ? this.#anchor.height : anchorHeight;
    if (!isAnchored) {
      this.#below = new Map();
      this.#searchedTo = anchorHeight + 1;
    }
    // The loop goes from the height of the new anchor down. The first block of a delegate that the loop finds is
    // therefore the delegate's newest block up to the new anchor.
    const risen = new Map<PublicKey, BlockHeader>();
    for (let each = anchorHeight; each > searchedBefore; each -= 1) addNewest(risen, state, each);
    for (const [publicKey, header] of risen) this.#below.set(publicKey, header);
    if (!isAnchored || anchorHeight > searchedBefore) this.#anchor = state.header(anchorHeight);
    const headers = new Map<PublicKey, BlockHeader>();
    for (let each = height; each > (this.#anchor?.height ?? GENESIS_HEIGHT); each -= 1) addNewest(headers, state, each);
    this.#above = { tipId: id, headers };
  }
}

/**
 * Adds the header at a height to the map, unless the map already has a newer header of the same delegate. The genesis
 * block has no delegate.
 */
function addNewest(headers: Map<PublicKey, BlockHeader>, state: SearchedChain['state'], height: number): void {
  const header = height > GENESIS_HEIGHT ? state.header(height) : undefined;
  if (header !== undefined && !headers.has(header.generatorPublicKey)) headers.set(header.generatorPublicKey, header);
}
