/**
 * Serves all readers of the stream. None has a queue: each has a place in the chain's log, and what comes next is read from
 * there when its connection takes more. A reader that takes nothing for a while is cut, and resumes at its place when it comes
 * back. What is read for strangers draws on the time that all work for strangers gets.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { ForgingDelegate, Live, NodeApi, PeerEntry } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import type { FairScheduler } from '../admission/fair-scheduler.ts';
import type { HttpDialect } from '../dialect.ts';
import { peerView } from '../views/peer.ts';
import { receivedView } from '../views/transaction.ts';
import { ChainAsOf, endOfLog, lastPastHeight, placeAtHeight } from './chain-as-of.ts';
import { eventText, idOf, type EventPlace, type NodeEvent } from './event.ts';
import { eventsOf, partiesOf, pastEvents, type Finality } from './expand.ts';
import { isWanted, mayWant, wantsRecords, type EventFilter } from './filter.ts';
import { Moments, type Moment } from './moments.ts';
import { PeerChanges } from './peer-changes.ts';
import { withLive } from '../with-live.ts';
import { Replays } from './replays.ts';

/** The client that a reader belongs to. */
export interface EventClient {
  /** What limits count as one client. */
  readonly key: string;
  /** Whether it may have one of the places that strangers cannot take, and waits for no turn. */
  readonly isTrusted: boolean;
}

/** A response as the hub uses it. */
export interface EventSink {
  /** @returns false while the reader has not taken what was written before */
  write(text: string): boolean;
  end(): unknown;
  destroy(): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
}

export interface EventHub {
  /**
   * Serves a reader until it or the hub goes.
   *
   * @param after the last event that it has; undefined to begin with the next
   * @returns false when there are as many readers as may be, or as many of the client that are given what was long before
   */
  add(response: EventSink, filter: EventFilter, after: EventPlace | undefined, client: EventClient): boolean;
  /**
   * Where a stream begins that tells of all blocks from a height on, and then of what happens.
   *
   * @returns undefined where the block above the height before is not there yet
   */
  placeAt(height: number, finality: Finality): EventPlace | undefined;
  /** Ends all streams. */
  close(): void;
}

export interface EventHubOptions {
  readonly readersMax: number;
  /** A reader that takes nothing for so long is cut. */
  readonly stallMs: number;
  /** A stream says that it lives this often, and peers and forging are looked at. */
  readonly heartbeatMs: number;
  readonly lookMs: number;
  readonly observer: Observer;
  /** Where readers that are not trusted wait. */
  readonly scheduler: Pick<FairScheduler, 'take' | 'spend'>;
}

/** Readers of one client are served for so long before others have their turn: forging must not wait. */
const SERVING_MS = 5;
/** Records that a reader is given before the next reader of the turn. */
const RECORDS_PER_READER = 20;
/** Share of the places that only trusted readers get. */
const RESERVED_SHARE = 0.1;
/** Records kept with their texts: readers mostly want the same ones. A reader further back than that replays. */
export const RECORDS_CACHED_MAX = 64;
/** Under this key all trusted readers are served together. */
const TRUSTED = '';

interface Reader {
  readonly response: EventSink;
  readonly filter: EventFilter;
  readonly client: EventClient;
  /** The last event that was sent or passed over. */
  place: EventPlace;
  /** What it reads while its place has a height. */
  past: ChainAsOf | undefined;
  /** What it asked to go on from is no place of this log: the log was begun anew. */
  isAstray: boolean;
  /** Whether it is given what was long before. */
  isReplaying: boolean;
  isFull: boolean;
  /** When it last took something, by a clock that nobody sets. */
  tookMs: number;
}

/** An event whose text is made when the first reader wants it. */
interface LazyEvent {
  readonly event: NodeEvent;
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
  readonly #replays = new Replays();
  /** Readers for whom there may be something, by the client that waits for a turn. */
  readonly #waiting = new Map<string, Set<Reader>>();
  readonly #moments = new Moments((gathered) => this.#sendMoments(gathered));
  readonly #peers = new PeerChanges();
  #timers: readonly NodeJS.Timeout[] = [];
  #stopListening: (() => void) | undefined;
  #forging = new Map<string, ForgingDelegate>();

  constructor(api: NodeApi, dialect: HttpDialect, options: EventHubOptions) {
    this.#api = api;
    this.#dialect = dialect;
    this.#options = options;
    options.observer.gauge('http_event_readers', 0);
  }

  add(response: EventSink, filter: EventFilter, after: EventPlace | undefined, client: EventClient): boolean {
    const reserved = client.isTrusted ? 0 : Math.floor(this.#options.readersMax * RESERVED_SHARE);
    if (this.#readers.size >= this.#options.readersMax - reserved) return false;
    const reader = this.#readerOf(response, filter, after, client);
    if (reader === undefined) return false;
    if (this.#readers.size === 0) this.#begin();
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
    for (const reader of [...this.#readers]) {
      this.#drop(reader);
      reader.response.end();
    }
    this.#waiting.clear();
  }

  /** Events of a record, none where the reader cannot want any: its block is not read then. */
  #eventsAt(sequence: number, filter: EventFilter): readonly LazyEvent[] {
    const key = `${filter.finality} ${sequence}`;
    const known = this.#cached.get(key);
    if (known !== undefined) return known;
    const [record] = this.#api.log.records(sequence, 1);
    if (record?.sequence !== sequence || !mayWant(filter, record, this.#api.params)) return [];
    const events = eventsOf(this.#api, record, filter.finality, this.#dialect).map((event) => ({
      event,
      text: undefined,
    }));
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

  /** Gives a reader what comes next. @returns whether it wants another turn */
  #feed(reader: Reader, untilMs: number): boolean {
    const floor = this.#api.log.floor();
    if (reader.isAstray || reader.place.sequence < floor - 1) this.#tellGap(reader, floor);
    if (!wantsRecords(reader.filter)) reader.place = endOfLog(this.#api);
    for (let records = 0; records < RECORDS_PER_READER && !reader.isFull; records += 1) {
      const { sequence, height } = reader.place;
      if (height === undefined) this.#sendWanted(reader, this.#eventsAt(sequence, reader.filter));
      else this.#sendPast(reader, height);
      if (reader.isFull) return false;
      // Of a block of before all is sent now, and the place is behind it.
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

  /** Sends what a block of the chain of before has for the reader, and goes on to the next one or to the log. */
  #sendPast(reader: Reader, height: number): void {
    const { sequence } = reader.place;
    const past = (reader.past ??= new ChainAsOf(this.#api, sequence));
    const last = lastPastHeight(past, reader.filter.finality);
    // No event has such a place: what came there is in the log.
    if (height > last) return this.#beginLog(reader);
    const finalized = height === last ? past.finalizedHeight() : undefined;
    const events = pastEvents(this.#api, past.block(height), finalized, this.#dialect);
    this.#sendWanted(
      reader,
      events.map((event) => ({ event, text: undefined })),
    );
    if (reader.isFull) return;
    if (height < last) reader.place = { sequence, height: height + 1, index: -1 };
    else this.#beginLog(reader);
  }

  #beginLog(reader: Reader): void {
    reader.place = { sequence: reader.place.sequence, index: Number.MAX_SAFE_INTEGER };
    reader.past = undefined;
  }

  /** Sends of the events at the reader's place those behind it that it wants. */
  #sendWanted(reader: Reader, events: readonly LazyEvent[]): void {
    for (let index = reader.place.index + 1; index < events.length && !reader.isFull; index += 1) {
      const lazy = events[index];
      reader.place = { ...reader.place, index };
      if (lazy === undefined || !isWanted(lazy.event, reader.filter)) continue;
      lazy.text ??= eventText(lazy.event, reader.place);
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
    reader.past = undefined;
    reader.isAstray = false;
  }

  #wake(reader: Reader): void {
    const key = waitingKeyOf(reader);
    const beside = this.#waiting.get(key);
    if (beside !== undefined) return void beside.add(reader);
    this.#waiting.set(key, new Set([reader]));
    this.#serveLater(key);
  }

  /** Nothing is sent within the event that gave rise to it: the beginning of an answer, or a change of the chain. */
  #serveLater(key: string): void {
    setImmediate(() => {
      if (key === TRUSTED) this.#serveReaders(key);
      else this.#options.scheduler.take(key, () => this.#serveReaders(key));
    });
  }

  #serveReaders(key: string): void {
    const untilMs = performance.now() + SERVING_MS;
    const served = this.#waiting.get(key) ?? new Set();
    // A set goes on with what is added behind: each reader that wants more comes again after the others.
    for (const reader of served) {
      served.delete(reader);
      if (!reader.isFull && this.#feed(reader, untilMs)) served.add(reader);
      if (performance.now() > untilMs) break;
    }
    if (served.size > 0) this.#serveLater(key);
    else this.#waiting.delete(key);
  }

  /** Sends what is of the moment to all readers that take it now. */
  #sendMoments(gathered: readonly Moment[]): void {
    const startMs = performance.now();
    for (const reader of this.#readers) {
      const text = reader.isFull ? '' : wantedText(gathered, reader.filter);
      if (text !== '') this.#send(reader, text);
    }
    this.#options.scheduler.spend(performance.now() - startMs);
  }

  #look(): void {
    told(withLive(this.#api.peers(), (entries) => this.#lookAtPeers(entries)));
    told(withLive(this.#api.forgingDelegates(), (delegates) => this.#lookAtForging(delegates)));
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

  /** Works only while somebody reads. */
  #begin(): void {
    told(withLive(this.#api.peers(), (entries) => this.#peers.begin(entries)));
    told(withLive(this.#api.forgingDelegates(), (delegates) => void (this.#forging = byPublicKey(delegates))));
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

  /** A reader that begins here. @returns undefined when its client replays as much as it may */
  #readerOf(
    response: EventSink,
    filter: EventFilter,
    after: EventPlace | undefined,
    client: EventClient,
  ): Reader | undefined {
    // Another process may have told of more than this one has seen.
    if (after !== undefined && after.sequence > this.#api.log.last()) this.#api.refresh?.();
    // Nothing of a record that was told before: all of the last one has passed.
    const last = endOfLog(this.#api);
    const isAstray = after !== undefined && after.sequence > last.sequence;
    const place = after ?? last;
    const isBehind = isAstray || place.height !== undefined || place.sequence < last.sequence - RECORDS_CACHED_MAX;
    const isReplaying = isBehind && !client.isTrusted && wantsRecords(filter);
    if (isReplaying && !this.#replays.begin(client.key)) return undefined;
    const tookMs = performance.now();
    return { response, filter, client, place, past: undefined, isAstray, isReplaying, isFull: false, tookMs };
  }
}

/** What the node did not tell this time it tells at the next look. */
function told(live: Live<void>): void {
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
