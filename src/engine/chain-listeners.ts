/**
 * Reports each change of the chain to the log, to the metrics, and then to the listeners in the order in which they
 * registered.
 */

import type { Observer } from '../ports/observer.ts';
import type { Block } from '../protocol/types.ts';
import type { BlockBatch } from './commit.ts';

/**
 * The origin of blocks: a gossip message (`received`), this process (`forged`), or a download or a file (`synced`). A
 * change that only reverts blocks also has the origin `synced`.
 */
export type BlockOrigin = 'received' | 'forged' | 'synced';

/**
 * Methods that the chain calls after it has written a change to disk. The chain calls these methods in the order of the
 * changes. The methods must not throw.
 */
export interface ChainListener {
  /** @param blocks the applied blocks, oldest first */
  applied?(blocks: readonly Block[], origin: BlockOrigin): void;
  /**
   * Called when blocks were reverted. If blocks of another branch replace the reverted blocks, `applied` is called
   * next.
   *
   * @param blocks the reverted blocks, highest first
   */
  reverted?(blocks: readonly Block[]): void;
  /** @param height the new finalized height */
  finalized?(height: number): void;
}

/** A change of the chain that is already on disk. */
export interface CommittedBatch extends BlockBatch {
  readonly origin: BlockOrigin;
  /** The reverted blocks, highest first. */
  readonly reverted: readonly Block[];
}

export interface ChainListenersDependencies {
  readonly logger: { log(batch: CommittedBatch): void };
  readonly observer: Pick<Observer, 'count'>;
}

export class ChainListeners {
  readonly #dependencies: ChainListenersDependencies;
  readonly #listeners: ChainListener[] = [];

  constructor(dependencies: ChainListenersDependencies) {
    this.#dependencies = dependencies;
  }

  add(listener: ChainListener): void {
    this.#listeners.push(listener);
  }

  notifyCommitted(batch: CommittedBatch): void {
    const { reverted, blocks, origin } = batch;
    const { logger, observer } = this.#dependencies;
    logger.log(batch);
    if (blocks.length > 0) observer.count('blocks_applied_total', blocks.length, { origin });
    if (reverted.length > 0) {
      observer.count('blocks_reverted_total', reverted.length);
      observer.count('reorgs_total');
    }
    for (const listener of this.#listeners) {
      if (reverted.length > 0) listener.reverted?.(reverted);
      if (blocks.length > 0) listener.applied?.(blocks, origin);
    }
  }

  notifyFinalized(height: number): void {
    for (const listener of this.#listeners) listener.finalized?.(height);
  }
}
