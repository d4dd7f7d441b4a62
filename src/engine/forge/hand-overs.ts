/**
 * Asks the rules of the generation when a delegate whose signing record is incomplete may sign again, and which earlier
 * header the new header must not contradict (`Rules.handOver`).
 */

import type { SigningJournal } from '../../ports/journal.ts';
import type { HandOver } from '../../protocol/rules.ts';
import { slotStartS } from '../../protocol/slots.ts';
import type { PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import type { ForeignBlocks } from './foreign-blocks.ts';
import type { NeedlessWaits } from './needless-waits.ts';
import { isOfChain } from './recalled-header.ts';
import type { Waiting } from './waiting.ts';
import { isIncomplete } from './waits.ts';
import type { WatchedSlots } from './watched-slots.ts';

export interface HandOversDependencies {
  readonly chain: Pick<Chain, 'rules' | 'state' | 'tip' | 'nowS'>;
  readonly journal: SigningJournal;
  readonly foreignBlocks: Pick<ForeignBlocks, 'onChain'>;
  readonly needless: Pick<NeedlessWaits, 'has' | 'isOnlyForger'>;
  readonly watched: Pick<WatchedSlots, 'lastCounted'>;
  readonly riskDoubleForging: boolean;
}

export class HandOvers {
  readonly #dependencies: HandOversDependencies;

  constructor(dependencies: HandOversDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the hand-over of a delegate: whether the rules of the generation allow the delegate to sign again. The
   * result is undefined in three cases: the option `riskDoubleForging` is on; the record of the delegate is complete,
   * so it needs no hand-over; or the search for blocks that the delegate signed on other nodes still continues.
   */
  of(publicKey: PublicKey): HandOver | undefined {
    const { chain, journal, foreignBlocks, needless, watched, riskDoubleForging } = this.#dependencies;
    if (riskDoubleForging) return undefined;
    const recalled = journal.recalled(publicKey);
    // The next header must not contradict the header of a watermark, even if another node has signed since then.
    const known = recalled !== undefined && isOfChain(chain.state, recalled) ? recalled.last : undefined;
    const last = journal.last(publicKey) ?? known;
    const foreign = foreignBlocks.onChain(publicKey);
    // While the search of the chain for blocks that the delegate signed on other nodes continues, `SlotWatch.waiting`
    // returns the reason to wait.
    if (foreign === 'unknown') return undefined;
    if (foreign === undefined && !isIncomplete(journal, publicKey)) return undefined;
    const heldSinceS = journal.heldSinceS(publicKey) ?? 0;
    const isWaitNeedless = foreign === undefined && needless.has(publicKey, heldSinceS);
    const sinceS = Math.max(heldSinceS, foreign === undefined ? 0 : foreign.timestamp + 1);
    const hasMadeAllBlocks = isWaitNeedless && needless.isOnlyForger();
    // It is possible that another node has signed in the last unused slot, on a branch that the network has abandoned.
    const unused = watched.lastCounted(publicKey);
    const coveredUntilS = unused === undefined ? 0 : slotStartS(unused + 1, chain.rules.params);
    const request = {
      ...{ publicKey, sinceS, last, nowS: chain.nowS() },
      ...{ isWaitNeedless, hasMadeAllBlocks, coveredUntilS },
    };
    return chain.rules.handOver(chain.state, chain.tip.header, request);
  }

  /**
   * Returns the reason why the hand-over of a delegate (its wait until the rules of the generation allow it to sign
   * again) has not ended; undefined if the hand-over has ended, or if there is no hand-over.
   */
  waiting(publicKey: PublicKey): Waiting | undefined {
    const over = this.of(publicKey);
    if (over?.ready !== false) return undefined;
    const { chain, journal } = this.#dependencies;
    const isAhead = (journal.heldSinceS(publicKey) ?? 0) > chain.nowS() + chain.rules.params.blockTimeS;
    const remedy =
      '; the wait has begun in the future, when the clock of a node was ahead: it begins again in a slot of the delegate in ' +
      'which the newest block is at most two slots old';
    const reason = isAhead ? `${over.reason}${remedy}` : over.reason;
    return { code: 'FORGING_HAND_OVER', reason, ...(over.untilS === undefined ? {} : { untilS: over.untilS }) };
  }
}
