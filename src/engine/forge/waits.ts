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

const GENESIS_HEIGHT = 1;

/** The methods throw a ProtocolError if a write of the journal fails. */
export class Waits {
  readonly #dependencies: WaitsDependencies;
  /** For each delegate, the newest block of another node that the journal could not note (`noteForeign`). */
  readonly #unnoted = new Map<PublicKey, ForeignBlock>();
  /**
   * For each delegate whose wait `clockSetForward` has begun again: the begin of the wait before, and the last begin
   * that this object has stored.
   */
  readonly #renewed = new Map<PublicKey, { readonly beganS: number; readonly sinceS: number }>();

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
   * Call after the system clock was set forward. The method begins the waits of the given delegates again that have no
   * end yet: the waits have begun by a clock that was behind, so the delegates may have signed unknown headers since.
   * On a new network whose delegates are all on this node, there are no unknown headers.
   *
   * @param byS seconds by which the clock was behind; undefined if unknown
   */
  clockSetForward(publicKeys: Iterable<PublicKey>, byS: number | undefined): void {
    const { chain, journal, riskDoubleForging, tipCheck } = this.#dependencies;
    const { rules, state } = chain;
    if (riskDoubleForging || !rules.hasFinality) return;
    if (rules.finalizedHeight(state) <= GENESIS_HEIGHT && tipCheck.isTipSurelyNewest()) return;
    for (const publicKey of publicKeys) {
      const heldSinceS = journal.heldSinceS(publicKey) ?? 0;
      const sinceS = byS === undefined ? this.#nowS() : Math.min(this.#nowS(), heldSinceS + byS);
      if (!isIncomplete(journal, publicKey) || sinceS <= heldSinceS) continue;
      const beganS = this.#renewed.get(publicKey)?.beganS ?? heldSinceS;
      this.#begin(publicKey, sinceS);
      this.#renewed.set(publicKey, { beganS, sinceS });
    }
  }

  /**
   * Call after the system clock was set back. A wait that `clockSetForward` has begun by a clock that was ahead begins
   * at the present time.
   */
  clockSetBack(): void {
    const { journal } = this.#dependencies;
    for (const [publicKey, renewed] of this.#renewed) {
      const sinceS = Math.max(renewed.beganS, this.#nowS());
      const isLast = journal.heldSinceS(publicKey) === renewed.sinceS;
      if (isLast && sinceS < renewed.sinceS) this.#begin(publicKey, sinceS);
    }
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
    this.#begin(generatorPublicKey, Math.max(chain.nowS(), timestamp + 1), isCopy);
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

  #begin(publicKey: PublicKey, sinceS: number, isCopy = false): void {
    const { journal, onBegun } = this.#dependencies;
    journal.hold(publicKey, sinceS, isCopy || journal.isCopyFor(publicKey));
    const renewed = this.#renewed.get(publicKey);
    if (renewed !== undefined) this.#renewed.set(publicKey, { ...renewed, sinceS });
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
