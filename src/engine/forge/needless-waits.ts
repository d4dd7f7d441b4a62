/**
 * Finds out which delegates need not wait for a newer final block, although this node has no header of them: no other
 * node can have signed for them on a branch above the final block.
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
 * Number of rounds of blocks after which a node no longer counts as the maker of all blocks. By then, each of its delegates
 * has a header and no wait to be spared, unless the delegate came late.
 */
const MAKER_ROUNDS_MAX = 5;

/**
 * Number of slots from the enabling of a delegate on, in which another node may have signed before: the slot of the
 * enabling, and the next one, because clocks can differ by less than a slot.
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
  /** Whether this node has made all blocks of the chain with the tip `tipId`, and by which records. */
  #maker: { readonly tipId: string; readonly madeBy: 'journal' | 'watermarks' | undefined } | undefined;

  constructor(dependencies: NeedlessWaitsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Whether no other node can have signed a header of the delegate on a branch above the final block: neither the chain
   * nor a record shows a signature, and the delegate was enabled on this node before its first slot on any such branch.
   * The answer is also true on a young chain of which this node has made all blocks, although another node with some of
   * its delegates may have had no slot yet.
   *
   * @param heldSinceS the last enabling of the delegate, or a later time up to which another node may have signed
   */
  has(publicKey: PublicKey, heldSinceS: number): boolean {
    const { chain, journal } = this.#dependencies;
    if (!chain.rules.hasFinality) return false;
    if (!hasSignedNothing(journal, publicKey)) return false;
    return this.isOnlyForger() || this.#hadNoSlot(publicKey, heldSinceS);
  }

  /**
   * Whether only the genesis block is final, all delegates of the round are enabled on this node, and this node has made
   * all blocks of the chain. If its waits began again with each restart, the network would stand for many slots. If
   * another node has made a block for its delegates, it may make further ones, and the waits would show this.
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
   * Whether `isOnlyForger` is true only because of watermarks. They can also come from another data folder of this machine
   * that is in use.
   */
  isOnlyForgerByWatermarks(): boolean {
    return this.isOnlyForger() && this.#maker?.madeBy === 'watermarks';
  }

  /**
   * Whether the delegate had no slot before `sinceS` on any branch above the final block. A true result stays true:
   * branches above a later final block are above the earlier one, too. Later, the state may no longer have the lists of
   * the rounds.
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
   * Which records show that each block of the chain is by a delegate whose last header is this block or a later one: the
   * journal alone, or also watermarks of this chain, for example after the restore of an old folder. The result is
   * undefined if a block is not in the records.
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
