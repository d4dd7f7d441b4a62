/**
 * Finds the blocks that another node signed for the delegates of this node. Such a block is on the chain, or it was on
 * the chain until a reorganisation removed it.
 */

import type { SigningJournal } from '../../ports/journal.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { NewestBlocks, SEARCHED_ROUNDS, type Newest, type SearchedChain } from './newest-blocks.ts';
import { isForeign } from './waits.ts';

export interface ForeignBlocksDependencies {
  readonly chain: Pick<Chain, 'rules'> & SearchedChain;
  readonly journal: Pick<SigningJournal, 'last' | 'foreignS'>;
}

/** A block that another node signed. The height is absent if only the journal knows the block (`foreignS`). */
export interface NotedBlock {
  readonly timestamp: number;
  readonly height?: number;
}

export class ForeignBlocks {
  readonly #dependencies: ForeignBlocksDependencies;
  readonly #newest: NewestBlocks;
  /** For each delegate, the newest block that `note` was called with. */
  readonly #noted = new Map<PublicKey, NotedBlock>();

  constructor(dependencies: ForeignBlocksDependencies) {
    this.#dependencies = dependencies;
    const { chain } = dependencies;
    this.#newest = new NewestBlocks(chain, SEARCHED_ROUNDS * chain.rules.params.activeDelegates);
  }

  /**
   * Notes a block that another node signed for the delegate, so that `newest` knows the block after a reorganisation.
   */
  note(publicKey: PublicKey, block: Pick<BlockHeader, 'height' | 'timestamp'>): void {
    const known = this.#noted.get(publicKey);
    if (known === undefined || known.timestamp < block.timestamp) this.#noted.set(publicKey, block);
  }

  /**
   * The newest block of the delegate on the chain, whichever node signed it. The parameters are those of
   * `NewestBlocks.of`.
   */
  byAnyNode(publicKey: PublicKey, sinceS: number): Newest {
    return this.#newest.of(publicKey, sinceS);
  }

  /**
   * Returns the delegate's newest block on the chain if the delegate signed this block on another node. If the journal
   * has a header of the delegate, the search goes back to the time of the last header in the journal. A block then
   * counts only if another node signed it (`isForeign`). If the journal has no header of the delegate, each block of
   * the delegate counts. The search then covers only the blocks of the last `SEARCHED_ROUNDS` rounds, and older blocks
   * that earlier searches have read. In generation 3, each new header names the greatest height that the delegate has
   * signed. The node must therefore know the delegate's newest block.
   *
   * @returns undefined if the search found no such block; `unknown` while the search continues
   */
  onChain(publicKey: PublicKey): Newest {
    const { chain, journal } = this.#dependencies;
    const last = journal.last(publicKey);
    const newest = this.#newest.of(publicKey, last?.timestamp ?? Number.POSITIVE_INFINITY);
    if (newest === undefined || newest === 'unknown' || last === undefined) return newest;
    return isForeign(newest, last, chain.rules) ? newest : undefined;
  }

  /** Whether `onChain` returns a block. The result is false while the search continues. */
  isOnChain(publicKey: PublicKey): boolean {
    const foreign = this.onChain(publicKey);
    return foreign !== undefined && foreign !== 'unknown';
  }

  /**
   * Returns the newest block that another node signed for the delegate since the last header of this node, even if a
   * reorganisation has removed the block.
   *
   * @returns undefined if this node knows no such block; `unknown` while the search of the chain continues
   */
  newest(publicKey: PublicKey): NotedBlock | undefined | 'unknown' {
    const { journal } = this.#dependencies;
    const onChain = this.onChain(publicKey);
    if (onChain === 'unknown') return onChain;
    const lastS = journal.last(publicKey)?.timestamp ?? Number.NEGATIVE_INFINITY;
    const inJournalS = journal.foreignS(publicKey);
    const inJournal = inJournalS === undefined ? undefined : { timestamp: inJournalS };
    const reverted = [this.#noted.get(publicKey), inJournal].filter((block) => (block?.timestamp ?? lastS) > lastS);
    return [onChain, ...reverted].flatMap((block) => block ?? []).sort((a, b) => b.timestamp - a.timestamp)[0];
  }
}
