/**
 * Keeps account of claims of better chains. Anybody can claim one, and a delegate can sign the tip of a chain that does not
 * exist. Each failed claim makes the node doubt similar claims: of the same signer, of the sender's netgroup, and of all peers
 * with the same direction of connection. The node may check a doubted claim, but forging does not wait for it.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Connection, PeerId } from '../../ports/transport.ts';
import type { AnnouncedTip } from '../../protocol/rules.ts';
import type { PublicKey } from '../../protocol/types.ts';

export interface Claim {
  readonly peerId: PeerId;
  readonly direction: Connection['direction'];
  /** The signer of the shown tip; undefined when a tip was only announced. */
  readonly signer?: PublicKey | undefined;
  /** Undefined when nothing is known of it. */
  readonly tip?: AnnouncedTip | undefined;
}

export interface ClaimDependencies {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** A number that the peers of one netgroup share. */
  readonly netgroupOf: (peerId: PeerId) => number;
  /** The round that is being forged. */
  readonly round: () => number;
}

/** Doubt after the first failure; it doubles with each in a row. */
const NETGROUP_DOUBT_MS = 30_000;
const KIND_DOUBT_MS = 10_000;
/** Longest doubt: half an hour, and for all of a kind, among whom are honest ones, ten minutes. */
const NETGROUP_DOUBT_MS_MAX = 1_800_000;
const KIND_DOUBT_MS_MAX = 600_000;
/** Registered delegates that can sign a claim are thousands at most, netgroups of peers some hundreds. */
const SIGNERS_MAX = 10_000;
const NETGROUPS_MAX = 5_000;

interface Doubt {
  readonly failures: number;
  readonly untilMs: number;
}

export class Claims {
  readonly #dependencies: ClaimDependencies;
  /** Round in which a signer's claim was waited for, and in which one failed. */
  readonly #waitedFor = new LruMap<PublicKey, number>(SIGNERS_MAX);
  readonly #failedSigners = new LruMap<PublicKey, number>(SIGNERS_MAX);
  readonly #netgroups = new LruMap<number, Doubt>(NETGROUPS_MAX);
  readonly #kinds = new Map<Connection['direction'], Doubt>();

  constructor(dependencies: ClaimDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether a block that was shown is reason enough to look: a signer whose claim failed is not heard again in that round. */
  isHeard({ peerId, direction, signer }: Claim): boolean {
    if (signer !== undefined && this.#failedSigners.get(signer) === this.#dependencies.round()) return false;
    return direction === 'outbound' || !this.#isDoubted(this.#netgroups.get(this.#dependencies.netgroupOf(peerId)));
  }

  /** Whether forging may wait a moment for what comes of a claim; of one signer once in a round. */
  isWaitedFor({ peerId, direction, signer }: Claim): boolean {
    const { netgroupOf, round } = this.#dependencies;
    if (this.#isDoubted(this.#kinds.get(direction)) || this.#isDoubted(this.#netgroups.get(netgroupOf(peerId)))) {
      return false;
    }
    if (signer === undefined) return true;
    if (this.#waitedFor.get(signer) === round()) return false;
    this.#waitedFor.set(signer, round());
    return true;
  }

  /** Its sender did not answer, left, or showed nothing better. */
  failed({ peerId, direction, signer }: Claim): void {
    const { clock, netgroupOf, round } = this.#dependencies;
    const nowMs = clock.nowMs();
    const netgroup = netgroupOf(peerId);
    if (signer !== undefined) this.#failedSigners.set(signer, round());
    this.#netgroups.set(
      netgroup,
      doubtAfter(this.#netgroups.get(netgroup), NETGROUP_DOUBT_MS, NETGROUP_DOUBT_MS_MAX, nowMs),
    );
    this.#kinds.set(direction, doubtAfter(this.#kinds.get(direction), KIND_DOUBT_MS, KIND_DOUBT_MS_MAX, nowMs));
  }

  /** It brought us blocks of a better chain. */
  proved({ peerId, direction, signer }: Claim): void {
    this.#netgroups.delete(this.#dependencies.netgroupOf(peerId));
    this.#kinds.delete(direction);
    if (signer !== undefined) this.#waitedFor.delete(signer);
  }

  #isDoubted(doubt: Doubt | undefined): boolean {
    return doubt !== undefined && this.#dependencies.clock.nowMs() < doubt.untilMs;
  }
}

function doubtAfter(before: Doubt | undefined, firstMs: number, mostMs: number, nowMs: number): Doubt {
  const failures = (before?.failures ?? 0) + 1;
  return { failures, untilMs: nowMs + Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 30)) };
}
