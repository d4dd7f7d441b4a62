/**
 * Groups the open connections by the address of the client, and limits the number of connections. Chooses the
 * connection that the node closes to make room for a new connection. A stranger is a client that is not trusted.
 */

import type { AdmissionLimits } from './limits.ts';
import { RESERVED_SHARE } from './limits.ts';

/** The part of a connection that this file uses. */
export interface CountedConnection {
  /** Key under which the limits count the client (`clientKey`). */
  readonly key: string;
  readonly isTrusted: boolean;
  /**
   * True if three conditions hold: the node handles no request of the connection, sends no answer on the connection,
   * and holds no bytes that wait for the next turn of the connection (`fair-scheduler.ts`). A connection can be idle
   * even if the node has read a part of the head of a request. A connection in the phase `lingering` is never idle.
   */
  readonly isIdle: boolean;
  cutForNewcomer(): void;
}

/** Returns the maximum number of connections of all strangers (untrusted clients) together. */
export function strangersMaxOf(connectionsMax: number): number {
  return connectionsMax - Math.ceil(connectionsMax * RESERVED_SHARE);
}

type Limits = Pick<AdmissionLimits, 'connectionsMax' | 'connectionsPerAddressMax'>;

export class Connections<T extends CountedConnection> {
  readonly #limits: Limits;
  readonly #strangersMax: number;
  /** Open connections in the order of their arrival. */
  readonly #open = new Set<T>();
  readonly #byKey = new Map<string, Set<T>>();
  #strangers = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#strangersMax = strangersMaxOf(limits.connectionsMax);
  }

  get size(): number {
    return this.#open.size;
  }

  get strangers(): number {
    return this.#strangers;
  }

  all(): Iterable<T> {
    return this.#open;
  }

  of(key: string): Iterable<T> {
    return this.#byKey.get(key) ?? [];
  }

  /** True while all HTTP processes together have the maximum number of connections. */
  isFullInTotal = false;

  /**
   * Decides whether a new connection is allowed to stay. To make room for the new connection of a stranger (an
   * untrusted client), the method can close an idle connection of another stranger (`makeRoom`).
   *
   * @returns the reason to close the new connection; undefined if it is allowed to stay
   */
  refusalReason(key: string, isTrusted: boolean): 'address_connections' | 'connections' | undefined {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits;
    if (isTrusted) return this.isFullInTotal || this.#open.size >= connectionsMax ? 'connections' : undefined;
    if ((this.#byKey.get(key)?.size ?? 0) >= connectionsPerAddressMax) return 'address_connections';
    if (this.#strangers < this.#strangersMax || this.makeRoom(key)) return undefined;
    return 'connections';
  }

  add(connection: T): void {
    this.#open.add(connection);
    if (!connection.isTrusted) this.#strangers += 1;
    const own = this.#byKey.get(connection.key);
    if (own === undefined) this.#byKey.set(connection.key, new Set([connection]));
    else own.add(connection);
  }

  delete(connection: T): void {
    if (!this.#open.delete(connection)) return;
    if (!connection.isTrusted) this.#strangers -= 1;
    const own = this.#byKey.get(connection.key);
    own?.delete(connection);
    if (own?.size === 0) this.#byKey.delete(connection.key);
  }

  /**
   * Makes room for a new connection of the address `key`: closes the oldest idle connection of the stranger (untrusted
   * client) with the most connections. The method closes no connection if this stranger has at most one connection more
   * than the address `key` has now.
   *
   * @returns false if no connection was closed
   */
  makeRoom(key: string): boolean {
    let most: Iterable<T> = [];
    let mostCount = (this.#byKey.get(key)?.size ?? 0) + 1;
    for (const own of this.#byKey.values()) {
      const [first] = own;
      if (own.size <= mostCount || first?.isTrusted === true) continue;
      most = own;
      mostCount = own.size;
    }
    return this.#closeIdle(most);
  }

  /** Closes the oldest idle connection of an address. Does nothing if the address has no idle connection. */
  closeIdleOf(key: string): void {
    this.#closeIdle(this.of(key));
  }

  #closeIdle(connections: Iterable<T>): boolean {
    for (const connection of connections) {
      if (!connection.isIdle) continue;
      connection.cutForNewcomer();
      this.delete(connection);
      return true;
    }
    return false;
  }
}
