/**
 * Budgets for signature checks of transactions that peers and clients bring. A junk signature costs its maker nothing and the
 * node a check. So each check is charged to the address that brought the signature, whatever the result. Besides the budget of
 * each address, each crowd of addresses has one: however many addresses an attacker has, most of the node's time is left for
 * blocks.
 *
 * Costs are milliseconds, as `Verifier.spentMs` counts them, so the same rule holds for a fast and a slow back end. Blocks,
 * and transactions in them, are never charged.
 */

import type { Clock } from '../../ports/clock.ts';
import { LruMap } from '../../primitives/bounded.ts';

/**
 * Addresses that share a budget. Peers that the operator named have a budget of their own, and so have programs on this
 * machine. Otherwise strangers could use up their share.
 */
export type Crowd = 'peers' | 'namedPeers' | 'clients' | 'localClients';

/** The account that work is charged to. */
export interface Payer {
  /** Whether its budget allows more checks at present. */
  mayAsk(): boolean;
  /**
   * Does work and charges the checks that it took.
   *
   * @param handlingMs charged besides, but never as waste: honest peers, too, bring transactions that are here already.
   */
  charge<T>(work: () => T, handlingMs?: number): T;
  /** Notes that what it brought was of use. */
  wasUseful(): void;
}

/** The payer for work of this node itself. */
export const NO_PAYER: Payer = { mayAsk: () => true, charge: (work) => work(), wasUseful: () => undefined };

/**
 * An address may take 5 % of a core, and at once what transactions of a block with a signature each take with the portable back
 * end several times over: forty of them in a second with that one, eight hundred with the native one. A crowd may take
 * 10 %, all four together less than half.
 */
const SOURCE: BucketSize = { capacityMs: 200, refillMsPerS: 50 };
const CROWD: BucketSize = { capacityMs: 300, refillMsPerS: 100 };
/**
 * The last part of a crowd's budget is for addresses that take little of it. It fills faster than a hundred addresses may take
 * from it, and not more can be connected. So transactions of an honest peer are verified even then.
 */
const CROWD_RESERVE_MS = 100;
const MODEST: BucketSize = { capacityMs: 6, refillMsPerS: 0.5 };
/**
 * Time that an address may cost without bringing anything of use; after that, nothing of it is verified. With the portable back
 * end, this is enough for five spoilt copies of a transaction, which honest nodes of the reference may pass on. The budget
 * fills within two minutes, or at once when the address brings something of use.
 */
const WASTE: BucketSize = { capacityMs: 100, refillMsPerS: 2 };
/** Addresses remembered: far more than the crowd's budget can serve before the first are forgotten. */
const SOURCES_MAX = 5_000;

export interface VerificationBudgetDependencies {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** See `Verifier.spentMs`. */
  readonly spentMs: () => number;
}

interface Source {
  readonly bucket: CostBucket;
  /** Budget in the reserve of the crowd; not empty for an address that took little. */
  readonly modest: CostBucket;
  /** Cost of its work since it last brought something of use. */
  waste: CostBucket;
}

export class VerificationBudget {
  readonly #dependencies: VerificationBudgetDependencies;
  readonly #sources = new LruMap<string, Source>(SOURCES_MAX);
  readonly #crowds: Readonly<Record<Crowd, CostBucket>>;

  constructor(dependencies: VerificationBudgetDependencies) {
    this.#dependencies = dependencies;
    const nowMs = dependencies.clock.nowMs();
    const crowd = (): CostBucket => new CostBucket(CROWD, nowMs);
    this.#crowds = { peers: crowd(), namedPeers: crowd(), clients: crowd(), localClients: crowd() };
  }

  /** @param address that the work comes from, spelt alike each time */
  payer(address: string, crowd: Crowd): Payer {
    const { clock, spentMs } = this.#dependencies;
    return {
      mayAsk: () => this.#mayAsk(address, crowd),
      charge: (work, handlingMs = 0) => {
        const beforeMs = spentMs();
        try {
          return work();
        } finally {
          this.#take(address, crowd, spentMs() - beforeMs, handlingMs);
        }
      },
      wasUseful: () => {
        this.#source(address).waste = new CostBucket(WASTE, clock.nowMs());
      },
    };
  }

  /** True for an address whose work cost much and was of no use. */
  isWasteful(address: string): boolean {
    const source = this.#sources.get(address);
    return source !== undefined && source.waste.level(this.#dependencies.clock.nowMs()) <= 0;
  }

  #take(address: string, crowd: Crowd, checksMs: number, handlingMs: number): void {
    const costMs = checksMs + handlingMs;
    if (costMs <= 0) return;
    const nowMs = this.#dependencies.clock.nowMs();
    const { bucket, modest, waste } = this.#source(address);
    for (const each of [bucket, modest, this.#crowds[crowd]]) each.take(costMs, nowMs);
    waste.take(checksMs, nowMs);
  }

  #mayAsk(address: string, crowd: Crowd): boolean {
    const nowMs = this.#dependencies.clock.nowMs();
    const { bucket, modest, waste } = this.#source(address);
    const ownMs = Math.min(bucket.level(nowMs), waste.level(nowMs));
    const floorMs = modest.level(nowMs) > 0 ? 0 : CROWD_RESERVE_MS;
    const crowdMs = this.#crowds[crowd].level(nowMs);
    return ownMs > 0 && crowdMs > floorMs;
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

/** Fills with time up to its capacity, however much it was overdrawn: to its negative at most. A single piece of work may overdraw it, and is paid back before the next. */
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
    // A clock that was set back adds nothing, and goes on from there.
    const elapsedS = Math.max(0, nowMs - this.#filledMs) / 1000;
    this.#levelMs = Math.min(this.#size.capacityMs, this.#levelMs + elapsedS * this.#size.refillMsPerS);
    this.#filledMs = nowMs;
    return this.#levelMs;
  }

  take(costMs: number, nowMs: number): void {
    // A debt that takes longer to pay off than the capacity takes to fill would block a modest source for ever.
    this.#levelMs = Math.max(-this.#size.capacityMs, this.level(nowMs) - costMs);
  }
}
