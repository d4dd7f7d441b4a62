/**
 * Serves all subscribers of the event stream. A subscriber has no queue. The hub stores only the subscriber's place in
 * the event log. When the subscriber's connection can take more data, the hub reads the next events from the log. The
 * hub disconnects a subscriber that reads no data for `stallMs`. The subscriber can connect again and resume at its
 * place. The time that the hub spends on strangers (clients that are not trusted) counts towards their share of the
 * main thread's time (`FairScheduler`). The time for sending events that are not in the log also counts towards this
 * share, even if the receiver is trusted.
 */

import type { ForgingDelegate, Live, NodeApi, PeerEntry } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import type { FairScheduler } from '../admission/fair-scheduler.ts';
import type { HttpDialect } from '../dialect.ts';
import { peerView } from '../views/peer.ts';
import { receivedView } from '../views/transaction.ts';
import { endOfLog, isOfOtherLog, placeAtHeight } from './chain-as-of.ts';
import type { EventPlace } from './event.ts';
import { partiesOf, type Finality } from './expand.ts';
import { isWanted, wantsRecords, type EventFilter } from './filter.ts';
import { LogFeed, RECORDS_CACHED_MAX, type FedSubscriber } from './log-feed.ts';
import { EventBatcher, type BatchedEvent } from './event-batcher.ts';
import { PeerChanges } from './peer-changes.ts';
import { withLive } from '../with-live.ts';
import { Replays, type LiveReplays } from './replays.ts';

/** The client that opened a stream. */
export interface EventClient {
  /** Key of the client. The limit on replays (`Replays`) and the scheduler identify the client by this key. */
  readonly key: string;
  /**
   * If true, the client is allowed to use the reserved streams (`RESERVED_SHARE`), and gets its events without waiting
   * for the scheduler.
   */
  readonly isTrusted: boolean;
}

/** The part of an HTTP response (`ServerResponse`) that the hub uses. */
export interface EventSink {
  /** @returns false when the buffer of the connection is full; the hub then writes nothing until the event `drain` */
  write(text: string): boolean;
  end(): unknown;
  destroy(): unknown;
  readonly destroyed: boolean;
  on(event: 'drain' | 'close', listener: () => void): unknown;
}

export interface EventHub {
  /**
   * Serves a subscriber until the subscriber disconnects or the hub closes. If `filter.endsWithLog` is true, the stream
   * ends after the last record of the log.
   *
   * @param after place of the last event that the subscriber has; undefined to start with the next event
   * @returns false when there are too many subscribers or too many replays (streams that send old events to untrusted
   *   clients). Also false when the hub or the connection closes while the hub waits for the counter of replays.
   *   Rejects in the same cases as `SharedLimits.replay`
   */
  add(response: EventSink, filter: EventFilter, after: EventPlace | undefined, client: EventClient): Live<boolean>;
  /**
   * Returns the place at which a stream must start, so that it first sends the blocks of the chain from `height` on,
   * and then the later events of the log.
   *
   * @returns undefined when the chain has no block at `height - 1` yet, or if `finality` is `final` and that block is
   *   not final yet
   */
  placeAt(height: number, finality: Finality): EventPlace | undefined;
  /** Ends all streams. */
  close(): void;
}

export interface EventHubOptions {
  readonly subscribersMax: number;
  /** Time in milliseconds after which the hub disconnects a subscriber that reads no data. */
  readonly stallMs: number;
  /** Interval in milliseconds of the SSE comments (`: alive`) by which a client sees that the stream still works. */
  readonly heartbeatMs: number;
  /**
   * Interval in milliseconds of the checks of the hub. Each check finds peers that connected or disconnected, and
   * delegates whose forging was enabled or disabled. The check also disconnects the subscribers that have read no data
   * for `stallMs`.
   */
  readonly lookMs: number;
  readonly observer: Observer;
  /** Counter of replays; default: a counter for this process alone. */
  readonly replays?: LiveReplays | undefined;
  /** Decides when the hub sends events to a subscriber that is not trusted. */
  readonly scheduler: Pick<FairScheduler, 'take' | 'spend'>;
}

/**
 * The hub serves the waiting subscribers with one key (`waitingKeyOf`) for about this time, in milliseconds. These are
 * the subscribers of one stranger (untrusted client), or the subscribers of all trusted clients. Then the hub serves
 * the subscribers with the next key. The time is short, because other work of the main thread, such as forging, must
 * not wait.
 */
const SERVING_MS = 5;
/** Share of `subscribersMax` that the hub reserves for trusted subscribers. */
const RESERVED_SHARE = 0.1;
/**
 * Key of all trusted subscribers in `#waiting`. The hub serves waiting subscribers with the same key together.
 */
const TRUSTED = '';

interface Subscriber extends FedSubscriber {
  readonly response: EventSink;
  readonly client: EventClient;
  /**
   * True while the subscriber counts as a replay. This begins when a stranger (an untrusted client) starts with old
   * events (see `RECORDS_CACHED_MAX`), and ends when the hub has sent this stranger the last event of the log.
   */
  isReplaying: boolean;
  isFull: boolean;
  /**
   * Time of the last write to the subscriber, or of the last `drain` event of the subscriber's connection, in
   * milliseconds on a monotonic clock.
   */
  tookMs: number;
}

export function createEventHub(api: NodeApi, dialect: HttpDialect, options: EventHubOptions): EventHub {
  return new Hub(api, dialect, options);
}

class Hub implements EventHub {
  readonly #api: NodeApi;
  readonly #dialect: HttpDialect;
  readonly #options: EventHubOptions;
  readonly #subscribers = new Set<Subscriber>();
  readonly #log: LogFeed<Subscriber>;
  readonly #replays: LiveReplays;
  /**
   * Subscribers for which there are possibly new events. All subscribers of trusted clients have one key. Every other
   * subscriber is stored under the key of its client (`waitingKeyOf`).
   */
  readonly #waiting = new Map<string, Set<Subscriber>>();
  readonly #batcher = new EventBatcher((batch) => this.#sendBatch(batch));
  readonly #peers = new PeerChanges();
  #timers: readonly NodeJS.Timeout[] = [];
  #stopListening: (() => void) | undefined;
  #isClosed = false;
  #forging: ReadonlyMap<string, ForgingDelegate> | undefined;

  constructor(api: NodeApi, dialect: HttpDialect, options: EventHubOptions) {
    this.#api = api;
    this.#dialect = dialect;
    this.#options = options;
    this.#log = new LogFeed(api, dialect, (subscriber, text) => this.#send(subscriber, text));
    this.#replays = options.replays ?? new Replays();
    options.observer.gauge('http_event_subscribers', 0);
  }

  add(response: EventSink, filter: EventFilter, after: EventPlace | undefined, client: EventClient): Live<boolean> {
    const reserved = client.isTrusted ? 0 : Math.floor(this.#options.subscribersMax * RESERVED_SHARE);
    const hasRoom = (): boolean => this.#subscribers.size < this.#options.subscribersMax - reserved;
    if (!hasRoom()) return false;
    const subscriber = this.#subscriberOf(response, filter, after, client);
    if (!subscriber.isReplaying) return this.#begin(subscriber);
    return withLive(this.#replays.begin(client.key), (mayReplay) => {
      if (!mayReplay) return false;
      if (hasRoom() && !this.#isClosed && !response.destroyed) return this.#begin(subscriber);
      this.#replays.end(client.key);
      return false;
    });
  }

  #begin(subscriber: Subscriber): true {
    const { response } = subscriber;
    if (this.#subscribers.size === 0) this.#beginToLook();
    this.#subscribers.add(subscriber);
    this.#options.observer.gauge('http_event_subscribers', this.#subscribers.size);
    response.on('drain', () => {
      subscriber.isFull = false;
      subscriber.tookMs = performance.now();
      if (this.#subscribers.has(subscriber)) this.#wake(subscriber);
    });
    response.on('close', () => this.#drop(subscriber));
    this.#wake(subscriber);
    return true;
  }

  placeAt(height: number, finality: Finality): EventPlace | undefined {
    const known = placeAtHeight(this.#api, height, finality);
    if (known !== undefined || this.#api.refresh === undefined) return known;
    this.#api.refresh();
    return placeAtHeight(this.#api, height, finality);
  }

  close(): void {
    this.#isClosed = true;
    for (const subscriber of [...this.#subscribers]) {
      this.#drop(subscriber);
      subscriber.response.end();
    }
    this.#waiting.clear();
  }

  #drop(subscriber: Subscriber): void {
    if (!this.#subscribers.delete(subscriber)) return;
    this.#endReplay(subscriber);
    this.#waiting.get(waitingKeyOf(subscriber))?.delete(subscriber);
    if (this.#subscribers.size === 0) this.#rest();
    this.#options.observer.gauge('http_event_subscribers', this.#subscribers.size);
  }

  #endReplay(subscriber: Subscriber): void {
    if (subscriber.isReplaying) this.#replays.end(subscriber.client.key);
    subscriber.isReplaying = false;
  }

  #send(subscriber: Subscriber, text: string): void {
    if (!subscriber.response.write(text)) subscriber.isFull = true;
    subscriber.tookMs = performance.now();
  }

  /**
   * Sends a subscriber its next events.
   *
   * @returns true when the feed stopped before the end of the log, because it had made `STEPS_PER_SUBSCRIBER` steps or
   *   because the time was later than `untilMs`. The hub must then call this method again
   */
  #feed(subscriber: Subscriber, untilMs: number): boolean {
    const result = this.#log.feed(subscriber, untilMs);
    if (result === 'end') {
      this.#endReplay(subscriber);
      if (subscriber.filter.endsWithLog === true) {
        this.#drop(subscriber);
        subscriber.response.end();
      }
    }
    return result === 'more';
  }

  #wake(subscriber: Subscriber): void {
    const key = waitingKeyOf(subscriber);
    const beside = this.#waiting.get(key);
    if (beside !== undefined) return void beside.add(subscriber);
    this.#waiting.set(key, new Set([subscriber]));
    this.#serveLater(key);
  }

  /**
   * Serves the subscribers in a later iteration of the event loop, so that a change of the chain is complete before
   * the hub reads the chain.
   */
  #serveLater(key: string): void {
    setImmediate(() => {
      if (key === TRUSTED) this.#serveSubscribers(key);
      else this.#options.scheduler.take(key, () => this.#serveSubscribers(key));
    });
  }

  #serveSubscribers(key: string): void {
    const untilMs = performance.now() + SERVING_MS;
    const served = this.#waiting.get(key) ?? new Set();
    // The loop also visits subscribers that are added to the set during the loop. If `#feed` stops at a limit, the
    // subscriber is added again, so the loop serves this subscriber again after all other subscribers of the set.
    for (const subscriber of served) {
      served.delete(subscriber);
      if (!subscriber.isFull && this.#feed(subscriber, untilMs)) served.add(subscriber);
      if (performance.now() > untilMs) break;
    }
    if (served.size > 0) this.#serveLater(key);
    else this.#waiting.delete(key);
  }

  /** Sends events that are not in the log to all subscribers that can take data now. */
  #sendBatch(batch: readonly BatchedEvent[]): void {
    const startMs = performance.now();
    for (const subscriber of this.#subscribers) {
      const text = subscriber.isFull ? '' : wantedText(batch, subscriber.filter);
      if (text !== '') this.#send(subscriber, text);
    }
    this.#options.scheduler.spend(performance.now() - startMs);
  }

  #look(): void {
    ignoreFailure(withLive(this.#api.peers(), (entries) => this.#lookAtPeers(entries)));
    ignoreFailure(withLive(this.#api.forgingDelegates(), (delegates) => this.#lookAtForging(delegates)));
    const nowMs = performance.now();
    for (const subscriber of this.#subscribers)
      if (subscriber.isFull && nowMs - subscriber.tookMs > this.#options.stallMs) subscriber.response.destroy();
  }

  #lookAtPeers(entries: readonly PeerEntry[]): void {
    for (const entry of this.#peers.look(entries))
      this.#batcher.add({
        name: entry.state === 'connected' ? 'peers/connected' : 'peers/disconnected',
        data: () => peerView(entry, this.#dialect, this.#api.params),
      });
  }

  #lookAtForging(delegates: readonly ForgingDelegate[]): void {
    const forgingNow = byPublicKey(delegates);
    for (const [publicKey, delegate] of forgingNow)
      if (this.#forging !== undefined && this.#forging.get(publicKey)?.forging !== delegate.forging) {
        const data = { publicKey, forging: delegate.forging };
        this.#batcher.add({ name: 'forging/change', data: () => data, delegates: [publicKey] });
      }
    this.#forging = forgingNow;
  }

  #beat(): void {
    for (const subscriber of this.#subscribers) if (!subscriber.isFull) this.#send(subscriber, ': alive\n\n');
  }

  /**
   * Called when the first subscriber comes. Starts the timers and the listener. `#rest` stops them after the last
   * subscriber has left.
   */
  #beginToLook(): void {
    // The first check (`#look`) that succeeds sends no events. It only stores which peers are connected, and for which
    // delegates forging is enabled. A check can fail in a reading process (which answers HTTP for the node), because
    // this process asks the node for the data.
    this.#peers.forget();
    this.#forging = undefined;
    this.#look();
    const { lookMs, heartbeatMs } = this.#options;
    this.#timers = [setInterval(() => this.#look(), lookMs), setInterval(() => this.#beat(), heartbeatMs)];
    this.#stopListening = this.#api.listen({
      chainChanged: () => {
        for (const subscriber of this.#subscribers) this.#wake(subscriber);
      },
      transactionReceived: (transaction) => {
        const data = (): unknown => receivedView(transaction, this.#api, this.#dialect);
        this.#batcher.add({ name: 'transactions/new', data, ...partiesOf(transaction) });
      },
    });
  }

  #rest(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#batcher.flush();
  }

  #subscriberOf(
    response: EventSink,
    filter: EventFilter,
    after: EventPlace | undefined,
    client: EventClient,
  ): Subscriber {
    // It is possible that another process has sent the client events that this process has not read from the log yet.
    // In this case, this process must refresh its view of the log.
    if (after !== undefined && after.sequence > this.#api.log.last()) this.#api.refresh?.();
    // `last` is the place after all events of the last record. A subscriber that does not request a place starts at
    // this place.
    const last = endOfLog(this.#api);
    const isPlaceOfOtherLog = after !== undefined && isOfOtherLog(this.#api.log, after);
    const place = after ?? last;
    const isBehind =
      isPlaceOfOtherLog || place.height !== undefined || place.sequence < last.sequence - RECORDS_CACHED_MAX;
    const isReplaying = isBehind && !client.isTrusted && wantsRecords(filter);
    const tookMs = performance.now();
    return { response, filter, client, place, isOfOtherLog: isPlaceOfOtherLog, isReplaying, isFull: false, tookMs };
  }
}

/** Ignores a failed request to the node, because the next check (`#look`) sends the request again. */
function ignoreFailure(live: Live<void>): void {
  if (live instanceof Promise) live.catch(() => undefined);
}

function byPublicKey(delegates: readonly ForgingDelegate[]): Map<string, ForgingDelegate> {
  return new Map(delegates.map((delegate) => [delegate.publicKey, delegate]));
}

function waitingKeyOf({ client }: Subscriber): string {
  return client.isTrusted ? TRUSTED : client.key;
}

function wantedText(events: readonly BatchedEvent[], filter: EventFilter): string {
  return events.flatMap(({ event, text }) => (isWanted(event, filter) ? [text] : [])).join('');
}
