/**
 * Decides whether a delegate must wait because of a block that this node received and did not apply
 * (`unapplied-blocks.ts`). If two nodes sign for a delegate, one of them must wait, and the other must not wait. If
 * both nodes waited, and they had a third of all delegates, no block would become final, and the waits would never end.
 */

import type { SigningJournal } from '../../ports/journal.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { StateReader } from '../../protocol/state.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import { isIncomplete, type ForeignBlock } from './waits.ts';

export interface UnappliedWaitsDependencies {
  readonly chain: Pick<Chain, 'rules' | 'currentSlot'> & { readonly state: Pick<StateReader, 'header'> };
  readonly journal: SigningJournal;
  readonly isEnabled: (publicKey: PublicKey) => boolean;
  /** Lets the delegate wait if another node signed the block; returns whether another node signed it. */
  readonly noteForeign: (block: ForeignBlock) => boolean;
}

export class UnappliedWaits {
  readonly #dependencies: UnappliedWaitsDependencies;
  /** The delegates that have signed a block in this process since they were enabled. */
  readonly #signed = new Set<PublicKey>();
  /**
   * For each delegate, the last block of another node because of which this other node must wait, and not this node.
   */
  readonly #left = new Map<PublicKey, ForeignBlock>();

  constructor(dependencies: UnappliedWaitsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Call with a received block of a delegate of this node that the chain does not get.
   *
   * @returns whether the block now counts as a block of another node
   */
  note(block: ForeignBlock): boolean {
    if (!this.#isOtherToWait(block)) return this.#dependencies.noteForeign(block);
    this.#left.set(block.generatorPublicKey, block);
    return false;
  }

  /** Call after an enabled delegate of this node has signed a block. */
  noteSigned(publicKey: PublicKey): void {
    this.#signed.add(publicKey);
  }

  /** Call after forging for the delegate was disabled. */
  forget(publicKey: PublicKey): void {
    this.#signed.delete(publicKey);
    this.#left.delete(publicKey);
  }

  /**
   * Call after blocks were reverted. Suppose that another node signed a block for a delegate of this node, and that
   * `note` decided that the other node must wait. If the block of the delegate's last header in the journal is now
   * reverted, the other node does not find this header on the chain, and perhaps does not wait. This method therefore
   * decides again which of the two nodes must wait.
   */
  reverted(blocks: readonly Pick<BlockHeader, 'id' | 'generatorPublicKey'>[]): void {
    for (const { id, generatorPublicKey } of blocks) {
      const left = this.#left.get(generatorPublicKey);
      if (left === undefined || this.#dependencies.journal.last(generatorPublicKey)?.blockId !== id) continue;
      this.#left.delete(generatorPublicKey);
      this.note(left);
    }
  }

  /**
   * Returns whether the node that signed the given block (the other node) must wait, and this node need not wait. There
   * are two cases:
   * - The last header of the delegate in the journal is on the chain, and the delegate signs on this node. The other
   *   node finds this header on the network's chain.
   * - Both nodes signed in the same slot. If the header in the journal is on the chain, the other node waits. If the
   *   network chose neither block, the node whose block has the greater id waits. The ids are compared as text.
   */
  #isOtherToWait({ id, generatorPublicKey, timestamp }: ForeignBlock): boolean {
    const { chain, journal, isEnabled } = this.#dependencies;
    const last = journal.last(generatorPublicKey);
    if (last === undefined || !isEnabled(generatorPublicKey)) return false;
    if (journal.movedAtS(generatorPublicKey) !== undefined) return false;
    const isOnChain = chain.state.header(last.height)?.id === last.blockId;
    if (isOnChain && this.#isSigning(generatorPublicKey, last.timestamp)) return true;
    return last.timestamp === timestamp && (isOnChain || last.blockId < id);
  }

  /**
   * Whether the delegate signs on this node. After a start, the last header of the journal does not show this: perhaps
   * another node has signed since, or the journal is an old copy.
   */
  #isSigning(publicKey: PublicKey, lastS: number): boolean {
    const { chain, journal } = this.#dependencies;
    const { params } = chain.rules;
    const ageSlots = chain.currentSlot() - slotAt(lastS, params);
    // In this number of slots, each active delegate has at least one slot.
    const slotsWithEveryTurn = 2 * params.activeDelegates - 1;
    return this.#signed.has(publicKey) && ageSlots <= slotsWithEveryTurn && !isIncomplete(journal, publicKey);
  }
}
