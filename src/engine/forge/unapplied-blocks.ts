/**
 * Finds signatures of other nodes in blocks that this node receives but does not apply, because fork choice prefers the
 * tip, or because the node must first download the branch of the block. If the generator of such a block is a delegate
 * that is enabled on this node, the block can show that another node also signs for the delegate. For example, the
 * blocks of that node always arrive late, so that none of them reaches the chain of this node.
 */

import { LruMap } from '../../primitives/bounded.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { StateReader } from '../../protocol/state.ts';
import type { Block, BlockId, PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';

/** Maximum number of entries in `#linked`. */
const LINKED_MAX = 1000;

export interface UnappliedBlocksDependencies {
  readonly chain: Pick<Chain, 'rules' | 'verify' | 'currentSlot'> & { readonly state: Pick<StateReader, 'header'> };
  /** Whether the delegate is enabled on this node. */
  readonly isEnabled: (publicKey: PublicKey) => boolean;
  /** Called with each block that an enabled delegate signed, also if this node signed the block. */
  readonly onFound: (block: Block) => void;
}

export class UnappliedBlocks {
  readonly #dependencies: UnappliedBlocksDependencies;
  /** Ids of blocks of this network (`#isOfThisNetwork`) that the node did not apply. */
  readonly #linked = new LruMap<BlockId, true>(LINKED_MAX);

  constructor(dependencies: UnappliedBlocksDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Call with each received block that the node does not apply. The method checks the signature of the block only if
   * the generator is enabled on this node, the block is at most a round old, and the chain does not have the block.
   *
   * @throws BlockRejected if the header, the signature or the payload hash of the block is invalid
   */
  note(block: Block): void {
    const { chain, isEnabled, onFound } = this.#dependencies;
    const isOnChain = chain.state.header(block.height)?.id === block.id;
    if (isOnChain || !this.#isRecent(block) || !this.#isOfThisNetwork(block)) return;
    if (!isEnabled(block.generatorPublicKey)) return;
    chain.rules.screenBlock(block, chain.verify);
    onFound(block);
  }

  /** An old block does not show that the other node still signs. A block of the future comes from a wrong clock. */
  #isRecent({ timestamp }: Block): boolean {
    const { chain } = this.#dependencies;
    const { params } = chain.rules;
    const ageSlots = chain.currentSlot() - slotAt(timestamp, params);
    return ageSlots >= 0 && ageSlots <= params.activeDelegates;
  }

  /**
   * The signature of a block does not cover the identifier of the network, so a peer could send a block that the
   * delegate signed in another network. The id of a block covers the id of its parent. The block therefore belongs to
   * this network if one of its ancestors is on the chain of this node, and `note` was called with all ancestors between
   * them.
   */
  #isOfThisNetwork({ id, height, previousBlockId }: Block): boolean {
    const { state } = this.#dependencies.chain;
    const isParentOnChain = state.header(height - 1)?.id === previousBlockId;
    if (!isParentOnChain && !this.#linked.has(previousBlockId ?? '')) return false;
    this.#linked.set(id, true);
    return true;
  }
}
