/**
 * Holds the tip and the finalized height of the chain, and the serial queue in which all changes of the chain run. All
 * blocks except the genesis block (`genesis.ts`) enter and leave the chain through `commit`: blocks from peers
 * (`block-importer.ts`), forged blocks, downloaded blocks, and blocks from a file (`node/import-chain.ts`).
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { ChainReader, ChainStore } from '../ports/store.ts';
import type { Verifier } from '../ports/verifier.ts';
import type { Rules, TipView } from '../protocol/rules.ts';
import { epochTimeS, slotAt } from '../protocol/slots.ts';
import type { Block, BlockHeader, SignatureOracle } from '../protocol/types.ts';
import { BlockValidator } from './block-validator.ts';
import { ChangeLogger } from './change-logger.ts';
import { ChainListeners, type BlockOrigin, type ChainListener } from './chain-listeners.ts';
import { BranchRejected, commitBlocks, finalizedHeightOf, type BlockBatch } from './commit.ts';
import { DiskWatch } from './disk-watch.ts';
import { FAR_BEHIND_SLOTS, IndexDeferral, type IndexDeferralDependencies } from './index-deferral.ts';
import { SerialQueue } from './serial-queue.ts';

/**
 * Default maximum number of blocks in one commit of `append`. A node of lisk-sdk sends at most this number of blocks in
 * one answer. This node waits for the disk once for each commit, so a few large commits are faster than many small
 * commits. A commit of this size delays other work by less than a tenth of a second.
 */
const BLOCKS_PER_TRANSACTION = 34;
/**
 * Default maximum number of blocks in one commit of `append` while the indexes of transactions lag behind the chain.
 * During such a lag, the reading processes (separate processes of the node) answer the HTTP requests. It is therefore
 * acceptable that a commit delays other work of the node by 0.2 to 0.3 seconds. In a larger commit, more blocks change
 * the same page of the database before the page is written. The store therefore writes fewer pages.
 */
const BLOCKS_PER_LAGGING_TRANSACTION = 136;

export interface ChainDependencies {
  readonly store: ChainStore;
  readonly rules: Rules;
  readonly verifier: Verifier;
  readonly clock: Clock;
  /**
   * Clock that measures the time between two trial writes to the disk (`DiskWatch`), and between two checks of the
   * index lag (`IndexDeferral`). The default is `clock`. On a devnet, users can stop and set `clock`, but not
   * `diskClock`.
   */
  readonly diskClock?: Clock;
  readonly observer: Observer;
  /** If this member is absent, the indexes never lag behind the chain. */
  readonly deferral?: IndexDeferralOptions | undefined;
  /**
   * The chain calls this function for each block of a commit, during the commit. The node passes a function that tells
   * the watchdog of the process that the main thread is working. The watchdog ends a process whose main thread does not
   * respond for too long, and a switch to another branch is one commit that can take a minute.
   */
  readonly onProgress?: (() => void) | undefined;
}

/**
 * The indexes whose updates a chain is allowed to defer, and the reading processes. Reading processes are separate
 * processes that answer HTTP requests for the node, and query these indexes.
 */
export type IndexDeferralOptions = Pick<IndexDeferralDependencies, 'indexes' | 'users'>;

/** A batch of blocks and the origin of the blocks. */
export interface Commit extends BlockBatch {
  readonly origin: BlockOrigin;
  /**
   * Chain time in whole seconds at which a peer's message brought the new tip. The time is undefined if the tip was
   * forged or downloaded, or became the tip by a rollback.
   */
  readonly receivedAtS?: number;
}

export class Chain {
  readonly rules: Rules;
  readonly validator: BlockValidator;
  readonly disk: DiskWatch;
  readonly #store: ChainStore;
  readonly #clock: Clock;
  readonly #changes = new SerialQueue();
  readonly #listeners: ChainListeners;
  readonly #deferral: IndexDeferral | undefined;
  readonly #onProgress: (() => void) | undefined;
  /**
   * Chain time in whole seconds at which a peer's message brought the tip. The time is undefined if the tip was forged
   * or downloaded, was loaded at the start, or became the tip by a rollback.
   */
  #tipReceivedAtS: number | undefined;
  #finalizedHeight: number;

  /** @param dependencies.store must contain at least the genesis block (see `openGenesis`) */
  constructor(dependencies: ChainDependencies) {
    const { rules, store, verifier, clock, diskClock = clock, observer, deferral, onProgress } = dependencies;
    this.rules = rules;
    this.#store = store;
    this.#onProgress = onProgress;
    this.#clock = clock;
    const logger = new ChangeLogger({ params: rules.params, state: store, clock, observer });
    this.#listeners = new ChainListeners({ logger, observer });
    this.disk = new DiskWatch({ store, clock: diskClock, observer });
    const runExclusive = (work: () => Promise<void>): Promise<void> => this.runExclusive(work);
    this.#deferral =
      deferral && new IndexDeferral({ ...deferral, clock: diskClock, disk: this.disk, observer, runExclusive });
    this.validator = new BlockValidator({ rules, verifier, state: store });
    this.#finalizedHeight = finalizedHeightOf(store, rules);
  }

  /**
   * Gives read access to the chain and to the state of the chain. Each read returns the data at the time of that read.
   */
  get state(): ChainReader {
    return this.#store;
  }

  /** Checks a signature. If the signature cache has the result of the check, the result comes from the cache. */
  get verify(): SignatureOracle {
    return this.validator.verify;
  }

  get tip(): TipView {
    const header = this.#store.tip();
    if (header === undefined) throw new ProtocolError('STORE_EMPTY');
    return { header, ...(this.#tipReceivedAtS === undefined ? {} : { receivedAtS: this.#tipReceivedAtS }) };
  }

  get finalizedHeight(): number {
    return this.#finalizedHeight;
  }

  /**
   * Height of the highest block that the node cannot revert, because the block is final or the store has no undo record
   * of the block. The node can switch to another branch only if the branch contains this block.
   */
  get floorHeight(): number {
    const undoFloor = this.#store.undoFloor();
    const kept = undoFloor === undefined ? this.tip.header.height : undoFloor - 1;
    return Math.max(kept, this.#finalizedHeight);
  }

  /** Present chain time in whole seconds since the epoch of the network. */
  nowS(): number {
    return epochTimeS(this.#clock.nowMs(), this.rules.params);
  }

  currentSlot(): number {
    return slotAt(this.nowS(), this.rules.params);
  }

  listen(listener: ChainListener): void {
    this.#listeners.add(listener);
  }

  /** Runs `work` when no other change of the chain is running. Other changes wait until `work` has ended. */
  runExclusive<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#changes.run(work);
  }

  /** Resolves when all changes that are queued at the time of the call have ended. */
  idle(): Promise<void> {
    return this.#changes.idle();
  }

  /**
   * Reverts and appends blocks atomically, and then informs the listeners. Call this method inside `runExclusive`, and
   * only with blocks that this node has forged, or that `BlockValidator` has accepted.
   *
   * @throws BranchRejected for the first block that the rules refuse
   * @throws ProtocolError `STORE_WRITE_FAILED` or `STORE_TAKEN_OVER` if the store cannot be written; or an error of
   *   `ChainWriter.revert`. After each of these errors and after `BranchRejected`, the chain is unchanged, and no
   *   listener is called
   */
  commit({ origin, receivedAtS, ...batch }: Commit): void {
    const context = { nowS: this.nowS(), verify: this.verify };
    const reverted = this.disk.watch(() => commitBlocks(this.#store, this.rules, batch, context, this.#onProgress));
    this.#tipReceivedAtS = receivedAtS;
    this.#listeners.notifyCommitted({ ...batch, origin, reverted });
    const finalized = this.rules.finalizedHeight(this.#store);
    if (finalized <= this.#finalizedHeight) return;
    this.#finalizedHeight = finalized;
    this.#listeners.notifyFinalized(finalized);
  }

  /**
   * Applies a block that this node forges. `build` gets the tip, and runs when no other change of the chain is running.
   *
   * @returns the block; undefined if `build` returned undefined
   * @throws BlockRejected if the rules refuse the block; or another error of `build` or `commit`
   */
  forge(build: (tip: TipView) => Block | undefined): Promise<Block | undefined> {
    return this.runExclusive(() => {
      const block = build(this.tip);
      if (block === undefined) return undefined;
      try {
        this.validator.validate(block);
        this.commit({ blocks: [block], origin: 'forged' });
      } catch (error) {
        throw error instanceof BranchRejected ? error.rejection : error;
      }
      return block;
    });
  }

  /**
   * Appends downloaded blocks in one or more commits. The method skips blocks up to the height of the tip, because the
   * chain already has blocks at these heights. If the rules refuse a block, the blocks before the refused block stay in
   * the chain. If the blocks are far behind the network (`FAR_BEHIND_SLOTS`), the indexes can still lag behind the
   * chain after this method has ended. The method `completeIndexes` ends this lag.
   *
   * @param perCommit maximum number of blocks in one commit; by default `BLOCKS_PER_TRANSACTION`, or
   *   `BLOCKS_PER_LAGGING_TRANSACTION` while the indexes lag
   * @throws BranchRejected for the first refused block; or another error of `commit` or `completeIndexes`
   * @throws ProtocolError `TIP_MOVED` if the blocks no longer follow the tip
   */
  append(downloaded: readonly Block[], perCommit?: number): Promise<void> {
    return this.runExclusive(async () => {
      const tip = this.tip.header;
      const blocks = downloaded.filter((block) => block.height > tip.height);
      const first = blocks[0];
      if (first !== undefined && first.previousBlockId !== tip.id) {
        throw new ProtocolError('TIP_MOVED', { height: tip.height, tipId: tip.id, next: first.id });
      }
      const isFarBehind = this.#isFarBehind(blocks.at(-1));
      // The next line can cause a backfill of the indexes. If the backfill fails, the method throws and appends no
      // block.
      await (isFarBehind ? this.#deferral?.limit() : this.#deferral?.end());
      let at = 0;
      while (at < blocks.length) {
        if (isFarBehind) this.#deferral?.begin();
        const usual = this.#deferral?.isLagging === true ? BLOCKS_PER_LAGGING_TRANSACTION : BLOCKS_PER_TRANSACTION;
        const end = at + (perCommit ?? usual);
        this.#appendGroup(blocks.slice(at, end));
        at = end;
        await this.#deferral?.limit();
        // Callbacks of timers and sockets can run in this pause between two commits.
        await new Promise<void>((resolve) => {
          this.#clock.after(0, resolve);
        });
      }
    });
  }

  /**
   * Writes the missing entries of the indexes after a download. Does nothing if the indexes do not lag.
   *
   * @throws ProtocolError any error of `IndexDeferral.end`
   */
  completeIndexes(): Promise<void> {
    return this.runExclusive(() => this.#deferral?.end());
  }

  /** True while the node writes the missing entries of the indexes. The node commits no block during this time. */
  get isCompletingIndexes(): boolean {
    return this.#deferral?.isBackfilling === true;
  }

  /** Stops the timer that checks how far the indexes lag. Call this method when the node stops. */
  stop(): void {
    this.#deferral?.stop();
  }

  #isFarBehind(block: Block | undefined): boolean {
    if (block === undefined) return false;
    return this.currentSlot() - slotAt(block.timestamp, this.rules.params) >= FAR_BEHIND_SLOTS;
  }

  #appendGroup(group: readonly Block[]): void {
    try {
      for (const block of group) this.validator.validate(block);
      this.commit({ blocks: group, origin: 'synced' });
    } catch (error) {
      const before = error instanceof BranchRejected ? group.slice(0, group.indexOf(error.block)) : [];
      if (before.length > 0) this.commit({ blocks: before, origin: 'synced' });
      throw error;
    }
  }

  /**
   * In one commit, replaces all blocks above `commonHeight` by a branch that fork choice prefers. If the rules refuse a
   * block of the branch, the method shortens the branch to the blocks before the refused block. The method then
   * switches to the shortened branch only if fork choice prefers the last block of this branch to the old tip. The
   * reason is that a node whose clock is behind refuses the newest blocks of every branch. Such a node must be able to
   * switch to a part of a branch.
   *
   * @param branch the blocks above `commonHeight`, oldest first
   * @throws BranchRejected if the rules refuse a block of the branch. If the method has switched to the shortened
   *   branch, the tip is then the last block of this branch. Otherwise, the chain is unchanged. The method also throws
   *   the other errors of `commit`, and the errors of `completeIndexes`
   * @throws ProtocolError `SWITCH_BELOW_FINALITY` if a block to revert is final; `SWITCH_NOT_BETTER` if fork choice
   *   does not prefer the branch; `TIP_MOVED` if the branch does not follow our block at `commonHeight`. After each of
   *   these errors, the chain is unchanged
   */
  switchTo(commonHeight: number, branch: readonly Block[]): Promise<void> {
    return this.runExclusive(async () => {
      await this.#deferral?.end();
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

  #switchTo(commonHeight: number, branch: readonly Block[]): void {
    for (const block of branch) this.validator.validate(block);
    this.commit({ revertAbove: commonHeight, blocks: branch, origin: 'synced' });
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

  /**
   * Returns true if fork choice would prefer `branchTip` to our tip if `branchTip` arrived now. Returns false if
   * `branchTip` is undefined.
   */
  prefers(branchTip: BlockHeader | undefined): boolean {
    const status = branchTip && this.rules.forkStatus(this.tip, { header: branchTip, receivedAtS: this.nowS() });
    return status === 'betterChain' || status === 'extends' || status === 'tieBreak';
  }

  /**
   * Reverts all blocks above a height. The command `bloomery rollback` calls this method while the node does not run.
   *
   * @throws ProtocolError `ROLLBACK_BELOW_FINALITY` if a block to revert is final; or an error of `commit`, such as
   *   `UNDO_RECORD_MISSING`
   */
  rollback(height: number): Promise<void> {
    return this.runExclusive(() => {
      if (height < this.#finalizedHeight) {
        throw new ProtocolError('ROLLBACK_BELOW_FINALITY', { height, finalizedHeight: this.#finalizedHeight });
      }
      this.commit({ revertAbove: height, blocks: [], origin: 'synced' });
    });
  }
}
