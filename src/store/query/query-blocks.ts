/**
 * Answers queries for blocks. The timestamps of blocks rise with their heights, so the blocks of a time span have
 * consecutive heights.
 */

import { assert, ProtocolError } from '../../primitives/errors.ts';
import type { BlockAmountSort, BlockQuery, Cursor, Direction, ForgingStatistics, Page } from '../../ports/queries.ts';
import type { ChainParams } from '../../protocol/params.ts';
import { earningsOfRound } from '../../protocol/payout.ts';
import { firstHeightOf, isLastOfRound, lastHeightOf, roundOf } from '../../protocol/rounds.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';
import { generatorBlock, generatorBlocks } from '../chain/block-tables.ts';
import type { StoredChain } from '../chain/stored-chain.ts';
import { afterPrefix, prefixRange } from '../tables/key-value.ts';
import { BLOCK_ORDERS, TABLES } from '../tables/layout.ts';
import { heightAtEnd, heightBytes, isU32, orderedBigint } from '../tables/ordered-bytes.ts';
import { type BackgroundQueries, type Pause } from './background-queries.ts';
import { compareValues, directed, emptyPage, listPage, lowest, type Compare, type CursorRules } from './pages.ts';

const PUBLIC_KEY_TEXT = /^[0-9a-f]{64}$/;
/** Number of index keys that `walk` reads between two pauses. */
const KEYS_OF_PIECE = 1_000;

const NO_EARNINGS: ForgingStatistics = { feesBeddows: 0n, rewardsBeddows: 0n, blocks: 0 };

/** Heights, rounds or positions from `first` to `last`, both included. The span is empty if `last` is below `first`. */
interface Span {
  readonly first: number;
  readonly last: number;
}

export class BlockQueries {
  readonly #store: StoredChain;
  readonly #params: ChainParams;
  readonly #work: BackgroundQueries;

  constructor(store: StoredChain, params: ChainParams, work: BackgroundQueries) {
    this.#store = store;
    this.#params = params;
    this.#work = work;
  }

  async blocks(query: BlockQuery): Promise<Page<BlockHeader>> {
    const heights = this.#heights(query);
    const { field, direction } = query.sort;
    const generator = query.generatorPublicKey?.toLowerCase();
    const blocks =
      generator === undefined ? spanOf(heights, (height) => height) : this.#ofGenerator(generator, heights);
    if (blocks.length === 0) return emptyPage();
    if (field === 'height' || field === 'timestamp') return this.#inOrder(blocks, query);
    const prefix = prefixOf(generator, field);
    const indexed = prefixRange(prefix);
    if (blocks.length === this.#store.tables.count(indexed)) return this.#indexed(prefix, query);
    const order = directed(orderBy(field), direction);
    const rules: CursorRules<BlockHeader> = {
      cursorOf: (header) => cursorOf(header, field),
      compareWith: (cursor) => {
        // `order` reads only the sort value and the height of a header, so the target needs no other members.
        const target = { [field]: valueOf(cursor), height: heightOf(cursor) } as unknown as BlockHeader;
        return (header) => order(header, target);
      },
    };
    if (blocks.length <= this.#work.options.atOnceMax) {
      const headers = Array.from({ length: blocks.length }, (_, i) => this.#header(blocks.heightAt(i)));
      return listPage(headers.sort(order), query, rules);
    }
    const { blockId, height, fromTimestampS, toTimestampS } = query;
    return this.#work.read(
      `blocks ${JSON.stringify([generator, field, direction, blockId, height, fromTimestampS, toTimestampS])}`,
      // Perhaps the chain has changed while the query waited, so that the blocks of the time span now have other
      // heights. This code therefore computes the heights again, from the snapshot.
      (snapshot, pause) => walk(snapshot, prefix, this.#over(snapshot).#heights(query), direction, pause),
      (found, store) => {
        const headerAt = (height: number): BlockHeader => headerIn(store, height);
        const { items, ...rest } = listPage(found, query, {
          cursorOf: (height) => rules.cursorOf(headerAt(height)),
          compareWith: (cursor) => {
            const compare = rules.compareWith(cursor);
            return (height) => compare(headerAt(height));
          },
        });
        return { ...rest, items: items.map(headerAt) };
      },
    );
  }

  /**
   * Returns a page of blocks that are sorted by height or by timestamp. Sorting by height and sorting by timestamp give
   * the same order.
   */
  #inOrder(blocks: Blocks, { sort, after, limit, offset }: BlockQuery): Page<BlockHeader> {
    const { length } = blocks;
    const isDown = sort.direction === 'desc';
    let from = offset;
    if (after !== undefined) {
      const height = heightOf(after);
      from = isDown
        ? length - lowest(length, (at) => blocks.heightAt(at) >= height)
        : lowest(length, (at) => blocks.heightAt(at) > height);
    }
    const count = Math.max(0, Math.min(limit, length - from));
    const items = Array.from({ length: count }, (_, i) =>
      this.#header(blocks.heightAt(isDown ? length - 1 - from - i : from + i)),
    );
    return pageWith(items, length, from, sort.field);
  }

  /**
   * Reads a page of blocks from an index. The caller makes sure that the index entries with `prefix` belong to exactly
   * the requested blocks.
   */
  #indexed(prefix: Buffer, { sort, after, limit, offset }: BlockQuery): Page<BlockHeader> {
    const { tables } = this.#store;
    const range = prefixRange(prefix);
    const reverse = sort.direction === 'desc';
    let from = offset;
    if (after !== undefined) {
      const key = Buffer.concat([prefix, orderedBigint(valueOf(after)), heightBytes(heightOf(after))]);
      from = tables.count(reverse ? { gte: key, lt: range.lt } : { gte: range.gte, lt: afterPrefix(key) });
    }
    const keys = Array.from(tables.keys({ ...range, limit, offset: from, reverse }));
    const items = keys.map((key) => this.#header(heightAtEnd(key)));
    return pageWith(items, tables.count(range), from, sort.field);
  }

  forgingStatistics(publicKey: PublicKey, fromTimestampS: number, toTimestampS: number): ForgingStatistics {
    const key = publicKey.toLowerCase();
    if (!PUBLIC_KEY_TEXT.test(key)) return NO_EARNINGS;
    const { first, last } = this.#ordinals(key, this.#heights({ fromTimestampS, toTimestampS }));
    if (last < first) return NO_EARNINGS;
    const end = generatorBlock(this.#store.tables, key, last);
    const before = first === 0 ? undefined : generatorBlock(this.#store.tables, key, first - 1);
    return {
      feesBeddows: end.feesSum - (before?.feesSum ?? 0n),
      rewardsBeddows: end.rewardsSum - (before?.rewardsSum ?? 0n),
      blocks: last - first + 1,
    };
  }

  /**
   * Adds up the payments to a delegate for the rounds that ended in the time span and in which the delegate forged. The
   * last block of a round makes the payments of the round.
   */
  async roundStatistics(
    publicKey: PublicKey,
    fromTimestampS: number,
    toTimestampS: number,
  ): Promise<ForgingStatistics> {
    const key = publicKey.toLowerCase();
    const heights = this.#heights({ fromTimestampS, toTimestampS });
    if (!PUBLIC_KEY_TEXT.test(key) || heights.last < heights.first) return NO_EARNINGS;
    const [sums = NO_EARNINGS] = await this.#work.read(
      `earnings ${key} ${fromTimestampS} ${toTimestampS}`,
      async (snapshot, pause) => {
        // Perhaps the chain has changed while the query waited. This code therefore computes the heights again, from
        // the snapshot.
        const queries = this.#over(snapshot);
        const rounds = queries.#roundsEndedIn(queries.#heights({ fromTimestampS, toTimestampS }));
        return [await queries.#earningsOfRounds(key, rounds, pause)];
      },
      (found) => found,
    );
    return sums;
  }

  #roundsEndedIn({ first, last }: Span): Span {
    const roundOfLast = roundOf(last, this.#params);
    return {
      first: roundOf(first, this.#params),
      last: isLastOfRound(last, this.#params) ? roundOfLast : roundOfLast - 1,
    };
  }

  #over(store: StoredChain): BlockQueries {
    return new BlockQueries(store, this.#params, this.#work);
  }

  async #earningsOfRounds(key: PublicKey, rounds: Span, pause: Pause): Promise<ForgingStatistics> {
    const sums = { ...NO_EARNINGS };
    const blocks = this.#ofGenerator(key, {
      first: firstHeightOf(rounds.first, this.#params),
      last: lastHeightOf(rounds.last, this.#params),
    });
    let paid = 0;
    for (let at = 0; at < blocks.length; at += 1) {
      const round = roundOf(blocks.heightAt(at), this.#params);
      if (round === paid) continue;
      paid = round;
      const firstHeight = firstHeightOf(round, this.#params);
      const headers = Array.from({ length: lastHeightOf(round, this.#params) - firstHeight + 1 }, (_, i) =>
        this.#header(firstHeight + i),
      );
      const earned = earningsOfRound(headers, round, this.#params).get(key);
      sums.feesBeddows += earned?.fees ?? 0n;
      sums.rewardsBeddows += earned?.rewards ?? 0n;
      // A delegate that forges two blocks in a round is paid for both blocks, so both are counted.
      sums.blocks += headers.filter(({ generatorPublicKey }) => generatorPublicKey === key).length;
      await pause();
    }
    return sums;
  }

  /**
   * Returns the span of heights whose blocks match all filters of the query, without regard to the filter by generator.
   */
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
      narrow({ first: lowestFrom(first, last, (at) => this.#header(at).timestamp >= fromTimestampS), last });
    }
    if (toTimestampS !== undefined) {
      narrow({ first, last: lowestFrom(first, last, (at) => this.#header(at).timestamp > toTimestampS) - 1 });
    }
    return { first, last };
  }

  /**
   * Finds a generator's blocks whose heights are in `heights`. Returns the span of the positions that these blocks have
   * in the list of all blocks of the generator. The generator's first block in the chain has position 0.
   */
  #ordinals(publicKey: PublicKey, heights: Span): Span {
    const end = generatorBlocks(this.#store.tables, publicKey) - 1;
    const heightAt = (ordinal: number): number => generatorBlock(this.#store.tables, publicKey, ordinal).height;
    return {
      first: lowestFrom(0, end, (ordinal) => heightAt(ordinal) >= heights.first),
      last: lowestFrom(0, end, (ordinal) => heightAt(ordinal) > heights.last) - 1,
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
    return headerIn(this.#store, height);
  }
}

/** Blocks in ascending order of height. The first block has position 0. */
interface Blocks {
  readonly length: number;
  heightAt(position: number): number;
}

const NO_BLOCKS: Blocks = { length: 0, heightAt: () => 0 };

function spanOf({ first, last }: Span, heightAt: (position: number) => number): Blocks {
  return { length: Math.max(0, last - first + 1), heightAt: (position) => heightAt(first + position) };
}

/**
 * Finds the lowest number from `first` to `last` for which a predicate holds; `last + 1` if the predicate holds for no
 * number. If the predicate holds for a number, it must hold for all higher numbers, too.
 */
function lowestFrom(first: number, last: number, holds: (at: number) => boolean): number {
  return first + lowest(Math.max(0, last - first + 1), (at) => holds(first + at));
}

/**
 * Returns the key prefix of the index that sorts the blocks of a generator by `field`. If no generator is given, the
 * index sorts all blocks.
 */
function prefixOf(generator: PublicKey | undefined, field: BlockAmountSort): Buffer {
  const { table, tableOfGenerator } = BLOCK_ORDERS[field];
  return generator === undefined ? TABLES[table].start : TABLES[tableOfGenerator].prefix(generator);
}

/**
 * Blocks with equal values are sorted by height, in the same direction as the values. HTTP answers that were recorded
 * from a lisk-sdk node have the same order (see `test/golden`).
 */
function orderBy(field: BlockAmountSort): Compare<BlockHeader> {
  return (a, b) => compareValues(a[field], b[field]) || a.height - b.height;
}

/**
 * Reads an index of blocks in the given direction. Returns the heights that are at least `first` and at most `last`, in
 * the order of reading.
 */
async function walk(
  { tables }: StoredChain,
  prefix: Buffer,
  { first, last }: Span,
  direction: Direction,
  pause: Pause,
): Promise<readonly number[]> {
  const range = prefixRange(prefix);
  const total = tables.count(range);
  const found: number[] = [];
  for (let offset = 0; offset < total; offset += KEYS_OF_PIECE) {
    for (const key of tables.keys({ ...range, offset, limit: KEYS_OF_PIECE, reverse: direction === 'desc' })) {
      const height = heightAtEnd(key);
      if (height >= first && height <= last) found.push(height);
    }
    await pause();
  }
  return found;
}

function pageWith(
  items: readonly BlockHeader[],
  total: number,
  offset: number,
  field: BlockQuery['sort']['field'],
): Page<BlockHeader> {
  const last = items.at(-1);
  if (last === undefined || offset + items.length >= total) return { items, total };
  return { items, total, next: cursorOf(last, field) };
}

function cursorOf(header: BlockHeader, field: BlockQuery['sort']['field']): Cursor {
  return { value: header[field].toString(), tie: header.height.toString() };
}

function valueOf({ value }: Cursor): bigint {
  if (!/^[0-9]{1,30}$/.test(value)) throw new ProtocolError('CURSOR_INVALID', { value });
  return BigInt(value);
}

function heightOf({ tie }: Cursor): number {
  if (!/^[0-9]{1,10}$/.test(tie) || !isU32(Number(tie))) throw new ProtocolError('CURSOR_INVALID', { tie });
  return Number(tie);
}

function headerIn(store: StoredChain, height: number): BlockHeader {
  const header = store.header(height);
  assert(header !== undefined, 'each height up to the tip has a header');
  return header;
}
