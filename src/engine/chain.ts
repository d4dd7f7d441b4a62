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
import type { Block, BlockHeader, SignatureOracle } from '../protocol/types.ts';
import { BlockRejected } from '../protocol/verdict.ts';
import { ChainListeners, type BlockOrigin, type ChainListener } from './chain-listeners.ts';
import { appendBlocks, BranchRejected, finalizedHeightOf, revertTo, switchBranch } from './commit.ts';
import { DiskWatch } from './disk-watch.ts';
import { SerialQueue } from './serial-queue.ts';
import { answerSearches } from './signature-searches.ts';
import { Reception, type ReceiveOutcome } from './reception.ts';
import { isOrderCertain } from './slot-turns.ts';

/**
 * Blocks of a download committed together: as many as peers send at once. The wait for the disk is shared by them all, and
 * the turn that a commit takes from other work stays well below a tenth of a second.
 */
const BLOCKS_PER_TRANSACTION = 34;

export interface ChainDependencies {
  readonly store: ChainStore;
  readonly rules: Rules;
  readonly verifier: Verifier;
  readonly clock: Clock;
  /** What the pauses between two trials of a disk are measured by, which slots need not go on by; `clock` unless given. */
  readonly diskClock?: Pick<Clock, 'nowMs'>;
  readonly observer: Observer;
}

export class Chain {
  readonly rules: Rules;
  readonly verify: SignatureOracle;
  readonly disk: DiskWatch;
  readonly #store: ChainStore;
  readonly #verifier: Verifier;
  readonly #clock: Clock;
  readonly #observer: Observer;
  readonly #queue = new SerialQueue();
  readonly #reception: Reception;
  readonly #listeners: ChainListeners;
  /** Chain time at which the tip was received; undefined when forged, synced or loaded. */
  #tipReceivedAtS: number | undefined;
  #finalizedHeight: number;
  /** Slot in which the tip became the tip of this process. */
  #tipSinceSlot: number;
  /** Blocks that need not be validated again before they are appended. */
  readonly #validated = new WeakSet<Block>();

  /** @param dependencies.store holds at least the genesis block: see `openGenesis` */
  constructor(dependencies: ChainDependencies) {
    this.rules = dependencies.rules;
    this.#store = dependencies.store;
    this.#verifier = dependencies.verifier;
    this.#clock = dependencies.clock;
    this.#observer = dependencies.observer;
    this.#listeners = new ChainListeners(dependencies.observer);
    this.disk = new DiskWatch({ ...dependencies, clock: dependencies.diskClock ?? dependencies.clock });
    this.verify = (check) => this.#verifier.verify(check);
    this.#finalizedHeight = finalizedHeightOf(this.#store, this.rules);
    this.#tipSinceSlot = this.currentSlot();
    this.#reception = new Reception({
      rules: this.rules,
      clock: this.#clock,
      observer: this.#observer,
      verify: this.verify,
      state: () => this.state,
      tip: () => this.tip,
      finalizedHeight: () => this.#finalizedHeight,
      change: (work) => this.#queue.run(work),
      precheck: (block) => this.precheck([block]),
      extend: (block, receivedAtS) => this.#extend(block, receivedAtS),
      replaceTip: (block, receivedAtS) => this.#replaceTip(block, receivedAtS),
    });
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

  /** Lowest height that a rival branch may part at: what is final stays, and so does what can no longer be taken back. */
  get floorHeight(): number {
    const undoFloor = this.#store.undoFloor();
    const kept = undoFloor === undefined ? this.tip.header.height : undoFloor - 1;
    return Math.max(kept, this.#finalizedHeight);
  }

  /** Present chain time in whole seconds since the epoch. */
  nowS(): number {
    return epochTimeS(this.#clock.nowMs(), this.rules.params);
  }

  currentSlot(): number {
    return slotAt(this.nowS(), this.rules.params);
  }

  listen(listener: ChainListener): void {
    this.#listeners.add(listener);
  }

  /** Decides what a block that a peer sent is to the tip, and applies it when it is next or wins a tie. */
  receive(block: Block): Promise<ReceiveOutcome> {
    return this.#reception.receive(block);
  }

  /**
   * Applies a block of our own. `build` runs when no other change is under way and sees the tip it builds on.
   *
   * @returns the block, or undefined when `build` decided against one
   * @throws BlockRejected when the rules refuse it
   */
  forge(build: (tip: TipView) => Block | undefined): Promise<Block | undefined> {
    return this.#queue.run(async () => {
      const block = build(this.tip);
      if (block === undefined) return undefined;
      this.rules.validateBlock(block, this.verify);
      try {
        this.#append([block]);
      } catch (error) {
        throw error instanceof BranchRejected ? error.rejection : error;
      }
      this.#tipReceivedAtS = undefined;
      this.#tell([], [block], 'forged');
      return block;
    });
  }

  /**
   * Checks all that a block shows without its place in a chain: what can be asked of the tip of a chain that we do not have.
   *
   * @throws BlockRejected
   */
  async validateDetached(block: Block): Promise<void> {
    await this.precheck([block]);
    this.rules.validateBlock(block, this.verify);
  }

  /**
   * Has the signatures of blocks checked, on other threads where there are some, so that a later append finds the answers:
   * those that need no state, then those of groups and second keys as they are at the tip. Changes nothing and may run beside
   * other work.
   */
  async precheck(blocks: readonly Block[]): Promise<void> {
    await this.#verifier.verifyAll(blocks.flatMap((block) => this.rules.blockSignatureChecks(block)));
    const searches = blocks.flatMap(({ transactions }) =>
      transactions.flatMap((transaction) => this.rules.signatureSearch(this.state, transaction) ?? []),
    );
    await answerSearches(searches, this.#verifier);
  }

  /** Takes note that another thread of this process has validated a block under the same rules. */
  vouchFor(block: Block): void {
    this.#validated.add(block);
  }

  /**
   * Appends downloaded blocks, some at a time. Blocks that came another way meanwhile are passed over, and those before a
   * refused one are kept.
   *
   * @param perCommit blocks committed together
   * @throws BranchRejected for the first block that is refused
   * @throws ProtocolError `TIP_MOVED` when the tip is another one than the blocks were downloaded for
   */
  append(downloaded: readonly Block[], perCommit = BLOCKS_PER_TRANSACTION): Promise<void> {
    return this.#queue.run(async () => {
      const tip = this.tip.header;
      const blocks = downloaded.filter((block) => block.height > tip.height);
      const first = blocks[0];
      if (first !== undefined && first.previousBlockId !== tip.id) {
        throw new ProtocolError('TIP_MOVED', { height: tip.height, tipId: tip.id, next: first.id });
      }
      for (let at = 0; at < blocks.length; at += perCommit) {
        this.#appendGroup(blocks.slice(at, at + perCommit));
        // Lets timers and sockets have their turn between two commits.
        await new Promise<void>((resolve) => {
          this.#clock.after(0, resolve);
        });
      }
    });
  }

  /**
   * Replaces everything above `commonHeight` by a branch that fork choice prefers, as one unit. When a block of the branch is
   * refused and those before it are to be preferred already, it ends with them: a clock that runs slow refuses the newest
   * blocks of every branch.
   *
   * @throws BranchRejected for the refused block; the old tip stands then, or the branch up to that block
   * @throws ProtocolError `SWITCH_NOT_BETTER`, `SWITCH_BELOW_FINALITY` or `TIP_MOVED`; the old tip stands then
   */
  switchTo(commonHeight: number, branch: readonly Block[]): Promise<void> {
    return this.#queue.run(() => {
      this.#refuseWrongSwitch(commonHeight, branch);
      try {
        this.#switchTo(commonHeight, branch);
      } catch (error) {
        const sound = error instanceof BranchRejected ? branch.slice(0, branch.indexOf(error.block)) : [];
        if (this.prefers(sound.at(-1))) this.#switchTo(commonHeight, sound);
        throw error;
      }
    });
  }

  #refuseWrongSwitch(commonHeight: number, branch: readonly Block[]): void {
    const tip = this.tip.header;
    if (commonHeight < this.#finalizedHeight) {
      throw new ProtocolError('SWITCH_BELOW_FINALITY', { commonHeight, finalizedHeight: this.#finalizedHeight });
    }
    if (!this.prefers(branch.at(-1))) {
      throw new ProtocolError('SWITCH_NOT_BETTER', { commonHeight, blocks: branch.length, tipId: tip.id });
    }
    if (branch[0]?.previousBlockId !== this.state.header(commonHeight)?.id) {
      throw new ProtocolError('TIP_MOVED', { height: tip.height, tipId: tip.id, commonHeight });
    }
  }

  #switchTo(commonHeight: number, branch: readonly Block[]): void {
    for (const block of branch) this.validate(block);
    const reverted = this.#replace(commonHeight, branch);
    this.#tipReceivedAtS = undefined;
    const end = this.tip.header;
    this.#observer.log('info', 'CHAIN_SWITCHED', 'changed to a better branch', {
      commonHeight,
      revertedBlocks: reverted.length,
      appliedBlocks: branch.length,
      height: end.height,
      blockId: end.id,
    });
    this.#tell(reverted, branch, 'synced');
  }

  /** Whether fork choice would have a block, received now, as the tip instead of ours. */
  prefers(branchTip: BlockHeader | undefined): boolean {
    const status = branchTip && this.rules.forkStatus(this.tip, { header: branchTip, receivedAtS: this.nowS() });
    return status === 'betterChain' || status === 'extends' || status === 'tieBreak';
  }

  /** Takes back everything above a height. For tools, on a node at rest. */
  rollback(height: number): Promise<void> {
    return this.#queue.run(() => {
      if (height < this.#finalizedHeight) {
        throw new ProtocolError('ROLLBACK_BELOW_FINALITY', { height, finalizedHeight: this.#finalizedHeight });
      }
      const reverted = this.disk.watch(() => revertTo(this.#store, this.rules, height));
      this.#tipReceivedAtS = undefined;
      this.#tell(reverted, [], 'synced');
    });
  }

  /** Resolves when no change is under way and no received block waits to make one. */
  async idle(): Promise<void> {
    await this.#reception.idle();
    await this.#queue.idle();
  }

  #extend(block: Block, receivedAtS: number): void {
    this.rules.validateBlock(block, this.verify, { state: this.state, nowS: this.nowS() });
    this.#append([block]);
    this.#observer.log('info', 'BLOCK_APPLIED', 'applied a block', {
      height: block.height,
      blockId: block.id,
      transactions: block.numberOfTransactions,
    });
    this.#tipReceivedAtS = receivedAtS;
    this.#tell([], [block], 'received');
  }

  #replaceTip(block: Block, receivedAtS: number): void {
    const replaced = this.tip.header;
    this.rules.validateBlock(block, this.verify);
    const reverted = this.#replace(replaced.height - 1, [block]);
    this.#observer.log('info', 'TIE_BROKEN', 'replaced the tip by a block that came in its slot', {
      height: block.height,
      blockId: block.id,
      replacedId: replaced.id,
    });
    this.#tipReceivedAtS = receivedAtS;
    this.#tell(reverted, [block], 'received');
  }

  #appendGroup(group: readonly Block[]): void {
    try {
      for (const block of group) this.validate(block);
      this.#append(group);
    } catch (error) {
      const before = error instanceof BranchRejected ? group.slice(0, group.indexOf(error.block)) : [];
      if (before.length > 0) {
        this.#append(before);
        this.#tipReceivedAtS = undefined;
        this.#tell([], before, 'synced');
      }
      throw error;
    }
    this.#tipReceivedAtS = undefined;
    this.#tell([], group, 'synced');
  }

  /**
   * Checks what can be said of a block without its place in the chain; quick when its signatures were prechecked.
   *
   * @throws BranchRejected
   */
  validate(block: Block): void {
    if (this.#validated.has(block)) return;
    try {
      this.rules.validateBlock(block, this.verify);
    } catch (error) {
      throw error instanceof BlockRejected ? new BranchRejected(block, error) : error;
    }
  }

  #append(blocks: readonly Block[]): void {
    this.disk.watch(() => appendBlocks(this.#store, this.rules, blocks, this.#context()));
  }

  /** @returns what was reverted, highest first */
  #replace(commonHeight: number, branch: readonly Block[]): readonly Block[] {
    return this.disk.watch(() => switchBranch(this.#store, this.rules, commonHeight, branch, this.#context()));
  }

  #context() {
    return { nowS: this.nowS(), verify: this.verify };
  }

  #tell(reverted: readonly Block[], applied: readonly Block[], origin: BlockOrigin): void {
    const [first] = applied;
    const forBlock = first === undefined ? {} : { forBlockId: first.id, forHeight: first.height };
    for (const block of reverted) {
      this.#observer.log('debug', 'BLOCK_REVERTED', 'reverted a block', {
        slot: slotAt(block.timestamp, this.rules.params),
        height: block.height,
        blockId: block.id,
        delegate: block.generatorPublicKey,
        ...forBlock,
      });
    }
    this.#tellOldOrder(reverted[0] ?? (first && this.state.header(first.height - 1)));
    const lowest = reverted.at(-1);
    if (lowest !== undefined) {
      // In these slots the order of the delegates was that of the branch, which may have been in another round.
      const parent = this.state.header(lowest.height - 1) ?? lowest;
      const fromSlot = slotAt(parent.timestamp, this.rules.params) + 1;
      const fields = { fromSlot, toSlot: this.currentSlot(), ...forBlock };
      this.#observer.log('debug', 'BRANCH_LEFT', 'left a branch', fields);
    }
    this.#listeners.tellChange(reverted, applied, origin);
    const finalized = this.rules.finalizedHeight(this.#store);
    if (finalized <= this.#finalizedHeight) return;
    this.#finalizedHeight = finalized;
    this.#listeners.tellFinalized(finalized);
  }

  /** In the slots since the tip that is left came, another round may have begun elsewhere, with an order that was not known here. */
  #tellOldOrder(leftTip: BlockHeader | undefined): void {
    const fromSlot = this.#tipSinceSlot;
    const toSlot = this.currentSlot();
    this.#tipSinceSlot = toSlot;
    if (leftTip === undefined || isOrderCertain(leftTip, toSlot, this.rules.params)) return;
    const height = leftTip.height + 1;
    this.#observer.log('debug', 'ORDER_OLD', 'stood before a round that others may have begun', {
      ...{ fromSlot, toSlot, height },
    });
  }
}
