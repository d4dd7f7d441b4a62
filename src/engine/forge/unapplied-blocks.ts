/**
 * Finds signatures of other nodes in blocks that this node receives but does not apply, because fork choice prefers the
 * tip, or because the node must first download the branch of the block. If the generator of such a block is a delegate
 * of this node, the block can show that another node also signs for the delegate. For example, the blocks of that node
 * always arrive late, so that none of them reaches the chain of this node.
 */

import { LruMap } from '../../primitives/bounded.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { StateReader } from '../../protocol/state.ts';
import type { Block, BlockId, PublicKey } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';

/** Maximum number of entries in `#linked`. */
const LINKED_MAX = 1000;

export interface UnappliedBlocksDependencies {
  readonly chain: Pick<Chain, 'rules' | 'verify' | 'tip' | 'currentSlot'> & {
    readonly state: Pick<StateReader, 'header' | 'delegate'>;
  };
  /** Whether the delegate is enabled on this node, or has a record in the signing journal of this node. */
  readonly isOwn: (publicKey: PublicKey) => boolean;
  /**
   * Called with each block that a delegate of this node signed, also if this node signed the block. Returns whether the
   * block now counts as a block of another node.
   */
  readonly onFound: (block: Block) => boolean;
}

export class UnappliedBlocks {
  readonly #dependencies: UnappliedBlocksDependencies;
  /**
   * The heights of the blocks of this network (`#isLinked`) that the node did not apply, or has reverted, by block id.
   * Used only in generation 2.
   */
  readonly #linked = new LruMap<BlockId, number>(LINKED_MAX);

  /**
   * In generation 3, for each delegate of this node, the height of the last block that another node signed for the
   * delegate.
   */
  readonly #foreignHeights = new Map<PublicKey, number>();

  constructor(dependencies: UnappliedBlocksDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Call with each received block that the node does not apply. The method checks the signature of the block only in
   * two cases: the generator is a delegate of this node, or in generation 2, the block can be an ancestor of a block of
   * such a delegate.
   *
   * @throws BlockRejected if the header, the signature or the payload hash of the block is invalid
   */
  note(block: Block): void {
    const { chain, isOwn, onFound } = this.#dependencies;
    const { rules, state, verify } = chain;
    const isOnChain = state.header(block.height)?.id === block.id;
    if (isOnChain || !this.#isRecent(block)) return;
    const isOfOwn = isOwn(block.generatorPublicKey);
    if (rules.hasFinality) {
      if (!isOfOwn || !this.#isNear(block)) return;
      rules.screenBlock(block, verify);
      if (onFound(block)) this.#foreignHeights.set(block.generatorPublicKey, block.height);
    } else {
      if (!this.#isLinked(block) || state.delegate(block.generatorPublicKey) === undefined) return;
      rules.screenBlock(block, verify);
      this.#linked.set(block.id, block.height);
      if (isOfOwn) onFound(block);
    }
  }

  /**
   * Call after blocks were reverted. In generation 2, it is possible that the next block of another node has one of
   * these blocks as its parent.
   */
  reverted(blocks: readonly Block[]): void {
    for (const { id, height } of blocks) this.#linked.set(id, height);
  }

  /**
   * An old block does not show that another node still signs for the delegate. A block with a future timestamp comes
   * from a wrong clock.
   */
  #isRecent({ timestamp }: Block): boolean {
    const { chain } = this.#dependencies;
    const { params } = chain.rules;
    const ageSlots = chain.currentSlot() - slotAt(timestamp, params);
    return ageSlots >= 0 && ageSlots <= params.activeDelegates;
  }

  /**
   * Whether the height of the block shows that the block belongs to this network. The signature of a block does not
   * cover the identifier of the network, so a peer could send a block that the delegate signed in another network. In
   * generation 3, the signature covers the height. A recent block of this network has nearly the height of the tip, and
   * a recent block of another network almost never has. It is possible that a second node of this network signs for the
   * delegate, but does not receive the blocks of this network. The branch of the second node then falls behind the tip.
   * The method therefore also returns true if the height is near the height of the last block of the second node
   * (`#foreignHeights`).
   */
  #isNear({ generatorPublicKey, height }: Block): boolean {
    const { rules, tip } = this.#dependencies.chain;
    const heights = [tip.header.height, this.#foreignHeights.get(generatorPublicKey) ?? tip.header.height];
    return heights.some((near) => Math.abs(height - near) <= rules.params.activeDelegates);
  }

  /**
   * In generation 2, the signature does not cover the height, but it covers the id of the parent. A block belongs to
   * this network if one of its ancestors is on the chain of this node, and `note` was called with all ancestors between
   * them. In this case, the height of the block is right, too.
   */
  #isLinked({ height, previousBlockId }: Block): boolean {
    if (previousBlockId === undefined) return false;
    const parentHeight = height - 1;
    const onChain = this.#dependencies.chain.state.header(parentHeight)?.id;
    return onChain === previousBlockId || this.#linked.get(previousBlockId) === parentHeight;
  }
}
