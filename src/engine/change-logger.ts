/**
 * Writes the log lines about each change of the chain. For each change, at most one line has the level `info`. This
 * line is for the operator. All other lines have the level `debug`. The class `SlotHistory` reads the lines with the
 * level `debug`, and stores the events of these lines by slot.
 */

import type { Clock } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { ChainReader } from '../ports/store.ts';
import type { ChainParams } from '../protocol/params.ts';
import { epochTimeS, slotAt } from '../protocol/slots.ts';
import type { BlockHeader } from '../protocol/types.ts';
import type { CommittedBatch } from './chain-listeners.ts';
import { isOrderCertain } from './slot-owners.ts';

export interface ChangeLoggerDependencies {
  readonly params: ChainParams;
  /** The chain after the change. */
  readonly state: Pick<ChainReader, 'header'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly observer: Pick<Observer, 'log'>;
}

export class ChangeLogger {
  readonly #dependencies: ChangeLoggerDependencies;
  /**
   * Slot in which the current tip became the tip. If the tip has not changed since the process started, this is the
   * slot of the start.
   */
  #tipSinceSlot: number;

  constructor(dependencies: ChangeLoggerDependencies) {
    this.#dependencies = dependencies;
    this.#tipSinceSlot = this.#currentSlot();
  }

  log(batch: CommittedBatch): void {
    this.#logForOperator(batch);
    this.#logForSlotHistory(batch);
  }

  /**
   * Logs a received block or a reorg for the operator. The forging scheduler logs forged blocks, and the synchronizer
   * logs the end of a download.
   */
  #logForOperator({ revertAbove, reverted, blocks, origin }: CommittedBatch): void {
    const { observer } = this.#dependencies;
    const tip = blocks.at(-1);
    if (tip === undefined) return;
    const { height, id: blockId } = tip;
    // It is possible that the tip moved to the branch while the node downloaded the branch. In this case, no block is
    // reverted.
    if (origin === 'synced' && revertAbove !== undefined && reverted.length > 0) {
      observer.log('info', 'CHAIN_REORG', 'reorg to a better branch', {
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
      observer.log('info', 'TIE_BROKEN', 'replaced the tip by a rival that fork choice prefers', fields);
    }
  }

  /** Writes the log lines from which the class `SlotHistory` takes its events. */
  #logForSlotHistory({ reverted, blocks: [first] }: CommittedBatch): void {
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
    // In the slots since the common block of the old and the new branch, the node used the delegate order of the old
    // branch. In the new branch, it is possible that another round with another delegate order began in these slots.
    const parent = state.header(lowest.height - 1) ?? lowest;
    const fromSlot = slotAt(parent.timestamp, params) + 1;
    const fields = { fromSlot, toSlot: this.#currentSlot(), ...forBlock };
    observer.log('debug', 'BRANCH_ABANDONED', 'left a branch', fields);
  }

  /**
   * Logs the range of slots during which the old tip was the tip. The range ends with the current slot, because the
   * change of the chain has just replaced the old tip. The method logs the range only if the old tip left the order of
   * the delegates in the current slot uncertain. Each round has its own order and a fixed number of blocks. The order
   * is uncertain if the slots after the old tip are enough for the remaining blocks of the round: perhaps other nodes
   * forged these blocks, and a later round began, before this node got the blocks.
   */
  #logOldOrder(oldTip: BlockHeader | undefined): void {
    const { params, observer } = this.#dependencies;
    const fromSlot = this.#tipSinceSlot;
    const toSlot = this.#currentSlot();
    this.#tipSinceSlot = toSlot;
    if (oldTip === undefined || isOrderCertain(oldTip, toSlot, params)) return;
    const fields = { fromSlot, toSlot, height: oldTip.height + 1 };
    const message = 'the order of delegates was uncertain: other nodes may have begun another round';
    observer.log('debug', 'DELEGATE_ORDER_UNCERTAIN', message, fields);
  }

  #currentSlot(): number {
    const { clock, params } = this.#dependencies;
    return slotAt(epochTimeS(clock.nowMs(), params), params);
  }
}
