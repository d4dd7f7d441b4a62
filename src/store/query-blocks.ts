/** Blocks as readers ask for them. Their timestamps rise with their heights, so a time span is a span of heights. */

import { assert } from '../primitives/errors.ts';
import type { BlockQuery, ForgingStatistics, Page, PageRequest } from '../ports/queries.ts';
import type { ChainParams } from '../protocol/params.ts';
import { earningsOfRound } from '../protocol/payout.ts';
import { firstHeightOf, lastHeightOf, roundOf } from '../protocol/rounds.ts';
import type { BlockHeader, PublicKey } from '../protocol/types.ts';
import { generatorBlock, listLength } from './block-tables.ts';
import type { StoredChain } from './chain-store.ts';
import { prefixRange } from './key-value.ts';
import { heightAtEnd, publicKeyKey, tablePrefix } from './layout.ts';
import { compareValues, directed, emptyPage, pageOf, type Compare } from './pages.ts';

const PUBLIC_KEY_TEXT = /^[0-9a-f]{64}$/;

/** From `first` to `last`, both included; empty when `last` is below `first`. */
interface Span {
  readonly first: number;
  readonly last: number;
}

export class BlockQueries {
  readonly #store: StoredChain;
  readonly #params: ChainParams;

  constructor(store: StoredChain, params: ChainParams) {
    this.#store = store;
    this.#params = params;
  }

  blocks(query: BlockQuery): Page<BlockHeader> {
    const heights = this.#heights(query);
    const { field, direction } = query.sort;
    const generator = query.generatorPublicKey?.toLowerCase();
    const blocks =
      generator === undefined ? spanOf(heights, (height) => height) : this.#ofGenerator(generator, heights);
    if (blocks.length === 0) return emptyPage();
    if (field === 'height' || field === 'timestamp') {
      return { items: rangeOf(blocks, query, direction === 'desc').map((h) => this.#header(h)), total: blocks.length };
    }
    if (generator === undefined && blocks.length === this.#tipHeight()) {
      const table = field === 'totalAmount' ? 'blocksByAmount' : 'blocksByFee';
      const range = prefixRange(tablePrefix(table));
      const { limit, offset } = query;
      const keys = Array.from(this.#store.tables.keys({ ...range, limit, offset, reverse: direction === 'desc' }));
      return { items: keys.map((key) => this.#header(heightAtEnd(key))), total: blocks.length };
    }
    // Ties go by height in the direction of the sort: a real node lists equal blocks tip first when it descends.
    const order: Compare<BlockHeader> = (a, b) => compareValues(a[field], b[field]) || a.height - b.height;
    const headers = Array.from({ length: blocks.length }, (_, i) => this.#header(blocks.heightAt(i)));
    return pageOf(headers.sort(directed(order, direction)), query);
  }

  forgingStatistics(publicKey: PublicKey, fromTimestampS: number, toTimestampS: number): ForgingStatistics {
    const key = publicKey.toLowerCase();
    if (!PUBLIC_KEY_TEXT.test(key)) return { feesBeddows: 0n, rewardsBeddows: 0n, blocks: 0 };
    const { first, last } = this.#ordinals(key, this.#heights({ fromTimestampS, toTimestampS }));
    if (last < first) return { feesBeddows: 0n, rewardsBeddows: 0n, blocks: 0 };
    const end = generatorBlock(this.#store.tables, key, last);
    const before = first === 0 ? undefined : generatorBlock(this.#store.tables, key, first - 1);
    return {
      feesBeddows: end.feesSum - (before?.feesSum ?? 0n),
      rewardsBeddows: end.rewardsSum - (before?.rewardsSum ?? 0n),
      blocks: last - first + 1,
    };
  }

  /** Reckoned from the rounds that the delegate forged in: each is paid with its last block. */
  roundStatistics(publicKey: PublicKey, fromTimestampS: number, toTimestampS: number): ForgingStatistics {
    const key = publicKey.toLowerCase();
    const sums = { feesBeddows: 0n, rewardsBeddows: 0n, blocks: 0 };
    const { first, last } = this.#heights({ fromTimestampS, toTimestampS });
    if (!PUBLIC_KEY_TEXT.test(key) || last < first) return sums;
    const rounds = {
      first: roundOf(first),
      last: lastHeightOf(roundOf(last)) === last ? roundOf(last) : roundOf(last) - 1,
    };
    const blocks = this.#ofGenerator(key, { first: firstHeightOf(rounds.first), last: lastHeightOf(rounds.last) });
    let paid = 0;
    for (let at = 0; at < blocks.length; at += 1) {
      const round = roundOf(blocks.heightAt(at));
      if (round === paid) continue;
      paid = round;
      const firstHeight = firstHeightOf(round);
      const headers = Array.from({ length: lastHeightOf(round) - firstHeight + 1 }, (_, i) =>
        this.#header(firstHeight + i),
      );
      const earned = earningsOfRound(headers, round, this.#params.exceptions).get(key);
      sums.feesBeddows += earned?.fees ?? 0n;
      sums.rewardsBeddows += earned?.rewards ?? 0n;
      sums.blocks += 1;
    }
    return sums;
  }

  /** Heights that fit every filter but the generator's. */
  #heights(query: Pick<BlockQuery, 'blockId' | 'height' | 'fromTimestampS' | 'toTimestampS'>): Span {
    const { blockId, height, fromTimestampS, toTimestampS } = query;
    let first = 1;
    let last = this.#tipHeight();
    const narrow = (to: Span): void => {
      first = Math.max(first, to.first);
      last = Math.min(last, to.last);
    };
    if (height !== undefined) narrow({ first: height, last: height });
    if (blockId !== undefined) {
      const known = this.#store.heightOf(blockId) ?? 0;
      narrow({ first: known, last: known });
    }
    if (first > last) return { first, last };
    if (fromTimestampS !== undefined) {
      narrow({ first: lowest(first, last, (at) => this.#header(at).timestamp >= fromTimestampS), last });
    }
    if (toTimestampS !== undefined) {
      narrow({ first, last: lowest(first, last, (at) => this.#header(at).timestamp > toTimestampS) - 1 });
    }
    return { first, last };
  }

  /** Positions in the list of a generator whose blocks lie within a span of heights. */
  #ordinals(publicKey: PublicKey, heights: Span): Span {
    const end = listLength(this.#store.tables, publicKeyKey('blocksByGenerator', publicKey)) - 1;
    const heightAt = (ordinal: number): number => generatorBlock(this.#store.tables, publicKey, ordinal).height;
    return {
      first: lowest(0, end, (ordinal) => heightAt(ordinal) >= heights.first),
      last: lowest(0, end, (ordinal) => heightAt(ordinal) > heights.last) - 1,
    };
  }

  #ofGenerator(publicKey: PublicKey, heights: Span): Blocks {
    if (!PUBLIC_KEY_TEXT.test(publicKey)) return NO_BLOCKS;
    const ordinals = this.#ordinals(publicKey, heights);
    return spanOf(ordinals, (ordinal) => generatorBlock(this.#store.tables, publicKey, ordinal).height);
  }

  #tipHeight(): number {
    return this.#store.tip()?.height ?? 0;
  }

  #header(height: number): BlockHeader {
    const header = this.#store.header(height);
    assert(header !== undefined, 'each height up to the tip has a header');
    return header;
  }
}

/** Blocks in ascending order, addressed by position. */
interface Blocks {
  readonly length: number;
  heightAt(position: number): number;
}

const NO_BLOCKS: Blocks = { length: 0, heightAt: () => 0 };

function spanOf({ first, last }: Span, heightAt: (position: number) => number): Blocks {
  return { length: Math.max(0, last - first + 1), heightAt: (position) => heightAt(first + position) };
}

/** Heights of the wanted page. */
function rangeOf(blocks: Blocks, { limit, offset }: PageRequest, descending: boolean): readonly number[] {
  const count = Math.max(0, Math.min(limit, blocks.length - offset));
  return Array.from({ length: count }, (_, i) =>
    blocks.heightAt(descending ? blocks.length - 1 - offset - i : offset + i),
  );
}

/** The lowest number from `first` to `last` for which a claim holds that holds from some number on; `last + 1` for none. */
function lowest(first: number, last: number, holds: (at: number) => boolean): number {
  let low = first;
  let high = last + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
