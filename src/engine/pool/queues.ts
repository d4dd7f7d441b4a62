/**
 * Stores the transactions of the pool in five queues. A transaction is in at most one queue. Each queue keeps its
 * transactions in the order in which they entered the queue.
 */

import type { PoolState } from '../../ports/node-api.ts';
import type { PublicKey, Transaction, TransactionId } from '../../protocol/types.ts';

/**
 * The queues in the order in which a transaction passes them. Only transactions that still need signatures from members
 * of a multisignature account enter `pending`.
 */
export const POOL_STATES: readonly PoolState[] = ['received', 'validated', 'verified', 'pending', 'ready'];

/** A transaction and the data that the pool stores about it. */
export interface Pooled {
  readonly transaction: Transaction;
  /**
   * Unix time of arrival in milliseconds; for a transaction of a reverted block, the time of the revert. Moves between
   * queues do not change this time.
   */
  readonly receivedAtMs: number;
  /**
   * State of the members' signatures: `pending` if some are missing, `ready` if there are enough. `none` means that the
   * transaction needs no members' signatures, or that the pool has not verified the transaction yet.
   */
  readonly group: 'none' | 'pending' | 'ready';
  /** If false, the node announces the transaction to peers when the pool has verified the transaction. */
  readonly announced: boolean;
  /** Public keys of the group members whose signatures were added after the arrival of the transaction. */
  readonly signers?: readonly PublicKey[];
}

/**
 * The five queues, with a limit for each queue and a limit for all queues together. A full queue refuses new
 * transactions, except the transactions of reverted blocks. A move to another queue ignores the limit of that queue.
 * If this limit applied to moves, the pool would sometimes drop a transaction only because the transaction must be
 * verified again. Moves do not change the total number, so the limit for all queues together still holds.
 */
export class PoolQueues {
  readonly perQueueMax: number;
  readonly #stateOf = new Map<TransactionId, PoolState>();
  readonly #queues: Readonly<Record<PoolState, Map<TransactionId, Pooled>>> = {
    received: new Map(),
    validated: new Map(),
    verified: new Map(),
    pending: new Map(),
    ready: new Map(),
  };

  constructor(perQueueMax: number) {
    this.perQueueMax = perQueueMax;
  }

  /** Number of transactions in all queues. */
  get total(): number {
    return this.#stateOf.size;
  }

  size(state: PoolState): number {
    return this.#queues[state].size;
  }

  isFull(state: PoolState): boolean {
    return this.size(state) >= this.perQueueMax;
  }

  /** True if all queues together are full, so that not even `addBeyondLimit` adds a transaction. */
  get areAllFull(): boolean {
    return this.total >= this.perQueueMax * POOL_STATES.length;
  }

  has(id: TransactionId): boolean {
    return this.#stateOf.has(id);
  }

  stateOf(id: TransactionId): PoolState | undefined {
    return this.#stateOf.get(id);
  }

  get(id: TransactionId): Pooled | undefined {
    const state = this.#stateOf.get(id);
    return state === undefined ? undefined : this.#queues[state].get(id);
  }

  /**
   * Returns the transactions of a queue, in the order in which they entered the queue. The list is a copy, so the
   * caller can move transactions while it reads the list.
   */
  list(state: PoolState): Pooled[] {
    return [...this.#queues[state].values()];
  }

  /** Returns the first transactions of a queue, at most `count`, in the order in which they entered the queue. */
  first(state: PoolState, count: number): Pooled[] {
    const found: Pooled[] = [];
    for (const pooled of this.#queues[state].values()) {
      if (found.length >= count) break;
      found.push(pooled);
    }
    return found;
  }

  /**
   * Adds a transaction to a queue.
   *
   * @returns false if a queue already has the id, if the queue is full, or if all queues together are full. In these
   *   cases, the queues do not change
   */
  add(state: PoolState, pooled: Pooled): boolean {
    return !this.isFull(state) && this.addBeyondLimit(state, pooled);
  }

  /**
   * Adds a transaction like `add`, but ignores the limit of the queue. The method applies only the limit for all queues
   * together.
   */
  addBeyondLimit(state: PoolState, pooled: Pooled): boolean {
    const { id } = pooled.transaction;
    if (this.has(id) || this.areAllFull) return false;
    this.#stateOf.set(id, state);
    this.#queues[state].set(id, pooled);
    return true;
  }

  /** Moves a transaction to the end of another queue. `pooled` replaces the old entry. */
  move(pooled: Pooled, to: PoolState): void {
    const { id } = pooled.transaction;
    if (this.remove(id) === undefined) return;
    this.#stateOf.set(id, to);
    this.#queues[to].set(id, pooled);
  }

  /** Replaces the entry of a transaction without moving it. */
  replace(pooled: Pooled): void {
    const { id } = pooled.transaction;
    const state = this.#stateOf.get(id);
    if (state !== undefined) this.#queues[state].set(id, pooled);
  }

  remove(id: TransactionId): Pooled | undefined {
    const state = this.#stateOf.get(id);
    if (state === undefined) return undefined;
    const pooled = this.#queues[state].get(id);
    this.#stateOf.delete(id);
    this.#queues[state].delete(id);
    return pooled;
  }
}
