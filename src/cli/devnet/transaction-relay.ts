/**
 * Relays transactions between the nodes of a devnet. When one node has accepted a transaction, the relay sends the
 * transaction to all nodes that this node reaches, because the next slot can belong to a delegate of any node.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { JsonObject } from '../../protocol/types.ts';
import type { AgentLink } from './messages.ts';
import type { NodeLinks } from './node-links.ts';

/**
 * Maximum number of known transactions. The relay remembers the keys of these transactions (`knownAs`). If a further
 * node accepts a known transaction, the relay therefore does not send this transaction again. The maximum is several
 * times the size of a pool with default options.
 */
const KNOWN_TRANSACTIONS_MAX = 20_000;

interface Arrived {
  readonly transaction: JsonObject;
  /**
   * The node that accepted the transaction; undefined if this node is unknown. If a fault divides the network into
   * parts, only the nodes in the same part as this node get the transaction.
   */
  readonly at: AgentLink | undefined;
}

export class TransactionRelay {
  readonly #nodes: NodeLinks;
  readonly #known = new LruMap<string, true>(KNOWN_TRANSACTIONS_MAX);
  #arrived: Arrived[] = [];
  /**
   * Transactions that no running node could include in a block. The relay sends these transactions again, together with
   * the next transactions.
   */
  #kept: readonly Arrived[] = [];

  constructor(nodes: NodeLinks) {
    this.#nodes = nodes;
  }

  /** Marks a transaction as known. @returns false if the transaction was already known */
  learn(id: string, transaction: JsonObject): boolean {
    const key = knownAs(id, transaction);
    if (this.#known.get(key) === true) return false;
    this.#known.set(key, true);
    return true;
  }

  /**
   * Forgets which transactions are known, and the transactions that were given to `keep`. Called when the devnet has
   * been reverted to a snapshot.
   */
  forget(): void {
    this.#known.clear();
    this.#kept = [];
  }

  /**
   * Adds a transaction for the next call of `take`.
   *
   * @returns true if this is the first call of `add` since the last call of `take`
   */
  add(arrived: Arrived): boolean {
    this.#arrived.push(arrived);
    return this.#arrived.length === 1;
  }

  /** True if `take` would return transactions that were given to `keep`. */
  get hasKept(): boolean {
    return this.#kept.length > 0;
  }

  /**
   * Keeps transactions that no running node could include in a block. The next call of `take` returns these
   * transactions.
   */
  keep(arrived: readonly Arrived[]): void {
    this.#kept = [...this.#kept, ...arrived].slice(-KNOWN_TRANSACTIONS_MAX);
  }

  /**
   * Removes and returns the transactions that `keep` and `add` have stored since the last call of `take`, except those
   * that `forget`, or the maximum number of kept transactions, has dropped.
   */
  take(): readonly Arrived[] {
    const arrived = [...this.#kept, ...this.#arrived];
    this.#kept = [];
    this.#arrived = [];
    return arrived;
  }

  /**
   * Sends each transaction to all nodes that the accepting node reaches, or to all running nodes if the accepting node
   * is unknown.
   */
  async send(arrived: readonly Arrived[]): Promise<void> {
    for (const { transaction, at } of arrived) {
      const links = at === undefined ? this.#nodes.all() : this.#nodes.reachedBy(at);
      // If no node accepts the transaction, the error is ignored. For example, all nodes refuse a transaction that has
      // entered a block in the meantime.
      await this.#nodes.ask(links, { op: 'transaction', transaction }).catch(() => undefined);
    }
  }
}

/**
 * Key of a transaction in the list of known transactions. A transaction of a multisignature group arrives again with
 * more signatures, so the number of signatures is part of the key.
 */
function knownAs(id: string, { signatures }: JsonObject): string {
  return Array.isArray(signatures) && signatures.length > 0 ? `${id} ${signatures.length}` : id;
}
