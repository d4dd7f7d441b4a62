/**
 * The newest block of a delegate on the chain, however far back it lies. What was searched once is not searched again while the
 * block at its upper end stands, and a long search goes on in chunks, so that it holds nothing up.
 */

import type { StateReader } from '../../protocol/state.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';

/** Headers that are read at a time: some hundredths of a second. The scheduler looks again within a second. */
const HEADERS_PER_LOOK = 5000;
const GENESIS_HEIGHT = 1;

/** The part of the chain that is searched. */
export interface SearchedChain {
  readonly state: Pick<StateReader, 'header'>;
  readonly tip: { readonly header: BlockHeader };
}

/** `unknown` while the search has not come far enough. */
export type Newest = BlockHeader | undefined | 'unknown';

export class NewestBlocks {
  readonly #chain: SearchedChain;
  readonly #settledBlocks: number;
  /** The block below which `#below` tells. */
  #anchor: BlockHeader | undefined;
  #below = new Map<PublicKey, BlockHeader>();
  /** Lowest height that was searched. */
  #searchedTo = 0;
  #above: { readonly tipId: string; readonly headers: Map<PublicKey, BlockHeader> } = { tipId: '', headers: new Map() };

  /** @param settledBlocks newest blocks that are searched anew with each tip, as they may still be reverted */
  constructor(chain: SearchedChain, settledBlocks: number) {
    this.#chain = chain;
    this.#settledBlocks = settledBlocks;
  }

  /**
   * @param sinceS chain time in whole seconds: what is older need not be known
   * @returns the newest block of the delegate, also an older one where it was met; undefined when there is none since then
   */
  of(publicKey: PublicKey, sinceS: number): Newest {
    this.#refresh();
    const known = (): BlockHeader | undefined => this.#above.headers.get(publicKey) ?? this.#below.get(publicKey);
    const { state } = this.#chain;
    for (let read = 0; known() === undefined && this.#searchedTo > GENESIS_HEIGHT; read += 1) {
      const lowest = state.header(this.#searchedTo);
      if (lowest !== undefined && lowest.timestamp <= sinceS) break;
      if (read >= HEADERS_PER_LOOK) return 'unknown';
      this.#searchedTo -= 1;
      note(this.#below, state, this.#searchedTo);
    }
    return known();
  }

  /** Searches what came since the last time, and all anew where the anchor was reverted. */
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
    // Newest first, so that the first of each delegate is the one that counts.
    const risen = new Map<PublicKey, BlockHeader>();
    for (let each = anchorHeight; each > searchedBefore; each -= 1) note(risen, state, each);
    for (const [publicKey, header] of risen) this.#below.set(publicKey, header);
    if (!isAnchored || anchorHeight > searchedBefore) this.#anchor = state.header(anchorHeight);
    const headers = new Map<PublicKey, BlockHeader>();
    for (let each = height; each > (this.#anchor?.height ?? GENESIS_HEIGHT); each -= 1) note(headers, state, each);
    this.#above = { tipId: id, headers };
  }
}

/** Keeps the header of a height unless a newer one of its delegate is known. The genesis block is nobody's. */
function note(headers: Map<PublicKey, BlockHeader>, state: SearchedChain['state'], height: number): void {
  const header = height > GENESIS_HEIGHT ? state.header(height) : undefined;
  if (header !== undefined && !headers.has(header.generatorPublicKey)) headers.set(header.generatorPublicKey, header);
}
