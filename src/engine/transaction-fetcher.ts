/**
 * Asks peers for the transactions that they announced: no peer more often than the rates of the network allow, and of several
 * that announce one transaction one at first.
 */

import { LruMap } from '../primitives/bounded.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Sending } from '../ports/rates.ts';
import type { PeerId, Transport } from '../ports/transport.ts';
import type { TransactionId } from '../protocol/types.ts';
import { ITEMS_PER_MESSAGE_MAX } from './announcements.ts';

/** Ids that one peer announced and that were not asked for yet; more are dropped, others announce them too. */
const WANTED_PER_PEER_MAX = 500;
/** Peers whose rate is remembered, as they go on counting when a connection ends: more than can be connected. */
const PEERS_MAX = 20_000;
/** Ids that somebody was asked for. */
const ASKED_MAX = 10_000;
/** For so long the first peer that is asked for a transaction is the only one; a peer that never answers must not hide it. */
const FIRST_ASKED_ALONE_MS = 2_000;
/** After so long a transaction that never came is as one that was never asked for. */
const ASKED_FORGOTTEN_MS = 60_000;

export interface FetcherOptions {
  readonly clock: Clock;
  readonly transport: Pick<Transport, 'request'>;
  readonly rate: Sending;
  /** Whether a transaction is here, in the pool or in the chain. */
  readonly has: (id: TransactionId) => boolean;
  /** Takes an answer. */
  readonly take: (peerId: PeerId, transactions: readonly unknown[]) => Promise<void>;
  /** Told what became of a question that failed. */
  readonly failed: (peerId: PeerId, error: unknown) => void;
}

interface Announcer {
  readonly bucket: TokenBucket;
  readonly wanted: Set<TransactionId>;
  /** Most ids that it announced at once: nodes of the reference ban for more ids than they are configured to announce. */
  largest: number;
  isAsked: boolean;
  timer: Timer | undefined;
}

export class TransactionFetcher {
  readonly #options: FetcherOptions;
  /** Connected peers that announced something. */
  readonly #announcers = new Map<PeerId, Announcer>();
  readonly #buckets = new LruMap<PeerId, TokenBucket>(PEERS_MAX);
  /** When somebody was first asked for an id, Unix time in milliseconds, in the order of asking. */
  readonly #firstAskedMs = new Map<TransactionId, number>();
  #stopped = false;

  constructor(options: FetcherOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#stopped = true;
  }

  /** A connection ended: its peer is not asked any more. */
  disconnected(peerId: PeerId): void {
    const announcer = this.#announcers.get(peerId);
    announcer?.timer?.cancel();
    announcer?.wanted.clear();
    this.#announcers.delete(peerId);
  }

  /** A peer announced these. */
  announced(peerId: PeerId, ids: readonly TransactionId[]): void {
    const announcer = this.#announcer(peerId);
    announcer.largest = Math.min(ITEMS_PER_MESSAGE_MAX, Math.max(announcer.largest, ids.length));
    for (const id of ids) {
      if (announcer.wanted.size >= WANTED_PER_PEER_MAX) break;
      if (!this.#options.has(id)) announcer.wanted.add(id);
    }
    this.#ask(peerId, announcer);
  }

  /** Asks a peer for what its pool holds. @throws ProtocolError `REQUEST_FAILED`, also when it was asked just before */
  async pool(peerId: PeerId): Promise<void> {
    const { clock, transport, take } = this.#options;
    if (!this.#bucket(peerId).take(clock.nowMs())) {
      throw new ProtocolError('REQUEST_FAILED', {
        peer: peerId,
        reason: 'the peer was asked for transactions just before',
      });
    }
    await take(peerId, await transport.request(peerId, { kind: 'transactions' }));
  }

  #ask(peerId: PeerId, announcer: Announcer): void {
    const { clock, transport, take, failed } = this.#options;
    if (this.#stopped || announcer.isAsked || announcer.timer !== undefined) return;
    const nowMs = clock.nowMs();
    const { ids, waitMs } = this.#due(announcer, nowMs);
    if (ids.length === 0 || !announcer.bucket.take(nowMs)) {
      if (announcer.wanted.size === 0) return;
      announcer.timer = clock.after(Math.max(1, ids.length === 0 ? waitMs : announcer.bucket.waitMs(nowMs)), () => {
        announcer.timer = undefined;
        this.#ask(peerId, announcer);
      });
      return;
    }
    for (const id of ids) {
      announcer.wanted.delete(id);
      this.#asked(id, nowMs);
    }
    announcer.isAsked = true;
    transport
      .request(peerId, { kind: 'transactions', ids })
      .then((transactions) => take(peerId, transactions))
      .catch((error: unknown) => {
        failed(peerId, error);
      })
      .finally(() => {
        announcer.isAsked = false;
        this.#ask(peerId, announcer);
      });
  }

  #asked(id: TransactionId, nowMs: number): void {
    for (const [oldest, askedMs] of this.#firstAskedMs) {
      const ageMs = nowMs - askedMs;
      if (ageMs >= 0 && ageMs < ASKED_FORGOTTEN_MS && this.#firstAskedMs.size < ASKED_MAX) break;
      this.#firstAskedMs.delete(oldest);
    }
    if (!this.#firstAskedMs.has(id)) this.#firstAskedMs.set(id, nowMs);
  }

  /** Ids that are due to be asked of a peer; where there are none, the time until there may be. Forgets those that are here. */
  #due(
    { wanted, largest }: Announcer,
    nowMs: number,
  ): { readonly ids: readonly TransactionId[]; readonly waitMs: number } {
    const ids: TransactionId[] = [];
    let waitMs = FIRST_ASKED_ALONE_MS;
    for (const id of wanted) {
      if (ids.length >= largest) break;
      const sinceMs = nowMs - (this.#firstAskedMs.get(id) ?? -Infinity);
      if (this.#options.has(id)) wanted.delete(id);
      else if (sinceMs < 0 || sinceMs >= FIRST_ASKED_ALONE_MS) ids.push(id);
      else waitMs = Math.min(waitMs, FIRST_ASKED_ALONE_MS - sinceMs);
    }
    return { ids, waitMs };
  }

  #announcer(peerId: PeerId): Announcer {
    let announcer = this.#announcers.get(peerId);
    if (announcer === undefined) {
      announcer = { bucket: this.#bucket(peerId), wanted: new Set(), largest: 1, isAsked: false, timer: undefined };
      this.#announcers.set(peerId, announcer);
    }
    return announcer;
  }

  #bucket(peerId: PeerId): TokenBucket {
    const { burst, everyMs } = this.#options.rate;
    const bucket = this.#buckets.get(peerId) ?? new TokenBucket(burst, everyMs);
    this.#buckets.set(peerId, bucket);
    return bucket;
  }
}
