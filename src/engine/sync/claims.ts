/**
 * Decides whether the node checks a peer's claim of a better chain, and whether forging waits for the result. Anybody
 * can claim a better chain, and a delegate can sign the tip of a chain that does not exist. A claim fails if the peer
 * does not send a better chain when the node checks the claim. The claim does not fail if our tip has meanwhile become
 * as good as the claimed tip. After a failed claim, the node doubts the claims of two groups of peers for a limited
 * time. One group is the netgroup of the peer that made the claim. If this peer is inbound, the other group is all
 * inbound peers. If this peer is outbound, the other group is all outbound peers. Forging never waits for a doubted
 * claim. The signer of a claim is the delegate that signed the claimed tip. After a failed claim with a signer, the
 * node also ignores all claims with this signer until the next round.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Connection, PeerId } from '../../ports/transport.ts';
import type { AnnouncedTip } from '../../protocol/rules.ts';
import type { PublicKey } from '../../protocol/types.ts';

export interface Claim {
  readonly peerId: PeerId;
  readonly direction: Connection['direction'];
  /** The delegate that signed the block that the peer sent as its tip; undefined if the peer only announced a tip. */
  readonly signer?: PublicKey | undefined;
  /** The claimed tip; undefined if the tip is unknown. */
  readonly tip?: AnnouncedTip | undefined;
}

export interface ClaimDependencies {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Returns the number of a peer's netgroup. All peers of one netgroup have the same number. */
  readonly netgroupOf: (peerId: PeerId) => number;
  /** Returns the number of the round in which the next block is forged. */
  readonly round: () => number;
}

/**
 * Times in milliseconds for which the node doubts claims after a first failed claim. `NETGROUP_DOUBT_MS` applies to the
 * peers of one netgroup, and `KIND_DOUBT_MS` applies to all inbound or all outbound peers. The time of a group doubles
 * with each further failed claim of a peer of the group. A true claim of a peer of the group resets the time.
 */
const NETGROUP_DOUBT_MS = 30_000;
const KIND_DOUBT_MS = 10_000;
/**
 * Longest times of doubt in milliseconds: half an hour for the claims of a netgroup, ten minutes for the claims of all
 * inbound or all outbound peers. `KIND_DOUBT_MS_MAX` is shorter, because a group of all inbound or all outbound peers
 * usually includes honest peers.
 */
const NETGROUP_DOUBT_MS_MAX = 1_800_000;
const KIND_DOUBT_MS_MAX = 600_000;
/**
 * Maximum numbers of signers and of netgroups that the node remembers. Only registered delegates (a few thousand) can
 * sign a claim, and the peers usually come from at most a few hundred netgroups.
 */
const SIGNERS_MAX = 10_000;
const NETGROUPS_MAX = 5_000;

interface Doubt {
  readonly failures: number;
  readonly untilMs: number;
}

export class Claims {
  readonly #dependencies: ClaimDependencies;
  /**
   * For each signer, the last round in which forging waited for a claim of the signer. A true claim of a signer removes
   * the entry of this signer.
   */
  readonly #waitedFor = new LruMap<PublicKey, number>(SIGNERS_MAX);
  /** For each signer, the last round in which a claim of the signer failed. */
  readonly #failedSigners = new LruMap<PublicKey, number>(SIGNERS_MAX);
  readonly #netgroups = new LruMap<number, Doubt>(NETGROUPS_MAX);
  readonly #kinds = new Map<Connection['direction'], Doubt>();

  constructor(dependencies: ClaimDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns true if the node should check a peer's claim of a better chain. After a failed claim, the node ignores all
   * claims with the signer of this claim until the next round. The node also ignores the claim of an inbound peer while
   * the node doubts the claims of the peer's netgroup.
   */
  isHeard({ peerId, direction, signer }: Claim): boolean {
    if (signer !== undefined && this.#failedSigners.get(signer) === this.#dependencies.round()) return false;
    return direction === 'outbound' || !this.#isDoubted(this.#netgroups.get(this.#dependencies.netgroupOf(peerId)));
  }

  /**
   * Returns true if forging waits for the result of a claim. Forging does not wait while the node doubts the claims of
   * the peer's netgroup, or of all peers with the same connection direction (inbound or outbound). In one round,
   * forging waits for a second claim with the same signer only if the first claim was true. If this method returns true
   * for a claim with a signer, the method also records that forging has waited for this signer in this round.
   */
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

  /**
   * Records a failed claim. A claim fails if the peer does not answer, disconnects, or sends no better chain. However,
   * the caller does not call this method if our tip has become as good as the claimed tip.
   */
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

  /**
   * Records that a claim was true: the peer sent blocks of a better chain. From then on, the node no longer doubts the
   * claims of the peer's netgroup, or of the group of all inbound or all outbound peers to which this peer belongs.
   */
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
