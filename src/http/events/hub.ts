/**
 * Serves all readers of the event stream. A reader has no queue. The hub stores only the reader's place in the chain's
 * log. When the reader's connection can take more data, the hub reads the next events from the log. A reader that takes
 * no data for a while is disconnected. The reader resumes at its place when it connects again. Reading for strangers
 * uses the time budget of all work for strangers.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { ForgingDelegate, Live, NodeApi, PeerEntry } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import type { FairScheduler } from '../admission/fair-scheduler.ts';
import type { HttpDialect } from '../dialect.ts';
import { peerView } from '../views/peer.ts';
import { receivedView } from '../views/transaction.ts';
import { ChainAsOf, endOfLog, isOfOtherLog, lastPastHeight, placeAtHeight } from './chain-as-of.ts';
import { eventText, idOf, tagOf, type EventPlace, type NodeEvent } from './event.ts';
import { eventsOf, partiesOf, pastEvents, type Finality } from './expand.ts';
import { isWanted, mayWant, wantsRecords, type EventFilter } from './filter.ts';
import { Moments, type Moment } from './moments.ts';
import { PeerChanges } from './peer-changes.ts';
import { withLive } from '../with-live.ts';
import { Replays, type LiveReplays } from './replays.ts';

/** The client that opened a stream. */
export interface EventClient {
  /** Key under which the limits count the client. */
  readonly key: string;
  /** True for a client that may use the reserved streams and need not wait for a turn. */
  readonly isTrusted: boolean;
}

/** A response as the hub uses it. */
export interface EventSink {
  /** @returns false while the reader has not taken earlier data */
  write(text: string): boolean;
  end(): unknown;
  destroy(): unknown;
  readonly destroyed: boolean;
  on(event: 'drain' | 'close', listener: () => void): unknown;
}

export interface EventHub {
  /**
   * Serves a reader until it disconnects or the hub closes.
   *
   * @param after last event that the reader has; undefined to start with the next event
   * @returns false when there are too many readers, or too many replays of the client
   */
  add(response: EventSink, filter: EventFilter, after: EventPlace | undefined, client: EventClient): Live<boolean>;
  /**
   * Returns the place where a stream starts that sends all blocks from a height on, and then the following events.
   *
   * @returns undefined when the block below the height does not exist yet, or is not final
   */
  placeAt(height: number, finality: Finality): EventPlace | undefined;
  /** Ends all streams. */
  close(): void;
}

export interface EventHubOptions {
  readonly readersMax: number;
  /** Time after which a reader that takes no data is disconnected. */
  readonly stallMs: number;
  /** Interval of the comments that show that a quiet stream is alive. */
  readonly heartbeatMs: number;
  readonly lookMs: number;
  readonly observer: Observer;
  /** Counts replays; default: for this process alone. */
  readonly replays?: LiveReplays | undefined;
  /** Scheduler for readers that are not trusted. */
  readonly scheduler: Pick<FairScheduler, 'take' | 'spend'>;
}

/**
 * Time for which the readers of one client are served before the readers of the next client. The time is short, because
 * forging must not wait.
 */
const SERVING_MS = 5;
/** Number of records that one reader gets before the next reader is served. */
const RECORDS_PER_READER = 20;
/** Share of the streams that is reserved for trusted readers. */
const RESERVED_SHARE = 0.1;
/**
 * Number of records that are cached with their texts, because most readers want the same records. A reader that is
 * further behind counts as a replay.
 */
export const RECORDS_CACHED_MAX = 64;
/** Key under which all trusted readers are served together. */
const TRUSTED = '';

interface Reader {
  readonly response: EventSink;
  readonly filter: EventFilter;
  readonly client: EventClient;
  /** Place of the last event that was sent or skipped. */
  place: EventPlace;
  /** True when the log does not have the requested place, because the place belongs to another log. */
  isAstray: boolean;
  /** True while the reader receives old events. */
  isReplaying: boolean;
  isFull: boolean;
  /** Time when the reader last took data, on a monotonic clock. */
  tookMs: number;
}

/** An event whose text is made when the first reader wants it. */
interface LazyEvent {
  readonly event: NodeEvent;
  readonly place: EventPlace;
  text: string | undefined;
}

export function createEventHub(api: NodeApi, dialect: HttpDialect, options: EventHubOptions): EventHub {
  return new Hub(api, dialect, options);
}

class Hub implements EventHub {
  readonly #api: NodeApi;
  readonly #dialect: HttpDialect;
  readonly #options: EventHubOptions;
  readonly #readers = new Set<Reader>();
  readonly #cached = new LruMap<string, readonly LazyEvent[]>(RECORDS_CACHED_MAX);
  readonly #replays: LiveReplays;
  /** Readers for which there may be new events, by the client that waits for a turn. */
  readonly #waiting = new Map<string, Set<Reader>>();
  readonly #moments = new Moments((gathered) => this.#sendMoments(gathered));
  readonly #peers = new PeerChanges();
  #timers: readonly NodeJS.Timeout[] = [];
  #stopListening: (() => void) | undefined;
  #isClosed = false;
  #forging = new Map<string, ForgingDelegate>();

  constructor(api: NodeApi, dialect: HttpDialect, options: EventHubOptions) {
    this.#api = api;
    this.#dialect = dialect;
    this.#options = options;
    this.#replays = options.replays ?? new Replays();
    options.observer.gauge('http_event_readers', 0);
  }

  add(response: EventSink, filter: EventFilter, after: EventPlace | undefined, client: EventClient): Live<boolean> {
    const reserved = client.isTrusted ? 0 : Math.floor(this.#options.readersMax * RESERVED_SHARE);
    const hasRoom = (): boolean => this.#readers.size < this.#options.readersMax - reserved;
    if (!hasRoom()) return false;
    const reader = this.#readerOf(response, filter, after, client);
    if (!reader.isReplaying) return this.#begin(reader);
    return withLive(this.#replays.begin(client.key), (mayReplay) => {
      if (!mayReplay) return false;
      if (hasRoom() && !this.#isClosed && !response.destroyed) return this.#begin(reader);
      this.#replays.end(client.key);
      return false;
    });
  }

  #begin(reader: Reader): true {
    const { response } = reader;
    if (this.#readers.size === 0) this.#beginToLook();
    this.#readers.add(reader);
    this.#options.observer.gauge('http_event_readers', this.#readers.size);
    response.on('drain', () => {
      reader.isFull = false;
      reader.tookMs = performance.now();
      if (this.#readers.has(reader)) this.#wake(reader);
    });
    response.on('close', () => this.#drop(reader));
    this.#wake(reader);
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
    for (const reader of [...this.#readers]) {
      this.#drop(reader);
      reader.response.end();
    }
    this.#waiting.clear();
  }

  /**
   * Returns the events of a record. If the reader can want none of the events, the list is empty and the block is not
   * read.
   */
  #eventsAt(sequence: number, filter: EventFilter): readonly LazyEvent[] {
    const key = `${filter.finality} ${sequence}`;
    const known = this.#cached.get(key);
    if (known !== undefined) return known;
    const [record] = this.#api.log.records(sequence, 1);
    if (record?.sequence !== sequence || !mayWant(filter, record, this.#api.params)) return [];
    const place = { sequence, tag: tagOf(record) };
    const events = lazyEvents(eventsOf(this.#api, record, filter.finality, this.#dialect), place);
    this.#cached.set(key, events);
    return events;
  }

  #drop(reader: Reader): void {
    if (!this.#readers.delete(reader)) return;
    this.#endReplay(reader);
    this.#waiting.get(waitingKeyOf(reader))?.delete(reader);
    if (this.#readers.size === 0) this.#rest();
    this.#options.observer.gauge('http_event_readers', this.#readers.size);
  }

  #endReplay(reader: Reader): void {
    if (reader.isReplaying) this.#replays.end(reader.client.key);
    reader.isReplaying = false;
  }

  #send(reader: Reader, text: string): void {
    if (!reader.response.write(text)) reader.isFull = true;
    reader.tookMs = performance.now();
  }

  /** Sends a reader its next events. @returns true when the reader needs another turn */
  #feed(reader: Reader, untilMs: number): boolean {
    const floor = this.#api.log.floor();
    if (reader.isAstray || reader.place.sequence < floor - 1) this.#tellGap(reader, floor);
    if (!wantsRecords(reader.filter)) reader.place = endOfLog(this.#api);
    for (let records = 0; records < RECORDS_PER_READER && !reader.isFull; records += 1) {
      const { sequence, height } = reader.place;
      if (height === undefined) this.#sendWanted(reader, this.#eventsAt(sequence, reader.filter));
      else this.#sendPast(reader, height);
      if (reader.isFull) return false;
      // The last record of the log was sent completely.
      if (height === undefined && sequence >= this.#api.log.last()) {
        this.#endReplay(reader);
        if (reader.filter.endsWithLog === true) {
          this.#drop(reader);
          reader.response.end();
        }
        return false;
      }
      if (height === undefined) reader.place = { sequence: sequence + 1, index: -1 };
      if (performance.now() > untilMs) break;
    }
    return !reader.isFull;
  }

  /**
   * Sends the events of a block that is read from the chain. The reader then continues with the next block, or with the
   * log.
   */
  #sendPast(reader: Reader, height: number): void {
    const { sequence, tag } = reader.place;
    const past = new ChainAsOf(this.#api, sequence);
    const last = lastPastHeight(past, reader.filter.finality);
    // At the reader's place in the log, the chain had no block at this height. The log has the events of each later
    // block at this height.
    if (height > last) return this.#beginLog(reader);
    const finalized = height === last ? past.finalizedHeight() : undefined;
    const events = pastEvents(this.#api, past.block(height), finalized, this.#dialect);
    this.#sendWanted(reader, lazyEvents(events, reader.place));
    if (reader.isFull) return;
    if (height < last) reader.place = { sequence, tag, height: height + 1, index: -1 };
    else this.#beginLog(reader);
  }

  #beginLog(reader: Reader): void {
    reader.place = { sequence: reader.place.sequence, index: Number.MAX_SAFE_INTEGER };
  }

  /** Sends the wanted events after the reader's place. */
  #sendWanted(reader: Reader, events: readonly LazyEvent[]): void {
    for (let index = reader.place.index + 1; index < events.length && !reader.isFull; index += 1) {
      const lazy = events[index];
      if (lazy === undefined) continue;
      reader.place = lazy.place;
      if (!isWanted(lazy.event, reader.filter)) continue;
      lazy.text ??= eventText(lazy.event, lazy.place);
      this.#send(reader, lazy.text);
    }
  }

  #tellGap(reader: Reader, floor: number): void {
    const [record] = this.#api.log.records(floor, 1);
    const after = idOf(reader.place);
    const tip = this.#api.chain.tip();
    const data = (): unknown => ({
      after,
      next: floor,
      height: record?.height ?? tip?.height ?? 0,
      blockId: record?.blockId ?? tip?.id ?? '0',
    });
    this.#send(reader, eventText({ name: 'log/gap', data }, undefined));
    reader.place = { sequence: floor, index: -1 };
    reader.isAstray = false;
  }

  #wake(reader: Reader): void {
    const key = waitingKeyOf(reader);
    const beside = this.#waiting.get(key);
    if (beside !== undefined) return void beside.add(reader);
    this.#waiting.set(key, new Set([reader]));
    this.#serveLater(key);
  }

  /** Sends in a later turn of the event loop, because nothing may be sent inside the change that caused the event. */
  #serveLater(key: string): void {
    setImmediate(() => {
      if (key === TRUSTED) this.#serveReaders(key);
      else this.#options.scheduler.take(key, () => this.#serveReaders(key));
    });
  }

  #serveReaders(key: string): void {
    const untilMs = performance.now() + SERVING_MS;
    const served = this.#waiting.get(key) ?? new Set();
    // The iteration also visits readers that are added at its end. So a reader with more events is served again after
    // all other readers.
    for (const reader of served) {
      served.delete(reader);
      if (!reader.isFull && this.#feed(reader, untilMs)) served.add(reader);
      if (performance.now() > untilMs) break;
    }
    if (served.size > 0) this.#serveLater(key);
    else this.#waiting.delete(key);
  }

  /** Sends events that are not in the log to all readers that can take data now. */
  #sendMoments(gathered: readonly Moment[]): void {
    const startMs = performance.now();
    for (const reader of this.#readers) {
      const text = reader.isFull ? '' : wantedText(gathered, reader.filter);
      if (text !== '') this.#send(reader, text);
    }
    this.#options.scheduler.spend(performance.now() - startMs);
  }

  #look(): void {
    ignoreFailure(withLive(this.#api.peers(), (entries) => this.#lookAtPeers(entries)));
    ignoreFailure(withLive(this.#api.forgingDelegates(), (delegates) => this.#lookAtForging(delegates)));
    const nowMs = performance.now();
    for (const reader of this.#readers)
      if (reader.isFull && nowMs - reader.tookMs > this.#options.stallMs) reader.response.destroy();
  }

  #lookAtPeers(entries: readonly PeerEntry[]): void {
    for (const entry of this.#peers.look(entries))
      this.#moments.add({
        name: entry.state === 'connected' ? 'peers/connected' : 'peers/disconnected',
        data: () => peerView(entry, this.#dialect, this.#api.params),
      });
  }

  #lookAtForging(delegates: readonly ForgingDelegate[]): void {
    const forgingNow = byPublicKey(delegates);
    for (const [publicKey, delegate] of forgingNow)
      if (this.#forging.get(publicKey)?.forging !== delegate.forging) {
        const data = { publicKey, forging: delegate.forging };
        this.#moments.add({ name: 'forging/change', data: () => data, delegates: [publicKey] });
      }
    this.#forging = forgingNow;
  }

  #beat(): void {
    for (const reader of this.#readers) if (!reader.isFull) this.#send(reader, ': alive\n\n');
  }

  /** Starts timers and listeners; they run only while there are readers. */
  #beginToLook(): void {
    ignoreFailure(withLive(this.#api.peers(), (entries) => this.#peers.begin(entries)));
    ignoreFailure(withLive(this.#api.forgingDelegates(), (delegates) => void (this.#forging = byPublicKey(delegates))));
    const { lookMs, heartbeatMs } = this.#options;
    this.#timers = [setInterval(() => this.#look(), lookMs), setInterval(() => this.#beat(), heartbeatMs)];
    this.#stopListening = this.#api.listen({
      chainChanged: () => {
        for (const reader of this.#readers) this.#wake(reader);
      },
      transactionReceived: (transaction) => {
        const data = (): unknown => receivedView(transaction, this.#api, this.#dialect);
        this.#moments.add({ name: 'transactions/new', data, ...partiesOf(transaction) });
      },
    });
  }

  #rest(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#moments.flush();
  }

  #readerOf(response: EventSink, filter: EventFilter, after: EventPlace | undefined, client: EventClient): Reader {
    // Another process may have sent events that this process has not seen yet.
    if (after !== undefined && after.sequence > this.#api.log.last()) this.#api.refresh?.();
    // The place after the last record. All events of that record were already sent.
    const last = endOfLog(this.#api);
    const isAstray = after !== undefined && isOfOtherLog(this.#api.log, after);
    const place = after ?? last;
    const isBehind = isAstray || place.height !== undefined || place.sequence < last.sequence - RECORDS_CACHED_MAX;
    const isReplaying = isBehind && !client.isTrusted && wantsRecords(filter);
    const tookMs = performance.now();
    return { response, filter, client, place, isAstray, isReplaying, isFull: false, tookMs };
  }
}

function lazyEvents(events: readonly NodeEvent[], place: Omit<EventPlace, 'index'>): readonly LazyEvent[] {
  return events.map((event, index) => ({ event, place: { ...place, index }, text: undefined }));
}

/** After an error, the next check asks the node again. */
function ignoreFailure(live: Live<void>): void {
  if (live instanceof Promise) live.catch(() => undefined);
}

function byPublicKey(delegates: readonly ForgingDelegate[]): Map<string, ForgingDelegate> {
  return new Map(delegates.map((delegate) => [delegate.publicKey, delegate]));
}

function waitingKeyOf({ client }: Reader): string {
  return client.isTrusted ? TRUSTED : client.key;
}

function wantedText(moments: readonly Moment[], filter: EventFilter): string {
  return moments.flatMap(({ event, text }) => (isWanted(event, filter) ? [text] : [])).join('');
}
