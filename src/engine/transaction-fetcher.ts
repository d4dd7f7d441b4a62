/**
 * Asks peers for the transactions that they announced. The node asks each peer at a limited rate (`ports/rates.ts`). If
 * several peers announce a transaction, the node first asks only one of them. If the pool refuses the transaction, the
 * node asks another peer, because a dishonest peer can send a damaged copy with the same id. For example, if the sender
 * is a multisignature account, the damaged copy can contain invalid signatures in place of the signatures of the
 * account's members. Honest peers can also have a transaction that the pool refuses. After `REFUSALS_MAX` refusals of a
 * transaction, the node therefore waits for a minute before it asks any peer for the transaction again. Without this
 * pause, these peers would send the transaction again and again.
 *
 * Peers announce ids of transactions only in generation 3. In generation 3, the node computes the id of each
 * transaction in an answer from the content of the transaction. If an answer has no transaction with a requested id,
 * the requested transaction counts as missing.
 */

import { LruMap } from '../primitives/bounded.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Sending } from '../ports/rates.ts';
import type { PeerId, Transport } from '../ports/transport.ts';
import type { TransactionId } from '../protocol/types.ts';
import { ITEMS_PER_MESSAGE_MAX } from './announcements.ts';

/**
 * For each peer, the node keeps the announced ids of the transactions that it still intends to request from this peer.
 * This constant is the maximum number of these ids for one peer. To make room for a further id, the node drops an id
 * whose transaction the pool has refused. If there is no such id, the node ignores the further id, because other peers
 * usually announce the same transaction.
 */
const WANTED_PER_PEER_MAX = 500;
/**
 * Maximum number of peers whose token bucket (the rate limit of requests to the peer) the node remembers. The transport
 * allows fewer connections than this number, so the node usually still remembers the bucket of a peer that reconnects.
 */
const PEERS_MAX = 20_000;
/** Maximum number of transaction ids for which the node remembers when it first asked a peer for the transaction. */
const ASKED_MAX = 10_000;
/**
 * Time in milliseconds for which the node asks only one peer for a transaction. After this time, the node asks another
 * peer, because it is possible that the first peer never answers.
 */
const FIRST_ASKED_ALONE_MS = 2_000;
/** Time in milliseconds for which the node remembers when it first asked for a transaction. */
const ASKED_FORGOTTEN_MS = 60_000;
/**
 * After this number of refusals of one transaction, the node asks no peer for the transaction during
 * `REFUSED_PAUSE_MS`. Before this number is reached, the node asks another peer after each refusal. Every
 * `REFUSALS_MAX` further refusals cause another pause. If a single refusal caused a pause, an attacker could hide a
 * good transaction behind a damaged copy with the same id.
 */
export const REFUSALS_MAX = 3;
export const REFUSED_PAUSE_MS = 60_000;
/**
 * One of `AGAIN_EVERY` consecutive requests to a peer asks for refused transactions, even if new transactions are
 * waiting. The request leaves out the transactions whose pause (`REFUSED_PAUSE_MS`) has not ended. In a network with
 * much traffic, new transactions are always waiting. Without this rule, the node might never ask again for a good
 * transaction of which the node got a damaged copy.
 */
export const AGAIN_EVERY = 4;
/**
 * If no peer has sent a refused transaction again for this time in milliseconds, the node forgets the refusals of the
 * transaction. The node can then ask any peer for the transaction again. It is possible that the pool then accepts the
 * transaction, for example if the pool was full before.
 */
const REFUSED_FORGOTTEN_MS = 600_000;
/** Maximum number of refused transactions that the node remembers. */
const REFUSED_MAX = 10_000;
/** Maximum number of peers that the node remembers as senders of one refused transaction. */
const GIVERS_MAX = 12;
/**
 * Maximum memory for all remembered ids, in bytes: 100 bytes for each id that the node asked for, and 500 bytes for
 * each refused transaction.
 */
export const REMEMBERED_BYTES_MAX = ASKED_MAX * 100 + REFUSED_MAX * 500;

/** Result of passing the transactions in an answer of a peer to the pool. */
export interface TakenTransactions {
  /**
   * Ids of the transactions that the pool accepted or refused. The list does not contain transactions that the pool has
   * not examined, for example because the verification budget of the peer is used up. In generation 3, each id in the
   * list is computed from the content that the peer sent. With ids that the peer only states, a peer could make the
   * node record refusals of any transaction. In generation 2, the list contains the ids that the peer states. These ids
   * do no harm, because the fetcher uses the list only for answers to requests for announced ids, and peers of
   * generation 2 never announce ids.
   */
  readonly examined: readonly TransactionId[];
  /** True if the pool stopped reading the answer at a transaction with a fault for which the peer is responsible. */
  readonly isCutShort: boolean;
}

export interface FetcherOptions {
  readonly clock: Clock;
  readonly transport: Pick<Transport, 'request'>;
  readonly rate: Sending;
  /** Returns whether the pool or the chain has a transaction. */
  readonly has: (id: TransactionId) => boolean;
  readonly take: (peerId: PeerId, transactions: readonly unknown[]) => Promise<TakenTransactions>;
  /** Called when a request failed, or when the handling of an answer failed. */
  readonly failed: (peerId: PeerId, error: unknown) => void;
}

interface Refusal {
  /**
   * Peers that sent the transaction; the peer that sent the transaction most recently is last. The node does not ask
   * these peers for the transaction while the node remembers that the pool refused the transaction.
   */
  readonly givers: readonly PeerId[];
  /** Number of times that peers sent the transaction and the pool refused it. */
  readonly count: number;
  /** Unix time in milliseconds at which a peer last sent the transaction. */
  readonly givenMs: number;
  /** Unix time in milliseconds until which the node asks no peer for the transaction. */
  readonly untilMs: number;
}

interface Announcer {
  readonly bucket: TokenBucket;
  /** Ids of the transactions that the peer announced and that the node still intends to request from this peer. */
  readonly wanted: Set<TransactionId>;
  /**
   * Largest number of ids that the peer announced in one message, but at most `ITEMS_PER_MESSAGE_MAX`. One request to
   * the peer has at most this number of ids. Each node of lisk-sdk has a maximum number of ids in its announcements,
   * and bans a peer that asks for more ids than this maximum in one request.
   */
  largest: number;
  /**
   * Maximum number of ids in the next request. After a failed request, the maximum is half of the number of ids in that
   * request, because a single transaction can make an answer unreadable. A successful request doubles the maximum, up
   * to `largest`.
   */
  batchMax: number;
  /** True while a request to this peer has no answer yet. */
  isAsked: boolean;
  /** Number of requests to this peer so far. */
  requests: number;
  timer: Timer | undefined;
}

export class TransactionFetcher {
  readonly #options: FetcherOptions;
  /** Connected peers that announced transactions. */
  readonly #announcers = new Map<PeerId, Announcer>();
  readonly #buckets = new LruMap<PeerId, TokenBucket>(PEERS_MAX);
  /**
   * For each transaction id, the Unix time in milliseconds at which the node first asked a peer for the transaction.
   * The entries are in the order of these times.
   */
  readonly #firstAskedMs = new Map<TransactionId, number>();
  /** Transactions that peers sent and this node refused. */
  readonly #refusals = new LruMap<TransactionId, Refusal>(REFUSED_MAX);
  #stopped = false;

  constructor(options: FetcherOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Called when the connection to a peer ended. From then on, the node does not ask the peer. */
  disconnected(peerId: PeerId): void {
    const announcer = this.#announcers.get(peerId);
    announcer?.timer?.cancel();
    announcer?.wanted.clear();
    this.#announcers.delete(peerId);
  }

  /** Called when a peer announced transactions. */
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

  /**
   * Asks a peer for the transactions in the peer's pool.
   *
   * @throws ProtocolError `REQUEST_FAILED` if the request failed, or if the rate allows no request to this peer now
   */
  async pool(peerId: PeerId): Promise<void> {
    const { clock, transport, take } = this.#options;
    if (!this.#bucket(peerId).take(clock.nowMs())) {
      throw new ProtocolError('REQUEST_FAILED', {
        peer: peerId,
        reason: 'this node asked the peer for transactions a moment ago',
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
    announcer.requests += 1;
    void this.#fetch(peerId, announcer, ids).finally(() => {
      announcer.isAsked = false;
      this.#ask(peerId, announcer);
    });
  }

  async #fetch(peerId: PeerId, announcer: Announcer, ids: readonly TransactionId[]): Promise<void> {
    const { transport, take, failed } = this.#options;
    try {
      const answer = await transport.request(peerId, { kind: 'transactions', ids });
      const { examined, isCutShort } = await take(peerId, answer);
      const given = new Set(examined);
      for (const id of ids) if (given.has(id)) this.#given(peerId, id);
      // The pool has not examined the transactions after the faulty transaction, so the node asks for these
      // transactions again. The node also asks again for the faulty transaction if the pool could not read it, for
      // example because its type is unknown. In this case, the node does not know which of the requested ids the faulty
      // transaction has, so the node cannot record a refusal of the id.
      if (isCutShort) this.#askForFewer(peerId, announcer, ids, given);
      else announcer.batchMax = Math.min(announcer.largest, 2 * announcer.batchMax);
    } catch (error) {
      failed(peerId, error);
      this.#askForFewer(peerId, announcer, ids, new Set());
    }
  }

  /**
   * Lets the node ask the peer again for the ids of a failed request, with fewer ids in each request. If the failed
   * request had only one id, the node asks this peer for the id again only after the peer has announced the id again.
   *
   * @param given ids whose transactions have arrived
   */
  #askForFewer(
    peerId: PeerId,
    announcer: Announcer,
    ids: readonly TransactionId[],
    given: ReadonlySet<TransactionId>,
  ): void {
    announcer.batchMax = Math.max(1, Math.floor(ids.length / 2));
    if (ids.length === 1 || this.#announcers.get(peerId) !== announcer) return;
    for (const id of ids) if (!given.has(id)) announcer.wanted.add(id);
  }

  /** Called when a peer sent a transaction, after the pool has accepted or refused the transaction. */
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

  /**
   * Makes room for a new id by dropping an id whose transaction this node has refused.
   *
   * @returns false if `wanted` has no id of a refused transaction
   */
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
   * Chooses the ids for the next request to a peer. If the node cannot ask the peer for any id now, `ids` is empty, and
   * `waitMs` is the time until the next attempt. The method deletes from `wanted` the ids of transactions that have
   * arrived in the meantime, and of refused transactions that this peer has already sent. A request contains only ids
   * of new transactions, or only ids of refused transactions, because the node stops reading an answer at an invalid
   * transaction. The node asks for refused transactions in two cases: when it has no new ids to ask for, and in one of
   * every `AGAIN_EVERY` requests.
   */
  #due(
    peerId: PeerId,
    { wanted, batchMax, requests }: Announcer,
    nowMs: number,
  ): { readonly ids: readonly TransactionId[]; readonly waitMs: number } {
    const fresh: TransactionId[] = [];
    const again: TransactionId[] = [];
    const isTurnOfAgain = requests % AGAIN_EVERY === AGAIN_EVERY - 1;
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
        requests: 0,
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
