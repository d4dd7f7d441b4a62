/**
 * Keeps the waits of delegates whose signing records are incomplete: the journal lacks headers that the delegate may
 * have signed on another node. A wait is a chain time in the journal (`SigningJournal.heldSinceS`) that should be later
 * than all unknown headers. In generation 3, the delegate may sign when a block that is newer than this time is final
 * (`Rules.handOver`). `DoubleForgingGuard` decides about the signatures.
 *
 * Another node can sign until the delegate is enabled here, and a clock can be wrong. Therefore a wait begins again
 * when the delegate is enabled, and after a step of the clock forward. A wait in the future comes from a clock that was
 * ahead, and begins again when the tip shows that the present clock is right.
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
  /** Called when the wait of a delegate has begun again, so that slots that it left unused before do not count. */
  readonly onBegun: (publicKey: PublicKey, sinceS: number) => void;
}

/** The members of a block that tell who signed it, and when. */
export type ForeignBlock = Pick<BlockHeader, 'id' | 'height' | 'generatorPublicKey' | 'timestamp'>;

const FIRST_FORGED_HEIGHT = 2;
/**
 * The node assumes that its clock is right if two conditions hold: `TipCheck.doubt` accepts the tip as current, and by this
 * clock, the tip is at most this number of slots old and not in the future.
 */
const NEW_TIP_SLOTS = 2;

/** The methods throw a ProtocolError if a write of the journal fails. */
export class Waits {
  readonly #dependencies: WaitsDependencies;
  /** For each delegate, the newest block of another node that the journal could not note (`noteForeign`). */
  readonly #unnoted = new Map<PublicKey, ForeignBlock>();
  /** The delegates that were enabled before this process signed the first forged block, and without a break since. */
  readonly #sinceBeginning = new Set<PublicKey>();

  constructor(dependencies: WaitsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Call when a delegate is enabled that was not enabled before. If the record of the delegate is incomplete, its wait
   * begins now: another node may have signed until now, even if the delegate was enabled on this node earlier.
   */
  begin(publicKey: PublicKey): void {
    const { chain, journal } = this.#dependencies;
    const heldSinceS = journal.heldSinceS(publicKey);
    this.#sinceBeginning.delete(publicKey);
    // Generation 2 has no hand-over, and only needs to know that the record is incomplete.
    if (!isIncomplete(journal, publicKey) || (heldSinceS !== undefined && !chain.rules.hasFinality)) return;
    const nowS = Math.max(this.#nowS(), (journal.last(publicKey)?.timestamp ?? 0) + 1);
    if (nowS > (heldSinceS ?? 0)) this.#begin(publicKey, nowS);
  }

  /**
   * Call after this node has signed the first forged block, with its enabled delegates. They were enabled while the chain
   * had only the genesis block, so those without a header have signed nothing on this chain. Until they are enabled again,
   * a step of the clock does not begin their waits again.
   */
  noteBeginning(publicKeys: Iterable<PublicKey>): void {
    for (const publicKey of publicKeys)
      if (hasSignedNothing(this.#dependencies.journal, publicKey)) this.#sinceBeginning.add(publicKey);
  }

  /**
   * Call after the system clock was set forward. The waits of the given delegates have begun by a clock that was
   * behind, so the delegates may have signed unknown headers since.
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
   * Call before each decision about a signature. If the wait of the delegate is in the future, and the tip shows that
   * the present clock is right, the wait begins again now: all unknown headers were signed before. It also begins again
   * while the chain has not begun, for a delegate that has signed nothing.
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
   * delegate of the journal, the record of the delegate is incomplete from now on, even if the block is reverted. A new
   * header that does not name the height of the block would contradict it. In generation 2, a header names no height, but a
   * node must remember the block after a restart. If the write fails, `noteAgain` repeats it.
   *
   * @returns whether another node, or another data folder of this machine, signed the block. The result is false for a
   *   delegate that was never enabled on this node
   */
  noteForeign(block: ForeignBlock): boolean {
    const { chain, journal, riskDoubleForging, tipCheck } = this.#dependencies;
    if (riskDoubleForging) return false;
    const { generatorPublicKey, timestamp } = block;
    const heldSinceS = journal.heldSinceS(generatorPublicKey);
    const last = journal.last(generatorPublicKey);
    if (last === undefined && heldSinceS === undefined) return false;
    // Without a header in the journal, the node would later take the header of the watermark for the last one.
    const recalled = last === undefined ? journal.recalled(generatorPublicKey)?.last : undefined;
    const known = last ?? recalled;
    // The header of a watermark alone is that of another data folder, or of this one before its journal was lost.
    if (known !== undefined && !isForeign(block, known, chain.rules)) return last === undefined;
    const isCopy = recalled !== undefined;
    this.#unnoted.set(generatorPublicKey, block);
    // A wait that has begun after the block, and after our last header, covers the block already.
    const leastS = Math.max(timestamp, last?.timestamp ?? 0) + 1;
    const isCovered = (heldSinceS ?? 0) >= leastS && (!isCopy || journal.isCopyFor(generatorPublicKey));
    if (!isCovered) this.#begin(generatorPublicKey, Math.max(chain.nowS(), leastS), isCopy, timestamp);
    // During a sync, the old blocks of a delegate would cause a write each. The next decision notes the newest one.
    else if (tipCheck.doubt() === undefined && (journal.foreignS(generatorPublicKey) ?? 0) < timestamp)
      journal.hold(generatorPublicKey, heldSinceS ?? 0, journal.isCopyFor(generatorPublicKey), timestamp);
    this.#unnoted.delete(generatorPublicKey);
    return true;
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

  #begin(publicKey: PublicKey, sinceS: number, isCopy = false, foreignS?: number): void {
    const { journal, onBegun } = this.#dependencies;
    journal.hold(publicKey, sinceS, isCopy || journal.isCopyFor(publicKey), foreignS);
    onBegun(publicKey, sinceS);
  }

  /**
   * The present chain time. A clock that is behind the tip is wrong, so the result is after the tip. It is also after the
   * slot of the first forged block: in generation 3, a wait from before says that only the genesis block existed.
   */
  #nowS(): number {
    const { chain } = this.#dependencies;
    const first = chain.state.header(FIRST_FORGED_HEIGHT);
    const firstEndS = first === undefined ? 0 : first.timestamp + chain.rules.params.blockTimeS;
    return Math.max(chain.nowS(), chain.tip.header.timestamp + 1, firstEndS);
  }
}

/** Whether the journal and the watermark know of no header of the delegate, neither of this node nor of another one. */
export function hasSignedNothing(journal: SigningJournal, publicKey: PublicKey): boolean {
  if (journal.last(publicKey) !== undefined || journal.outside(publicKey) === 'later') return false;
  return !journal.isCopyFor(publicKey) && journal.foreignS(publicKey) === undefined;
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
