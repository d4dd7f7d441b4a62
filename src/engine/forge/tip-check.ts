/**
 * Checks whether the tip at the start of the node is the tip of the network. The data folder may be older than the chain, by a
 * night or by a backup, and a header on its old tip contradicts the headers that the delegate signed later. So after each
 * start, nothing is signed before there is proof that the tip is not an old one.
 */

import type { Clock } from '../../ports/clock.ts';
import type { SigningJournal } from '../../ports/journal.ts';
import type { AnnouncedTip } from '../../protocol/rules.ts';
import type { StateReader } from '../../protocol/state.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';

/** The evidence of peers about the tip of the network. */
export interface Witnesses {
  /**
   * Tips of the connected peers that this node dialled or that its operator named, as strangers may say anything; of all
   * connected ones where it has no such peer.
   */
  readonly tips: readonly AnnouncedTip[];
  /** Number of peers that are always dialled because the operator named them, and number of them with a tip in `tips`. */
  readonly named: number;
  readonly namedHeard: number;
  /** Whether there are peers to be reached: named ones, or known from an earlier run. */
  readonly areExpected: boolean;
}

export interface TipCheckDependencies {
  readonly chain: Pick<Chain, 'rules' | 'tip' | 'currentSlot' | 'nowS' | 'listen'> & { readonly state: StateReader };
  readonly journal: Pick<SigningJournal, 'last' | 'outside'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Whether a delegate is switched on here. */
  readonly isEnabled: (publicKey: PublicKey) => boolean;
  /** @param sinceMs peers that were connected before it count no more, Unix time in milliseconds */
  readonly witnesses: (sinceMs: number) => Witnesses;
}

/** The reason why nothing may be signed on the tip yet. */
export interface TipDoubt {
  readonly reason: string;
  /** Chain time in whole seconds. */
  readonly untilS?: number;
}

/** Age in slots up to which a received block counts as new: it may be late, and its slot may have just ended. */
const FRESH_SLOTS = 2;
/** Time after a start in which peers may connect, if it is unknown which ones will. */
const SETTLE_MS = 5000;
/** Blocks that the chain may lack: the journal is written before the block, and the process may have crashed in between. */
const UNFINISHED_BLOCKS = 1;
/** After a standstill of this length, the tip must be proved again, as after a start. */
const STANDSTILL_MS = 30_000;
/** Connections that are silent for twenty seconds end, and peers announce their tips within seconds. */
const HEARTBEATS_MS = 30_000;

const WAIVER = '--risk-double-forging waives this';

export class TipCheck {
  readonly #dependencies: TipCheckDependencies;
  #isShown = false;
  #startedMs: number;
  /** Undefined before the first look. */
  #lookedMs: number | undefined;

  constructor(dependencies: TipCheckDependencies) {
    this.#dependencies = dependencies;
    const { chain, clock } = dependencies;
    this.#startedMs = clock.nowMs();
    chain.listen({
      applied: (blocks, origin) => {
        const block = blocks.at(-1);
        if (origin === 'forged' || block === undefined) return;
        // The forger of a present block on our tip has that tip, too.
        if (slotAt(block.timestamp, chain.rules.params) >= chain.currentSlot() - FRESH_SLOTS) this.#isShown = true;
      },
    });
  }

  /** Takes note that the process runs; to be called every second or so. */
  tick(): void {
    const nowMs = this.#dependencies.clock.nowMs();
    if (Math.abs(nowMs - (this.#lookedMs ?? nowMs)) > STANDSTILL_MS) {
      this.#isShown = false;
      this.#startedMs = nowMs;
    }
    this.#lookedMs = nowMs;
  }

  /** The reason why the tip may be an old one; undefined once it is proved not to be. */
  doubt(): TipDoubt | undefined {
    this.tick();
    if (this.#isShown) return undefined;
    const doubt = this.#doubt();
    // Of a chain that has not begun each look counts by itself: a peer with a block may yet come.
    if (doubt === undefined && this.#dependencies.chain.tip.header.height > 1) this.#isShown = true;
    return doubt;
  }

  /** Peers that have a longer chain: of one that has not begun, it is all that can be asked. */
  get peersAhead(): number {
    return this.#aheadOf(this.#dependencies.witnesses(this.#heardSinceMs()).tips);
  }

  /**
   * Whether nobody but delegates of this node can have signed a block since the tip, and none of them has: all slots that
   * passed are theirs, and what each signed last is known.
   */
  hasNobodyGoneOn(): boolean {
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
      const isNew = outside === 'unknown' && journal.last(owner) === undefined;
      if (outside !== 'agrees' && !isNew) return false;
    }
    return true;
  }

  #doubt(): TipDoubt | undefined {
    const { witnesses, chain, clock } = this.#dependencies;
    const { tips, named, namedHeard, areExpected } = witnesses(this.#heardSinceMs());
    const { params } = chain.rules;
    const { height } = chain.tip.header;
    const ahead = this.#aheadOf(tips);
    // In so many slots every active delegate has one: after them peers that claim more than they give hold us up no more.
    // Reckoned back from the chain's time: its clock may be another than the process's.
    const agoS = Math.floor((clock.nowMs() - this.#startedMs) / 1000);
    const untilS = Math.max(0, chain.nowS() - agoS) + params.activeDelegates * params.blockTimeS;
    const isLate = chain.currentSlot() > slotAt(untilS, params);
    const lost = this.#signedBeyondTip();
    if (lost === undefined) {
      if (tips.length === 0 && !areExpected) return undefined;
      if (ahead === 0 && this.hasNobodyGoneOn()) return undefined;
      const isSettled = namedHeard === named && named > 0 ? true : clock.nowMs() >= this.#startedMs + SETTLE_MS;
      if (2 * ahead < tips.length && 2 * namedHeard >= named && isSettled) return undefined;
      if (tips.length > 0 && isLate) return undefined;
    }
    const until = isLate ? {} : { untilS };
    if (ahead > 0) {
      const reason = `${ahead} of ${tips.length} peers that count have a longer chain than this node, at height ${height}`;
      return { reason, ...until };
    }
    if (lost !== undefined) {
      const reason =
        `the chain here ends at height ${height}, and its delegates signed block ${lost}: ` +
        'the rest must come from peers, or from a newer backup';
      // Named where it may be right alone: peers had a round's time, and none of them has the rest, or none is wanted.
      const isLastResort = isLate && (tips.length > 0 || !areExpected);
      return { reason: isLastResort ? `${reason}; if every node has lost it, ${WAIVER}` : reason };
    }
    if (tips.length > 0) {
      const reason = `${namedHeard} of ${named} named peers have said where the network is: most of them are waited for`;
      return { reason, ...until };
    }
    const reason =
      'no peer has said yet where the network is, and others may have forged since the newest block here: ' +
      'see `bloomery peers` and connect one';
    return { reason: isLate ? `${reason}; if no other node is left, ${WAIVER}` : reason };
  }

  /**
   * After a standstill, connections of before may be gone without our having noticed, and what their peers said is old. Those
   * that outlive the heartbeats are not.
   */
  #heardSinceMs(): number {
    const isOver = this.#dependencies.clock.nowMs() >= this.#startedMs + HEARTBEATS_MS;
    return isOver ? Number.NEGATIVE_INFINITY : this.#startedMs;
  }

  #aheadOf(tips: readonly AnnouncedTip[]): number {
    const { chain } = this.#dependencies;
    return tips.filter((announced) => chain.rules.prefersTip(announced, chain.tip.header)).length;
  }

  /** Height of a block that a delegate of this node signed on a better chain than the one that is here. */
  #signedBeyondTip(): number | undefined {
    const { chain, journal, isEnabled } = this.#dependencies;
    const { rules, state, tip } = chain;
    const signed = rules
      .forgers(state, tip.header.height + 1)
      .filter(isEnabled)
      .flatMap((publicKey) => journal.last(publicKey) ?? [])
      .filter((last) => last.height > tip.header.height + UNFINISHED_BLOCKS && rules.prefersTip(last, tip.header))
      .map(({ height }) => height);
    return signed.length === 0 ? undefined : Math.max(...signed);
  }
}
