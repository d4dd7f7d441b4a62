/**
 * Sends subscribers the events of the event log, in the order of the log. For recently used records, the feed caches
 * the events and the text of each event, because most subscribers want the same records. For a stream from a requested
 * height, the feed first sends the events of blocks that it reads from the chain.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { NodeApi } from '../../ports/node-api.ts';
import type { HttpDialect } from '../dialect.ts';
import { ChainAsOf, endOfLog, lastPastHeight } from './chain-as-of.ts';
import { eventText, idOf, tagOf, type EventPlace, type NodeEvent } from './event.ts';
import { eventsOf, pastEvents } from './expand.ts';
import { isWanted, mayWant, wantsRecords, type EventFilter } from './filter.ts';

/**
 * Maximum number of steps in one call of `feed`. In each step, the feed sends the events of one record of the log, or
 * of one block that it reads from the chain.
 */
const RECORDS_PER_SUBSCRIBER = 20;
/**
 * Maximum number of records for which the feed caches the events and the text of each event. A stranger (a client that
 * is not trusted) that wants events of the log counts as a replay (`replays.ts`) if its place is more than this number
 * of records before the end of the log. Such a stranger also counts as a replay if its place is a requested height, or
 * seems to belong to another log (`isOfOtherLog` in `chain-as-of.ts`).
 */
export const RECORDS_CACHED_MAX = 64;

/** The part of a subscriber that the feed uses. */
export interface FedSubscriber {
  readonly filter: EventFilter;
  /** Place of the last event that was sent or skipped; at first, the place where the stream starts. */
  place: EventPlace;
  /**
   * True if the place that the subscriber requested seems to belong to another log, and the feed has not sent the event
   * `log/gap` yet.
   */
  isOfOtherLog: boolean;
  /** True while the subscriber's connection cannot take more data. */
  readonly isFull: boolean;
}

/** An event. Its `text` is made when the first subscriber wants the event. */
interface LazyEvent {
  readonly event: NodeEvent;
  readonly place: EventPlace;
  text: string | undefined;
}

export class LogFeed<S extends FedSubscriber> {
  readonly #api: NodeApi;
  readonly #dialect: HttpDialect;
  readonly #send: (subscriber: S, text: string) => void;
  readonly #cached = new LruMap<string, readonly LazyEvent[]>(RECORDS_CACHED_MAX);

  /** @param send writes to the subscriber's connection, and sets `isFull` when the connection cannot take more data */
  constructor(api: NodeApi, dialect: HttpDialect, send: (subscriber: S, text: string) => void) {
    this.#api = api;
    this.#dialect = dialect;
    this.#send = send;
  }

  /**
   * Sends a subscriber its next events.
   *
   * @param untilMs time of `performance.now` after which this call sends the events of no further record
   * @returns `end` when the last record of the log was sent completely, `full` when the connection cannot take more
   *   data, `more` when the call stopped at `RECORDS_PER_SUBSCRIBER` or at `untilMs`, and has not reached the end of
   *   the log
   */
  feed(subscriber: S, untilMs: number): 'end' | 'full' | 'more' {
    const floor = this.#api.log.floor();
    if (subscriber.isOfOtherLog || subscriber.place.sequence < floor - 1) this.#sendGap(subscriber, floor);
    if (!wantsRecords(subscriber.filter)) subscriber.place = endOfLog(this.#api);
    for (let records = 0; records < RECORDS_PER_SUBSCRIBER && !subscriber.isFull; records += 1) {
      const { sequence, height } = subscriber.place;
      if (height === undefined) this.#sendWanted(subscriber, this.#eventsAt(sequence, subscriber.filter));
      else this.#sendPast(subscriber, height);
      if (subscriber.isFull) return 'full';
      if (height === undefined && sequence >= this.#api.log.last()) return 'end';
      if (height === undefined) subscriber.place = { sequence: sequence + 1, index: -1 };
      if (performance.now() > untilMs) break;
    }
    return subscriber.isFull ? 'full' : 'more';
  }

  /**
   * Returns the events of a record. If `mayWant` returns false for the record, the method returns only events that are
   * cached, and does not read the block.
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

  /**
   * Sends the events of a block that is read from the chain. If the connection can take all these events, the
   * subscriber's place then moves to the next block or, after the last block, to the log.
   */
  #sendPast(subscriber: S, height: number): void {
    const { sequence, tag } = subscriber.place;
    const past = new ChainAsOf(this.#api, sequence);
    const last = lastPastHeight(past, subscriber.filter.finality);
    // `last` is the height of the tip just after the record at the subscriber's place was written. If `finality` is
    // `final`, `last` is the finalized height at that time. The events of all blocks above `last` come from later
    // records of the log.
    if (height > last) return this.#beginLog(subscriber);
    const finalized = height === last ? past.finalizedHeight() : undefined;
    const events = pastEvents(this.#api, past.block(height), finalized, this.#dialect);
    this.#sendWanted(subscriber, lazyEvents(events, subscriber.place));
    if (subscriber.isFull) return;
    if (height < last) subscriber.place = { sequence, tag, height: height + 1, index: -1 };
    else this.#beginLog(subscriber);
  }

  #beginLog(subscriber: S): void {
    subscriber.place = { sequence: subscriber.place.sequence, index: Number.MAX_SAFE_INTEGER };
  }

  /** Sends the wanted events after the subscriber's place. */
  #sendWanted(subscriber: S, events: readonly LazyEvent[]): void {
    for (let index = subscriber.place.index + 1; index < events.length && !subscriber.isFull; index += 1) {
      const lazy = events[index];
      if (lazy === undefined) continue;
      subscriber.place = lazy.place;
      if (!isWanted(lazy.event, subscriber.filter)) continue;
      lazy.text ??= eventText(lazy.event, lazy.place);
      this.#send(subscriber, lazy.text);
    }
  }

  #sendGap(subscriber: S, floor: number): void {
    const [record] = this.#api.log.records(floor, 1);
    const after = idOf(subscriber.place);
    const tip = this.#api.chain.tip();
    const data = (): unknown => ({
      after,
      next: floor,
      height: record?.height ?? tip?.height ?? 0,
      blockId: record?.blockId ?? tip?.id ?? '0',
    });
    this.#send(subscriber, eventText({ name: 'log/gap', data }, undefined));
    subscriber.place = { sequence: floor, index: -1 };
    subscriber.isOfOtherLog = false;
  }
}

function lazyEvents(events: readonly NodeEvent[], place: Omit<EventPlace, 'index'>): readonly LazyEvent[] {
  return events.map((event, index) => ({ event, place: { ...place, index }, text: undefined }));
}
