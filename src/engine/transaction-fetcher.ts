/**
 * Asks peers for the transactions that they announced. No peer is asked more often than the rates of the network allow. If
 * several peers announce a transaction, only one of them is asked at first. A transaction that was refused here is not asked of
 * all peers that announce it: honest pools keep transactions that this one does not take, and anybody can send false content
 * for an id.
 */

import { LruMap } from '../primitives/bounded.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Sending } from '../ports/rates.ts';
import type { PeerId, Transport } from '../ports/transport.ts';
import type { TransactionId } from '../protocol/types.ts';
import { ITEMS_PER_MESSAGE_MAX } from './announcements.ts';

/** Ids that one peer announced and that were not asked for yet. More are dropped: other peers announce them too. */
const WANTED_PER_PEER_MAX = 500;
/** Peers whose rate is remembered: more than can be connected, as a rate holds beyond the end of a connection. */
const PEERS_MAX = 20_000;
/** Ids that any peer was asked for. */
const ASKED_MAX = 10_000;
/** Time in which only the first peer is asked for a transaction. It is bounded, as that peer may never answer. */
const FIRST_ASKED_ALONE_MS = 2_000;
/** Time after which a transaction that never came counts as one that was not asked for. */
const ASKED_FORGOTTEN_MS = 60_000;
/**
 * Number of peers that must send a refused transaction before no peer is asked for it for a while. With one, a single peer
 * could hide a good transaction behind a spoilt copy with its id. Each time, another peer is asked.
 */
export const REFUSALS_MAX = 3;
export const REFUSED_PAUSE_MS = 60_000;
/**
 * One in this number of questions to a peer is for refused transactions, while there are others to ask for. In a busy network
 * there always are others, and a good transaction must not wait for ever because a peer sent a spoilt copy of it.
 */
export const AGAIN_EVERY = 4;
/** Time after which a refusal is forgotten, and any peer may be asked: the pool may have been full. */
const REFUSED_FORGOTTEN_MS = 600_000;
/** Maximum of refused transactions that are remembered, and of peers that sent each. */
const REFUSED_MAX = 10_000;
const GIVERS_MAX = 12;
/** Bytes of all that is remembered: 100 for an id that was asked for, 500 for a refused one. */
export const REMEMBERED_BYTES_MAX = ASKED_MAX * 100 + REFUSED_MAX * 500;

export interface FetcherOptions {
  readonly clock: Clock;
  readonly transport: Pick<Transport, 'request'>;
  readonly rate: Sending;
  /** Whether a transaction is here, in the pool or in the chain. */
  readonly has: (id: TransactionId) => boolean;
  /**
   * Takes an answer.
   *
   * @returns ids, by the peer's word, of the transactions that the pool looked at
   */
  readonly take: (peerId: PeerId, transactions: readonly unknown[]) => Promise<readonly TransactionId[]>;
  /** Called when a question failed. */
  readonly failed: (peerId: PeerId, error: unknown) => void;
}

interface Refusal {
  /** Peers that gave it, newest last, which are not asked for it again. */
  readonly givers: readonly PeerId[];
  /** How often it was given. */
  readonly count: number;
  /** When it was given last, Unix time in milliseconds. */
  readonly givenMs: number;
  /** Until when nobody is asked, Unix time in milliseconds. */
  readonly untilMs: number;
}

interface Announcer {
  readonly bucket: TokenBucket;
  readonly wanted: Set<TransactionId>;
  /** Most ids that it announced at once: nodes of the reference ban for more ids than they are configured to announce. */
  largest: number;
  /** Most ids of a question: fewer after one that came to nothing, as a single transaction may make an answer unreadable. */
  batchMax: number;
  isAsked: boolean;
  /** Questions so far. */
  questions: number;
  timer: Timer | undefined;
}

export class TransactionFetcher {
  readonly #options: FetcherOptions;
  /** Connected peers that announced something. */
  readonly #announcers = new Map<PeerId, Announcer>();
  readonly #buckets = new LruMap<PeerId, TokenBucket>(PEERS_MAX);
  /** When somebody was first asked for an id, Unix time in milliseconds, in the order of asking. */
  readonly #firstAskedMs = new Map<TransactionId, number>();
  /** Transactions that peers gave and that were refused here. */
  readonly #refusals = new LruMap<TransactionId, Refusal>(REFUSED_MAX);
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
    const largest = Math.min(ITEMS_PER_MESSAGE_MAX, Math.max(announcer.largest, ids.length));
    if (announcer.batchMax === announcer.largest) announcer.batchMax = largest;
    announcer.largest = largest;
    for (const id of ids) {
      if (announcer.wanted.size >= WANTED_PER_PEER_MAX && !this.#forgetRefused(announcer.wanted)) break;
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
    const { clock } = this.#options;
    if (this.#stopped || announcer.isAsked || announcer.timer !== undefined) return;
    const nowMs = clock.nowMs();
    const { ids, waitMs } = this.#due(peerId, announcer, nowMs);
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
    announcer.questions += 1;
    void this.#fetch(peerId, announcer, ids).finally(() => {
      announcer.isAsked = false;
      this.#ask(peerId, announcer);
    });
  }

  async #fetch(peerId: PeerId, announcer: Announcer, ids: readonly TransactionId[]): Promise<void> {
    const { transport, take, failed } = this.#options;
    try {
      const given = new Set(await take(peerId, await transport.request(peerId, { kind: 'transactions', ids })));
      announcer.batchMax = Math.min(announcer.largest, 2 * announcer.batchMax);
      for (const id of ids) if (given.has(id)) this.#given(peerId, id);
    } catch (error) {
      failed(peerId, error);
      announcer.batchMax = Math.max(1, Math.floor(ids.length / 2));
      // One alone that does not come is left to others.
      if (ids.length > 1 && this.#announcers.get(peerId) === announcer) for (const id of ids) announcer.wanted.add(id);
    }
  }

  /** A peer gave a transaction that was looked at: it is here now, or was refused. */
  #given(peerId: PeerId, id: TransactionId): void {
    if (this.#options.has(id)) {
      this.#refusals.delete(id);
      return;
    }
    const nowMs = this.#options.clock.nowMs();
    const before = this.#refusal(id, nowMs);
    const givers = [...(before?.givers ?? []), peerId].slice(-GIVERS_MAX);
    const count = (before?.count ?? 0) + 1;
    const isPaused = count % REFUSALS_MAX === 0;
    const untilMs = isPaused ? nowMs + REFUSED_PAUSE_MS : (before?.untilMs ?? -Infinity);
    this.#refusals.set(id, { givers, count, givenMs: nowMs, untilMs });
  }

  #refusal(id: TransactionId, nowMs: number): Refusal | undefined {
    const refusal = this.#refusals.get(id);
    if (refusal === undefined || nowMs - refusal.givenMs < REFUSED_FORGOTTEN_MS) return refusal;
    this.#refusals.delete(id);
    return undefined;
  }

  /** Makes room for an id by one that was refused. */
  #forgetRefused(wanted: Set<TransactionId>): boolean {
    for (const id of wanted) if (this.#refusals.has(id)) return wanted.delete(id);
    return false;
  }

  #asked(id: TransactionId, nowMs: number): void {
    for (const [oldest, askedMs] of this.#firstAskedMs) {
      const ageMs = nowMs - askedMs;
      if (ageMs >= 0 && ageMs < ASKED_FORGOTTEN_MS && this.#firstAskedMs.size < ASKED_MAX) break;
      this.#firstAskedMs.delete(oldest);
    }
    if (!this.#firstAskedMs.has(id)) this.#firstAskedMs.set(id, nowMs);
  }

  /**
   * Ids that are due to be asked of a peer; where there are none, the time until there may be. Forgets those that are here. Those
   * that were refused come by themselves, as their answers may be large and are not all read, and after all others but for one
   * question in `AGAIN_EVERY`.
   */
  #due(
    peerId: PeerId,
    { wanted, batchMax, questions }: Announcer,
    nowMs: number,
  ): { readonly ids: readonly TransactionId[]; readonly waitMs: number } {
    const fresh: TransactionId[] = [];
    const again: TransactionId[] = [];
    const isTurnOfAgain = questions % AGAIN_EVERY === AGAIN_EVERY - 1;
    let waitMs = FIRST_ASKED_ALONE_MS;
    for (const id of wanted) {
      if (fresh.length >= batchMax && (!isTurnOfAgain || again.length >= batchMax)) break;
      const refusal = this.#refusal(id, nowMs);
      if (this.#options.has(id) || refusal?.givers.includes(peerId) === true) {
        wanted.delete(id);
        continue;
      }
      const sinceMs = nowMs - (this.#firstAskedMs.get(id) ?? -Infinity);
      const aloneMs = sinceMs < 0 ? 0 : FIRST_ASKED_ALONE_MS - sinceMs;
      const idMs = Math.max(aloneMs, Math.min(REFUSED_PAUSE_MS, (refusal?.untilMs ?? -Infinity) - nowMs));
      if (idMs > 0) waitMs = Math.min(waitMs, idMs);
      else if (refusal !== undefined && again.length < batchMax) again.push(id);
      else if (refusal === undefined && fresh.length < batchMax) fresh.push(id);
    }
    const isForAgain = fresh.length === 0 || (isTurnOfAgain && again.length > 0);
    return { ids: isForAgain ? again : fresh, waitMs };
  }

  #announcer(peerId: PeerId): Announcer {
    let announcer = this.#announcers.get(peerId);
    if (announcer === undefined) {
      announcer = {
        bucket: this.#bucket(peerId),
        wanted: new Set(),
        largest: 1,
        batchMax: 1,
        isAsked: false,
        questions: 0,
        timer: undefined,
      };
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
