/**
 * Counts the HTTP connections of all processes that answer HTTP for the node. If a new connection needs room, decides
 * which address must give up a connection. The time that a call of `arrive` or `left` takes must not depend on the
 * number of addresses, because strangers (clients that are not trusted) can cause many of these calls.
 */

import { strangersMaxOf } from './admission/connections.ts';
import type { AdmissionLimits } from './admission/limits.ts';

type Limits = Pick<AdmissionLimits, 'connectionsMax' | 'connectionsPerAddressMax'>;

/**
 * The connections of one address: `count` is the number in all processes together, and `byHolder` is the number in each
 * process (the holder).
 */
interface Address {
  count: number;
  readonly byHolder: Map<number, number>;
}

export class ConnectionCounters {
  readonly #limits: Limits;
  readonly #strangersMax: number;
  /**
   * Called when the process `holder` must close an idle connection of the address `key`, if there is one. The address
   * `key` has at least one connection to the process `holder`, but possibly none of these connections is idle.
   */
  readonly #makeRoom: (holder: number, key: string) => void;
  readonly #byKey = new Map<string, Address>();
  /**
   * For each number of connections, the set of addresses with this number. There are at most `connectionsPerAddressMax`
   * sets.
   */
  readonly #byCount = new Map<number, Set<string>>();
  readonly #trusted = new Map<number, number>();
  #most = 0;
  #strangers = 0;

  constructor(limits: Limits, makeRoom: (holder: number, key: string) => void) {
    this.#limits = limits;
    this.#strangersMax = strangersMaxOf(limits.connectionsMax);
    this.#makeRoom = makeRoom;
  }

  /** True when all processes together have the maximum number of connections. */
  get isFull(): boolean {
    const trusted = [...this.#trusted.values()].reduce((sum, count) => sum + count, 0);
    return this.#strangers + trusted >= this.#limits.connectionsMax;
  }

  /**
   * Counts a connection of a stranger (an untrusted client). Refuses the connection if the address `key` already has
   * the maximum number of connections, or if all strangers together have their maximum. In the second case, the method
   * can select the address with the most connections (address B), and ask one of the processes that answer HTTP to
   * close an idle connection of B (`makeRoom`). The method asks only if B has more connections than the address `key`
   * would have with the new connection. After a refusal, the caller can repeat the call a moment later, when the
   * connection of B has possibly been closed.
   *
   * @returns the reason to refuse the connection; undefined when the connection is counted
   */
  arrive(holder: number, key: string): 'address_connections' | 'connections' | undefined {
    const own = this.#byKey.get(key)?.count ?? 0;
    if (own >= this.#limits.connectionsPerAddressMax) return 'address_connections';
    if (this.#strangers >= this.#strangersMax) {
      if (this.#most > own + 1) this.#closeOneOfMost();
      return 'connections';
    }
    this.#change(holder, key, 1);
    return undefined;
  }

  /**
   * @param count number of closed connections. If it is above the number that was counted for the process, no
   *   connection of the address stays counted for the process
   */
  left(holder: number, key: string, count = 1): void {
    const held = this.#byKey.get(key)?.byHolder.get(holder) ?? 0;
    if (held > 0) this.#change(holder, key, -Math.min(count, held));
  }

  /**
   * Changes the counted number of connections that trusted clients have to the process `holder`. `change` can be
   * negative.
   */
  trusted(holder: number, change: number): void {
    this.#trusted.set(holder, Math.max(0, (this.#trusted.get(holder) ?? 0) + change));
  }

  /** Subtracts the connections of a process that has ended from all counts. */
  forget(holder: number): void {
    this.#trusted.delete(holder);
    for (const [key, { byHolder }] of this.#byKey) {
      const count = byHolder.get(holder) ?? 0;
      if (count > 0) this.#change(holder, key, -count);
    }
  }

  #closeOneOfMost(): void {
    const [key = ''] = this.#byCount.get(this.#most) ?? [];
    const holders = this.#byKey.get(key)?.byHolder;
    const [holder] = holders?.keys() ?? [];
    if (holders === undefined || holder === undefined) return;
    this.#makeRoom(holder, key);
    // If the asked process has no idle connection of the address, it closes no connection. Therefore this method moves
    // the process and the address to the ends of their lists. If other addresses have the same number of connections,
    // the next call selects one of them. When a later call selects the same address again, it asks a different process,
    // if a different process also has connections of this address.
    const count = holders.get(holder) ?? 0;
    holders.delete(holder);
    holders.set(holder, count);
    const keys = this.#byCount.get(this.#most);
    keys?.delete(key);
    keys?.add(key);
  }

  #change(holder: number, key: string, by: number): void {
    const address = this.#byKey.get(key) ?? { count: 0, byHolder: new Map<number, number>() };
    const before = address.count;
    address.count += by;
    this.#strangers += by;
    const held = (address.byHolder.get(holder) ?? 0) + by;
    if (held > 0) address.byHolder.set(holder, held);
    else address.byHolder.delete(holder);
    if (address.count > 0) this.#byKey.set(key, address);
    else this.#byKey.delete(key);
    const old = this.#byCount.get(before);
    old?.delete(key);
    if (old?.size === 0) this.#byCount.delete(before);
    if (address.count > 0) {
      const now = this.#byCount.get(address.count) ?? new Set();
      this.#byCount.set(address.count, now.add(key));
    }
    this.#most = Math.max(this.#most, address.count);
    while (this.#most > 0 && !this.#byCount.has(this.#most)) this.#most -= 1;
  }
}
