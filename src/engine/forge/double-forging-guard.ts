/**
 * Decides whether a delegate can sign on this node without contradicting a header that the delegate signed on another
 * node. The signing journal contains the headers that the delegate signed on this node. The chain shows headers that
 * the delegate signed on other nodes (`ForeignBlocks`). If the journal's record of the delegate is incomplete, or if
 * the chain has a block that another node signed for the delegate, the delegate waits. It leaves slots unused
 * (`SlotWatch`). In a generation with finality, the delegate also waits until its hand-over has ended: until the rules
 * of the generation allow the delegate to sign again (`HandOvers`). Decision 4 in `docs/decisions` describes the rules
 * of these waits.
 */

import type { SigningJournal } from '../../ports/journal.ts';
import type { SignedHeader } from '../../protocol/rules.ts';
import { slotAt, slotStartS } from '../../protocol/slots.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { ForeignBlocks } from './foreign-blocks.ts';
import { HandOvers } from './hand-overs.ts';
import { NeedlessWaits, UNSURE_SLOTS } from './needless-waits.ts';
import { isOfChain } from './recalled-header.ts';
import { SlotWatch } from './slot-watch.ts';
import type { TipCheck } from './tip-check.ts';
import { SEARCHING, type Waiting } from './waiting.ts';
import { isIncomplete, Waits, type ForeignBlock } from './waits.ts';
import { WatchedSlots } from './watched-slots.ts';

export interface DoubleForgingGuardDependencies {
  readonly chain: Pick<Chain, 'rules' | 'state' | 'tip' | 'currentSlot' | 'nowS'>;
  readonly journal: SigningJournal;
  /** Checks whether our tip is the tip of the network. */
  readonly tipCheck: Pick<
    TipCheck,
    'doubt' | 'doubtBeforeFirstBlock' | 'isTipSurelyNewest' | 'hasAllDelegates' | 'hasTwoThirds'
  >;
  /**
   * If true, a delegate signs a header if the header contradicts neither the last header in the journal nor the newest
   * block of the delegate on the chain. The delegate does not wait for signs that another node signs.
   */
  readonly riskDoubleForging: boolean;
}

/**
 * Whether a delegate may sign now. If the delegate may sign, `previouslyForged` is the earlier header that the new
 * header must not contradict; undefined if there is none.
 */
export type Clearance =
  | { readonly granted: true; readonly previouslyForged: SignedHeader | undefined }
  | ({ readonly granted: false } & Waiting);

const GENESIS_HEIGHT = 1;

export class DoubleForgingGuard {
  readonly #dependencies: DoubleForgingGuardDependencies;
  /**
   * The slots that the guard refused with `FORGING_ELSEWHERE` or `FORGING_WAITS_FOR_EMPTY_SLOT`. The node watches
   * whether another node signs a block of the delegate in these slots.
   */
  readonly #watched: WatchedSlots;
  /** For each delegate, the slot in which it was enabled. */
  readonly #enabledSlots = new Map<PublicKey, number>();
  readonly #foreignBlocks: ForeignBlocks;
  readonly #handOvers: HandOvers;
  readonly #needless: NeedlessWaits;
  readonly #slotWatch: SlotWatch;
  /** The waits of delegates that have perhaps signed headers that the journal lacks. */
  readonly waits: Waits;

  constructor(dependencies: DoubleForgingGuardDependencies) {
    this.#dependencies = dependencies;
    const watched = new WatchedSlots(dependencies.chain.rules.params.activeDelegates);
    this.#watched = watched;
    const foreignBlocks = new ForeignBlocks(dependencies);
    const needless = new NeedlessWaits(dependencies);
    const handOvers = new HandOvers({ ...dependencies, foreignBlocks, needless, watched });
    this.#foreignBlocks = foreignBlocks;
    this.#needless = needless;
    this.#handOvers = handOvers;
    this.#slotWatch = new SlotWatch({ ...dependencies, foreignBlocks, handOvers, needless, watched });
    // Slots that the delegate has left unused before the start of a wait do not count.
    this.waits = new Waits({ ...dependencies, onBegun: (publicKey, sinceS) => this.#uncountBefore(publicKey, sinceS) });
  }

  /**
   * Begins to guard the signatures of a delegate. Call when the delegate is enabled. If the journal perhaps lacks
   * headers of the delegate, the wait of the delegate begins now (`Waits.begin`). Slots that the delegate has left
   * unused before this call do not count. The method also notes the newest block that another node signed for the
   * delegate (`Waits.noteForeign`). With `riskDoubleForging`, the method does nothing.
   */
  hold(publicKey: PublicKey): void {
    if (this.#dependencies.riskDoubleForging) return;
    this.#watched.forget(publicKey);
    this.#enabledSlots.set(publicKey, this.#dependencies.chain.currentSlot());
    this.waits.begin(publicKey);
    this.#noteForeign(publicKey);
  }

  /**
   * Call after the system clock was set forward. If the clock was behind by at least one slot, the slots that delegates
   * left unused by this clock do not count, because these slots had perhaps already ended. The waits of the given
   * delegates begin again (`Waits.clockSetForward`).
   */
  clockSetForward(publicKeys: Iterable<PublicKey>, byS: number | undefined): void {
    const { chain } = this.#dependencies;
    const { blockTimeS } = chain.rules.params;
    for (const [publicKey, enabledSlot] of this.#enabledSlots) {
      const moved = byS === undefined ? Number.POSITIVE_INFINITY : enabledSlot + Math.ceil(byS / blockTimeS);
      this.#enabledSlots.set(publicKey, Math.max(enabledSlot, Math.min(moved, chain.currentSlot())));
    }
    if (byS === undefined || byS >= blockTimeS) this.#watched.forgetAll();
    this.waits.clockSetForward(publicKeys, byS);
  }

  /**
   * Call at each check of the scheduler. Finds out which delegates need not wait (`NeedlessWaits`). The method must
   * find this out while the state still has the lists of delegates of the rounds since the final block: if no block
   * becomes final for many rounds, the state drops these lists. The method also forgets watched slots in the future.
   * Such slots come from a clock that was ahead, so no delegate has left them unused.
   */
  refresh(publicKeys: readonly PublicKey[]): void {
    const { journal, riskDoubleForging } = this.#dependencies;
    if (riskDoubleForging) return;
    this.#watched.forgetFuture(this.#dependencies.chain.currentSlot());
    for (const publicKey of publicKeys)
      if (isIncomplete(journal, publicKey)) this.#needless.has(publicKey, journal.heldSinceS(publicKey) ?? 0);
    this.#slotWatch.refresh(publicKeys);
  }

  /**
   * Call after the chain has got a block that another node signed for an enabled delegate of this node. The slots that
   * the delegate has left unused up to the block do not count any more, even if the block is reverted.
   *
   * @param enabled all enabled delegates
   */
  noteElsewhere(block: ForeignBlock, enabled: readonly PublicKey[]): void {
    this.#slotWatch.noteElsewhere(block, enabled);
  }

  /**
   * Call after the chain has got a block that another node signed, whether or not its delegate is enabled on this node.
   */
  hear(block: Pick<BlockHeader, 'timestamp'>): void {
    this.#slotWatch.hear(block);
  }

  #uncountBefore(publicKey: PublicKey, sinceS: number): void {
    this.#watched.uncount(publicKey, slotAt(sinceS - 1, this.#dependencies.chain.rules.params) + 1);
  }

  /**
   * Notes the delegate's newest block on the chain, if another node signed this block (`Waits.noteForeign`). It is
   * possible that this block is not noted in the journal yet. For example, the chain got the block before this process
   * started, before the delegate was first enabled, or during a sync. It is also possible that the search for the block
   * ends only after several calls.
   */
  #noteForeign(publicKey: PublicKey): void {
    const foreign = this.#foreignBlocks.onChain(publicKey);
    if (foreign !== undefined && foreign !== 'unknown') this.waits.noteForeign(foreign);
  }

  /**
   * Decides whether a delegate may sign in its slot. Call before building a block. If the guard refuses, the delegate
   * leaves the slot unused. After a refusal with `FORGING_ELSEWHERE` or `FORGING_WAITS_FOR_EMPTY_SLOT`, the slot
   * becomes a watched slot of the delegate: the node watches whether another node signs a block of the delegate in this
   * slot.
   *
   * @throws ProtocolError in the same cases as the writes of the journal; the delegate must then not sign
   * @param slot the slot of the block. The guard compares the watched slots of the delegate with this slot and not with
   *   the clock, because it is possible that this slot ended a moment ago. A comparison with the clock could let the
   *   delegate sign in a watched slot itself
   */
  clearance(publicKey: PublicKey, slot: number): Clearance {
    this.waits.noteAgain(publicKey);
    this.#noteForeign(publicKey);
    this.waits.correctFuture(publicKey);
    const waiting = this.#waiting(publicKey, slot);
    // The enabling slot is the slot in which forging of the delegate was enabled. If the record of the delegate is
    // incomplete, the delegate leaves its enabling slot unused, because another node has perhaps already signed in this
    // slot (`#waitAfterEnabling`). If the stored enabling slot is in the future, the clock was ahead when forging was
    // enabled. The present slot then replaces the enabling slot.
    if ((this.#enabledSlots.get(publicKey) ?? slot) > slot) this.#enabledSlots.set(publicKey, slot);
    if (waiting !== undefined) {
      this.#leaveUnused(publicKey, slot, waiting);
      return { granted: false, ...waiting };
    }
    const inHandOver = this.#handOvers.waiting(publicKey);
    if (inHandOver !== undefined) return { granted: false, ...inHandOver };
    const over = this.#handOvers.of(publicKey);
    if (over?.ready === true) return { granted: true, previouslyForged: over.previouslyForged };
    const { journal, riskDoubleForging } = this.#dependencies;
    return riskDoubleForging
      ? this.#clearanceAtRisk(publicKey)
      : { granted: true, previouslyForged: journal.last(publicKey) };
  }

  /**
   * Makes the slot a watched slot of the delegate, if the delegate waits for a slot without a block of another node.
   */
  #leaveUnused(publicKey: PublicKey, slot: number, waiting: Waiting): void {
    const { code } = waiting;
    if (code !== 'FORGING_ELSEWHERE' && code !== 'FORGING_WAITS_FOR_EMPTY_SLOT') return;
    // With the code `FORGING_ELSEWHERE`, another node has signed for the delegate, and perhaps also signs a block in
    // this slot. In a generation with finality, `coverSlot` therefore moves the start of the delegate's wait in the
    // journal to the end of the slot. If the write to the journal fails, `coverSlot` throws an error, and the slot does
    // not become a watched slot (a slot in `#watched`).
    if (code === 'FORGING_ELSEWHERE') this.waits.coverSlot(publicKey, slot);
    // The slot becomes a watched slot. In three cases, the slot does not count for `WatchedSlots.count`, because an
    // empty slot proves nothing in these cases. First, another node has signed a block (`FORGING_ELSEWHERE`): if the
    // record on this node is a copy, perhaps the node with the original record also leaves this slot unused because of
    // that block. Second, the delegate is in a hand-over (a wait until the rules of the generation allow the delegate
    // to sign again): perhaps the node with the original record is in the same hand-over. Third, the search of the
    // chain for blocks that another node signed for the delegate continues: perhaps the search finds such a block.
    const isInHandOver = (): boolean => this.#handOvers.of(publicKey)?.ready === false;
    const isCounted = code !== 'FORGING_ELSEWHERE' && waiting !== SEARCHING && !isInHandOver();
    this.#watched.note(publicKey, slot, isCounted);
    if (code === 'FORGING_ELSEWHERE') this.#watched.uncount(publicKey, slot + 1);
    const recalled = this.#dependencies.journal.recalled(publicKey);
    if (recalled !== undefined) this.#watched.noteRecall(publicKey, slot, recalled.last.blockId);
  }

  /**
   * Returns the clearance with `riskDoubleForging`. It is possible that the journal lacks headers of blocks that are on
   * the chain, for example in a folder that `bloomery backup` made. The rules refuse a block that contradicts a block
   * of the same delegate on the chain. The new header must therefore contradict neither the last header in the journal
   * nor the newest block of the delegate on the chain.
   */
  #clearanceAtRisk(publicKey: PublicKey): Clearance {
    const last = this.#dependencies.journal.last(publicKey);
    const newest = this.#foreignBlocks.onChain(publicKey);
    if (newest === 'unknown') return { granted: false, ...SEARCHING };
    if (newest === undefined) return { granted: true, previouslyForged: last };
    const onChain: SignedHeader = { ...newest, blockId: newest.id };
    const [later, earlier] =
      last !== undefined && last.timestamp > newest.timestamp ? [last, onChain] : [onChain, last];
    const { blockId, height, timestamp, maxHeightPrevoted, maxHeightPreviouslyForged } = later;
    const previouslyForged: SignedHeader = {
      ...{ blockId, height, timestamp },
      maxHeightPrevoted: Math.max(maxHeightPrevoted, earlier?.maxHeightPrevoted ?? 0),
      maxHeightPreviouslyForged: Math.max(
        maxHeightPreviouslyForged,
        earlier?.maxHeightPreviouslyForged ?? 0,
        earlier?.height ?? 0,
      ),
    };
    return { granted: true, previouslyForged };
  }

  /** Returns the reason why a delegate does not sign at present; undefined if the delegate may sign. */
  waiting(publicKey: PublicKey): Waiting | undefined {
    return this.#waiting(publicKey, this.#dependencies.chain.currentSlot()) ?? this.#handOvers.waiting(publicKey);
  }

  #waiting(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { journal, riskDoubleForging } = this.#dependencies;
    const movedAtS = journal.movedAtS(publicKey);
    if (movedAtS !== undefined) {
      const moment = new Date(movedAtS * 1000).toISOString();
      const reason =
        `its signing record was exported at ${moment}: to forge here again, export the record where it is now, and import it ` +
        'here; the old file is sufficient only if no node has imported it';
      return { code: 'FORGING_MOVED', reason };
    }
    const later = this.#waitForLaterSlot(publicKey, slot);
    if (later !== undefined) return later;
    if (riskDoubleForging) return undefined;
    const recall = this.#recall(publicKey, slot);
    if (recall !== undefined) return recall;
    return this.#isBeginning(publicKey)
      ? (this.#waitBeforeFirstBlock(publicKey, slot) ?? this.#waitAfterEnabling(publicKey, slot))
      : this.#waitOnTip(publicKey, slot);
  }

  /**
   * Returns the wait of a delegate that has signed a header of a slot that is not over. A delegate signs its headers in
   * the order of their slots, so the header with the newest timestamp is also the last header. Only a clock that was
   * ahead can lead to a header of a later slot. If the delegate signed before the end of that slot, it could sign a
   * second block for a slot that it has used. If `slot` is the slot of the last header in the journal, the result is
   * undefined, because the rules refuse a second block for this slot.
   */
  #waitForLaterSlot(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { chain, journal } = this.#dependencies;
    const { params } = chain.rules;
    const last = journal.last(publicKey);
    const recalled = journal.recalled(publicKey);
    const later = last ?? (recalled !== undefined && isOfChain(chain.state, recalled) ? recalled.last : undefined);
    if (later === undefined) return undefined;
    const signedSlot = slotAt(later.timestamp, params);
    if (signedSlot < slot || (signedSlot === slot && last !== undefined)) return undefined;
    const reason =
      `the delegate signed block ${later.height} for slot ${signedSlot}, which is not over: a clock was ahead, and the delegate ` +
      'signs nothing before the end of this slot';
    return { code: 'FORGING_LATER_SLOT', reason, untilS: slotStartS(signedSlot + 1, params) };
  }

  /**
   * Copies the header in the delegate's watermark to the journal if the journal has no header of the delegate. For
   * example, the journal has no header in a data folder that `bloomery backup` created. The watermark must belong to
   * the chain in the data folder. The header in the watermark is the last header that the delegate signed on this
   * machine. However, it is possible that a node signs in another data folder of this machine. Before the node copies
   * the header, the node therefore waits for one slot of the delegate in which the watermark stays unchanged. The node
   * does not wait for finality here, because no block would become final if a third of all delegates waited for
   * finality.
   */
  #recall(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { journal } = this.#dependencies;
    const recalled = journal.recalled(publicKey);
    if (recalled === undefined || !isOfChain(this.#dependencies.chain.state, recalled)) return undefined;
    // The journal marks the record of the delegate as a copy, for example because `Waits.noteForeign` has found a block
    // that another node signed after the header of the watermark. The header of the watermark is then perhaps not the
    // last header of the delegate.
    if (journal.isCopyFor(publicKey)) return undefined;
    const { last } = recalled;
    const newest = this.#foreignBlocks.byAnyNode(publicKey, last.timestamp);
    if (newest === 'unknown') return SEARCHING;
    // If the chain has another block of the delegate that is at least as new as the watermark, the delegate signed this
    // block on another node. The watermark is then out of date.
    if (newest !== undefined && newest.timestamp >= last.timestamp && newest.id !== last.blockId) return undefined;
    if (this.#watched.hasRecalled(publicKey, slot, last.blockId)) {
      journal.adopt(publicKey, last);
      return undefined;
    }
    const untilS = this.#slotWatch.endOfNextTurnS(publicKey);
    const reason =
      `the data folder has no record of the delegate, but the watermark records block ${last.height}: the delegate must ` +
      'leave one slot unused, in case another data folder of this machine signs';
    return { code: 'FORGING_WAITS_FOR_EMPTY_SLOT', reason, ...(untilS === undefined ? {} : { untilS }) };
  }

  #waitOnTip(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { chain, journal, tipCheck } = this.#dependencies;
    // If `isBare` is true, the chain has only the genesis block, and only the watermark has a header of the delegate.
    // Perhaps the data folder had a longer chain and has lost it. The header in the watermark does not show how long
    // the lost chain was. `doubtBeforeFirstBlock` must therefore find no doubt either.
    const isBare = chain.tip.header.height === GENESIS_HEIGHT && journal.last(publicKey) === undefined;
    const doubt = tipCheck.doubt() ?? (isBare ? tipCheck.doubtBeforeFirstBlock() : undefined);
    if (doubt !== undefined) return { code: 'FORGING_OLD_TIP', ...doubt };
    return this.#slotWatch.waiting(publicKey, slot) ?? this.#waitAfterEnabling(publicKey, slot);
  }

  /**
   * If the record of the delegate is incomplete, and `slot` is the slot in which the delegate was enabled or the next
   * slot (`UNSURE_SLOTS`), returns the wait of the delegate. If the record is complete, or `slot` is a later slot,
   * returns undefined. The reason for the wait is that another node has perhaps already signed for the delegate in
   * these two slots.
   */
  #waitAfterEnabling(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { chain, journal } = this.#dependencies;
    if (!isIncomplete(journal, publicKey)) return undefined;
    const enabledSlot = this.#enabledSlots.get(publicKey) ?? Number.NEGATIVE_INFINITY;
    const sureSlot = Math.min(enabledSlot, slot) + UNSURE_SLOTS;
    if (slot >= sureSlot) return undefined;
    const reason = 'the delegate was enabled a moment ago, and another node may have signed for this slot before';
    return { code: 'FORGING_WAITS_FOR_EMPTY_SLOT', reason, untilS: slotStartS(sureSlot, chain.rules.params) };
  }

  /**
   * Whether the chain has only its genesis block, and neither the journal nor the watermark has a header of the
   * delegate.
   */
  #isBeginning(publicKey: PublicKey): boolean {
    const { chain, journal } = this.#dependencies;
    const isNew = journal.last(publicKey) === undefined && journal.outside(publicKey) !== 'later';
    return chain.tip.header.height === GENESIS_HEIGHT && isNew;
  }

  /**
   * Decides whether a delegate may sign if the chain has only the genesis block. If it is possible that the network has
   * a longer chain, the delegate waits for this chain. No other node can have begun the chain if all slots so far
   * belong to delegates of this node, and if the node knows the signatures of these delegates. In this case, the
   * delegate may sign. If it is possible that another node has begun the chain, the delegate may sign only after it has
   * left one of its slots unused.
   */
  #waitBeforeFirstBlock(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { tipCheck } = this.#dependencies;
    const doubt = tipCheck.doubtBeforeFirstBlock();
    if (doubt !== undefined) return { code: 'FORGING_OLD_TIP', ...doubt };
    const isKnown = tipCheck.isTipSurelyNewest() && !this.#dependencies.journal.isCopyFor(publicKey);
    return isKnown ? undefined : this.#slotWatch.waiting(publicKey, slot);
  }
}
