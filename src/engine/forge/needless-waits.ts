/**
 * Usually, in a generation with finality, if the signing journal has no header of a delegate, the delegate does not
 * sign until a block is final that is newer than the start of the delegate's wait. This file finds out which of these
 * delegates need not wait. A delegate need not wait if no other node can have signed a header of the delegate on a
 * branch that contains the newest final block.
 */

import type { SigningJournal } from '../../ports/journal.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { earliestSlotOf } from './earliest-slot.ts';
import { isOfChain } from './recalled-header.ts';
import type { TipCheck } from './tip-check.ts';
import { hasSignedNothing, isForeign } from './waits.ts';

const GENESIS_HEIGHT = 1;
const FIRST_FORGED_HEIGHT = 2;

/**
 * If the chain has more than this number of rounds of blocks, a node no longer counts as the node that has made all
 * blocks (`isOnlyForger`). By then, each delegate of the node has a header, and therefore does not wait. Only a
 * delegate that was enabled late is perhaps still without a header.
 */
const MAKER_ROUNDS_MAX = 5;

/**
 * Number of slots in which another node has perhaps already signed when a delegate is enabled on this node. These slots
 * are the enabling slot, and also the next slot, because the clocks of two nodes can differ by less than a slot.
 */
export const UNSURE_SLOTS = 2;

export interface NeedlessWaitsDependencies {
  readonly chain: Pick<Chain, 'rules' | 'state' | 'tip'>;
  readonly journal: SigningJournal;
  readonly tipCheck: Pick<TipCheck, 'hasAllDelegates'>;
}

interface Slotless {
  /** Begin of the wait for which the result was found. */
  readonly sinceS: number;
  /** Id of the tip for which the result was found. */
  readonly tipId: string;
  readonly hadNoSlot: boolean;
}

export class NeedlessWaits {
  readonly #dependencies: NeedlessWaitsDependencies;
  /** For each delegate, the last result of `#hadNoSlot`. */
  readonly #slotless = new Map<PublicKey, Slotless>();
  /** The result of `#blocksMadeBy` for the chain whose tip has the id `tipId`. */
  #maker: { readonly tipId: string; readonly madeBy: 'journal' | 'watermarks' | undefined } | undefined;

  constructor(dependencies: NeedlessWaitsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Whether no other node can have signed a header of the delegate on a branch above the final block. The result is
   * true if two conditions hold. First, neither the chain nor a record shows a signature of the delegate. Second, the
   * delegate was enabled on this node at least `UNSURE_SLOTS` slots before its earliest possible slot on any such
   * branch. On a young chain, the second condition need not hold if this node has made all blocks (`isOnlyForger`). The
   * result is then true, although it is possible that another node with some of the same delegates has had no slot yet.
   *
   * @param heldSinceS chain time in whole seconds of the last enabling of the delegate, or a later time up to which
   *   another node has perhaps signed
   */
  has(publicKey: PublicKey, heldSinceS: number): boolean {
    const { chain, journal } = this.#dependencies;
    if (!chain.rules.hasFinality) return false;
    if (!hasSignedNothing(journal, publicKey)) return false;
    return this.isOnlyForger() || this.#hadNoSlot(publicKey, heldSinceS);
  }

  /**
   * Whether four conditions hold: the chain has a forged block, but at most `MAKER_ROUNDS_MAX` rounds of blocks; only
   * the genesis block is final; all delegates of the round are enabled on this node; and this node has made all forged
   * blocks of the chain. If the waits of such a node began again with each restart, the network would stand for many
   * slots. If another node has made a block for these delegates, the result is false, and the delegates wait: the other
   * node can make further blocks, and the waits would show them.
   */
  isOnlyForger(): boolean {
    const { chain, tipCheck } = this.#dependencies;
    const { rules, state, tip } = chain;
    const { id: tipId, height } = tip.header;
    if (height < FIRST_FORGED_HEIGHT || height > MAKER_ROUNDS_MAX * rules.params.activeDelegates) return false;
    if (rules.finalizedHeight(state) > GENESIS_HEIGHT || !tipCheck.hasAllDelegates()) return false;
    if (this.#maker?.tipId !== tipId) this.#maker = { tipId, madeBy: this.#blocksMadeBy() };
    return this.#maker.madeBy !== undefined;
  }

  /**
   * Whether this node counts as the node that has made all blocks (`isOnlyForger`), but the signing journal alone does
   * not show this: the node must also read watermarks (the last signed headers of the delegates, in files outside of
   * the data folder). It is possible that a node with another data folder of this machine made the blocks, wrote these
   * watermarks, and still signs.
   */
  isOnlyForgerByWatermarks(): boolean {
    return this.isOnlyForger() && this.#maker?.madeBy === 'watermarks';
  }

  /**
   * Whether the earliest possible slot of the delegate on any branch above the final block (`earliestSlotOf`) is at
   * least `UNSURE_SLOTS` slots after the slot of `sinceS`. The result is false if the earliest slot is unknown. A true
   * result stays true, because branches above a later final block are also above the earlier final block. The method
   * therefore stores a true result: later, the state perhaps no longer has the lists of the rounds.
   */
  #hadNoSlot(publicKey: PublicKey, sinceS: number): boolean {
    const { rules, state, tip } = this.#dependencies.chain;
    const { id: tipId, height: tipHeight } = tip.header;
    const known = this.#slotless.get(publicKey);
    if (known?.sinceS === sinceS && (known.hadNoSlot || known.tipId === tipId)) return known.hadNoSlot;
    const heights = { finalizedHeight: rules.finalizedHeight(state), tipHeight };
    const earliest = earliestSlotOf(state, heights, rules.params, publicKey);
    const hadNoSlot = earliest !== undefined && slotAt(sinceS, rules.params) + UNSURE_SLOTS <= earliest;
    this.#slotless.set(publicKey, { sinceS, tipId, hadNoSlot });
    return hadNoSlot;
  }

  /**
   * Finds out which records show that this node has made all blocks of the chain. The records show this if, for each
   * block, three conditions hold: the records have a header of the delegate of the block, the record of this delegate
   * has no mark as a copy (`isCopyFor`: another node perhaps has the original record, and still signs), and the
   * comparison of the block with the last header of this delegate shows that this node signed the block (`isForeign`
   * returns false). The result is `journal` if the journal alone shows this. The result is `watermarks` if only the
   * journal and the watermarks of this chain together show this, for example after the restore of an old folder. The
   * result is undefined if the records do not show this for one or more blocks.
   */
  #blocksMadeBy(): 'journal' | 'watermarks' | undefined {
    const { chain, journal } = this.#dependencies;
    const { rules, state, tip } = chain;
    let madeBy: 'journal' | 'watermarks' = 'journal';
    for (let { height } = tip.header; height >= FIRST_FORGED_HEIGHT; height -= 1) {
      const block = state.header(height);
      if (block === undefined || journal.isCopyFor(block.generatorPublicKey)) return undefined;
      const recalled = journal.recalled(block.generatorPublicKey);
      let last = journal.last(block.generatorPublicKey);
      if (last === undefined && recalled !== undefined && isOfChain(state, recalled)) {
        last = recalled.last;
        madeBy = 'watermarks';
      }
      if (last === undefined || isForeign(block, last, rules)) return undefined;
    }
    return madeBy;
  }
}
