/**
 * Decides how many slots a delegate must leave unused before it signs on this node. In such a slot, a block of another
 * node would show that the other node still signs for the delegate (`docs/decisions`, decision 4, rule 1).
 *
 * If another node has signed for the delegate, this node assumes that the other node continues. The assumption ends
 * when two slots of the delegate, at least a round apart, have passed without a block, and this node got recent blocks
 * of the network shortly before and shortly after each of the two slots (`WatchedSlots`). On a node with two thirds of
 * all delegates, blocks of this node count, too. In a generation with
 * finality, the delegate must also wait until its hand-over has ended: until the rules of the generation allow the
 * delegate to sign again (`HandOvers`). In this case, the second unused slot counts only if it comes after the end of
 * the hand-over.
 */

import { addressOf } from '../../crypto/keys.ts';
import type { SigningJournal } from '../../ports/journal.ts';
import type { ChainParams } from '../../protocol/params.ts';
import { slotAt, slotStartS } from '../../protocol/slots.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import type { ForeignBlocks, NotedBlock } from './foreign-blocks.ts';
import type { HandOvers } from './hand-overs.ts';
import type { NeedlessWaits } from './needless-waits.ts';
import type { TipCheck } from './tip-check.ts';
import { SEARCHING, type Waiting } from './waiting.ts';
import { isIncomplete, type ForeignBlock } from './waits.ts';
import type { WatchedSlots } from './watched-slots.ts';

export interface SlotWatchDependencies {
  readonly chain: Pick<Chain, 'rules' | 'state' | 'tip' | 'currentSlot'>;
  readonly journal: SigningJournal;
  readonly tipCheck: Pick<TipCheck, 'isTipSurelyNewest' | 'hasTwoThirds'>;
  readonly foreignBlocks: Pick<ForeignBlocks, 'newest' | 'note' | 'isOnChain'>;
  readonly handOvers: Pick<HandOvers, 'of'>;
  readonly needless: Pick<NeedlessWaits, 'has' | 'isOnlyForgerByWatermarks'>;
  readonly watched: WatchedSlots;
}

const GENESIS_HEIGHT = 1;
const FIRST_FORGED_HEIGHT = 2;
/**
 * Maximum age, in slots, of a block that shows that this node hears the network (gets the blocks of the network in
 * time). A block can arrive a little late.
 */
const FRESH_SLOTS = 2;

export class SlotWatch {
  readonly #dependencies: SlotWatchDependencies;
  /** The delegates that left slots unused, or must leave slots unused, because of `#doubtNew`. */
  readonly #doubted = new Set<PublicKey>();

  /**
   * The later of two slots: the slot in which this node started, and the newest slot of a block that was at most
   * `FRESH_SLOTS` slots old when `hear` was called with it. If the stored slot is in the future because the clock was
   * set back, `refresh` replaces it with the current slot.
   */
  #silentSince: number;

  constructor(dependencies: SlotWatchDependencies) {
    this.#dependencies = dependencies;
    this.#silentSince = dependencies.chain.currentSlot();
  }

  /**
   * Call after the chain has got a block that another node signed. If the block is new, it shows that this node hears
   * the network (gets the blocks of the network in time). An old block from a download does not show what this node
   * would have heard in the slot of the block. `#hearOwn` also calls this method for blocks of this node.
   */
  hear({ timestamp }: Pick<BlockHeader, 'timestamp'>): void {
    const { chain, watched } = this.#dependencies;
    const slot = slotAt(timestamp, chain.rules.params);
    if (slot < chain.currentSlot() - FRESH_SLOTS) return;
    watched.hear(slot);
    this.#silentSince = Math.max(this.#silentSince, slot);
  }

  /** See `DoubleForgingGuard.noteElsewhere`. */
  noteElsewhere({ generatorPublicKey, height, timestamp }: ForeignBlock, enabled: readonly PublicKey[]): void {
    const { chain, foreignBlocks, watched } = this.#dependencies;
    foreignBlocks.note(generatorPublicKey, { height, timestamp });
    watched.forgetUpTo(generatorPublicKey, slotAt(timestamp, chain.rules.params));
    this.#doubtNew(enabled);
  }

  /**
   * Looks for blocks that another node signed for an enabled delegate of this node. The method also finds blocks that
   * the chain got before the start of this process or before the delegate was enabled. For these blocks,
   * `noteElsewhere` is not called.
   */
  refresh(enabled: readonly PublicKey[]): void {
    const { chain, foreignBlocks } = this.#dependencies;
    if (enabled.some((publicKey) => foreignBlocks.isOnChain(publicKey))) this.#doubtNew(enabled);
    this.#hearOwn();
    // If the stored slot is later than the current slot, it comes from a clock that was ahead.
    this.#silentSince = Math.min(this.#silentSince, chain.currentSlot());
  }

  /**
   * Notes that another node perhaps has all enabled delegates of this node, because the other node signs for one of
   * them. The delegates without a header in the journal must then first leave slots unused. If the other node signs for
   * such a delegate, its block in such a slot shows this. The rule applies only once to each delegate. A delegate that
   * is enabled on two nodes by mistake therefore does not stop the other delegates for ever.
   */
  #doubtNew(enabled: readonly PublicKey[]): void {
    const { journal, watched } = this.#dependencies;
    for (const publicKey of enabled) {
      if (this.#doubted.has(publicKey) || journal.last(publicKey) !== undefined) continue;
      this.#doubted.add(publicKey);
      watched.forgetUnused(publicKey);
    }
  }

  /**
   * Returns the reason why the delegate must leave the slot unused. Returns undefined if the delegate need not leave
   * the slot unused. The result is also undefined while the hand-over of the delegate continues (its wait until the
   * rules of the generation allow it to sign again), because `HandOvers.waiting` then returns the reason.
   *
   * @param slot the slot of the block that the delegate would sign, or the current slot
   */
  waiting(publicKey: PublicKey, slot: number): Waiting | undefined {
    const { chain, journal, tipCheck, foreignBlocks, handOvers, watched } = this.#dependencies;
    const { params } = chain.rules;
    const tipSlot = slotAt(chain.tip.header.timestamp, params);
    const foreign = foreignBlocks.newest(publicKey);
    if (foreign === 'unknown') return SEARCHING;
    const untilS = this.endOfNextTurnS(publicKey);
    const until = untilS === undefined ? {} : { untilS };
    if (foreign !== undefined) this.#hearOwn();
    const firstUnused =
      foreign === undefined ? undefined : watched.firstHeard(publicKey, slotAt(foreign.timestamp, params));
    if (foreign !== undefined && firstUnused === undefined) return this.#elsewhere(publicKey, foreign, slot, until);
    const isComplete = foreign === undefined && !isIncomplete(journal, publicKey);
    if (isComplete) return undefined;
    const needed = this.#slotsToLeaveUnused(publicKey, foreign !== undefined);
    if (needed > 0) {
      const { newest, count } = watched.count(publicKey, foreign !== undefined);
      const isStanding = slot - tipSlot > params.activeDelegates;
      const isShown = foreign !== undefined || tipSlot > newest || isStanding;
      // If the last unused slot was too long ago, it proves nothing about the present.
      if (count >= needed && slot > newest && slot - newest <= slotsWithEveryTurn(params) && isShown) return undefined;
      if (handOvers.of(publicKey)?.ready === false) return undefined;
      // If two unused slots are less than a round apart, the other node that signed for the delegate was perhaps off in
      // both slots, because of one restart. Two such slots therefore do not show that the other node no longer signs.
      const isClose = firstUnused !== undefined && slot - firstUnused < params.activeDelegates;
      if (foreign !== undefined && (isClose || isStanding)) return this.#elsewhere(publicKey, foreign, slot, until);
      return waitForEmptySlot(foreign, needed - count > 1 ? {} : until);
    }
    const last = watched.last(publicKey);
    if (slot > last && slot - last <= slotsWithEveryTurn(params)) return undefined;
    // If the chain shows recent signatures of other nodes, the delegate need not leave a further slot unused. The chain
    // does not show them in two cases: the chain has only the genesis block, or the chain has got no block for more
    // than `activeDelegates` slots. In these cases, the node must watch one slot of the delegate. The node need not
    // watch a slot if it is certain that no delegate has signed above the tip (`isTipSurelyNewest`).
    const hasBegun = chain.tip.header.height > GENESIS_HEIGHT;
    const isBlind = !hasBegun || chain.currentSlot() - tipSlot > params.activeDelegates;
    return isBlind && !tipCheck.isTipSurelyNewest() ? waitForEmptySlot(undefined, until) : undefined;
  }

  /**
   * If this node signs for two thirds of the delegates, its own blocks also count as a sign that it is connected to the
   * network, because the other nodes have too few delegates to be the network. On a node with fewer delegates, its own
   * blocks prove nothing, because two nodes that have lost their connection both make blocks. A delegate that waits
   * does not count, because another node perhaps signs for it.
   */
  #hearOwn(): void {
    const { chain, journal, tipCheck, foreignBlocks, watched } = this.#dependencies;
    const isSigning = (publicKey: PublicKey): boolean =>
      !isIncomplete(journal, publicKey) &&
      journal.movedAtS(publicKey) === undefined &&
      foreignBlocks.newest(publicKey) === undefined;
    const tipSlot = slotAt(chain.tip.header.timestamp, chain.rules.params);
    if (tipSlot > watched.newestHeard && tipCheck.hasTwoThirds(isSigning)) this.hear(chain.tip.header);
  }

  /**
   * Number of slots that the delegate must leave unused after the end of its hand-over (its wait until the rules of the
   * generation allow it to sign again). The delegate must leave these slots unused even if the chain gets blocks, and
   * even if it is certain that no delegate has signed a block above the tip (`TipCheck.isTipSurelyNewest`). One unused
   * slot is not enough: perhaps another node signs for the delegate, but was off in this one slot, for example because
   * of a restart.
   *
   * @param hasForeign whether another node has signed for the delegate since the last header of this node. In this
   *   case, the delegate has already left a first slot unused, which the result does not count. The delegate must leave
   *   a second slot unused even if the block of the other node is old: perhaps the other node was off in two slots that
   *   follow each other closely, or the delegate has had no slot since the block
   */
  #slotsToLeaveUnused(publicKey: PublicKey, hasForeign: boolean): number {
    const own = hasForeign ? 1 : this.#mustWatchNew(publicKey) ? 2 : 0;
    // `own` is the number of slots to leave unused if the record of the delegate is not a copy. If the record is a
    // copy, perhaps another node with the original record is in use. It is possible that this other node leaves `own`
    // slots unused, too, before it signs. This node must therefore leave two more slots unused, and watch whether the
    // other node signs in them. One more slot would prove too little, because perhaps the other node is off only in
    // this slot.
    return this.#dependencies.journal.isCopyFor(publicKey) ? own + 2 : own;
  }

  /**
   * Whether a delegate without a header must leave slots unused, even if the chain gets blocks. There are three cases:
   * `#doubtNew` was called for it, the delegate has forged blocks, or the delegate had to wait on a young chain. In the
   * third case, the first block after a pause of the network can end the wait of the delegate, and another node with
   * the delegate perhaps returns at the same time.
   */
  #mustWatchNew(publicKey: PublicKey): boolean {
    const { chain, journal, needless } = this.#dependencies;
    const { rules, state } = chain;
    if (journal.last(publicKey) !== undefined) return false;
    if (this.#doubted.has(publicKey)) return true;
    // The search for blocks of the delegate (`ForeignBlocks`) covers only some rounds. If the delegate has had no slot
    // in these rounds, the search does not find its older blocks.
    if ((state.account(addressOf(publicKey))?.producedBlocks ?? 0) > 0) return true;
    const first = state.header(FIRST_FORGED_HEIGHT);
    if (!rules.hasFinality || first === undefined || rules.finalizedHeight(state) > GENESIS_HEIGHT) return false;
    const heldSinceS = journal.heldSinceS(publicKey) ?? 0;
    const isSpared = needless.has(publicKey, heldSinceS) && !needless.isOnlyForgerByWatermarks();
    return heldSinceS >= first.timestamp + rules.params.blockTimeS && !isSpared;
  }

  /** Makes the wait that a block of another node causes. */
  #elsewhere(publicKey: PublicKey, { height }: NotedBlock, slot: number, until: Pick<Waiting, 'untilS'>): Waiting {
    const { chain, watched } = this.#dependencies;
    const { params } = chain.rules;
    const reason = `${blockText(height)} was not signed here: the delegate must first leave slots unused`;
    // The delegate has left a slot unused, but no block came afterwards. If all nodes of a network wait in this way, no
    // node makes a block, so the node names the option that ends the wait.
    const last = watched.last(publicKey);
    if (last >= this.#silentSince && slot - this.#silentSince > params.activeDelegates) {
      const remedy =
        'no block of another node has come for a round: check the peers, and if no other node forges for the delegate, ' +
        'start this node with --risk-double-forging';
      return { code: 'FORGING_ELSEWHERE', reason: `${reason}; ${remedy}` };
    }
    return { code: 'FORGING_ELSEWHERE', reason, ...until };
  }

  /** End of the next slot of the delegate, in whole seconds of chain time; undefined if the delegate is not active. */
  endOfNextTurnS(publicKey: PublicKey): number | undefined {
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

/** @param foreign the newest block that another node signed for the delegate, if there is one */
function waitForEmptySlot(foreign: NotedBlock | undefined, until: Pick<Waiting, 'untilS'>): Waiting {
  const reason =
    foreign === undefined
      ? 'the chain does not show whether the delegate forges elsewhere: the node watches slots of the delegate first'
      : `${blockText(foreign.height)} was not signed here, and the other node may have missed a slot: the delegate ` +
        'must leave a second slot unused';
  return { code: 'FORGING_WAITS_FOR_EMPTY_SLOT', reason, ...until };
}

function blockText(height: number | undefined): string {
  return height === undefined ? 'a block of the delegate' : `block ${height} of the delegate`;
}

/**
 * Number N such that any N consecutive slots contain a slot of each active delegate. The order of the delegates changes
 * with each round, so a delegate can have the first slot of one round and the last slot of the next round.
 */
function slotsWithEveryTurn({ activeDelegates }: ChainParams): number {
  return 2 * activeDelegates - 1;
}
