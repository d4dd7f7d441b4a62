/** Decides whether the node is allowed to dial an address, and when the node is allowed to dial the address again. */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock, Random } from '../../ports/clock.ts';
import type { PeerId } from '../../ports/transport.ts';

/** Kind of a failed dial. The kind decides when the node dials the address again. */
export type DialOutcome =
  /** The address leads back to this node. */
  | 'self'
  /** The peer is already connected; this node or the peer opened that connection. */
  | 'connected'
  /** The peer is on another network or protocol, or refuses us for another reason that does not change while both nodes run. */
  | 'hopeless'
  /** The dial failed for any other reason, for example because no node answers at the address at present. */
  | 'unreachable';

const SELF_CODE = 4101;
const CONNECTED_CODE = 4404;
const FORBIDDEN_CODE = 4403;
/**
 * Close codes whose reason does not change while both nodes run: another network, another protocol, invalid peer info,
 * or unusable query parameters in the URL of the connection.
 */
const FINAL_CODES: ReadonlySet<number> = new Set([4102, 4103, 4104, 4105, 4502]);
/** Maximum number of addresses whose next dial time the node remembers. */
export const REMEMBERED_MAX = 10_000;
const OWN_MAX = 32;
/**
 * Shortest and longest wait after a failed dial with the outcome `unreachable`, in milliseconds. Each further such
 * failure doubles the wait, until a dial succeeds. The shortest wait also applies after the outcome `connected`, and
 * after the end of a connection. A node closes a connection with the code `FORBIDDEN_CODE` if the address of the other
 * node is banned or blacklisted, or if the other node has no points of reputation left. If a dial failed or a
 * connection ended with this code, the wait is `WAIT_FORBIDDEN_MS` instead.
 */
const WAIT = { firstMs: 10_000, mostMs: 600_000 };
/**
 * The waits for a fixed peer, which replace `WAIT`. After the end of a connection with a fixed peer, the shortest wait
 * applies even if the code is `FORBIDDEN_CODE`. The waits are shorter than in `WAIT`, because it is possible that a
 * fixed peer in a small network starts a few seconds after this node.
 */
const WAIT_FIXED = { firstMs: 1_000, mostMs: 10_000 };
/** Time in milliseconds before the node dials a fixed peer again after a failure with the outcome `hopeless`. */
const WAIT_FIXED_FINAL_MS = 60_000;
const WAIT_FORBIDDEN_MS = 86_400_000;
/**
 * Maximum random extra wait in milliseconds. If two nodes dial each other at the same time, it is possible that both
 * dials fail. Without this extra wait, the two nodes could then dial at the same time again and again.
 */
const JITTER_MS = 500;

interface Wait {
  readonly failures: number;
  readonly dueMs: number;
}

export class DialPlan {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #dialling = new Set<PeerId>();
  readonly #waits = new LruMap<PeerId, Wait>(REMEMBERED_MAX);
  readonly #own = new LruMap<PeerId, true>(OWN_MAX);

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  dialling(): readonly PeerId[] {
    return [...this.#dialling];
  }

  isDialling(peerId: PeerId): boolean {
    return this.#dialling.has(peerId);
  }

  /** Returns whether an address has proved to be this node's own address. */
  isOwn(peerId: PeerId): boolean {
    return this.#own.has(peerId);
  }

  /** Returns true if the time `dueMs` of the address has come, so that the node can dial the address now. */
  isDue(peerId: PeerId): boolean {
    return this.dueMs(peerId) <= this.#clock.nowMs();
  }

  /**
   * Returns the Unix time in milliseconds of the earliest next dial of the address; 0 if the node does not have to
   * wait. The result is infinite for an address of this node itself. For a peer that is not a fixed peer, the result is
   * also infinite after a dial that failed with a code of `FINAL_CODES`.
   */
  dueMs(peerId: PeerId): number {
    return this.isOwn(peerId) ? Number.POSITIVE_INFINITY : (this.#waits.get(peerId)?.dueMs ?? 0);
  }

  begin(peerId: PeerId): void {
    this.#dialling.add(peerId);
  }

  succeeded(peerId: PeerId): void {
    this.#dialling.delete(peerId);
    this.#waits.delete(peerId);
  }

  /**
   * Records that a dial failed, and sets the time of the next dial.
   *
   * @param code close code of the failed dial
   */
  failed(peerId: PeerId, code: number, isFixed: boolean): DialOutcome {
    this.#dialling.delete(peerId);
    if (code === SELF_CODE) {
      this.#own.set(peerId, true);
      return 'self';
    }
    const failures = this.#waits.get(peerId)?.failures ?? 0;
    const final = FINAL_CODES.has(code);
    if (final || code === FORBIDDEN_CODE) {
      const waitMs = isFixed ? WAIT_FIXED_FINAL_MS : final ? Number.POSITIVE_INFINITY : WAIT_FORBIDDEN_MS;
      this.#wait(peerId, failures, waitMs);
      return 'hopeless';
    }
    const { firstMs, mostMs } = isFixed ? WAIT_FIXED : WAIT;
    if (code === CONNECTED_CODE) {
      this.#wait(peerId, failures, firstMs);
      return 'connected';
    }
    this.#wait(peerId, failures + 1, Math.min(mostMs, firstMs * 2 ** Math.min(failures, 20)));
    return 'unreachable';
  }

  /**
   * Records that a connection ended, whether this node or the peer had opened the connection. Sets the time of the next
   * dial.
   */
  lost(peerId: PeerId, code: number, isFixed: boolean): void {
    // It is possible that a peer closes every connection as soon as the connection is open. Without a wait, the node
    // would dial this peer again and again.
    const failures = this.#waits.get(peerId)?.failures ?? 0;
    const waitMs = code === FORBIDDEN_CODE && !isFixed ? WAIT_FORBIDDEN_MS : (isFixed ? WAIT_FIXED : WAIT).firstMs;
    this.#wait(peerId, failures, waitMs);
  }

  #wait(peerId: PeerId, failures: number, waitMs: number): void {
    this.#waits.set(peerId, { failures, dueMs: this.#clock.nowMs() + waitMs + this.#random.below(JITTER_MS) });
  }
}
