/**
 * Finds the newest block of a delegate on the chain, even if the block is very old. The search reads each height once.
 * The search begins again only if the block at the upper end of the search was reverted. A long search runs in chunks,
 * so that it delays no other work.
 */

import type { StateReader } from '../../protocol/state.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';

/**
 * Maximum number of headers that one call reads, which takes some hundredths of a second. The next call of the
 * scheduler comes within a second.
 */
const HEADERS_PER_STEP = 5000;
const GENESIS_HEIGHT = 1;

/** The part of the chain that is searched. */
export interface SearchedChain {
  readonly state: Pick<StateReader, 'header'>;
  readonly tip: { readonly header: BlockHeader };
}

/**
 * The newest block of a delegate. `unknown` means that the search has not gone back far enough; undefined means that
 * the delegate has no block.
 */
export type Newest = BlockHeader | undefined | 'unknown';

export class NewestBlocks {
  readonly #chain: SearchedChain;
  readonly #settledBlocks: number;
  /** The map `#below` holds the newest blocks of delegates up to this block. */
  #anchor: BlockHeader | undefined;
  #below = new Map<PublicKey, BlockHeader>();
  /** The lowest height that the search has reached. */
  #searchedTo = 0;
  #above: { readonly tipId: string; readonly headers: Map<PublicKey, BlockHeader> } = { tipId: '', headers: new Map() };

  /**
   * @param settledBlocks number of newest blocks that the search reads again for each new tip, because the node may
   *   still revert these blocks
   */
  constructor(chain: SearchedChain, settledBlocks: number) {
    this.#chain = chain;
    this.#settledBlocks = settledBlocks;
  }

  /**
   * @param sinceS chain time in whole seconds; the search may miss older blocks
   * @returns the newest block of the delegate that the search found, even if the block is older than `sinceS`;
   *   undefined if the delegate has no block since `sinceS`
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

  /**
   * Searches the blocks that were appended since the last call. If the anchor was reverted, the search begins again.
   */
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
    // The loop goes from the newest block down. The first block of a delegate that the loop finds is therefore the
    // delegate's newest block.
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
 * Adds the header at a height to the map, unless the map has a newer header of its delegate. The genesis block has no
 * delegate.
 */
function addNewest(headers: Map<PublicKey, BlockHeader>, state: SearchedChain['state'], height: number): void {
  const header = height > GENESIS_HEIGHT ? state.header(height) : undefined;
  if (header !== undefined && !headers.has(header.generatorPublicKey)) headers.set(header.generatorPublicKey, header);
}
