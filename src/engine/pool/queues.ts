/** The five queues of the pool. An id is in one queue at most. Each queue remembers the order of arrival. */

import type { PoolState } from '../../ports/node-api.ts';
import type { PublicKey, Transaction, TransactionId } from '../../protocol/types.ts';

/**
 * The queues in the order in which a transaction passes them. Only group transactions that lack signatures go through
 * `pending`.
 */
export const POOL_STATES: readonly PoolState[] = ['received', 'validated', 'verified', 'pending', 'ready'];

/** A transaction with the data that the pool stores about it. */
export interface Pooled {
  readonly transaction: Transaction;
  /** Time of arrival; Unix time in milliseconds. Moves between queues do not change this time. */
  readonly receivedAtMs: number;
  /** State of the members' signatures; `none` if the transaction needs none or was not verified yet. */
  readonly group: 'none' | 'pending' | 'ready';
  /** True if the transaction was announced to peers. */
  readonly announced: boolean;
  /** Members of whom a signature was verified since the transaction arrived. */
  readonly signers?: readonly PublicKey[];
}

/**
 * The queues of the pool, each with a limit. Adding a transaction respects the limit of its queue. Moving a transaction
 * ignores this limit, because a transaction should not be dropped only because it must be checked again. Instead, all
 * queues together hold at most the sum of all limits, so that moves cannot fill a queue without limit.
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
   * The transactions of a queue, oldest arrival first. The list is a copy, so that transactions may be moved during a walk over
   * it.
   */
  list(state: PoolState): Pooled[] {
    return [...this.#queues[state].values()];
  }

  /** The `count` oldest transactions of a queue, oldest first. */
  oldest(state: PoolState, count: number): Pooled[] {
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
   * @returns false, with nothing changed, if the id is known or the queue is full
   */
  add(state: PoolState, pooled: Pooled): boolean {
    return !this.isFull(state) && this.addBeyondLimit(state, pooled);
  }

  /** Adds a transaction like `add`, but respects only the limit of all queues together. */
  addBeyondLimit(state: PoolState, pooled: Pooled): boolean {
    const { id } = pooled.transaction;
    if (this.has(id) || this.total >= this.perQueueMax * POOL_STATES.length) return false;
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
