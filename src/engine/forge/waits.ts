/**
 * Keeps the waits of delegates whose signing records are incomplete: the journal perhaps lacks headers that the
 * delegate signed on another node (unknown headers). The start of a wait is a chain time in the journal
 * (`SigningJournal.heldSinceS`). This time should be later than all unknown headers. In generation 3, the delegate may
 * sign when a block that is newer than this time is final (`Rules.handOver`). `DoubleForgingGuard` decides about the
 * signatures.
 *
 * Another node can sign until the delegate is enabled here, and a clock can be wrong. Therefore a wait begins again
 * when the delegate is enabled, and after a step of the clock forward. If the start of a wait is in the future, it
 * comes from a clock that was ahead. Such a wait begins again when the tip shows that the present clock is right.
 */

import type { SigningJournal } from '../../ports/journal.ts';
import type { Rules, SignedHeader } from '../../protocol/rules.ts';
import { slotAt, slotStartS } from '../../protocol/slots.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import type { TipCheck } from './tip-check.ts';

export interface WaitsDependencies {
  readonly chain: Pick<Chain, 'rules' | 'state' | 'tip' | 'nowS' | 'currentSlot'>;
  readonly journal: SigningJournal;
  readonly tipCheck: Pick<TipCheck, 'doubt' | 'doubtBeforeFirstBlock'>;
  readonly riskDoubleForging: boolean;
  /**
   * Called when the wait of a delegate has begun again, so that slots that the delegate left unused before do not count
   * any more.
   */
  readonly onBegun: (publicKey: PublicKey, sinceS: number) => void;
}

/** The members of a block that tell who signed it, and when. */
export type ForeignBlock = Pick<BlockHeader, 'id' | 'height' | 'generatorPublicKey' | 'timestamp'>;

const FIRST_FORGED_HEIGHT = 2;
/**
 * The node assumes that its clock is right if two conditions hold: `TipCheck.doubt` accepts the tip as current, and by
 * this clock, the tip is at most this number of slots old and not in the future.
 */
const NEW_TIP_SLOTS = 2;

/** The methods throw a ProtocolError if a write of the journal fails. */
export class Waits {
  readonly #dependencies: WaitsDependencies;
  /** For each delegate, the newest block of another node whose write to the journal failed (`noteForeign`). */
  readonly #unnoted = new Map<PublicKey, ForeignBlock>();
  /**
   * The delegates that were enabled before this process signed the first forged block of the chain, and that have
   * stayed enabled since then.
   */
  readonly #sinceBeginning = new Set<PublicKey>();

  constructor(dependencies: WaitsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Call when forging of a delegate is switched on. Do not call for a delegate whose forging is already on. If the
   * record of the delegate is incomplete (the journal perhaps lacks headers of the delegate), its wait begins now,
   * because it is possible that another node has signed for the delegate until now. This also applies if forging of
   * the delegate was on earlier and was then switched off.
   */
  begin(publicKey: PublicKey): void {
    const { chain, journal } = this.#dependencies;
    const heldSinceS = journal.heldSinceS(publicKey);
    this.#sinceBeginning.delete(publicKey);
    // In generation 2, no delegate waits until a block is final. The time `heldSinceS` then shows only that the journal
    // perhaps lacks headers of the delegate. A newer time would show the same, so the node keeps an existing time.
    if (!isIncomplete(journal, publicKey) || (heldSinceS !== undefined && !chain.rules.hasFinality)) return;
    const nowS = Math.max(this.#nowS(), (journal.last(publicKey)?.timestamp ?? 0) + 1);
    if (nowS > (heldSinceS ?? 0)) this.#begin(publicKey, nowS);
  }

  /**
   * Call with the enabled delegates of this node after the node has signed the first forged block of the chain. These
   * delegates were enabled while the chain had only the genesis block, so the delegates without a header have signed
   * nothing on this chain. Until such a delegate is enabled again, a step of the clock does not begin its wait again.
   */
  noteBeginning(publicKeys: Iterable<PublicKey>): void {
    for (const publicKey of publicKeys)
      if (hasSignedNothing(this.#dependencies.journal, publicKey)) this.#sinceBeginning.add(publicKey);
  }

  /**
   * Call after the system clock was set forward. The waits of the given delegates have begun by a clock that was
   * behind, so it is possible that the delegates have signed unknown headers after the start of these waits.
   *
   * @param byS seconds by which the clock was behind; undefined if unknown
   */
  clockSetForward(publicKeys: Iterable<PublicKey>, byS: number | undefined): void {
    const { chain, journal, riskDoubleForging } = this.#dependencies;
    if (!chain.rules.hasFinality || riskDoubleForging) return;
    for (const publicKey of publicKeys) {
      const heldSinceS = journal.heldSinceS(publicKey) ?? 0;
      const sinceS = byS === undefined ? this.#nowS() : Math.min(this.#nowS(), heldSinceS + byS);
      const isSpared = this.#sinceBeginning.has(publicKey) && hasSignedNothing(journal, publicKey);
      if (!isIncomplete(journal, publicKey) || isSpared) continue;
      if (sinceS > heldSinceS) this.#begin(publicKey, sinceS);
    }
  }

  /**
   * Corrects the wait of a delegate if the start of the wait is in the future. Call before each decision about a
   * signature. If the tip shows that the present clock is right, the wait begins again now, because all unknown headers
   * were signed before the present time. If the chain has only the genesis block, the wait begins again now on two
   * conditions: the delegate has signed nothing, and the node is allowed to begin the chain
   * (`TipCheck.doubtBeforeFirstBlock`).
   */
  correctFuture(publicKey: PublicKey): void {
    const { chain, journal, riskDoubleForging, tipCheck } = this.#dependencies;
    const { params, hasFinality } = chain.rules;
    const heldSinceS = journal.heldSinceS(publicKey) ?? 0;
    if (riskDoubleForging || !hasFinality || !isIncomplete(journal, publicKey)) return;
    const sinceS = Math.max(this.#nowS(), (journal.last(publicKey)?.timestamp ?? 0) + 1);
    if (heldSinceS <= sinceS + params.blockTimeS) return;
    const { header } = chain.tip;
    if (header.height < FIRST_FORGED_HEIGHT) {
      const isBeginning = hasSignedNothing(journal, publicKey) && tipCheck.doubtBeforeFirstBlock() === undefined;
      if (isBeginning) this.#begin(publicKey, sinceS);
      return;
    }
    const behind = chain.currentSlot() - slotAt(header.timestamp, params);
    if (behind >= 0 && behind <= NEW_TIP_SLOTS && tipCheck.doubt() === undefined) this.#begin(publicKey, sinceS);
  }

  /**
   * Notes a block that was added to the chain and that this node did not forge. If another node signed the block for a
   * delegate of the journal, the record of the delegate is incomplete from now on, even if the block is reverted. If
   * the next header named a lower height than that of the block as `maxHeightPreviouslyForged`, it would contradict the
   * header of the block. In generation 2, a header names no such height, but a node must remember the block after a
   * restart. If the write to the journal fails, `noteAgain` repeats the write.
   *
   * @returns whether another node, or another data folder of this machine, signed the block. The result is also true
   *   for a delegate that was never enabled on this node. With `riskDoubleForging`, the result is false
   */
  noteForeign(block: ForeignBlock): boolean {
    const { chain, journal, riskDoubleForging, tipCheck } = this.#dependencies;
    if (riskDoubleForging) return false;
    const { generatorPublicKey, timestamp } = block;
    const heldSinceS = journal.heldSinceS(generatorPublicKey);
    const last = journal.last(generatorPublicKey);
    if (last === undefined && heldSinceS === undefined) return true;
    // If the journal has no header of the delegate, `DoubleForgingGuard` perhaps later copies the header of the
    // watermark to the journal, as the last header of the delegate (`SigningJournal.adopt`). This method
    // therefore compares the block with the header of the watermark. If another node signed the block, `isCopy` stops
    // the guard from copying the header.
    const recalled = last === undefined ? journal.recalled(generatorPublicKey)?.last : undefined;
    const known = last ?? recalled;
    // If only the watermark has a header, this header was signed in another data folder, or in this data folder before
    // its journal was lost.
    if (known !== undefined && !isForeign(block, known, chain.rules)) return last === undefined;
    const isCopy = recalled !== undefined;
    this.#unnoted.set(generatorPublicKey, block);
    // If the start of the delegate's wait (`heldSinceS`) is already later than this block and later than the last
    // header in the journal, the wait need not begin again because of this block. If `isCopy` is true, the journal must
    // also have the mark of a copy already (`isCopyFor`).
    const leastS = Math.max(timestamp, last?.timestamp ?? 0) + 1;
    const isCovered = (heldSinceS ?? 0) >= leastS && (!isCopy || journal.isCopyFor(generatorPublicKey));
    if (!isCovered) this.#begin(generatorPublicKey, Math.max(chain.nowS(), leastS), isCopy, timestamp);
    // During a sync, each old block of a delegate would cause a write. The node therefore writes nothing here during a
    // sync. The next decision about a signature notes the newest of these blocks.
    else if (tipCheck.doubt() === undefined && (journal.foreignS(generatorPublicKey) ?? 0) < timestamp)
      journal.hold(generatorPublicKey, heldSinceS ?? 0, journal.isCopyFor(generatorPublicKey), timestamp);
    this.#unnoted.delete(generatorPublicKey);
    return true;
  }

  /** Notes the block of the delegate whose write to the journal failed in `noteForeign`, if there is such a block. */
  noteAgain(publicKey: PublicKey): void {
    const unnoted = this.#unnoted.get(publicKey);
    if (unnoted !== undefined) this.noteForeign(unnoted);
  }

  /**
   * Moves the start of a delegate's wait to the end of a slot that the delegate leaves unused because another node has
   * signed for the delegate. If the start of the wait is already later than this end, the start does not change. The
   * reason for the move: it is possible that the other node has also signed a block in this slot, on a branch that the
   * network has abandoned. In generation 2, no delegate waits until a block is final, so the method does nothing.
   */
  coverSlot(publicKey: PublicKey, slot: number): void {
    const { chain, journal } = this.#dependencies;
    const { hasFinality, params } = chain.rules;
    const endS = slotStartS(slot + 1, params);
    if (hasFinality && (journal.heldSinceS(publicKey) ?? 0) < endS) this.#begin(publicKey, endS);
  }

  #begin(publicKey: PublicKey, sinceS: number, isCopy = false, foreignS?: number): void {
    const { journal, onBegun } = this.#dependencies;
    journal.hold(publicKey, sinceS, isCopy || journal.isCopyFor(publicKey), foreignS);
    onBegun(publicKey, sinceS);
  }

  /**
   * Returns the present chain time for the start of a wait. A clock that is behind the timestamp of the tip is wrong,
   * so the result is always later than this timestamp. The result is also not before the end of the slot of the first
   * forged block. In generation 3, if a wait starts before the end of this slot, the node assumes that the wait began
   * while the chain had only the genesis block. The delegate then need not wait in some cases (`boundOfYoungChain` in
   * `protocol/gen3/hand-over.ts`).
   */
  #nowS(): number {
    const { chain } = this.#dependencies;
    const first = chain.state.header(FIRST_FORGED_HEIGHT);
    const firstEndS = first === undefined ? 0 : first.timestamp + chain.rules.params.blockTimeS;
    return Math.max(chain.nowS(), chain.tip.header.timestamp + 1, firstEndS);
  }
}

/**
 * True if neither the journal nor the watermark shows a signature of the delegate (on this node or on another node),
 * and the journal does not mark the record of the delegate as a copy (another node perhaps has the original record, and
 * still signs).
 */
export function hasSignedNothing(journal: SigningJournal, publicKey: PublicKey): boolean {
  if (journal.last(publicKey) !== undefined || journal.outside(publicKey) === 'later') return false;
  return !journal.isCopyFor(publicKey) && journal.foreignS(publicKey) === undefined;
}

/**
 * Whether it is possible that the delegate has signed headers that the journal lacks. The result is true in two cases:
 * the journal has no header of the delegate, or the journal says that the delegate has perhaps signed other headers
 * after its last header in the journal (`heldSinceS`).
 */
export function isIncomplete(journal: Pick<SigningJournal, 'last' | 'heldSinceS'>, publicKey: PublicKey): boolean {
  const last = journal.last(publicKey);
  return last === undefined || (journal.heldSinceS(publicKey) ?? 0) > last.timestamp;
}

/**
 * Whether another node signed a block of a delegate whose last known header is `last`. If the block is not older than
 * `last`, and is not the block of `last`, another node signed the block. If the block is older than `last`, this node
 * signed the block. In a generation with finality, there is one exception. In such a generation, `last` states a height
 * (`maxHeightPreviouslyForged`) that is not lower than any height at which this node had signed for the delegate before
 * `last`. If the height of the older block is greater than the stated height, another node signed the block.
 */
export function isForeign(
  { id, height, timestamp }: Pick<BlockHeader, 'id' | 'height' | 'timestamp'>,
  last: SignedHeader,
  { hasFinality }: Pick<Rules, 'hasFinality'>,
): boolean {
  if (id === last.blockId) return false;
  return timestamp >= last.timestamp || (hasFinality && height > last.maxHeightPreviouslyForged);
}
