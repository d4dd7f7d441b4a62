/** Who hears of changes of the chain. */

import type { Observer } from '../ports/observer.ts';
import type { Block } from '../protocol/types.ts';

export type BlockOrigin = 'received' | 'forged' | 'synced';

/** Told after a change is on disk, in the order of the changes. Listeners must not throw. */
export interface ChainListener {
  /** Oldest first. */
  applied?(blocks: readonly Block[], origin: BlockOrigin): void;
  /** Highest first. A switch tells `reverted` before `applied`. */
  reverted?(blocks: readonly Block[]): void;
  finalized?(height: number): void;
}

export class ChainListeners {
  readonly #observer: Pick<Observer, 'count'>;
  readonly #listeners: ChainListener[] = [];

  constructor(observer: Pick<Observer, 'count'>) {
    this.#observer = observer;
  }

  add(listener: ChainListener): void {
    this.#listeners.push(listener);
  }

  /**
   * @param reverted highest first
   * @param applied oldest first
   */
  tellChange(reverted: readonly Block[], applied: readonly Block[], origin: BlockOrigin): void {
    if (applied.length > 0) this.#observer.count('blocks_applied_total', applied.length, { origin });
    if (reverted.length > 0) {
      this.#observer.count('blocks_reverted_total', reverted.length);
      this.#observer.count('branch_changes_total');
    }
    for (const listener of this.#listeners) {
      if (reverted.length > 0) listener.reverted?.(reverted);
      if (applied.length > 0) listener.applied?.(applied, origin);
    }
  }

  tellFinalized(height: number): void {
    for (const listener of this.#listeners) listener.finalized?.(height);
  }
}
