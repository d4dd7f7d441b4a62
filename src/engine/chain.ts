/**
 * The head of the chain. Every change of it happens here, one at a time: a received block, a forged one, a batch of a
 * download, a switch to a better branch.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { ChainReader, ChainStore } from '../ports/store.ts';
import type { Verifier } from '../ports/verifier.ts';
import type { Rules, TipView } from '../protocol/rules.ts';
import { epochTimeS, slotAt } from '../protocol/slots.ts';
import type { Block, SignatureOracle } from '../protocol/types.ts';
import { BlockRejected, type ForkStatus } from '../protocol/verdict.ts';
import { appendBlocks, BranchRejected, revertTo, switchBranch } from './commit.ts';
import { Lane } from './lane.ts';

/** Blocks of a download committed together: as fast as unsynced writes and still durable. */
const BLOCKS_PER_TRANSACTION = 20;

export type BlockOrigin = 'received' | 'forged' | 'synced';

/** Told after a change is on disk, in the order of the changes. Listeners must not throw. */
export interface ChainListener {
  /** Oldest first. */
  applied?(blocks: readonly Block[], origin: BlockOrigin): void;
  /** Highest first. A switch tells `reverted` before `applied`. */
  reverted?(blocks: readonly Block[]): void;
  finalized?(height: number): void;
}

/** What became of a received block. */
export type ReceiveOutcome =
  | { readonly kind: 'applied' }
  /** It is the tip of a chain to be preferred: somebody should synchronise with who sent it. */
  | { readonly kind: 'betterChain' }
  | { readonly kind: 'ignored'; readonly status: ForkStatus }
  | { readonly kind: 'refused'; readonly rejection: BlockRejected };

export interface ChainDependencies {
  readonly store: ChainStore;
  readonly rules: Rules;
  readonly verifier: Verifier;
  readonly clock: Clock;
  readonly observer: Observer;
}

export class Chain {
  readonly rules: Rules;
  readonly verify: SignatureOracle;
  readonly #store: ChainStore;
  readonly #verifier: Verifier;
  readonly #clock: Clock;
  readonly #observer: Observer;
  readonly #lane = new Lane();
  readonly #listeners: ChainListener[] = [];
  /** Chain time at which the tip was received; undefined when forged, synced or loaded. */
  #tipReceivedAtS: number | undefined;
  #finalizedHeight: number;

  /** @param dependencies.store holds at least the genesis block: see `openGenesis` */
  constructor(dependencies: ChainDependencies) {
    this.rules = dependencies.rules;
    this.#store = dependencies.store;
    this.#verifier = dependencies.verifier;
    this.#clock = dependencies.clock;
    this.#observer = dependencies.observer;
    this.verify = (check) => this.#verifier.verify(check);
    this.#finalizedHeight = this.rules.finalizedHeight(this.#store);
  }

  /** The chain and its state as of now. */
  get state(): ChainReader {
    return this.#store;
  }

  get tip(): TipView {
    const header = this.#store.tip();
    if (header === undefined) throw new ProtocolError('STORE_EMPTY');
    return { header, ...(this.#tipReceivedAtS === undefined ? {} : { receivedAtS: this.#tipReceivedAtS }) };
  }

  get finalizedHeight(): number {
    return this.#finalizedHeight;
  }

  /** Present chain time in whole seconds since the epoch. */
  nowS(): number {
    return epochTimeS(this.#clock.nowMs(), this.rules.params);
  }

  currentSlot(): number {
    return slotAt(this.nowS(), this.rules.params);
  }

  listen(listener: ChainListener): void {
    this.#listeners.push(listener);
  }

  /** Decides what a block that a peer sent is to the tip, and applies it when it is next or wins a tie. */
  receive(block: Block): Promise<ReceiveOutcome> {
    const receivedAtS = this.nowS();
    return this.#lane.run(async () => {
      const tip = this.tip;
      const status = this.rules.forkStatus(tip, { header: block, receivedAtS });
      switch (status) {
        case 'extends':
          return this.#take(block, receivedAtS, () => {
            appendBlocks(this.#store, this.rules, [block], this.#context());
            this.#observer.log('info', 'BLOCK_APPLIED', 'applied a block', {
              height: block.height,
              blockId: block.id,
              transactions: block.numberOfTransactions,
            });
            this.#tell([], [block], 'received');
          });
        case 'tieBreak':
          if (tip.header.height <= this.#finalizedHeight) return { kind: 'ignored', status };
          return this.#take(block, receivedAtS, () => {
            const common = tip.header.height - 1;
            const reverted = switchBranch(this.#store, this.rules, common, [block], this.#context());
            this.#observer.log('info', 'TIE_BROKEN', 'replaced the tip by a block that came in its slot', {
              height: block.height,
              blockId: block.id,
              replacedId: tip.header.id,
            });
            this.#tell(reverted, [block], 'received');
          });
        case 'betterChain':
          return { kind: 'betterChain' };
        case 'doubleForging':
          this.#observer.log('warn', 'BLOCK_DOUBLE_FORGING', 'a delegate forged twice in one place', {
            height: block.height,
            blockId: block.id,
            tipId: tip.header.id,
            delegate: block.generatorPublicKey,
          });
          return { kind: 'ignored', status };
        case 'same':
        case 'discard':
          return { kind: 'ignored', status };
      }
    });
  }

  /**
   * Applies a block of our own. `build` runs when no other change is under way and sees the tip it builds on.
   *
   * @returns the block, or undefined when `build` decided against one
   * @throws BlockRejected when the rules refuse it
   */
  forge(build: (tip: TipView) => Block | undefined): Promise<Block | undefined> {
    return this.#lane.run(async () => {
      const block = build(this.tip);
      if (block === undefined) return undefined;
      this.rules.validateBlock(block, this.verify);
      try {
        appendBlocks(this.#store, this.rules, [block], this.#context());
      } catch (error) {
        throw error instanceof BranchRejected ? error.rejection : error;
      }
      this.#tipReceivedAtS = undefined;
      this.#tell([], [block], 'forged');
      return block;
    });
  }

  /**
   * Has the signatures of blocks checked, on other threads where there are some, so that a later append finds the answers.
   * Changes nothing and may run beside other work.
   */
  async precheck(blocks: readonly Block[]): Promise<void> {
    await this.#verifier.verifyAll(blocks.flatMap((block) => this.rules.blockSignatureChecks(block)));
  }

  /**
   * Appends downloaded blocks, some at a time. Blocks before a refused one are kept.
   *
   * @throws BranchRejected for the first block that is refused
   */
  append(blocks: readonly Block[]): Promise<void> {
    return this.#lane.run(async () => {
      for (let at = 0; at < blocks.length; at += BLOCKS_PER_TRANSACTION) {
        this.#appendGroup(blocks.slice(at, at + BLOCKS_PER_TRANSACTION));
        // Lets timers and sockets have their turn between two commits.
        await new Promise<void>((resolve) => {
          this.#clock.after(0, resolve);
        });
      }
    });
  }

  /**
   * Replaces everything above `commonHeight` by a branch that fork choice prefers, as one unit.
   *
   * @throws BranchRejected when the branch fails; the old tip stands then
   * @throws ProtocolError `SWITCH_NOT_BETTER` or `SWITCH_BELOW_FINALITY`
   */
  switchTo(commonHeight: number, branch: readonly Block[]): Promise<void> {
    return this.#lane.run(() => {
      const tip = this.tip;
      const branchTip = branch.at(-1);
      if (commonHeight < this.#finalizedHeight) {
        throw new ProtocolError('SWITCH_BELOW_FINALITY', { commonHeight, finalizedHeight: this.#finalizedHeight });
      }
      const status = branchTip && this.rules.forkStatus(tip, { header: branchTip });
      if (branchTip === undefined || (status !== 'betterChain' && status !== 'extends')) {
        throw new ProtocolError('SWITCH_NOT_BETTER', { commonHeight, status, tipId: tip.header.id });
      }
      for (const block of branch) this.#validate(block);
      const reverted = switchBranch(this.#store, this.rules, commonHeight, branch, this.#context());
      this.#tipReceivedAtS = undefined;
      this.#observer.log('info', 'CHAIN_SWITCHED', 'changed to a better branch', {
        commonHeight,
        revertedBlocks: reverted.length,
        appliedBlocks: branch.length,
        height: branchTip.height,
        blockId: branchTip.id,
      });
      this.#tell(reverted, branch, 'synced');
    });
  }

  /** Takes back everything above a height. For tools, on a node at rest. */
  rollback(height: number): Promise<void> {
    return this.#lane.run(() => {
      if (height < this.#finalizedHeight) {
        throw new ProtocolError('ROLLBACK_BELOW_FINALITY', { height, finalizedHeight: this.#finalizedHeight });
      }
      const reverted = revertTo(this.#store, height);
      this.#tipReceivedAtS = undefined;
      this.#tell(reverted, [], 'synced');
    });
  }

  /** Resolves when no change is under way. */
  idle(): Promise<void> {
    return this.#lane.idle();
  }

  async #take(block: Block, receivedAtS: number, commit: () => void): Promise<ReceiveOutcome> {
    try {
      await this.precheck([block]);
      this.rules.validateBlock(block, this.verify);
      commit();
      this.#tipReceivedAtS = receivedAtS;
      return { kind: 'applied' };
    } catch (error) {
      const rejection = error instanceof BranchRejected ? error.rejection : error;
      if (!(rejection instanceof BlockRejected)) throw error;
      this.#observer.log('warn', rejection.code, 'refused a block', {
        height: block.height,
        blockId: block.id,
        delegate: block.generatorPublicKey,
        reason: rejection.message,
      });
      return { kind: 'refused', rejection };
    }
  }

  #appendGroup(group: readonly Block[]): void {
    try {
      for (const block of group) this.#validate(block);
      appendBlocks(this.#store, this.rules, group, this.#context());
    } catch (error) {
      const before = error instanceof BranchRejected ? group.slice(0, group.indexOf(error.block)) : [];
      if (before.length > 0) {
        appendBlocks(this.#store, this.rules, before, this.#context());
        this.#tell([], before, 'synced');
      }
      throw error;
    }
    this.#tipReceivedAtS = undefined;
    this.#tell([], group, 'synced');
  }

  #validate(block: Block): void {
    try {
      this.rules.validateBlock(block, this.verify);
    } catch (error) {
      throw error instanceof BlockRejected ? new BranchRejected(block, error) : error;
    }
  }

  #context() {
    return { nowS: this.nowS(), verify: this.verify };
  }

  #tell(reverted: readonly Block[], applied: readonly Block[], origin: BlockOrigin): void {
    for (const listener of this.#listeners) {
      if (reverted.length > 0) listener.reverted?.(reverted);
      if (applied.length > 0) listener.applied?.(applied, origin);
    }
    const finalized = this.rules.finalizedHeight(this.#store);
    if (finalized <= this.#finalizedHeight) return;
    this.#finalizedHeight = finalized;
    for (const listener of this.#listeners) listener.finalized?.(finalized);
  }
}

/**
 * Puts the genesis block into an empty store, or checks that a used one began with it.
 *
 * @throws ProtocolError `GENESIS_MISMATCH` when the store's first block is another one
 */
export function openGenesis(store: ChainStore, rules: Rules, genesis: Block): void {
  const first = store.header(1);
  if (first === undefined) {
    store.transact((writer) => {
      writer.append(genesis, (state) => {
        rules.applyGenesis(state, genesis);
      });
    });
    return;
  }
  if (first.id !== genesis.id || first.payloadHash !== genesis.payloadHash) {
    throw new ProtocolError(
      'GENESIS_MISMATCH',
      { stored: first.id, configured: genesis.id },
      `the data directory belongs to a network with genesis block ${first.id}, not ${genesis.id}: ` +
        'choose another data directory or the network it was made for',
    );
  }
}
