/**
 * Finds out which delegates need not wait for a newer final block, although this node has no header of them: no other
 * node can have signed for them on a branch above the final block.
 */

import type { SigningJournal } from '../../ports/journal.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { earliestSlotOf } from './earliest-slot.ts';
import type { TipCheck } from './tip-check.ts';
import { hasSignedNothing } from './waits.ts';

const GENESIS_HEIGHT = 1;
const FIRST_FORGED_HEIGHT = 2;

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

  constructor(dependencies: NeedlessWaitsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Whether no other node can have signed a header of the delegate on a branch above the final block: neither the chain
   * nor a record shows a signature, and the delegate was enabled on this node before its first slot on any such branch.
   * The answer is also true on a young chain of which this node makes all blocks.
   *
   * @param heldSinceS the last enabling of the delegate, or a later time up to which another node may have signed
   */
  has(publicKey: PublicKey, heldSinceS: number): boolean {
    const { chain, journal } = this.#dependencies;
    if (!chain.rules.hasFinality) return false;
    if (!hasSignedNothing(journal, publicKey)) return false;
    return this.#isOnlyForger() || this.#hadNoSlot(publicKey, heldSinceS);
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
   * Whether only the genesis block is final, all delegates of the round are enabled on this node, and this node signed the
   * first forged block. If its waits began again with each restart, the network would stand for many slots.
   */
  #isOnlyForger(): boolean {
    const { chain, journal, tipCheck } = this.#dependencies;
    const { rules, state } = chain;
    const first = state.header(FIRST_FORGED_HEIGHT)?.generatorPublicKey;
    if (first === undefined || rules.finalizedHeight(state) > GENESIS_HEIGHT || !tipCheck.hasAllDelegates())
      return false;
    return journal.last(first) !== undefined && !journal.isCopyFor(first);
  }
}
