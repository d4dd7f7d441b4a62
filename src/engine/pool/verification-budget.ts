/**
 * Limits the time for checking the signatures of transactions from peers and clients. A peer or client can make false
 * signatures without work, but the node needs processor time to check each signature. Each network address has a
 * budget, and the node charges each check to the budget of the sender's address, even if the signature is valid. Each
 * group of addresses (`BudgetGroup`) also has a budget. An attacker with many addresses therefore cannot use up the
 * time that the node needs for blocks.
 *
 * The class does not measure the cost of a check. The cost is a fixed time that depends on the implementation of
 * Ed25519 (`Verifier.spentMs`). The limits in milliseconds are the same for all implementations, so a slow
 * implementation makes fewer checks. The checks of blocks and of their transactions use no budget.
 */

import type { Clock } from '../../ports/clock.ts';
import { LruMap } from '../../primitives/bounded.ts';

/**
 * The groups of addresses. The addresses of one group share a budget. Peers that the operator named form the group
 * `namedPeers`, and clients on this machine form the group `localClients`. Other peers and clients cannot use up the
 * budgets of these two groups.
 */
export type BudgetGroup = 'peers' | 'namedPeers' | 'clients' | 'localClients';

/** Charges work to the budgets of one address and of its group. */
export interface Payer {
  /** Returns true if the budgets allow a further check at present. */
  mayAsk(): boolean;
  /**
   * Calls `work`, and charges the time of the signature checks that `work` makes.
   *
   * @param handlingMs time in milliseconds to charge in addition, for example for parsing a transaction. The method
   *   does not take this time from the `waste` bucket (see `WASTE`), because honest peers also send transactions that
   *   this node already has
   */
  charge<T>(work: () => T, handlingMs?: number): T;
  /**
   * Records that the address sent a valid transaction or signature, and refills the address's `waste` bucket (see
   * `WASTE`).
   */
  wasUseful(): void;
}

/**
 * The payer for work of the node itself. Signature checks with this payer have no time limit, and count towards no
 * budget.
 */
export const NO_PAYER: Payer = { mayAsk: () => true, charge: (work) => work(), wasUseful: () => undefined };

/**
 * Limits of one address (`SOURCE`) and of a group of addresses (`GROUP`). An address can use 5 % of a processor core. A
 * share of 5 % is enough for about 38 signature checks per second in JavaScript, or for about 770 signature checks per
 * second with the native library. Even in JavaScript, a full bucket of an address is enough for about 150 transactions
 * with one signature each, which fill several blocks. A group can use 10 % of a core, so the four groups together use
 * less than half of a core.
 */
const SOURCE: BucketSize = { capacityMs: 200, refillMsPerS: 50 };
const GROUP: BucketSize = { capacityMs: 300, refillMsPerS: 100 };
/**
 * The last `GROUP_RESERVE_MS` of a group's budget are reserved for addresses that have used little time. For each
 * address, a bucket of size `MODEST` measures the used time. The budget of a group refills by 100 ms per second. If
 * each of a hundred addresses stays within `MODEST`, the hundred addresses use at most 50 ms per second in total, which
 * is half of the refill. During an attack from up to a hundred addresses, the node therefore still verifies the
 * transactions of an address that stays within `MODEST`.
 */
const GROUP_RESERVE_MS = 100;
const MODEST: BucketSize = { capacityMs: 6, refillMsPerS: 0.5 };
/**
 * Time for signature checks that an address can use without sending a valid transaction or signature (the `waste`
 * bucket). When this time is used up, the node checks no signatures from the address. Even honest nodes of lisk-sdk can
 * relay damaged copies of a transaction, so the limit is not zero. With Ed25519 in JavaScript, the time is enough for
 * five damaged copies with 15 signature checks each. The bucket refills within two minutes, or immediately when the
 * address sends a valid transaction or signature.
 */
const WASTE: BucketSize = { capacityMs: 100, refillMsPerS: 2 };
/** Maximum number of addresses whose buckets the node stores. */
const SOURCES_MAX = 5_000;

export interface VerificationBudgetDependencies {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Returns the total time in milliseconds for signature checks, from `Verifier.spentMs`. */
  readonly spentMs: () => number;
}

interface Source {
  readonly bucket: CostBucket;
  /**
   * A bucket that becomes empty if the signature checks and messages of the address take much time. While this bucket
   * is not empty, the address can use the reserve (`GROUP_RESERVE_MS`) of its group.
   */
  readonly modest: CostBucket;
  /**
   * Limits the time for signature checks that the address can use before it sends a valid transaction or signature (see
   * `WASTE`).
   */
  waste: CostBucket;
}

export class VerificationBudget {
  readonly #dependencies: VerificationBudgetDependencies;
  readonly #sources = new LruMap<string, Source>(SOURCES_MAX);
  readonly #groups: Readonly<Record<BudgetGroup, CostBucket>>;

  constructor(dependencies: VerificationBudgetDependencies) {
    this.#dependencies = dependencies;
    const nowMs = dependencies.clock.nowMs();
    const group = (): CostBucket => new CostBucket(GROUP, nowMs);
    this.#groups = { peers: group(), namedPeers: group(), clients: group(), localClients: group() };
  }

  /**
   * @param address the address that sent the transaction or signature; the caller must always write the same address as
   *   the same text
   */
  payer(address: string, group: BudgetGroup): Payer {
    const { clock, spentMs } = this.#dependencies;
    return {
      mayAsk: () => this.#mayAsk(address, group),
      charge: (work, handlingMs = 0) => {
        const beforeMs = spentMs();
        try {
          return work();
        } finally {
          this.#take(address, group, spentMs() - beforeMs, handlingMs);
        }
      },
      wasUseful: () => {
        this.#source(address).waste = new CostBucket(WASTE, clock.nowMs());
      },
    };
  }

  /** Returns true if an address has used up its `waste` bucket (see `WASTE`). */
  isWasteful(address: string): boolean {
    const source = this.#sources.get(address);
    return source !== undefined && source.waste.level(this.#dependencies.clock.nowMs()) <= 0;
  }

  #take(address: string, group: BudgetGroup, checksMs: number, handlingMs: number): void {
    const costMs = checksMs + handlingMs;
    if (costMs <= 0) return;
    const nowMs = this.#dependencies.clock.nowMs();
    const { bucket, modest, waste } = this.#source(address);
    for (const each of [bucket, modest, this.#groups[group]]) each.take(costMs, nowMs);
    waste.take(checksMs, nowMs);
  }

  #mayAsk(address: string, group: BudgetGroup): boolean {
    const nowMs = this.#dependencies.clock.nowMs();
    const { bucket, modest, waste } = this.#source(address);
    const ownMs = Math.min(bucket.level(nowMs), waste.level(nowMs));
    const floorMs = modest.level(nowMs) > 0 ? 0 : GROUP_RESERVE_MS;
    const groupMs = this.#groups[group].level(nowMs);
    return ownMs > 0 && groupMs > floorMs;
  }

  #source(address: string): Source {
    const nowMs = this.#dependencies.clock.nowMs();
    let source = this.#sources.get(address);
    if (source === undefined) {
      const bucketOf = (size: BucketSize): CostBucket => new CostBucket(size, nowMs);
      source = { bucket: bucketOf(SOURCE), modest: bucketOf(MODEST), waste: bucketOf(WASTE) };
      this.#sources.set(address, source);
    }
    return source;
  }
}

interface BucketSize {
  readonly capacityMs: number;
  readonly refillMsPerS: number;
}

/**
 * An amount of time that grows at a fixed rate up to its capacity. A single check can take more time than the bucket
 * has, so the level can become negative. While the level is zero or negative, the caller allows no check.
 */
class CostBucket {
  readonly #size: BucketSize;
  #levelMs: number;
  #filledMs: number;

  constructor(size: BucketSize, nowMs: number) {
    this.#size = size;
    this.#levelMs = size.capacityMs;
    this.#filledMs = nowMs;
  }

  level(nowMs: number): number {
    // If the clock was set back, the elapsed time counts as zero, and the bucket fills from the new time on.
    const elapsedS = Math.max(0, nowMs - this.#filledMs) / 1000;
    this.#levelMs = Math.min(this.#size.capacityMs, this.#levelMs + elapsedS * this.#size.refillMsPerS);
    this.#filledMs = nowMs;
    return this.#levelMs;
  }

  take(costMs: number, nowMs: number): void {
    // The level never falls below `-capacityMs`. Without this limit, one transaction with many signature checks could
    // keep the level below zero for minutes, because some buckets fill slowly.
    this.#levelMs = Math.max(-this.#size.capacityMs, this.level(nowMs) - costMs);
  }
}
