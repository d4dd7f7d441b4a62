/**
 * Counts the messages on the simulated network (the wire) of a `World`. The module applies the rate limits of Bloomery
 * nodes. It also counts the messages and calls that a node of lisk-sdk 3.0.2 would penalise.
 */

import type { Generation } from '../../src/protocol/params.ts';
import { ReceiveLimits, type UseVerdict } from '../../src/p2p/receive-limits.ts';
import { RATE_WINDOW_MS, RATES, type RateKind } from '../../src/ports/rates.ts';
import type { PeerId, PeerMessage, PeerRequest } from '../../src/ports/transport.ts';

/**
 * Names of the messages and calls for which lisk-sdk 3.0.2 limits the number of uses. A use is one message or one call.
 * lisk-sdk 3.0.2 counts the uses of each name by each peer in time windows of `RATE_WINDOW_MS`. In a window, the first
 * `FREE` uses are free, and the peer gets a penalty for each further use.
 */
const COUNTED = new Set(['getTransactions', 'postTransactionsAnnouncement', 'postSignatures']);
const FREE = 3;
/** Upper bound of the number of calls of one search for a common block in generation 2. */
const COMMON_BLOCK_CALLS_2 = 12;

const REQUESTS: Readonly<Record<PeerRequest['kind'], RateKind>> = {
  peers: 'peersRequest',
  tip: 'tipRequest',
  blocksAfter: 'blocksRequest',
  highestCommonBlock: 'commonBlockRequest',
  transactions: 'transactionsRequest',
  signatures: 'signaturesRequest',
};

export class WireRates {
  readonly #generation: Generation;
  readonly #limits = new Map<string, ReceiveLimits>();
  readonly #counted = new Map<string, { window: number; uses: number }>();
  /**
   * For the name of each message or call, `uses` contains the number of uses. `dropped` contains the number of uses
   * above a rate limit.
   */
  readonly uses = new Map<string, number>();
  readonly dropped = new Map<string, number>();
  /** For the name of each message or call, the number of penalties that nodes of lisk-sdk 3.0.2 would give. */
  readonly charged = new Map<string, number>();

  constructor(generation: Generation) {
    this.#generation = generation;
  }

  message(from: PeerId, to: PeerId, { kind }: PeerMessage, nowMs: number): UseVerdict {
    return this.#use(from, to, kind, nowMs);
  }

  info(from: PeerId, to: PeerId, nowMs: number): UseVerdict {
    return this.#use(from, to, 'info', nowMs);
  }

  request(from: PeerId, to: PeerId, { kind }: PeerRequest, nowMs: number): UseVerdict {
    const calls = kind === 'highestCommonBlock' && this.#generation === 2 ? COMMON_BLOCK_CALLS_2 : 1;
    let verdict: UseVerdict = 'taken';
    for (let call = 0; call < calls; call += 1) verdict = this.#use(from, to, REQUESTS[kind], nowMs);
    return verdict;
  }

  #use(from: PeerId, to: PeerId, kind: RateKind, nowMs: number): UseVerdict {
    const name = RATES.find((row) => row.generation === this.#generation && row.kind === kind)?.name;
    // A stranger (`stranger.ts`) can send messages that the generation of the world does not define.
    if (name === undefined) return 'taken';
    const pair = `${from} ${to}`;
    let limits = this.#limits.get(pair);
    if (limits === undefined) this.#limits.set(pair, (limits = new ReceiveLimits(this.#generation)));
    count(this.uses, name);
    this.#countAsReference(`${pair} ${name}`, name, nowMs);
    const verdict = limits.use(name, nowMs);
    if (verdict !== 'taken') count(this.dropped, name);
    return verdict;
  }

  /**
   * Counts a use as lisk-sdk 3.0.2 does: in time windows that start at fixed times of the clock, at the same time for
   * all peers.
   */
  #countAsReference(key: string, name: string, nowMs: number): void {
    if (this.#generation === 2 || !COUNTED.has(name)) return;
    const window = Math.floor(nowMs / RATE_WINDOW_MS);
    const before = this.#counted.get(key);
    const uses = before?.window === window ? before.uses + 1 : 1;
    this.#counted.set(key, { window, uses });
    if (uses > FREE) count(this.charged, name);
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
