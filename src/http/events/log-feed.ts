/**
 * Sends subscribers the events of the event log, in the order of the log. For recently used parts of records, the feed
 * caches the events and the text of each event, because most subscribers want the same records. For a stream from a
 * requested height, the feed first sends the events of blocks that it reads from the chain.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { NodeApi } from '../../ports/node-api.ts';
import type { HttpDialect } from '../dialect.ts';
import { ChainAsOf, endOfLog, lastPastHeight } from './chain-as-of.ts';
import { AFTER_RECORD, eventText, idBefore, tagOf, type EventPlace, type NodeEvent } from './event.ts';
import { blockEvents, eventsOfPart, partsOf } from './expand.ts';
import { isWanted, mayWant, wantsRecords, type EventFilter } from './filter.ts';

/**
 * Maximum number of steps in one call of `feed`. In each step, the feed sends the events of one part of a record, or of
 * one block that it reads from the chain.
 */
const STEPS_PER_SUBSCRIBER = 20;
/**
 * Maximum number of parts of records for which the feed caches the events and their texts. On a network whose blocks
 * can contain more than 25 transactions, the feed caches fewer parts (`TRANSACTIONS_CACHED_MAX`). Almost every record
 * has one part.
 *
 * A stranger is a client that is not trusted. A stranger that wants events of the log counts as a replay (`replays.ts`)
 * in three cases:
 * - the stranger's place is more than this number of records before the end of the log
 * - the stranger's place has a height (`EventPlace.height`), so the feed first reads blocks from the chain
 * - the stranger's place seems to belong to another log (`isOfOtherLog` in `chain-as-of.ts`)
 */
export const RECORDS_CACHED_MAX = 64;
/** Maximum number of transactions whose events the feed caches. */
export const TRANSACTIONS_CACHED_MAX = RECORDS_CACHED_MAX * 25;

const PAST_BLOCKS_CACHED_MAX = 8;

/** The part of a subscriber that the feed uses. */
export interface FedSubscriber {
  readonly filter: EventFilter;
  /**
   * Place after which the feed continues. At first, this is the place where the stream starts. Later, this is the place
   * of the last event that was sent or skipped, or a place between two records or blocks (index -1 or `AFTER_RECORD`).
   */
  place: EventPlace;
  /**
   * True if the place that the subscriber requested seems to belong to another log, and the feed has not sent the event
   * `log/gap` yet.
   */
  isOfOtherLog: boolean;
  /** True while the subscriber's connection cannot take more data. */
  readonly isFull: boolean;
  /**
   * The part of a record from which the feed continues. If this member is absent, or if it belongs to another record
   * than `place`, the feed begins with the first part of the record at `place`.
   */
  part?: PartPlace;
}

/** A part of a record of the log (see `expand.ts`). */
interface PartPlace {
  readonly sequence: number;
  readonly part: number;
  /** Index of the first event of the part among the events of the record. */
  readonly firstIndex: number;
}

interface CachedPart {
  readonly events: readonly LazyEvent[];
  readonly isLast: boolean;
}

const NOTHING_WANTED: CachedPart = { events: [], isLast: true };

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
  readonly #cached: LruMap<string, CachedPart>;
  /**
   * Cache of the events of the blocks that were last read from the chain. The cache is needed for large blocks. For
   * example, the events of a genesis block with thousands of transactions fill the buffer of a connection many times.
   * Each time, the feed needs the events of this block again. The garbage collection can remove the events of a block
   * from this cache.
   */
  readonly #past = new LruMap<string, WeakRef<readonly LazyEvent[]>>(PAST_BLOCKS_CACHED_MAX);

  /** @param send writes to the subscriber's connection, and sets `isFull` when the connection cannot take more data */
  constructor(api: NodeApi, dialect: HttpDialect, send: (subscriber: S, text: string) => void) {
    this.#api = api;
    this.#dialect = dialect;
    this.#send = send;
    const partsMax = Math.floor(TRANSACTIONS_CACHED_MAX / api.params.transactionsPerBlockMax);
    this.#cached = new LruMap(Math.min(RECORDS_CACHED_MAX, partsMax));
  }

  /**
   * Sends a subscriber its next events.
   *
   * @param untilMs time of `performance.now` after which this call makes no further step
   * @returns `end` when the last record of the log was sent completely. `full` when the connection cannot take more
   *   data. `more` when the call stopped at `STEPS_PER_SUBSCRIBER` or at `untilMs`, and has not reached the end of the
   *   log
   */
  feed(subscriber: S, untilMs: number): 'end' | 'full' | 'more' {
    const floor = this.#api.log.floor();
    if (subscriber.isOfOtherLog || subscriber.place.sequence < floor - 1) this.#sendGap(subscriber, floor);
    if (!wantsRecords(subscriber.filter)) subscriber.place = endOfLog(this.#api);
    for (let steps = 0; steps < STEPS_PER_SUBSCRIBER && !subscriber.isFull; steps += 1) {
      const { sequence, height } = subscriber.place;
      if (height !== undefined) this.#sendPast(subscriber, height);
      else if (this.#sendPart(subscriber)) {
        if (sequence >= this.#api.log.last()) return 'end';
        subscriber.place = { sequence: sequence + 1, index: -1 };
      }
      if (performance.now() > untilMs) break;
    }
    return subscriber.isFull ? 'full' : 'more';
  }

  /**
   * Sends the events of the next part of the record at the subscriber's place.
   *
   * @returns true if no event of the record is left
   */
  #sendPart(subscriber: S): boolean {
    const { sequence, index } = subscriber.place;
    if (index === AFTER_RECORD) return true;
    const place = subscriber.part?.sequence === sequence ? subscriber.part : { sequence, part: 0, firstIndex: 0 };
    const { part, firstIndex } = place;
    const { events, isLast } = this.#partAt(place, subscriber.filter);
    this.#sendWanted(subscriber, events, firstIndex);
    if (subscriber.isFull) return false;
    if (!isLast) subscriber.part = { sequence, part: part + 1, firstIndex: firstIndex + events.length };
    return isLast;
  }

  /**
   * Returns the events of a part of a record. If `mayWant` returns false for the record, the method returns only events
   * that are cached, and does not read the block.
   */
  #partAt({ sequence, part, firstIndex }: PartPlace, filter: EventFilter): CachedPart {
    const { finality } = filter;
    const key = `${finality} ${sequence} ${part}`;
    const known = this.#cached.get(key);
    if (known !== undefined) return known;
    const [record] = this.#api.log.records(sequence, 1);
    if (record?.sequence !== sequence || !mayWant(filter, record, this.#api.params)) return NOTHING_WANTED;
    const events = eventsOfPart(this.#api, record, part, finality, this.#dialect);
    const made = {
      events: lazyEvents(events, { sequence, tag: tagOf(record) }, firstIndex),
      isLast: part + 1 >= partsOf(record, finality),
    };
    this.#cached.set(key, made);
    return made;
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
    this.#sendWanted(subscriber, this.#pastEvents(past, height, finalized, subscriber.place), 0);
    if (subscriber.isFull) return;
    if (height < last) subscriber.place = { sequence, tag, height: height + 1, index: -1 };
    else this.#beginLog(subscriber);
  }

  /** Returns the events of a block that is read from the chain. */
  #pastEvents(
    past: ChainAsOf,
    height: number,
    finalized: number | undefined,
    { sequence, tag }: EventPlace,
  ): readonly LazyEvent[] {
    const key = `${sequence} ${height} ${finalized}`;
    const known = this.#past.get(key)?.deref();
    if (known !== undefined) return known;
    const events = blockEvents(this.#api, past.block(height), finalized, this.#dialect);
    const lazy = lazyEvents(events, { sequence, tag, height }, 0);
    this.#past.set(key, new WeakRef(lazy));
    return lazy;
  }

  #beginLog(subscriber: S): void {
    subscriber.place = { sequence: subscriber.place.sequence, index: AFTER_RECORD };
  }

  /**
   * Sends those of the given events that the subscriber wants and that come after the subscriber's place.
   *
   * @param firstIndex index of the first event in `events` (see `EventPlace.index`)
   */
  #sendWanted(subscriber: S, events: readonly LazyEvent[], firstIndex: number): void {
    const known = Math.max(0, subscriber.place.index + 1 - firstIndex);
    for (const lazy of events.slice(known)) {
      if (subscriber.isFull) return;
      subscriber.place = lazy.place;
      if (!isWanted(lazy.event, subscriber.filter)) continue;
      lazy.text ??= eventText(lazy.event, lazy.place);
      this.#send(subscriber, lazy.text);
    }
  }

  #sendGap(subscriber: S, floor: number): void {
    const [record] = this.#api.log.records(floor, 1);
    const after = idBefore(subscriber.place);
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

function lazyEvents(
  events: readonly NodeEvent[],
  place: Omit<EventPlace, 'index'>,
  firstIndex: number,
): readonly LazyEvent[] {
  return events.map((event, offset) => ({ event, place: { ...place, index: firstIndex + offset }, text: undefined }));
}
