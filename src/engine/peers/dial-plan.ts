/** When an address may be dialled again, and whether ever. */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock, Random } from '../../ports/clock.ts';
import type { PeerId } from '../../ports/transport.ts';

/** What a failed dial says about the address. */
export type DialOutcome =
  /** It leads back to this node. */
  | 'self'
  /** Connected already, in one direction or the other. */
  | 'connected'
  /** Another network or protocol, or it does not want us: nothing will change soon. */
  | 'hopeless'
  /** Nobody there, or not now. */
  | 'unreachable';

const SELF_CODE = 4101;
const CONNECTED_CODE = 4404;
const FORBIDDEN_CODE = 4403;
/** Another network, another protocol, an impossible info, an incomplete query: final for as long as both sides run. */
const FINAL_CODES: ReadonlySet<number> = new Set([4102, 4103, 4104, 4105, 4502]);
export const REMEMBERED_MAX = 10_000;
const OWN_MAX = 32;
/** Waits after failures, doubled with each. */
const WAIT = { firstMs: 10_000, mostMs: 600_000 };
/** Fixed peers are wanted back soon: at the start of a small network its nodes come up one after the other. */
const WAIT_FIXED = { firstMs: 1_000, mostMs: 10_000 };
/** After an answer that will not change soon, for peers that the operator insists on. */
const WAIT_FIXED_FINAL_MS = 60_000;
const WAIT_FORBIDDEN_MS = 86_400_000;
/** Spread that keeps two nodes from dialling each other in step. */
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

  /** True for addresses that turned out to be this node's. */
  isOwn(peerId: PeerId): boolean {
    return this.#own.has(peerId);
  }

  isDue(peerId: PeerId): boolean {
    return this.dueMs(peerId) <= this.#clock.nowMs();
  }

  /** Unix time in milliseconds from which the address may be dialled; in the past when it may be at once. */
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

  /** @param code close code of the failed dial */
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

  /** A connection ended, whoever had opened it. */
  lost(peerId: PeerId, code: number, isFixed: boolean): void {
    // A peer that closes every connection at once would otherwise be dialled without pause.
    const failures = this.#waits.get(peerId)?.failures ?? 0;
    const waitMs = code === FORBIDDEN_CODE && !isFixed ? WAIT_FORBIDDEN_MS : (isFixed ? WAIT_FIXED : WAIT).firstMs;
    this.#wait(peerId, failures, waitMs);
  }

  #wait(peerId: PeerId, failures: number, waitMs: number): void {
    this.#waits.set(peerId, { failures, dueMs: this.#clock.nowMs() + waitMs + this.#random.below(JITTER_MS) });
  }
}
