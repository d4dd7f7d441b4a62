/**
 * Decides whether a delegate can sign on this node without contradicting a header that the delegate signed on another
 * node. The signing journal contains the headers that the delegate signed on this node. The chain shows headers that
 * the delegate signed on other nodes. If the chain has a block that the delegate signed on another node, this node
 * assumes that the other node still forges for the delegate. The assumption ends when two slots of the delegate, at least
 * a round apart, have passed without a block (`#slotsToLeaveUnused`). In a generation with finality, the delegate also waits until `Rules.handOver` permits a
 * signature, and the second of these slots comes after this wait.
 */

import { addressOf } from '../../crypto/keys.ts';
import type { SigningJournal } from '../../ports/journal.ts';
import type { ChainParams } from '../../protocol/params.ts';
import type { HandOver, SignedHeader } from '../../protocol/rules.ts';
import { slotAt, slotStartS } from '../../protocol/slots.ts';
import type { PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { NewestBlocks, SEARCHED_ROUNDS, type Newest } from './newest-blocks.ts';
import { NeedlessWaits, UNSURE_SLOTS } from './needless-waits.ts';
import { isOfChain } from './recalled-header.ts';
import type { TipCheck } from './tip-check.ts';
import { isForeign, isIncomplete, Waits, type ForeignBlock } from './waits.ts';
import { WatchedSlots } from './watched-slots.ts';

export interface DoubleForgingGuardDependencies {
  readonly chain: Pick<Chain, 'rules' | 'state' | 'tip' | 'currentSlot' | 'nowS'>;
  readonly journal: SigningJournal;
  /** Checks whether our tip is the tip of the network. */
  readonly tipCheck: Pick<TipCheck, 'doubt' | 'doubtBeforeFirstBlock' | 'isTipSurelyNewest' | 'hasAllDelegates'>;
  /**
   * If true, a delegate signs a header whenever the journal allows the header. The node then ignores signatures that
   * the delegate made on other nodes.
   */
  readonly riskDoubleForging: boolean;
}

/** The reason why a delegate does not sign yet. */
export interface Waiting {
  readonly code:
    | 'FORGING_MOVED'
    | 'FORGING_LATER_SLOT'
    | 'FORGING_OLD_TIP'
    | 'FORGING_ELSEWHERE'
    | 'FORGING_WAITS_FOR_EMPTY_SLOT'
    | 'FORGING_HAND_OVER';
  readonly reason: string;
  /** Expected end of the wait, in whole seconds of chain time; absent if the node cannot compute the end. */
  readonly untilS?: number;
}

/**
 * Whether a delegate may sign now. If the delegate may sign, `previouslyForged` is the earlier header that the new
 * header must not contradict; undefined if there is none.
 */
export type Clearance =
  | { readonly granted: true; readonly previouslyForged: SignedHeader | undefined }
  | ({ readonly granted: false } & Waiting);

const GENESIS_HEIGHT = 1;
const FIRST_FORGED_HEIGHT = 2;

/** The slots that decide about the wait for a slot without a block of the delegate. */
interface Watch {
  /** The watched slot of the delegate; negative infinity if there is none. */
  readonly watched: number;
  readonly tipSlot: number;
  readonly slot: number;
  readonly until: Pick<Waiting, 'untilS'>;
}

const SEARCHING: Waiting = {
  code: 'FORGING_WAITS_FOR_EMPTY_SLOT',
  reason: 'this node still searches the chain for blocks that the delegate signed on another node',
};

export class DoubleForgingGuard {
  readonly #dependencies: DoubleForgingGuardDependencies;
  /**
   * The slots that the guard refused with `FORGING_ELSEWHERE` or `FORGING_WAITS_FOR_EMPTY_SLOT`. The node watches whether
   * another node forges for the delegate in these slots. `afterHandOver` has only slots that the guard refused with
   * `FORGING_WAITS_FOR_EMPTY_SLOT` after the end of the hand-over. A node with the original of a copied record may be in
   * the same hand-over before, and leaves its slots unused, too. The same is true of a slot that both nodes leave unused
   * because of a block that a third node signed (`FORGING_ELSEWHERE`), and of a slot during the search (`SEARCHING`).
   */
  readonly #watched = new WatchedSlots();
  /** For each delegate, the slot in which it was enabled. */
  readonly #enabledSlots = new Map<PublicKey, number>();
  /** The delegates that left or must leave slots unused because of `#doubtNew`. */
  readonly #doubted = new Set<PublicKey>();
  readonly #newest: NewestBlocks;
  readonly #needless: NeedlessWaits;
  /** The waits of delegates that may have signed headers which the journal lacks. */
  readonly waits: Waits;

  constructor(dependencies: DoubleForgingGuardDependencies) {
    this.#dependencies = dependencies;
    const { chain } = dependencies;
    this.#newest = new NewestBlocks(chain, SEARCHED_ROUNDS * chain.rules.params.activeDelegates);
    this.#needless = new NeedlessWaits(dependencies);
    // Slots that the delegate has left unused before the begin of a wait do not count.
    this.waits = new Waits({ ...dependencies, onBegun: (publicKey, sinceS) => this.#forgetBefore(publicKey, sinceS) });
  }

  /**
   * Begins to guard the signatures of a delegate. Call when the delegate is enabled. If the journal does not have all
   * headers of the delegate, its wait begins now (`Waits.begin`), and slots that it has left unused before do not count.
   * The method also notes the newest block that another node signed for the delegate (`Waits.noteForeign`). With
   * `riskDoubleForging`, the method does nothing.
   */
  hold(publicKey: PublicKey): void {
    if (this.#dependencies.riskDoubleForging) return;
    this.#watched.forget(publicKey);
    this.#enabledSlots.set(publicKey, this.#dependencies.chain.currentSlot());
    this.waits.begin(publicKey);
    this.#noteForeign(publicKey);
  }

  /**
   * Call after the system clock was set forward. Slots that delegates left unused by the old clock may have been over
   * before, so they do not count if the clock was behind by at least one slot. The waits of the given delegates begin
   * again (`Waits.clockSetForward`).
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
   * Call at each check of the scheduler. Finds which delegates need not wait, while the state still has the lists of the
   * rounds since the final block. If finality stands for many rounds, the state drops these lists. The method also forgets
   * watched slots in the future, which come from a clock that was ahead: in these slots, nothing was left unused.
   */
  refresh(publicKeys: readonly PublicKey[]): void {
    const { journal, riskDoubleForging } = this.#dependencies;
    if (riskDoubleForging) return;
    this.#watched.forgetFuture(this.#dependencies.chain.currentSlot());
    for (const publicKey of publicKeys)
      if (isIncomplete(journal, publicKey)) this.#needless.has(publicKey, journal.heldSinceS(publicKey) ?? 0);
    // The chain may have got the block before the start of this process, or before a delegate was enabled.
    if (publicKeys.some((publicKey) => this.#isForeignOnChain(publicKey))) this.#doubtNew(publicKeys);
  }

  /**
   * Call after the chain has got a block that another node signed for an enabled delegate of this node. The slots that
   * the delegate has left unused up to the block do not count any more, even if the block is reverted.
   *
   * @param enabled all enabled delegates
   */
  noteElsewhere({ generatorPublicKey, height, timestamp }: ForeignBlock, enabled: readonly PublicKey[]): void {
    const slot = slotAt(timestamp, this.#dependencies.chain.rules.params);
    this.#watched.noteElsewhere(generatorPublicKey, { height, timestamp }, slot);
    this.#doubtNew(enabled);
  }

  /**
   * Notes that another node may have all enabled delegates, because it signs for one of them. Those without a header first
   * leave slots unused, in which a block of the other node would show it. The rule applies once to each delegate, so a
   * delegate that is enabled twice by mistake does not stop the others.
   */
  #doubtNew(publicKeys: readonly PublicKey[]): void {
    for (const publicKey of publicKeys) {
      if (this.#doubted.has(publicKey) || this.#dependencies.journal.last(publicKey) !== undefined) continue;
      this.#doubted.add(publicKey);
      this.#watched.forgetUnused(publicKey);
    }
  }

  #forgetBefore(publicKey: PublicKey, sinceS: number): void {
    const unused = this.#watched.afterHandOver(publicKey);
    if (unused !== undefined && slotStartS(unused.last, this.#dependencies.chain.rules.params) < sinceS)
      this.#watched.forgetAfterHandOver(publicKey);
  }

  /** Notes a block that the chain got while this node was off. The search for it may end only after several calls. */
  #noteForeign(publicKey: PublicKey): void {
    const foreign = this.#foreignHeader(publicKey);
    if (foreign !== undefined && foreign !== 'unknown') this.waits.noteForeign(foreign);
  }

  /**
   * Decides whether a delegate may sign in its slot. Call before building a block. If the guard refuses, the delegate
   * leaves the slot unused. After a refusal with `FORGING_ELSEWHERE` or `FORGING_WAITS_FOR_EMPTY_SLOT`, the slot
   * becomes the watched slot of the delegate.
   *
   * @throws ProtocolError as the writes of the journal; the delegate may then not sign
   * @param slot the slot of the block. The guard compares the watched slot of the delegate with this slot and not with
   *   the clock, because this slot may have ended a moment ago. A comparison with the clock could let the delegate sign
   *   in the watched slot itself
   */
  clearance(publicKey: PublicKey, slot: number): Clearance {
    this.waits.noteAgain(publicKey);
    this.#noteForeign(publicKey);
    this.waits.correctFuture(publicKey);
    const waiting = this.#waiting(publicKey, slot);
    // A slot of the enabling in the future comes from a clock that was ahead. The delegate leaves the present slot unused.
    if ((this.#enabledSlots.get(publicKey) ?? slot) > slot) this.#enabledSlots.set(publicKey, slot);
    if (waiting !== undefined) {
      this.#leaveUnused(publicKey, slot, waiting);
      return { granted: false, ...waiting };
    }
    const over = this.#handOver(publicKey);
    if (over?.ready === false) return { granted: false, ...this.#handOverWaiting(publicKey, over) };
    if (over !== undefined) return { granted: true, previouslyForged: over.previouslyForged };
    const { journal, riskDoubleForging } = this.#dependencies;
    return riskDoubleForging
      ? this.#clearanceAtRisk(publicKey)
      : { granted: true, previouslyForged: journal.last(publicKey) };
  }

  /** Makes the slot the watched slot of the delegate, if the delegate waits for a slot without a block of another node. */
  #leaveUnused(publicKey: PublicKey, slot: number, waiting: Waiting): void {
    const { code } = waiting;
    if (code !== 'FORGING_ELSEWHERE' && code !== 'FORGING_WAITS_FOR_EMPTY_SLOT') return;
    // If this write fails, the slot is not watched: the journal would not cover a block of the other node in it.
    if (code === 'FORGING_ELSEWHERE') this.waits.coverSlot(publicKey, slot);
    this.#watched.note(publicKey, slot);
    // After a block of another node, a node with the original of a copied record leaves the same slot unused.
    if (code === 'FORGING_ELSEWHERE') this.#watched.forgetAfterHandOver(publicKey);
    else if (waiting !== SEARCHING && this.#handOver(publicKey)?.ready !== false)
      this.#watched.noteAfterHandOver(publicKey, slot, this.#dependencies.chain.rules.params.activeDelegates);
    const recalled = this.#dependencies.journal.recalled(publicKey);
    if (recalled !== undefined) this.#watched.noteRecall(publicKey, slot, recalled.last.blockId);
  }

  /**
   * With `riskDoubleForging`, the journal may lack headers of blocks that are on the chain, for example in a folder
   * that `bloomery backup` made. The rules refuse a block that contradicts a block of its delegate on the chain, so the
   * header also follows the newest one of these blocks.
   */
  #clearanceAtRisk(publicKey: PublicKey): Clearance {
    const last = this.#dependencies.journal.last(publicKey);
    const newest = this.#foreignHeader(publicKey);
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
    const waiting = this.#waiting(publicKey, this.#dependencies.chain.currentSlot());
    if (waiting !== undefined) return waiting;
    const over = this.#handOver(publicKey);
    return over?.ready === false ? this.#handOverWaiting(publicKey, over) : undefined;
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
   * A delegate signs its headers in the order of their slots, so the newest header is also the last one. Only a clock
   * that was ahead can lead to a header of a later slot. Until the end of that slot, the delegate could sign a second
   * block for a slot that it has used. The rules refuse a second block for the slot of the last header in the journal.
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
   * machine. But another data folder of this machine may be in use for signing. Before the node copies the header, the
   * node therefore waits for one slot of the delegate in which the watermark stays unchanged. The node does not wait
   * for finality here, because no block would become final if a third of all delegates waited for finality.
   */
  #recall(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { journal } = this.#dependencies;
    const recalled = journal.recalled(publicKey);
    if (recalled === undefined || !isOfChain(this.#dependencies.chain.state, recalled)) return undefined;
    // Another node has signed since (`Waits.noteForeign`), so the header of the watermark is not the last one.
    if (journal.isCopyFor(publicKey)) return undefined;
    const { last } = recalled;
    const newest = this.#newest.of(publicKey, last.timestamp);
    if (newest === 'unknown') return SEARCHING;
    // The chain may have another block of the delegate that is at least as new as the watermark. In this case, the
    // delegate signed this block on another node, so the watermark is out of date.
    if (newest !== undefined && newest.timestamp >= last.timestamp && newest.id !== last.blockId) return undefined;
    if (this.#watched.hasRecalled(publicKey, slot, last.blockId)) {
      journal.adopt(publicKey, last);
      return undefined;
    }
    const untilS = this.#endOfNextTurnS(publicKey);
    const reason =
      `the data folder has no record of the delegate, but the watermark records block ${last.height}: the delegate must ` +
      'leave one slot unused, in case another data folder of this machine signs';
    return { code: 'FORGING_WAITS_FOR_EMPTY_SLOT', reason, ...(untilS === undefined ? {} : { untilS }) };
  }

  #waitOnTip(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { chain, journal, tipCheck } = this.#dependencies;
    // Without a journal, the header of a watermark does not show how long the lost chain was.
    const isBare = chain.tip.header.height === GENESIS_HEIGHT && journal.last(publicKey) === undefined;
    const doubt = tipCheck.doubt() ?? (isBare ? tipCheck.doubtBeforeFirstBlock() : undefined);
    if (doubt !== undefined) return { code: 'FORGING_OLD_TIP', ...doubt };
    return this.#watch(publicKey, slot) ?? this.#waitAfterEnabling(publicKey, slot);
  }

  /** Makes the wait of a delegate whose record is incomplete, in the slots in which another node may have signed before. */
  #waitAfterEnabling(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { chain, journal } = this.#dependencies;
    if (!isIncomplete(journal, publicKey)) return undefined;
    const enabledSlot = this.#enabledSlots.get(publicKey) ?? Number.NEGATIVE_INFINITY;
    const sureSlot = Math.min(enabledSlot, slot) + UNSURE_SLOTS;
    if (slot >= sureSlot) return undefined;
    const reason = 'the delegate was enabled a moment ago, and another node may have signed for this slot before';
    return { code: 'FORGING_WAITS_FOR_EMPTY_SLOT', reason, untilS: slotStartS(sureSlot, chain.rules.params) };
  }

  /** Whether the chain has only its genesis block, and neither the journal nor the watermark has a header of the delegate. */
  #isBeginning(publicKey: PublicKey): boolean {
    const { chain, journal } = this.#dependencies;
    const isNew = journal.last(publicKey) === undefined && journal.outside(publicKey) !== 'later';
    return chain.tip.header.height === GENESIS_HEIGHT && isNew;
  }

  /**
   * Decides whether a delegate may sign if the chain has only the genesis block. If the network may have a longer chain,
   * the delegate waits for this chain. No other node can have begun the chain if all slots so far belong to delegates of
   * this node, and if the node knows the signatures of these delegates. In this case, the delegate may sign. If another
   * node may have begun the chain, the delegate may sign only after one of its slots has passed.
   */
  #waitBeforeFirstBlock(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { tipCheck } = this.#dependencies;
    const doubt = tipCheck.doubtBeforeFirstBlock();
    if (doubt !== undefined) return { code: 'FORGING_OLD_TIP', ...doubt };
    const isKnown = tipCheck.isTipSurelyNewest() && !this.#dependencies.journal.isCopyFor(publicKey);
    return isKnown ? undefined : this.#watch(publicKey, slot);
  }

  #watch(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { chain, journal } = this.#dependencies;
    const { params } = chain.rules;
    const tipSlot = slotAt(chain.tip.header.timestamp, params);
    const watched = this.#watched.last(publicKey);
    const foreign = this.#newestElsewhere(publicKey);
    if (foreign === 'unknown') return SEARCHING;
    const untilS = this.#endOfNextTurnS(publicKey);
    const until = untilS === undefined ? {} : { untilS };
    const foreignSlot = foreign === undefined ? Number.NEGATIVE_INFINITY : slotAt(foreign.timestamp, params);
    const firstUnused = this.#watched.firstBetween(publicKey, foreignSlot, tipSlot);
    const elsewhere = (): Waiting => this.#elsewhere(foreign?.height, { watched, tipSlot, slot, until });
    if (foreign !== undefined && firstUnused === undefined) return elsewhere();
    const isComplete = foreign === undefined && !isIncomplete(journal, publicKey);
    if (isComplete) return undefined;
    const needed = this.#slotsToLeaveUnused(publicKey, foreign !== undefined);
    if (needed > 0) {
      const { last, count } = this.#watched.afterHandOver(publicKey) ?? { last: Number.NEGATIVE_INFINITY, count: 0 };
      const isStanding = slot - tipSlot > params.activeDelegates;
      // A block after the last unused slot shows that this node gets the blocks of the network.
      const isShown = tipSlot > last || (foreign === undefined && isStanding);
      // An old watch proves nothing about the present.
      if (count >= needed && slot > last && slot - last <= slotsWithEveryTurn(params) && isShown) return undefined;
      if (this.#handOver(publicKey)?.ready === false) return undefined;
      // One restart of the other node can cover two slots that are less than a round apart.
      const isClose = firstUnused !== undefined && slot - firstUnused < params.activeDelegates;
      if (foreign !== undefined && (isClose || isStanding)) return elsewhere();
      return this.#waitForEmptySlot(foreign, needed - count > 1 ? {} : until);
    }
    if (slot > watched && slot - watched <= slotsWithEveryTurn(params)) return undefined;
    // Otherwise, the chain shows recent signatures of other nodes, except in two cases: the chain has only the genesis
    // block, or the chain has got no block for more than `activeDelegates` slots. In these cases, the node must watch one
    // slot of the delegate. The node need not watch if it is certain that no delegate has signed above the tip
    // (`isTipSurelyNewest`).
    const hasBegun = chain.tip.header.height > GENESIS_HEIGHT;
    const isBlind = !hasBegun || chain.currentSlot() - tipSlot > params.activeDelegates;
    const isSettled = this.#dependencies.tipCheck.isTipSurelyNewest();
    return isBlind && !isSettled ? this.#waitForEmptySlot(undefined, until) : undefined;
  }

  /**
   * Number of slots that the delegate must leave unused after its hand-over, although the chain gets blocks. No knowledge
   * of earlier slots replaces this watch. One unused slot is not enough, because the other node may have been off for
   * this slot alone, for example because of a restart.
   *
   * @param hasForeign whether another node has signed since the last header of this one. The delegate has then left a first
   *   slot unused before its hand-over. The age of the block is no reason to leave none: the other node may have been off for
   *   two slots that are close, or the delegate may have had no slot
   */
  #slotsToLeaveUnused(publicKey: PublicKey, hasForeign: boolean): number {
    const own = hasForeign ? 1 : this.#mustWatchNew(publicKey) ? 2 : 0;
    // If the journal is a copy, the original may be in use, and its next header is that of the coming slot. A node with
    // the original leaves as many slots unused as the others (`own`), so the copy must leave two more.
    return this.#dependencies.journal.isCopyFor(publicKey) ? own + 2 : own;
  }

  /** @param foreign the newest block that another node signed for the delegate, if there is one */
  #waitForEmptySlot(foreign: { readonly height?: number } | undefined, until: Pick<Waiting, 'untilS'>): Waiting {
    const reason =
      foreign === undefined
        ? 'the chain does not show whether the delegate forges elsewhere: the node watches slots of the delegate first'
        : `${blockText(foreign.height)} was not signed here, and the other node may have missed a slot: the delegate ` +
          'must leave a second slot unused';
    return { code: 'FORGING_WAITS_FOR_EMPTY_SLOT', reason, ...until };
  }

  /**
   * Whether a delegate without a header must leave slots unused, although the chain gets blocks. There are three cases:
   * `#doubtNew` was called for it, the delegate has forged blocks, or the delegate had to wait on a young chain. Its wait
   * can end with the first block after a pause of the network, when another node with the delegate returns, too.
   */
  #mustWatchNew(publicKey: PublicKey): boolean {
    const { chain, journal } = this.#dependencies;
    const { rules, state } = chain;
    if (journal.last(publicKey) !== undefined) return false;
    if (this.#doubted.has(publicKey)) return true;
    // The search for blocks of the delegate covers only some rounds, and the delegate may have had no slot meanwhile.
    if ((state.account(addressOf(publicKey))?.producedBlocks ?? 0) > 0) return true;
    const first = state.header(FIRST_FORGED_HEIGHT);
    if (!rules.hasFinality || first === undefined || rules.finalizedHeight(state) > GENESIS_HEIGHT) return false;
    const heldSinceS = journal.heldSinceS(publicKey) ?? 0;
    const isSpared = this.#needless.has(publicKey, heldSinceS) && !this.#needless.isOnlyForgerByWatermarks();
    return heldSinceS >= first.timestamp + rules.params.blockTimeS && !isSpared;
  }

  /** Makes the wait that a block of another node causes. */
  #elsewhere(height: number | undefined, { watched, tipSlot, slot, until }: Watch): Waiting {
    const { params } = this.#dependencies.chain.rules;
    const reason = `${blockText(height)} was not signed here: the delegate must first leave two slots unused`;
    // The delegate has left a slot unused, but no block came afterwards. If all nodes of a network wait in this way, no
    // node makes a block, so the node names the option that ends the wait.
    if (watched > tipSlot && slot - tipSlot > params.activeDelegates) {
      const remedy =
        'no block has come for a round: check the peers, and if no other node forges for the delegate, start this node with ' +
        '--risk-double-forging';
      return { code: 'FORGING_ELSEWHERE', reason: `${reason}; ${remedy}` };
    }
    return { code: 'FORGING_ELSEWHERE', reason, ...until };
  }

  #handOver(publicKey: PublicKey): HandOver | undefined {
    const { chain, journal, riskDoubleForging } = this.#dependencies;
    if (riskDoubleForging) return undefined;
    const recalled = journal.recalled(publicKey);
    // The header of a watermark bounds the next header, even if another node has signed since.
    const known = recalled !== undefined && isOfChain(chain.state, recalled) ? recalled.last : undefined;
    const last = journal.last(publicKey) ?? known;
    const foreign = this.#foreignHeader(publicKey);
    // While the search for headers from other nodes continues, `#watch` returns the reason to wait. This method
    // therefore returns undefined.
    if (foreign === 'unknown') return undefined;
    if (foreign === undefined && !isIncomplete(journal, publicKey)) return undefined;
    const heldSinceS = journal.heldSinceS(publicKey) ?? 0;
    const isWaitNeedless = foreign === undefined && this.#needless.has(publicKey, heldSinceS);
    const sinceS = Math.max(heldSinceS, foreign === undefined ? 0 : foreign.timestamp + 1);
    const hasMadeAllBlocks = isWaitNeedless && this.#needless.isOnlyForger();
    // Another node may have signed in the watched slot on a branch that the network has abandoned.
    const unused = this.#watched.afterHandOver(publicKey);
    const coveredUntilS = unused === undefined ? 0 : slotStartS(unused.last + 1, chain.rules.params);
    const request = {
      ...{ publicKey, sinceS, last, nowS: chain.nowS() },
      ...{ isWaitNeedless, hasMadeAllBlocks, coveredUntilS },
    };
    return chain.rules.handOver(chain.state, chain.tip.header, request);
  }

  #handOverWaiting(publicKey: PublicKey, { reason, untilS }: { readonly reason: string; readonly untilS?: number }) {
    const { chain, journal } = this.#dependencies;
    const isAhead = (journal.heldSinceS(publicKey) ?? 0) > chain.nowS() + chain.rules.params.blockTimeS;
    const remedy =
      '; the wait has begun in the future, when the clock of a node was ahead: it begins again in a slot of the delegate in ' +
      'which the newest block is at most two slots old';
    const text = isAhead ? `${reason}${remedy}` : reason;
    return { code: 'FORGING_HAND_OVER' as const, reason: text, ...(untilS === undefined ? {} : { untilS }) };
  }

  /**
   * Returns the delegate's newest block on the chain if the delegate signed this block on another node. If the journal
   * has a header of the delegate, the search goes back to the time of the last header in the journal. A block then
   * counts only if another node signed it (`isForeign`). If the journal has no header of the
   * delegate, each block of the delegate counts. The search then covers only the blocks of the last `SEARCHED_ROUNDS`
   * rounds, and older blocks that earlier searches have read. In generation 3, each new header names the greatest
   * height that the delegate has signed. The node must therefore know the delegate's newest block.
   *
   * @returns undefined if the search found no such block; `unknown` while the search continues
   */
  #foreignHeader(publicKey: PublicKey): Newest {
    const last = this.#dependencies.journal.last(publicKey);
    const newest = this.#newest.of(publicKey, last?.timestamp ?? Number.POSITIVE_INFINITY);
    if (newest === undefined || newest === 'unknown' || last === undefined) return newest;
    return isForeign(newest, last, this.#dependencies.chain.rules) ? newest : undefined;
  }

  #isForeignOnChain(publicKey: PublicKey): boolean {
    const foreign = this.#foreignHeader(publicKey);
    return foreign !== undefined && foreign !== 'unknown';
  }

  /**
   * The newest block that another node signed for the delegate since the last header of this node, even if the block was
   * reverted since. The height is absent if only the journal knows the block.
   */
  #newestElsewhere(
    publicKey: PublicKey,
  ): { readonly timestamp: number; readonly height?: number } | undefined | 'unknown' {
    const { journal } = this.#dependencies;
    const onChain = this.#foreignHeader(publicKey);
    if (onChain === 'unknown') return onChain;
    const lastS = journal.last(publicKey)?.timestamp ?? Number.NEGATIVE_INFINITY;
    const notedS = journal.foreignS(publicKey);
    const seen = [
      onChain,
      this.#watched.elsewhere(publicKey),
      notedS === undefined ? undefined : { timestamp: notedS },
    ];
    return seen
      .flatMap((block) => (block !== undefined && (block === onChain || block.timestamp > lastS) ? [block] : []))
      .sort((a, b) => b.timestamp - a.timestamp)[0];
  }

  #endOfNextTurnS(publicKey: PublicKey): number | undefined {
    const { chain } = this.#dependencies;
    const { rules, state, tip } = chain;
    const forgers = rules.forgers(state, tip.header.height + 1);
    const slot = chain.currentSlot();
    const { activeDelegates } = rules.params;
    for (let ahead = 0; ahead < activeDelegates; ahead += 1) {
      const isTurn = forgers[(slot + ahead) % activeDelegates] === publicKey;
      if (isTurn) return slotStartS(slot + ahead + 1, rules.params);
    }
    return undefined;
  }
}

function blockText(height: number | undefined): string {
  return height === undefined ? 'a block of the delegate' : `block ${height} of the delegate`;
}

/**
 * Number N such that any N consecutive slots contain a slot of each active delegate. The order of the delegates changes
 * with each round, so a delegate may have the first slot of one round and the last slot of the next.
 */
function slotsWithEveryTurn({ activeDelegates }: ChainParams): number {
  return 2 * activeDelegates - 1;
}
