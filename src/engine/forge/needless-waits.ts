/**
 * Finds out which delegates need not wait for a newer final block, although this node has no header of them: no other
 * node can have signed for them on a branch above the final block.
 */

import type { SigningJournal } from '../../ports/journal.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { earliestSlotOf } from './earliest-slot.ts';
import { hasSignedNothing } from './waits.ts';

/**
 * Number of slots from the enabling of a delegate on, in which another node may have signed before: the slot of the
 * enabling, and the next one, because clocks can differ by less than a slot.
 */
export const UNSURE_SLOTS = 2;

export interface NeedlessWaitsDependencies {
  readonly chain: Pick<Chain, 'rules' | 'state' | 'tip'>;
  readonly journal: SigningJournal;
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
   *
   * @param heldSinceS the last enabling of the delegate, or a later time up to which another node may have signed
   */
  has(publicKey: PublicKey, heldSinceS: number): boolean {
    const { chain, journal } = this.#dependencies;
    if (!chain.rules.hasFinality) return false;
    if (!hasSignedNothing(journal, publicKey)) return false;
    return this.#hadNoSlot(publicKey, heldSinceS);
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
}
