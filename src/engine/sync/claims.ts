/**
 * Judges claims of better chains by the results of earlier claims. Anybody can claim a better chain, and a delegate can
 * sign the tip of a chain that does not exist. Each failed claim makes the node doubt similar claims. Claims are
 * similar if they have the same signer, the same netgroup of the sender, or the same direction of connection. The node
 * may check a doubted claim, but forging does not wait for the result.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Connection, PeerId } from '../../ports/transport.ts';
import type { AnnouncedTip } from '../../protocol/rules.ts';
import type { PublicKey } from '../../protocol/types.ts';

export interface Claim {
  readonly peerId: PeerId;
  readonly direction: Connection['direction'];
  /** The signer of the block that the peer sent as its tip; undefined if the peer only announced a tip. */
  readonly signer?: PublicKey | undefined;
  /** The claimed tip; undefined if the tip is unknown. */
  readonly tip?: AnnouncedTip | undefined;
}

export interface ClaimDependencies {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** A number that the peers of one netgroup share. */
  readonly netgroupOf: (peerId: PeerId) => number;
  /** Returns the number of the round in which the next block is forged. */
  readonly round: () => number;
}

/** Duration of the doubt after a first failure. The duration doubles with each further failure in a row. */
const NETGROUP_DOUBT_MS = 30_000;
const KIND_DOUBT_MS = 10_000;
/**
 * Longest time for which the claims of a netgroup are doubted: half an hour. The claims of all inbound or all outbound peers
 * are doubted for ten minutes at most, because honest peers are among them.
 */
const NETGROUP_DOUBT_MS_MAX = 1_800_000;
const KIND_DOUBT_MS_MAX = 600_000;
/**
 * Maximum of signers and of netgroups that are remembered. At most some thousand registered delegates can sign a claim, and
 * peers come from some hundred netgroups.
 */
const SIGNERS_MAX = 10_000;
const NETGROUPS_MAX = 5_000;

interface Doubt {
  readonly failures: number;
  readonly untilMs: number;
}

export class Claims {
  readonly #dependencies: ClaimDependencies;
  /** For each signer, the last round in which forging waited for its claim, and the last round in which its claim failed. */
  readonly #waitedFor = new LruMap<PublicKey, number>(SIGNERS_MAX);
  readonly #failedSigners = new LruMap<PublicKey, number>(SIGNERS_MAX);
  readonly #netgroups = new LruMap<number, Doubt>(NETGROUPS_MAX);
  readonly #kinds = new Map<Connection['direction'], Doubt>();

  constructor(dependencies: ClaimDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Whether the node should check the claim of a received block. A signer whose claim failed is ignored until the next
   * round. An inbound peer from a doubted netgroup is ignored as well.
   */
  isHeard({ peerId, direction, signer }: Claim): boolean {
    if (signer !== undefined && this.#failedSigners.get(signer) === this.#dependencies.round()) return false;
    return direction === 'outbound' || !this.#isDoubted(this.#netgroups.get(this.#dependencies.netgroupOf(peerId)));
  }

  /** Whether forging may wait a moment for the result of a claim. For each signer, forging waits once in a round. */
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

  /** Records a failed claim: its sender did not answer, disconnected, or sent no better chain. */
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

  /** Records that a claim was true: it brought us blocks of a better chain. */
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
