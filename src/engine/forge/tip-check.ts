/**
 * Checks after a start, and after a long stall of the process, whether the tip of the node is the tip of the network.
 * After a start, the data folder can be out of date, because the node was off or the folder comes from a backup. If a
 * delegate has signed headers above the tip, a new header on the tip could contradict them. No delegate therefore signs
 * until the node accepts its tip as current. Each of the following facts is sufficient proof that the tip is current,
 * except in the case of the last paragraph:
 *
 * - The node has received or downloaded a new block (at most `FRESH_SLOTS` slots old) from a peer.
 * - Peers have reported tips (`PeerTips.tips`), and more than half of these tips are not better than the tip of the
 *   node. In addition, at least half of the fixed peers must have reported a tip, and the wait for further peers must
 *   be over (`SETTLE_MS`).
 * - All slots since the tip belonged to delegates of this node whose signatures are known (`isTipSurelyNewest`), and no
 *   peer has a better tip.
 *
 * The node accepts its tip without proof if it knows no peers. If a peer has reported a tip, the node also accepts its
 * own tip without proof after a certain number of slots since the start or the stall. This number equals the number of
 * active delegates.
 *
 * While the chain has only the genesis block, these rules do not apply to delegates without a header. For such
 * delegates, `doubtBeforeFirstBlock` applies.
 *
 * If a delegate of this node has signed a header more than one block above the tip, this node has lost blocks. The node
 * then accepts its tip only after it has got a new block from a peer.
 */

import type { Clock } from '../../ports/clock.ts';
import type { SigningJournal } from '../../ports/journal.ts';
import type { AnnouncedTip, SignedHeader } from '../../protocol/rules.ts';
import type { StateReader } from '../../protocol/state.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { isOfChain } from './recalled-header.ts';

/** The evidence that peers give about the tip of the network. */
export interface PeerTips {
  /**
   * Tips of the connected peers that this node dialled or that its operator named. The list leaves out the tips of
   * other peers, because it is possible that all other peers belong to one attacker. If no dialled or named peer has
   * announced a tip, the list has the tips of all connected peers. The comment of `NetworkView.peerTips` says which
   * announcements the list also leaves out.
   */
  readonly tips: readonly AnnouncedTip[];
  /**
   * Number of fixed peers, to which the node always tries to be connected. `fixedHeard` is the number of fixed peers
   * with a tip in `tips`.
   */
  readonly fixed: number;
  readonly fixedHeard: number;
  /**
   * Whether the node knows addresses of peers, from its configuration or from the peer book, or has a connected peer.
   */
  readonly areExpected: boolean;
  /**
   * Whether this node dials peers. True in three cases: the configuration names peers; a peer is connected that the
   * node dialled or that the operator named; or the node knows addresses of peers that are not connected. False if the
   * node was started with `--no-peers`.
   */
  readonly areDialsExpected: boolean;
  /**
   * True if this node dialled the peers of `tips`, or if its operator named them. False if `tips` has the tips of other
   * peers, or is empty.
   */
  readonly areChosen: boolean;
  /**
   * The tips in `tips` that come from peers that the operator named. The other tips are weaker evidence, because a node
   * also dials addresses that strangers have reported.
   */
  readonly namedTips: readonly AnnouncedTip[];
}

export interface TipCheckDependencies {
  readonly chain: Pick<Chain, 'rules' | 'tip' | 'currentSlot' | 'nowS' | 'listen'> & { readonly state: StateReader };
  readonly journal: Pick<SigningJournal, 'last' | 'outside' | 'isCopyFor' | 'recalled'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Whether forging of a delegate is enabled on this node. */
  readonly isEnabled: (publicKey: PublicKey) => boolean;
  /** @param sinceMs Unix time in milliseconds; peers that connected before this time are ignored */
  readonly peerTips: (sinceMs: number) => PeerTips;
}

/** The reason why no delegate may sign on the tip yet. */
export interface TipDoubt {
  readonly reason: string;
  /**
   * Chain time, in whole seconds, at which this reason will probably have ended; absent if the node cannot compute this
   * time.
   */
  readonly untilS?: number;
}

/**
 * Maximum age, in slots, of a received or downloaded block that counts as new. A block of the current slot has the age
 * 0. Slightly older blocks also count, because a block can arrive late.
 */
const FRESH_SLOTS = 2;
/**
 * For this time in milliseconds after a start, or after a stall of the process, the tips of the connected peers do not
 * prove that our tip is current, because further peers can still connect. The node does not wait for this time if it
 * has fixed peers and all of them have announced a tip.
 */
const SETTLE_MS = 5000;
/**
 * Number of signed blocks that an up-to-date data folder can lack after a crash. The node writes a header to the
 * journal before it writes the block to the store, and the process can crash between the two writes.
 */
const UNFINISHED_BLOCKS = 1;
/**
 * If the process stalls for longer than this time in milliseconds, the node needs a new proof that its tip is current.
 */
const STALL_MS = 30_000;
/**
 * For this time in milliseconds after a stall, the check ignores the tips of peers that connected before the stall. In
 * this time, the transport usually closes the dead connections, because it closes each connection that is silent for
 * twenty seconds. The peers of the other connections usually announce a new tip in this time.
 */
const HEARTBEATS_MS = 30_000;

const WAIVER = '--risk-double-forging waives this';

export class TipCheck {
  readonly #dependencies: TipCheckDependencies;
  /** True after the node has accepted its tip as current. False before that, and false again after a stall. */
  #isShown = false;
  /** Unix time in milliseconds at which the process started, or at which its last stall ended. */
  #startedMs: number;
  /** Unix time in milliseconds of the last call of `tick`; undefined before the first call. */
  #checkedMs: number | undefined;

  constructor(dependencies: TipCheckDependencies) {
    this.#dependencies = dependencies;
    const { chain, clock } = dependencies;
    this.#startedMs = clock.nowMs();
    chain.listen({
      applied: (blocks, origin) => {
        const block = blocks.at(-1);
        if (origin === 'forged' || block === undefined) return;
        // The forger of a new block has a chain that ends with this block. Our chain now ends with the same block, so
        // our tip is as new as the tip of the forger.
        if (slotAt(block.timestamp, chain.rules.params) >= chain.currentSlot() - FRESH_SLOTS) this.#isShown = true;
      },
    });
  }

  /**
   * Records that the process is running. The scheduler calls this method about every second. After a stall of the
   * process, the node needs a new proof that its tip is current.
   */
  tick(): void {
    const nowMs = this.#dependencies.clock.nowMs();
    if (Math.abs(nowMs - (this.#checkedMs ?? nowMs)) > STALL_MS) {
      this.#isShown = false;
      this.#startedMs = nowMs;
    }
    this.#checkedMs = nowMs;
  }

  /** Returns the reason why the tip is perhaps out of date; undefined if the node accepts the tip as current. */
  doubt(): TipDoubt | undefined {
    this.tick();
    if (this.#isShown) return undefined;
    const doubt = this.#doubt();
    // If the chain has only its genesis block, `#isShown` stays false, because a peer with a longer chain can still
    // connect.
    if (doubt === undefined && this.#dependencies.chain.tip.header.height > 1) this.#isShown = true;
    return doubt;
  }

  /**
   * Returns the reason to assume that the network has perhaps begun its chain, although the chain of this node has only
   * the genesis block; undefined if there is no such reason.
   *
   * If the node has peers to dial, at least one of the peers that it dialled or that its operator named must have
   * reported its tip. If there is no such peer, this doubt does not end after a round of slots, because a node with an
   * empty data folder perhaps lacks the whole chain. For one round of slots, half of the fixed peers must also have
   * reported their tips. There is one exception: a node with all delegates does not wait until peers report, because it
   * is possible that its network has no other node.
   *
   * If a peer that the operator named claims a longer chain, this claim counts without a time limit. The claim of any
   * other peer counts only for a round of slots. In this time, a peer that really has a longer chain sends block 2 of
   * this chain. The claim has a time limit because a stranger can report an address that this node then dials.
   */
  doubtBeforeFirstBlock(): TipDoubt | undefined {
    const heard = this.#dependencies.peerTips(this.#heardSinceMs());
    const { tips, namedTips, areDialsExpected, areChosen, fixed, fixedHeard } = heard;
    const { isLate, untilS } = this.#roundOfSlots();
    const lost = this.#signedBeyondTip();
    if (lost !== undefined) {
      const reason = lostBlocksReason(1, lost);
      return { reason: isLate ? `${reason}; if every node has lost it, ${WAIVER}` : reason };
    }
    const namedAhead = this.#aheadOf(namedTips);
    const ahead = this.#aheadOf(tips);
    if (namedAhead > 0 || (ahead > 0 && !isLate)) {
      const reason = `${ahead} peers have a longer chain, and this node has only the genesis block`;
      return { reason, ...(namedAhead > 0 ? {} : { untilS }) };
    }
    if ((!areChosen && !areDialsExpected) || this.hasAllDelegates()) return undefined;
    if (areChosen) {
      const isHeard = 2 * fixedHeard >= fixed && this.#isSettled({ fixed, fixedHeard });
      if (isHeard || isLate) return undefined;
      const reason = `${fixedHeard} of ${fixed} fixed peers have reported their tip, and this node has only the genesis block`;
      return { reason, untilS };
    }
    const reason =
      'this node has only the genesis block, and no peer that it dialled has reported its tip yet: see `bloomery peers` and ' +
      'connect a peer, or, to begin a new network, start the node with --no-peers until it has forged its first block';
    return { reason };
  }

  /**
   * Whether it is certain that no delegate has signed a block above the tip. The result is true on two conditions: all
   * ended slots since the tip belong to delegates that are enabled on this node, and the signatures of these delegates
   * are known. The signatures of a delegate are known in three cases: its watermark (its last signed header, in a file
   * outside of the data folder) agrees with the journal; the journal has no header of the delegate, but the watermark
   * has a header of this chain; or neither the journal nor the watermark has a header of the delegate, and the journal
   * does not mark its record as a copy (another node perhaps has the original record, and still signs).
   */
  isTipSurelyNewest(): boolean {
    const { chain, isEnabled, journal } = this.#dependencies;
    const { rules, state, tip } = chain;
    const forgers = rules.forgers(state, tip.header.height + 1);
    const first = slotAt(tip.header.timestamp, rules.params) + 1;
    const { activeDelegates } = rules.params;
    const slots = Math.min(chain.currentSlot() - first, activeDelegates);
    for (let ahead = 0; ahead < slots; ahead += 1) {
      const owner = forgers[(first + ahead) % activeDelegates];
      if (owner === undefined || !isEnabled(owner)) return false;
      const outside = journal.outside(owner);
      const isNew = outside === 'unknown' && journal.last(owner) === undefined && !journal.isCopyFor(owner);
      if (outside !== 'agrees' && !isNew && this.#recalled(owner) === undefined) return false;
    }
    return true;
  }

  /** Whether all delegates of the present round are enabled on this node. */
  hasAllDelegates(): boolean {
    const { chain, isEnabled } = this.#dependencies;
    return chain.rules.forgers(chain.state, chain.tip.header.height + 1).every(isEnabled);
  }

  /**
   * Whether at least two thirds of the delegates of the present round are enabled on this node, and the given function
   * returns true for each of them.
   */
  hasTwoThirds(isSigning: (publicKey: PublicKey) => boolean): boolean {
    const { chain, isEnabled } = this.#dependencies;
    const forgers = chain.rules.forgers(chain.state, chain.tip.header.height + 1);
    return 3 * forgers.filter((publicKey) => isEnabled(publicKey) && isSigning(publicKey)).length >= 2 * forgers.length;
  }

  #doubt(): TipDoubt | undefined {
    const { peerTips, chain } = this.#dependencies;
    const { tips, fixed, fixedHeard, areExpected } = peerTips(this.#heardSinceMs());
    const { height } = chain.tip.header;
    const ahead = this.#aheadOf(tips);
    // The node waits for the better chain that peers claim to have, but only until `untilS`. After `untilS`, a peer can
    // no longer prevent forging by claiming a better chain that the peer does not send.
    const { untilS, isLate } = this.#roundOfSlots();
    const lost = this.#signedBeyondTip();
    if (lost === undefined) {
      if (tips.length === 0 && !areExpected) return undefined;
      if (ahead === 0 && this.isTipSurelyNewest()) return undefined;
      const isSettled = this.#isSettled({ fixed, fixedHeard });
      if (2 * ahead < tips.length && 2 * fixedHeard >= fixed && isSettled) return undefined;
      if (tips.length > 0 && isLate) return undefined;
    }
    const until = isLate ? {} : { untilS };
    if (ahead > 0) {
      const reason = `${ahead} of ${tips.length} peers that count have a longer chain than this node, at height ${height}`;
      return { reason, ...until };
    }
    if (lost !== undefined) {
      const reason = lostBlocksReason(height, lost);
      // The message suggests `--risk-double-forging` only if it is unlikely that peers still send the missing blocks.
      // Two conditions must hold. First, the period of `#roundOfSlots` has ended (`isLate`). Second, either at least
      // one peer has reported its tip (here, no reported tip is better than the tip of this node), or the node knows no
      // peers (`areExpected` is false).
      const isLastResort = isLate && (tips.length > 0 || !areExpected);
      return { reason: isLastResort ? `${reason}; if every node has lost it, ${WAIVER}` : reason };
    }
    if (tips.length > 0) {
      const reason = `${fixedHeard} of ${fixed} fixed peers have reported their tip: the node waits for most of them`;
      return { reason, ...until };
    }
    const reason =
      'no peer has reported its tip yet, and other nodes may have forged newer blocks: ' +
      'see `bloomery peers` and connect a peer';
    return { reason: isLate ? `${reason}; if no other node is left, ${WAIVER}` : reason };
  }

  /**
   * Whether the wait for further peers is over, so that the tips of the connected peers count. The wait ends after
   * `SETTLE_MS`, or when all fixed peers (at least one) have reported a tip.
   */
  #isSettled({ fixed, fixedHeard }: Pick<PeerTips, 'fixed' | 'fixedHeard'>): boolean {
    if (fixedHeard === fixed && fixed > 0) return true;
    return this.#dependencies.clock.nowMs() >= this.#startedMs + SETTLE_MS;
  }

  /**
   * Computes the end of a period that begins with the start of the node, or with the end of the last stall. The period
   * has as many slots as there are active delegates. If the order of forgers does not change, each delegate has a slot
   * in this period. On a devnet, the chain clock (for `untilS`) can differ from the process clock (for `#startedMs`).
   * The method therefore takes only the elapsed time from the process clock.
   *
   * @returns `untilS`: end of this period, in whole seconds of chain time; `isLate`: whether the period has ended
   */
  #roundOfSlots(): { readonly untilS: number; readonly isLate: boolean } {
    const { chain, clock } = this.#dependencies;
    const { params } = chain.rules;
    const agoS = Math.floor((clock.nowMs() - this.#startedMs) / 1000);
    const untilS = Math.max(0, chain.nowS() - agoS) + params.activeDelegates * params.blockTimeS;
    return { untilS, isLate: chain.currentSlot() > slotAt(untilS, params) };
  }

  /**
   * Returns the earliest time of connection at which the announced tip of a peer counts. The result is a Unix time in
   * milliseconds, or -Infinity if the tips of all connected peers count. After a stall of the process, connections from
   * before the stall can be dead, and their announced tips can be out of date. The tip of a peer with such a connection
   * counts again if the connection is still open `HEARTBEATS_MS` after the stall.
   */
  #heardSinceMs(): number {
    const isOver = this.#dependencies.clock.nowMs() >= this.#startedMs + HEARTBEATS_MS;
    return isOver ? Number.NEGATIVE_INFINITY : this.#startedMs;
  }

  #aheadOf(tips: readonly AnnouncedTip[]): number {
    const { chain } = this.#dependencies;
    return tips.filter((announced) => chain.rules.prefersTip(announced, chain.tip.header)).length;
  }

  /**
   * Returns the header in the watermark of a delegate if the journal has no header of the delegate, and if the header
   * in the watermark belongs to this chain. In all other cases, the result is undefined.
   */
  #recalled(publicKey: PublicKey): SignedHeader | undefined {
    const { chain, journal } = this.#dependencies;
    const recalled = journal.recalled(publicKey);
    return recalled !== undefined && isOfChain(chain.state, recalled) ? recalled.last : undefined;
  }

  /**
   * Looks for signed headers that show that this node has lost blocks. Returns the greatest height of these headers;
   * undefined if there is none. For each enabled delegate in the current order of forgers, the method examines the last
   * signed header, from the journal or from the watermark. A header shows a loss if fork choice prefers the header to
   * our tip, and the header is more than `UNFINISHED_BLOCKS` above our tip.
   */
  #signedBeyondTip(): number | undefined {
    const { chain, journal, isEnabled } = this.#dependencies;
    const { rules, state, tip } = chain;
    const signed = rules
      .forgers(state, tip.header.height + 1)
      .filter(isEnabled)
      .flatMap((publicKey) => journal.last(publicKey) ?? this.#recalled(publicKey) ?? [])
      .filter((last) => last.height > tip.header.height + UNFINISHED_BLOCKS && rules.prefersTip(last, tip.header))
      .map(({ height }) => height);
    return signed.length === 0 ? undefined : Math.max(...signed);
  }
}

function lostBlocksReason(height: number, signedHeight: number): string {
  return (
    `the chain of this node ends at height ${height}, but its delegates have signed block ${signedHeight}: ` +
    'the missing blocks must come from peers or from a newer backup'
  );
}
