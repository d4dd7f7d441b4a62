/**
 * Implements the finality protocol of generation 3 (LIP-0014). Each voting header is a prevote for its own block and
 * for a limited number of blocks before this block. A header does not vote if its `maxHeightPreviouslyForged` is equal
 * to or above the height of the same header. A block with enough prevotes can receive precommits. A block with enough
 * precommits is final. A BFT state is an immutable value. Adding a header creates a new BFT state.
 *
 * The protocol needs two heights of a delegate: its last prevote and its last precommit. The newest voting header of
 * the delegate in the BFT state gives both heights. The last prevote is the height of this header. The last precommit
 * is stored with this header. If a delegate has no voting header in the BFT state, the protocol does not need these two
 * heights. All earlier votes of such a delegate are for blocks more than `range` heights below the header that the node
 * adds next (see `BftLimits`). A header never votes for a block that is so far below the header.
 */

import { assert } from '../../primitives/errors.ts';
import type { PublicKey } from '../types.ts';

/** The limits of the finality protocol in a network with N active delegates. */
export interface BftLimits {
  /**
   * Number of prevotes that make a height prevoted, and number of precommits that make a height final: ceil(2N/3), as
   * in the releases of lisk-sdk. LIP-0014 states floor(2N/3)+1, which is larger if 3 divides N.
   */
  readonly threshold: number;
  /**
   * The range is 3N-1. The votes of a header reach at most this number of heights below the header. For a new header,
   * `headerFault` searches the last `range` headers for a header of the same delegate.
   */
  readonly range: number;
  /**
   * Maximum number of headers in the BFT state: 5N. The number is a consensus rule, because the rewards of blocks
   * depend on the number. If the `maxHeightPreviouslyForged` of a block is neither 0 nor in the BFT state, the block
   * gets only a quarter of the reward.
   */
  readonly headersMax: number;
}

/** The members of a header that the finality protocol uses. */
export interface BftHeader {
  readonly height: number;
  readonly generatorPublicKey: PublicKey;
  readonly maxHeightPreviouslyForged: number;
  readonly maxHeightPrevoted: number;
}

/** Lists with one entry for each header of the BFT state. Entry i of each list belongs to height `firstHeight + i`. */
interface HeaderLists {
  readonly maxHeightPreviouslyForged: Uint32Array;
  readonly maxHeightPrevoted: Uint32Array;
  /** First height of the generator's consecutive active rounds, as computed when the block was applied. */
  readonly minHeightActive: Uint32Array;
  /**
   * Highest height for which the generator has precommitted, including the precommits of this header; 0 if there is no
   * such height. For headers that do not vote, the value has no meaning.
   */
  readonly lastPrecommit: Uint32Array;
  readonly prevotes: Uint8Array;
  readonly precommits: Uint8Array;
}

/** The newest consecutive headers, and the numbers of prevotes and precommits for the height of each header. */
export interface BftState extends HeaderLists {
  readonly firstHeight: number;
  readonly generators: readonly PublicKey[];
  /** Highest height that has ever had enough prevotes (`BftLimits.threshold`); 0 if there is no such height. */
  readonly maxPrevoted: number;
  /**
   * Highest height that has ever had enough precommits. Before any height has enough precommits, the value is the
   * argument of `emptyBftState`. The value never becomes lower.
   */
  readonly finalized: number;
}

/** @param delegates number of active delegates; at most 255, because the votes for a height are counted in a byte */
export function bftLimits(delegates: number): BftLimits {
  assert(delegates >= 1 && delegates <= 255, 'the votes of all active delegates fit in a byte');
  return { threshold: Math.ceil((2 * delegates) / 3), range: 3 * delegates - 1, headersMax: 5 * delegates };
}

/** Returns a BFT state without headers, with `finalized` as its finalized height. */
export function emptyBftState(finalized: number): BftState {
  return { firstHeight: 0, generators: [], ...emptyLists(0), maxPrevoted: 0, finalized };
}

/** Highest height in the BFT state; `firstHeight - 1` if the BFT state is empty. */
export function lastHeightIn(bftState: BftState): number {
  return bftState.firstHeight + bftState.generators.length - 1;
}

/**
 * Checks a new header in two ways. If the BFT state has at least `range` headers, the `maxHeightPrevoted` of the header
 * must be the `maxPrevoted` of the BFT state. If the delegate of the header made any of the last `range` headers, the
 * new header must not contradict the newest of these headers of the delegate.
 *
 * @returns the message of lisk-sdk; undefined if the header passes both checks
 */
export function headerFault(bftState: BftState, header: BftHeader, limits: BftLimits): string | undefined {
  if (bftState.generators.length >= limits.range && header.maxHeightPrevoted !== bftState.maxPrevoted) {
    return `Wrong maxHeightPrevoted in blockHeader. maxHeightPrevoted: ${header.maxHeightPrevoted}, : ${bftState.maxPrevoted}`;
  }
  const { generators } = bftState;
  const oldest = Math.max(0, generators.length - limits.range);
  const own = generators.lastIndexOf(header.generatorPublicKey);
  return own < oldest ? undefined : contradictionOf(headerAt(bftState, own), header);
}

/** The three heights of a signed header that decide whether two headers of one delegate contradict each other. */
export type SignedHeights = Pick<BftHeader, 'height' | 'maxHeightPreviouslyForged' | 'maxHeightPrevoted'>;

/**
 * Checks whether two headers of one delegate contradict each other. The order of the two arguments has no effect.
 *
 * @returns the message of lisk-sdk for the contradiction; undefined if the delegate is allowed to sign both headers
 */
export function contradictionOf(one: SignedHeights, other: SignedHeights): string | undefined {
  const [earlier, later] = isOrdered(one, other) ? [one, other] : [other, one];
  if (earlier.maxHeightPrevoted === later.maxHeightPrevoted && earlier.height >= later.height) {
    return 'Violation of fork choice rule, delegate moved to a different chain';
  }
  if (earlier.height > later.maxHeightPreviouslyForged) {
    return 'Violation of disjointness condition. If delegate forged a block of higher height earlier and later the block with lower height';
  }
  if (earlier.maxHeightPrevoted > later.maxHeightPrevoted) {
    return 'Violation of the condition that delegate must choose the branch with largest maxHeightPrevoted';
  }
  return undefined;
}

/**
 * True if a block gets the full reward. The argument `bftState` is the BFT state directly before the block. In the
 * following rules, the named height is the height that the header names as `maxHeightPreviouslyForged`. The first rule
 * that applies decides about the reward:
 *
 * 1. If the named height is 0, the block gets the full reward.
 * 2. If the BFT state does not contain the named height, or if the named height is not below the height of the header,
 *    the block gets the reduced reward. For a height below the BFT state, LIP-0014 grants the full reward, but the
 *    releases of lisk-sdk do not.
 * 3. If the named height is more than `range` + 1 below the height of the header, the block gets the full reward.
 * 4. In all other cases, the block gets the full reward if the header's delegate made the block at the named height. If
 *    another delegate made the block at the named height, the new block gets the reduced reward.
 */
export function isCompliant(bftState: BftState, header: BftHeader, limits: BftLimits): boolean {
  const previous = header.maxHeightPreviouslyForged;
  if (previous === 0) return true;
  const generator = bftState.generators[previous - bftState.firstHeight];
  if (generator === undefined || previous >= header.height) return false;
  return header.height - previous > limits.range + 1 || generator === header.generatorPublicKey;
}

/**
 * Returns a new BFT state with a further header, and with the votes of this header.
 *
 * @param minHeightActive first height of the generator's consecutive active rounds
 */
export function addHeader(bftState: BftState, header: BftHeader, minHeightActive: number, limits: BftLimits): BftState {
  const follows = bftState.generators.length > 0;
  assert(!follows || header.height === lastHeightIn(bftState) + 1, 'headers of a BFT state are consecutive');
  const drop = bftState.generators.length >= limits.headersMax ? 1 : 0;
  const firstHeight = follows ? bftState.firstHeight + drop : header.height;
  const generators = bftState.generators.slice(drop);
  generators.push(header.generatorPublicKey);
  const lists = copyOfLists(bftState, drop);
  const last = generators.length - 1;
  lists.maxHeightPreviouslyForged[last] = header.maxHeightPreviouslyForged;
  lists.maxHeightPrevoted[last] = header.maxHeightPrevoted;
  lists.minHeightActive[last] = minHeightActive;
  const { maxPrevoted, finalized } = bftState;
  const next = { firstHeight, generators, ...lists, maxPrevoted, finalized };
  // If `maxHeightPreviouslyForged` is equal to or above the height of the header, the delegate has already forged at
  // the height of the header, or at a greater height, on another chain. The header therefore does not vote.
  if (header.maxHeightPreviouslyForged >= header.height) return next;

  const own = newestVoteOf(next, header.generatorPublicKey);
  let lastPrecommit = own < 0 ? 0 : at(next.lastPrecommit, own);
  // A header precommits for a height only if earlier headers have given this height enough prevotes. The function
  // therefore counts the precommits of a header before the prevotes of the same header.
  const firstPrecommit = Math.max(minHeightActive, minPrecommitHeight(next, header, limits), lastPrecommit + 1);
  for (let height = firstPrecommit; height < header.height; height += 1) {
    const index = height - firstHeight;
    if (at(next.prevotes, index) < limits.threshold) continue;
    lastPrecommit = height;
    const votes = at(next.precommits, index) + 1;
    next.precommits[index] = votes;
    if (votes >= limits.threshold) next.finalized = Math.max(next.finalized, height);
  }
  next.lastPrecommit[last] = lastPrecommit;

  const lastPrevote = own < 0 ? 0 : firstHeight + own;
  const firstPrevote = Math.max(
    minHeightActive,
    header.maxHeightPreviouslyForged + 1,
    lastPrevote + 1,
    header.height - limits.range,
    firstHeight,
  );
  for (let height = firstPrevote; height <= header.height; height += 1) {
    const index = height - firstHeight;
    const votes = at(next.prevotes, index) + 1;
    next.prevotes[index] = votes;
    if (votes >= limits.threshold) next.maxPrevoted = Math.max(next.maxPrevoted, height);
  }
  return next;
}

/**
 * Returns the lowest height for which a header is allowed to precommit. The result is never more than `range` heights
 * below the header. All blocks that the delegate forged at this height and above are in this chain: the members
 * `maxHeightPreviouslyForged` of the delegate's headers prove this. `addHeader` applies further limits.
 */
function minPrecommitHeight(bftState: BftState, header: BftHeader, limits: BftLimits): number {
  const floor = Math.max(bftState.firstHeight, header.height - limits.range);
  let previous = header.maxHeightPreviouslyForged;
  let height = Math.max(previous, header.height - limits.range);
  while (height >= floor) {
    if (height !== previous) {
      height -= 1;
      continue;
    }
    const index = height - bftState.firstHeight;
    previous = at(bftState.maxHeightPreviouslyForged, index);
    if (bftState.generators[index] !== header.generatorPublicKey || previous >= height) return height + 1;
    height = previous;
  }
  return Math.max(height + 1, floor);
}

/**
 * Returns the index of the delegate's newest voting header in the lists of the BFT state. The function does not examine
 * the last header of the lists. If the other headers contain no voting header of the delegate, the result is -1.
 */
function newestVoteOf(bftState: BftState, generator: PublicKey): number {
  let index = bftState.generators.length - 1;
  do {
    index = index === 0 ? -1 : bftState.generators.lastIndexOf(generator, index - 1);
  } while (index >= 0 && at(bftState.maxHeightPreviouslyForged, index) >= bftState.firstHeight + index);
  return index;
}

function headerAt(bftState: BftState, index: number): SignedHeights {
  return {
    height: bftState.firstHeight + index,
    maxHeightPreviouslyForged: at(bftState.maxHeightPreviouslyForged, index),
    maxHeightPrevoted: at(bftState.maxHeightPrevoted, index),
  };
}

/** True if an honest delegate would have signed header `one` before header `other`, or if the headers are equal. */
function isOrdered(one: SignedHeights, other: SignedHeights): boolean {
  const differences = [
    one.maxHeightPreviouslyForged - other.maxHeightPreviouslyForged,
    one.maxHeightPrevoted - other.maxHeightPrevoted,
    one.height - other.height,
  ];
  return (differences.find((difference) => difference !== 0) ?? 0) <= 0;
}

function at(values: Uint32Array | Uint8Array, index: number): number {
  const value = values[index];
  assert(value !== undefined, 'the BFT state holds the height');
  return value;
}

/**
 * Creates all lists in one buffer. Each block needs new lists, and several small buffers would take more memory than
 * one buffer.
 */
function emptyLists(count: number): HeaderLists {
  const memory = new ArrayBuffer(count * 18);
  return {
    maxHeightPreviouslyForged: new Uint32Array(memory, 0, count),
    maxHeightPrevoted: new Uint32Array(memory, count * 4, count),
    minHeightActive: new Uint32Array(memory, count * 8, count),
    lastPrecommit: new Uint32Array(memory, count * 12, count),
    prevotes: new Uint8Array(memory, count * 16, count),
    precommits: new Uint8Array(memory, count * 17, count),
  };
}

/** Copies the lists without the first `drop` entries, with room for one more header. */
function copyOfLists(lists: HeaderLists, drop: number): HeaderLists {
  const copies = emptyLists(lists.prevotes.length + 1 - drop);
  copies.maxHeightPreviouslyForged.set(lists.maxHeightPreviouslyForged.subarray(drop));
  copies.maxHeightPrevoted.set(lists.maxHeightPrevoted.subarray(drop));
  copies.minHeightActive.set(lists.minHeightActive.subarray(drop));
  copies.lastPrecommit.set(lists.lastPrecommit.subarray(drop));
  copies.prevotes.set(lists.prevotes.subarray(drop));
  copies.precommits.set(lists.precommits.subarray(drop));
  return copies;
}
