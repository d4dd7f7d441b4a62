/**
 * Reports each change of the chain to the log, to the metrics, and then to the listeners in the order in which they
 * registered.
 */

import type { Clock } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { ChainReader } from '../ports/store.ts';
import type { ChainParams } from '../protocol/params.ts';
import { epochTimeS, slotAt } from '../protocol/slots.ts';
import type { Block, BlockHeader } from '../protocol/types.ts';
import type { BlockBatch } from './commit.ts';
import { isOrderCertain } from './slot-owners.ts';

export type BlockOrigin = 'received' | 'forged' | 'synced';

/** Called after a change is on disk, in the order of the changes. Listeners must not throw. */
export interface ChainListener {
  /** @param blocks the applied blocks, oldest first */
  applied?(blocks: readonly Block[], origin: BlockOrigin): void;
  /**
   * Called before `applied` if the chain switches to another branch.
   *
   * @param blocks the reverted blocks, highest first
   */
  reverted?(blocks: readonly Block[]): void;
  finalized?(height: number): void;
}

/** Describes a change of the chain that is on disk. */
export interface CommittedBatch extends BlockBatch {
  readonly origin: BlockOrigin;
  /** The reverted blocks, highest first. */
  readonly reverted: readonly Block[];
}

export interface ChainListenersDependencies {
  readonly params: ChainParams;
  /** The chain as it is after the change. */
  readonly state: Pick<ChainReader, 'header'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly observer: Pick<Observer, 'log' | 'count'>;
}

export class ChainListeners {
  readonly #dependencies: ChainListenersDependencies;
  readonly #listeners: ChainListener[] = [];
  /** Slot in which the current block became the tip of this process. */
  #tipSinceSlot: number;

  constructor(dependencies: ChainListenersDependencies) {
    this.#dependencies = dependencies;
    this.#tipSinceSlot = this.#currentSlot();
  }

  add(listener: ChainListener): void {
    this.#listeners.push(listener);
  }

  notifyCommitted(batch: CommittedBatch): void {
    const { reverted, blocks, origin } = batch;
    const { observer } = this.#dependencies;
    this.#logBatch(batch);
    this.#logRecords(batch);
    if (blocks.length > 0) observer.count('blocks_applied_total', blocks.length, { origin });
    if (reverted.length > 0) {
      observer.count('blocks_reverted_total', reverted.length);
      observer.count('branch_changes_total');
    }
    for (const listener of this.#listeners) {
      if (reverted.length > 0) listener.reverted?.(reverted);
      if (blocks.length > 0) listener.applied?.(blocks, origin);
    }
  }

  notifyFinalized(height: number): void {
    for (const listener of this.#listeners) listener.finalized?.(height);
  }

  /**
   * Logs one line for the operator. The scheduler logs forged blocks, and the synchronizer logs the end of a download.
   */
  #logBatch({ revertAbove, reverted, blocks, origin }: CommittedBatch): void {
    const { observer } = this.#dependencies;
    const tip = blocks.at(-1);
    if (tip === undefined) return;
    const { height, id: blockId } = tip;
    if (origin === 'synced' && revertAbove !== undefined) {
      observer.log('info', 'CHAIN_SWITCHED', 'changed to a better branch', {
        commonHeight: revertAbove,
        revertedBlocks: reverted.length,
        appliedBlocks: blocks.length,
        height,
        blockId,
      });
    }
    if (origin !== 'received') return;
    const [replaced] = reverted;
    if (replaced === undefined) {
      const fields = { height, blockId, transactions: tip.numberOfTransactions };
      observer.log('info', 'BLOCK_APPLIED', 'applied a block', fields);
    } else {
      const fields = { height, blockId, replacedId: replaced.id };
      observer.log('info', 'TIE_BROKEN', 'replaced the tip by a block that arrived in its own slot', fields);
    }
  }

  /** Logs the lines from which `slot-history.ts` derives the events of each slot. */
  #logRecords({ reverted, blocks: [first] }: CommittedBatch): void {
    const { params, state, observer } = this.#dependencies;
    const forBlock = first === undefined ? {} : { forBlockId: first.id, forHeight: first.height };
    for (const block of reverted) {
      observer.log('debug', 'BLOCK_REVERTED', 'reverted a block', {
        slot: slotAt(block.timestamp, params),
        height: block.height,
        blockId: block.id,
        delegate: block.generatorPublicKey,
        ...forBlock,
      });
    }
    this.#logOldOrder(reverted[0] ?? (first && state.header(first.height - 1)));
    const lowest = reverted.at(-1);
    if (lowest === undefined) return;
    // In the slots after the parent, the node used the order of delegates of the old branch. The old branch may have
    // been in another round than the new branch.
    const parent = state.header(lowest.height - 1) ?? lowest;
    const fromSlot = slotAt(parent.timestamp, params) + 1;
    const fields = { fromSlot, toSlot: this.#currentSlot(), ...forBlock };
    observer.log('debug', 'BRANCH_LEFT', 'left a branch', fields);
  }

  /**
   * Logs that the order of the delegates was uncertain in the slots since the old tip arrived. In the slots after the
   * arrival of the old tip, other nodes may have begun another round. This node did not know the order of delegates in
   * the other round.
   */
  #logOldOrder(oldTip: BlockHeader | undefined): void {
    const { params, observer } = this.#dependencies;
    const fromSlot = this.#tipSinceSlot;
    const toSlot = this.#currentSlot();
    this.#tipSinceSlot = toSlot;
    if (oldTip === undefined || isOrderCertain(oldTip, toSlot, params)) return;
    const fields = { fromSlot, toSlot, height: oldTip.height + 1 };
    observer.log('debug', 'ORDER_OLD', 'was before a round that other nodes may have begun', fields);
  }

  #currentSlot(): number {
    const { clock, params } = this.#dependencies;
    return slotAt(epochTimeS(clock.nowMs(), params), params);
  }
}
