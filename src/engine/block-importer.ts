/**
 * Imports a block from a peer in these steps:
 *
 * 1. screen: apply fork choice, then check header, payload hash, slot owner and time. Screening verifies only one
 *    signature, the signature of the block, so a flood of invalid blocks costs little time;
 * 2. verify the signatures of the transactions. If there are more than `INLINE_CHECKS_MAX` signatures
 *    (`workers/verifier-pool.ts`), worker threads verify them, while the main thread does other work;
 * 3. validate: repeat fork choice, because the tip can have changed during step 2, then validate the block;
 * 4. commit the block and notify the listeners: `Chain.commit`.
 *
 * No other change of the chain can run during steps 1, 3 and 4. Other changes can run during step 2. For example, this
 * node can forge a block during step 2.
 */

import type { Clock } from '../ports/clock.ts';
import type { LogFields, Observer } from '../ports/observer.ts';
import { momentMs, slotAt } from '../protocol/slots.ts';
import type { Block } from '../protocol/types.ts';
import { BlockRejected, isByClock, type ForkStatus } from '../protocol/verdict.ts';
import { BlockWarnings } from './block-warnings.ts';
import type { Chain } from './chain.ts';
import { BranchRejected } from './commit.ts';
import type { UnappliedBlocks } from './forge/unapplied-blocks.ts';
import { SerialQueue } from './serial-queue.ts';

/** The result of an import. */
export type ImportOutcome =
  | { readonly kind: 'applied' }
  /**
   * The block is the tip of a better chain. The header, signature, payload hash and time of the block are valid, but
   * the node has not verified the transactions of the block. The node should then synchronise with the peer that sent
   * the block.
   */
  | { readonly kind: 'betterChain' }
  | { readonly kind: 'ignored'; readonly status: ForkStatus }
  | { readonly kind: 'refused'; readonly rejection: BlockRejected };

export interface BlockImporterDependencies {
  readonly chain: Chain;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly observer: Pick<Observer, 'log' | 'observe'>;
  /** Receives the blocks that can neither extend nor replace the tip. */
  readonly unapplied?: Pick<UnappliedBlocks, 'note'>;
}

/**
 * The kind `fits` means that the block follows the tip, or wins a tie-break against the tip. A decision of any other
 * kind is the outcome of the import.
 */
type Decision = { readonly kind: 'fits'; readonly status: 'extends' | 'tieBreak' } | ImportOutcome;

export class BlockImporter {
  readonly #dependencies: BlockImporterDependencies;
  readonly #chain: Chain;
  readonly #warnings: BlockWarnings;
  /**
   * Runs the imports one after the other, in the order of arrival. The next import does not begin while the worker
   * threads verify the signatures of the current block.
   */
  readonly #arrivals = new SerialQueue();

  constructor(dependencies: BlockImporterDependencies) {
    this.#dependencies = dependencies;
    this.#chain = dependencies.chain;
    this.#warnings = new BlockWarnings(dependencies.clock, dependencies.observer);
  }

  /**
   * Compares a block from a peer with the tip. If the block follows the tip, the method validates the block and appends
   * the block to the chain. If the block wins a tie-break against the tip, the method validates the block and replaces
   * the tip with the block. A final tip is never replaced. If the rules refuse the block, the promise resolves with an
   * outcome of the kind `refused`. The promise rejects only if the import fails for another reason, such as a failed
   * write to the store.
   */
  import(block: Block): Promise<ImportOutcome> {
    const receivedAtS = this.#chain.nowS();
    return this.#arrivals.run(() => this.#import(block, receivedAtS));
  }

  /** Waits for the imports that are queued at the time of the call, then for the queued changes of the chain. */
  async idle(): Promise<void> {
    await this.#arrivals.idle();
    await this.#chain.idle();
  }

  async #import(block: Block, receivedAtS: number): Promise<ImportOutcome> {
    const chain = this.#chain;
    try {
      const screened = await chain.runExclusive(() => this.#screen(block, receivedAtS));
      if (screened.kind !== 'fits') return screened;
      await chain.validator.precheckSignatures([block]);
      return await chain.runExclusive(() => this.#validateAndCommit(block, receivedAtS));
    } catch (error) {
      return this.#refused(block, error);
    }
  }

  /**
   * Compares a block with the tip. If the block follows the tip or wins a tie-break, the method checks the header,
   * signature, payload hash and slot owner of the block. The method also checks that the slot of the block has begun.
   * For any other block, the method returns the result of `#applyForkChoice`. This method does not check the signatures
   * of the transactions, because the check of many signatures takes long.
   *
   * @throws BlockRejected
   */
  #screen(block: Block, receivedAtS: number): Decision {
    const { rules, verify, state } = this.#chain;
    const decision = this.#applyForkChoice(block, receivedAtS);
    if (decision.kind !== 'fits') return decision;
    rules.screenBlock(block, verify, decision.status === 'extends' ? this.#placeAtTip() : undefined);
    rules.verifySlotOwner(state, block);
    this.#refuseFuture(block);
    return decision;
  }

  /**
   * Applies fork choice to a block.
   *
   * @returns `fits`, or the outcome of the import if the block can neither extend nor replace the tip
   * @throws BlockRejected if a check of the block fails. If fork choice returns `doubleForging`, the method checks the
   *   header, signature and payload hash of the block. If fork choice returns `betterChain` and the generator of the
   *   block is a registered delegate, the method makes the same checks, and checks that the slot of the block has
   *   begun. If fork choice returns `discard`, only `UnappliedBlocks.note` makes checks. In all other cases, the method
   *   makes no check
   */
  #applyForkChoice(block: Block, receivedAtS: number): Decision {
    const { rules, verify, state, tip, finalizedHeight } = this.#chain;
    const { unapplied } = this.#dependencies;
    const status = rules.forkStatus(tip, { header: block, receivedAtS });
    switch (status) {
      case 'extends':
        return { kind: 'fits', status };
      case 'tieBreak':
        return tip.header.height <= finalizedHeight ? { kind: 'ignored', status } : { kind: 'fits', status };
      case 'betterChain':
        // A received block can start a sync only if the generator of the block is a registered delegate. The node does
        // not have the state of the block's branch, so the node looks for the delegate in the state of the node's own
        // branch. Branches that split a short time ago have nearly the same delegates. The node does not check the
        // signatures of the transactions here. This check would not stop a malicious delegate, because the delegate can
        // also sign a block without transactions.
        if (state.delegate(block.generatorPublicKey) === undefined) return { kind: 'ignored', status };
        rules.screenBlock(block, verify);
        this.#refuseFuture(block);
        unapplied?.note(block);
        return { kind: 'betterChain' };
      case 'doubleForging':
        // The signature of the header proves that the delegate in the header made the block. If the node did not check
        // the signature, anybody could accuse a delegate of double forging.
        rules.screenBlock(block, verify);
        this.#warn(block, 'BLOCK_DOUBLE_FORGING', 'a delegate forged two rival blocks', {
          height: block.height,
          blockId: block.id,
          tipId: tip.header.id,
          delegate: block.generatorPublicKey,
        });
        unapplied?.note(block);
        return { kind: 'ignored', status };
      case 'discard':
        unapplied?.note(block);
        return { kind: 'ignored', status };
      case 'same':
        return { kind: 'ignored', status };
    }
  }

  /**
   * Applies fork choice again and validates the block. Then appends the block to the chain, or replaces the tip with
   * the block. Before the call, step 2 of the import has verified the signatures of the transactions.
   *
   * @throws BranchRejected or BlockRejected if the rules refuse the block; or another error of `Chain.commit`
   */
  #validateAndCommit(block: Block, receivedAtS: number): ImportOutcome {
    const chain = this.#chain;
    const decision = this.#applyForkChoice(block, receivedAtS);
    if (decision.kind !== 'fits') return decision;
    const received = { blocks: [block], origin: 'received', receivedAtS } as const;
    if (decision.status === 'extends') {
      chain.validator.validate(block, this.#placeAtTip());
      chain.commit(received);
    } else {
      // The block replaces the tip, so the block and the tip have the same parent. The call of `validate` passes no
      // context. A context would have to contain the state at this parent, but the store has only the state at the tip.
      chain.validator.validate(block);
      chain.commit({ ...received, revertAbove: chain.tip.header.height - 1 });
    }
    const { clock, observer } = this.#dependencies;
    const delayMs = clock.nowMs() - momentMs(block.timestamp, chain.rules.params);
    observer.observe('block_delay_seconds', Math.max(0, delayMs) / 1000);
    return { kind: 'applied' };
  }

  /**
   * Turns the error of an import into the outcome of the import, and logs the refusal of the block (at a limited rate:
   * `BlockWarnings`).
   *
   * @throws the error itself if the error is not a rejection by the rules
   */
  #refused(block: Block, error: unknown): ImportOutcome {
    const rejection = error instanceof BranchRejected ? error.rejection : error;
    if (!(rejection instanceof BlockRejected)) throw error;
    this.#warn(block, rejection.code, 'refused a block', {
      slot: slotAt(block.timestamp, this.#chain.rules.params),
      height: block.height,
      blockId: block.id,
      delegate: block.generatorPublicKey,
      reason: rejection.message,
      ...(isByClock(rejection) ? { isByClock: true } : {}),
    });
    return { kind: 'refused', rejection };
  }

  #warn(block: Block, code: string, message: string, fields: LogFields): void {
    const slot = slotAt(block.timestamp, this.#chain.rules.params);
    const currentSlot = this.#chain.currentSlot();
    const isOfDelegate = this.#chain.state.delegate(block.generatorPublicKey) !== undefined;
    this.#warnings.warn({ code, message, slot, currentSlot, isOfDelegate, fields });
  }

  /** @throws BlockRejected `BLOCK_TIMESTAMP_INVALID` for a block whose slot has not begun */
  #refuseFuture(block: Block): void {
    const slot = slotAt(block.timestamp, this.#chain.rules.params);
    const currentSlot = this.#chain.currentSlot();
    if (slot <= currentSlot) return;
    throw new BlockRejected('BLOCK_TIMESTAMP_INVALID', 'Invalid block timestamp', { slot, currentSlot });
  }

  #placeAtTip() {
    return { state: this.#chain.state, nowS: this.#chain.nowS() };
  }
}
