/** The five queues of the pool. One id lives in one queue; each queue remembers the order of arrival. */

import type { PoolState } from '../../ports/node-api.ts';
import type { PublicKey, Transaction, TransactionId } from '../../protocol/types.ts';

/** In the order that a transaction goes through them; `pending` is the side room of groups that lack signatures. */
export const POOL_STATES: readonly PoolState[] = ['received', 'validated', 'verified', 'pending', 'ready'];

/** A transaction with what the pool knows of it. */
export interface Pooled {
  readonly transaction: Transaction;
  /** Unix time in milliseconds; moves between queues keep it. */
  readonly receivedAtMs: number;
  /** Where it stands with the signatures of a group, `none` when no group is concerned or before it was verified. */
  readonly group: 'none' | 'pending' | 'ready';
  /** True once others were told of it. */
  readonly announced: boolean;
  /** Members of whom a signature was verified since it came in. */
  readonly signers?: readonly PublicKey[];
}

/**
 * Adding respects a limit per queue. Moves do not, as dropping a transaction because others were looked at again would
 * be arbitrary; so that the moves cannot grow a queue without end, all queues together hold at most as many as all their
 * limits.
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

  /** Transactions in all queues. */
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

  /** Oldest arrival first. A copy, so entries may be moved while it is walked. */
  list(state: PoolState): Pooled[] {
    return [...this.#queues[state].values()];
  }

  /** The `count` oldest arrivals, oldest first. */
  oldest(state: PoolState, count: number): Pooled[] {
    const found: Pooled[] = [];
    for (const pooled of this.#queues[state].values()) {
      if (found.length >= count) break;
      found.push(pooled);
    }
    return found;
  }

  /** False, and nothing changed, when the id is known or there is no room. */
  add(state: PoolState, pooled: Pooled): boolean {
    return !this.isFull(state) && this.addBeyondLimit(state, pooled);
  }

  /** As `add`, with the limit of all queues together as the only one. */
  addBeyondLimit(state: PoolState, pooled: Pooled): boolean {
    const { id } = pooled.transaction;
    if (this.has(id) || this.total >= this.perQueueMax * POOL_STATES.length) return false;
    this.#stateOf.set(id, state);
    this.#queues[state].set(id, pooled);
    return true;
  }

  /** Makes it the newest arrival of another queue. `pooled` replaces what was kept of its id. */
  move(pooled: Pooled, to: PoolState): void {
    const { id } = pooled.transaction;
    if (this.remove(id) === undefined) return;
    this.#stateOf.set(id, to);
    this.#queues[to].set(id, pooled);
  }

  /** Replaces what is kept of its id, in place. */
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
