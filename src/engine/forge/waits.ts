/**
 * Keeps the waits of delegates whose signing records are incomplete: the journal lacks headers that the delegate may
 * have signed on another node. A wait is a chain time in the journal (`SigningJournal.heldSinceS`). All unknown headers
 * are older than this time. In generation 3, the delegate may sign when a block that is newer than this time is final
 * (`Rules.handOver`). `DoubleForgingGuard` decides about the signatures.
 */

import type { SigningJournal } from '../../ports/journal.ts';
import type { Rules, SignedHeader } from '../../protocol/rules.ts';
import { slotStartS } from '../../protocol/slots.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import type { TipCheck } from './tip-check.ts';

export interface WaitsDependencies {
  readonly chain: Pick<Chain, 'rules' | 'state' | 'tip' | 'nowS'>;
  readonly journal: SigningJournal;
  readonly tipCheck: Pick<TipCheck, 'isTipSurelyNewest'>;
  readonly riskDoubleForging: boolean;
  /** Called when the wait of a delegate has begun again, so that its earlier unused slots do not count. */
  readonly onBegun: (publicKey: PublicKey) => void;
}

/** The members of a block that tell who signed it, and when. */
export type ForeignBlock = Pick<BlockHeader, 'id' | 'height' | 'generatorPublicKey' | 'timestamp'>;

interface BeginOptions {
  readonly isCopy?: boolean;
  readonly floorS?: number;
  readonly foreignS?: number;
}

const GENESIS_HEIGHT = 1;

/** The methods throw a ProtocolError if a write of the journal fails. */
export class Waits {
  readonly #dependencies: WaitsDependencies;
  /** For each delegate, the newest block of another node that the journal could not note (`noteForeign`). */
  readonly #unnoted = new Map<PublicKey, ForeignBlock>();
  /**
   * Seconds by which the system clock may be ahead: the sum of the steps forward that no step back has undone. Infinity
   * after a step of unknown size.
   */
  #aheadS = 0;
  /**
   * For each delegate whose wait this object has begun while the clock may have been ahead: the begin of the wait, and
   * the earliest begin that a step back may give it.
   */
  readonly #begunAhead = new Map<PublicKey, { readonly sinceS: number; readonly floorS: number }>();

  constructor(dependencies: WaitsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Begins the wait of a delegate of which the journal knows nothing. */
  beginFirst(publicKey: PublicKey): void {
    const { journal } = this.#dependencies;
    if (journal.last(publicKey) !== undefined || journal.heldSinceS(publicKey) !== undefined) return;
    journal.hold(publicKey, this.#nowS());
  }

  /**
   * Call after the system clock was set forward. The method begins all waits again that have no end yet, also of
   * delegates that are not enabled: the waits have begun by a clock that was behind, so the delegates may have signed
   * unknown headers since. On a new network whose delegates are all on this node, there are no unknown headers.
   *
   * @param byS seconds by which the clock was behind; undefined if unknown
   */
  clockSetForward(byS: number | undefined): void {
    const { chain, journal, riskDoubleForging, tipCheck } = this.#dependencies;
    const { rules, state } = chain;
    if (riskDoubleForging || !rules.hasFinality) return;
    if (rules.finalizedHeight(state) <= GENESIS_HEIGHT && tipCheck.isTipSurelyNewest()) return;
    const aheadS = this.#aheadS;
    // If a write fails, the caller calls the method again. The clock is ahead by the same time.
    this.#aheadS = Number.POSITIVE_INFINITY;
    for (const publicKey of journal.delegates()) {
      const heldSinceS = journal.heldSinceS(publicKey) ?? 0;
      const sinceS = byS === undefined ? this.#nowS() : Math.min(this.#nowS(), heldSinceS + byS);
      if (isIncomplete(journal, publicKey) && sinceS > heldSinceS) this.#begin(publicKey, sinceS);
    }
    this.#aheadS = aheadS + (byS ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Call after the system clock was set back. If the step undoes a step forward, the waits that this object has begun
   * in between begin earlier by the same time.
   *
   * @param byS seconds by which the clock was ahead
   */
  clockSetBack(byS: number): void {
    const { journal } = this.#dependencies;
    const undoneS = Math.min(byS, this.#aheadS);
    for (const [publicKey, { sinceS, floorS }] of this.#begunAhead) {
      const earlierS = Math.max(floorS, sinceS - undoneS);
      // A later wait of another reason stays.
      if (journal.heldSinceS(publicKey) === sinceS && earlierS < sinceS) this.#begin(publicKey, earlierS, { floorS });
    }
    this.#aheadS = Number.isFinite(this.#aheadS) ? this.#aheadS - undoneS : 0;
  }

  /**
   * Notes a block that was added to the chain and that this node did not forge. If another node signed the block for a
   * delegate of the journal, the record of the delegate is incomplete from now on, even if the block is reverted. A new
   * header that does not name the height of the block would contradict it. In generation 2, a header names no height.
   * If the write fails, `noteAgain` repeats it.
   */
  noteForeign(block: ForeignBlock): void {
    const { chain, journal, riskDoubleForging } = this.#dependencies;
    if (riskDoubleForging || !chain.rules.hasFinality) return;
    const { generatorPublicKey, timestamp } = block;
    const heldSinceS = journal.heldSinceS(generatorPublicKey);
    const last = journal.last(generatorPublicKey);
    if (last === undefined && heldSinceS === undefined) return;
    // Without a header in the journal, the node would later take the header of the watermark for the last one.
    const recalled = last === undefined ? journal.recalled(generatorPublicKey)?.last : undefined;
    const known = last ?? recalled;
    if (known !== undefined && !isForeign(block, known, chain.rules)) return;
    const isCopy = recalled !== undefined;
    // A wait that has begun after the block, and after our last header, covers the block already.
    const isCovered = (heldSinceS ?? 0) > Math.max(timestamp, last?.timestamp ?? 0);
    if (isCovered && (!isCopy || journal.isCopyFor(generatorPublicKey))) return;
    this.#unnoted.set(generatorPublicKey, block);
    // The wait must end neither at once nor with our last header, even if the clock is behind.
    const floorS = Math.max(timestamp, last?.timestamp ?? 0) + 1;
    this.#begin(generatorPublicKey, Math.max(chain.nowS(), floorS), { isCopy, floorS, foreignS: timestamp });
    this.#unnoted.delete(generatorPublicKey);
  }

  /** Notes the block of a delegate that the journal could not note before. */
  noteAgain(publicKey: PublicKey): void {
    const unnoted = this.#unnoted.get(publicKey);
    if (unnoted !== undefined) this.noteForeign(unnoted);
  }

  /**
   * Lets the wait of a delegate cover a slot that it leaves to another node. The other node may have signed a block for
   * the slot on a branch that the network has abandoned. Generation 2 has no hand-over.
   */
  coverSlot(publicKey: PublicKey, slot: number): void {
    const { chain, journal } = this.#dependencies;
    const { hasFinality, params } = chain.rules;
    const endS = slotStartS(slot + 1, params);
    if (hasFinality && (journal.heldSinceS(publicKey) ?? 0) < endS) this.#begin(publicKey, endS);
  }

  /** @param options.floorS the earliest begin that a step of the clock may give the wait */
  #begin(publicKey: PublicKey, sinceS: number, { isCopy = false, floorS = 0, foreignS }: BeginOptions = {}): void {
    const { journal, onBegun } = this.#dependencies;
    const beforeS = journal.heldSinceS(publicKey) ?? 0;
    const begun = this.#begunAhead.get(publicKey);
    journal.hold(publicKey, sinceS, isCopy || journal.isCopyFor(publicKey), foreignS);
    const leastS = Math.max(floorS, begun?.sinceS === beforeS ? begun.floorS : Math.min(beforeS, sinceS));
    if (this.#aheadS > 0) this.#begunAhead.set(publicKey, { sinceS, floorS: leastS });
    else this.#begunAhead.delete(publicKey);
    onBegun(publicKey);
  }

  /** The present chain time. A clock that is behind the tip is wrong, so the result is after the tip. */
  #nowS(): number {
    const { chain } = this.#dependencies;
    return Math.max(chain.nowS(), chain.tip.header.timestamp + 1);
  }
}

/**
 * Whether the delegate may have signed headers that the journal lacks. The result is true if the journal has no header
 * of the delegate, or if the journal says that the delegate may have signed other headers after the last one.
 */
export function isIncomplete(journal: Pick<SigningJournal, 'last' | 'heldSinceS'>, publicKey: PublicKey): boolean {
  const last = journal.last(publicKey);
  return last === undefined || (journal.heldSinceS(publicKey) ?? 0) > last.timestamp;
}

/**
 * Whether another node signed a block of a delegate whose last known header is `last`. An older block is ours, unless
 * its height is greater than all heights that we had signed before the last header. Such a block is on a longer branch.
 */
export function isForeign(
  { id, height, timestamp }: Pick<BlockHeader, 'id' | 'height' | 'timestamp'>,
  last: SignedHeader,
  { hasFinality }: Pick<Rules, 'hasFinality'>,
): boolean {
  if (id === last.blockId) return false;
  return timestamp >= last.timestamp || (hasFinality && height > last.maxHeightPreviouslyForged);
}
