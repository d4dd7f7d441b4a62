/**
 * Serves all readers of the stream. None has a queue: each has a place in the chain's log, and what comes next is read from
 * there when its connection takes more. Who takes nothing for a while is cut, and resumes at its place when it comes back.
 */

import type { ServerResponse } from 'node:http';
import { LruMap } from '../../primitives/bounded.ts';
import type { ForgingDelegate, NodeApi, PeerEntry } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import type { Dialect } from '../dialect.ts';
import { peerView } from '../views/peer.ts';
import { receivedView } from '../views/transaction.ts';
import { eventText, type EventName, type EventPlace, type NodeEvent } from './event.ts';
import { eventsOf, partiesOf, type Finality } from './expand.ts';

export interface EventFilter {
  /** All when empty. */
  readonly names: ReadonlySet<EventName>;
  readonly address: string | undefined;
  readonly delegate: string | undefined;
  readonly finality: Finality;
  /** Whether the reader may know who forges here. */
  readonly maySeeForging: boolean;
}

export interface EventHub {
  /**
   * Serves a reader until it or the hub goes.
   *
   * @param after the last event that it has; undefined to begin with the next
   * @param isTrusted whether it may have one of the places that strangers cannot take
   * @returns false when there are as many readers as may be
   */
  add(response: ServerResponse, filter: EventFilter, after: EventPlace | undefined, isTrusted: boolean): boolean;
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
}

/** Readers that are served, and records that each is given, before others have their turn: forging must not wait. */
const READERS_PER_TURN = 25;
const RECORDS_PER_TURN = 20;
/** Share of the places that only trusted readers get. */
const RESERVED_SHARE = 0.1;
/** Records kept as text: readers mostly want the same ones. */
export const RECORDS_CACHED_MAX = 64;

interface Reader {
  readonly response: ServerResponse;
  readonly filter: EventFilter;
  /** The last event that was sent or passed over. */
  place: EventPlace;
  /** What it asked to go on from is no place of this log: the log was begun anew. */
  isAstray: boolean;
  isFull: boolean;
  /** When it last took something, by a clock that nobody sets. */
  tookMs: number;
}

interface WrittenEvent {
  readonly event: NodeEvent;
  readonly text: string;
}

export function createEventHub(api: NodeApi, dialect: Dialect, options: EventHubOptions): EventHub {
  const readers = new Set<Reader>();
  const written = new LruMap<string, readonly WrittenEvent[]>(RECORDS_CACHED_MAX);
  let waiting = new Set<Reader>();
  let isTurnDue = false;
  let timers: readonly NodeJS.Timeout[] = [];
  let stopListening: (() => void) | undefined;
  let peers = new Map<string, PeerEntry>();
  let forging = new Map<string, ForgingDelegate>();
  options.observer.gauge('http_event_readers', 0);

  const textsOf = (sequence: number, finality: Finality): readonly WrittenEvent[] => {
    const key = `${finality} ${sequence}`;
    const known = written.get(key);
    if (known !== undefined) return known;
    const [record] = api.log.records(sequence, 1);
    if (record?.sequence !== sequence) return [];
    const events = eventsOf(api, record, finality, dialect);
    const texts = events.map((event, index) => ({ event, text: eventText(event, { sequence, index }) }));
    written.set(key, texts);
    return texts;
  };

  const drop = (reader: Reader): void => {
    if (!readers.delete(reader)) return;
    waiting.delete(reader);
    if (readers.size === 0) rest();
    options.observer.gauge('http_event_readers', readers.size);
  };

  const send = (reader: Reader, text: string): void => {
    if (!reader.response.write(text)) reader.isFull = true;
    reader.tookMs = performance.now();
  };

  /** Gives a reader what comes next. @returns whether it wants another turn */
  const feed = (reader: Reader): boolean => {
    const floor = api.log.floor();
    if (reader.isAstray || reader.place.sequence < floor - 1) tellGap(reader, floor);
    for (let records = 0; records < RECORDS_PER_TURN && !reader.isFull; records += 1) {
      const { sequence, index } = reader.place;
      const texts = textsOf(sequence, reader.filter.finality).slice(index + 1);
      for (const [offset, { event, text }] of texts.entries()) {
        if (reader.isFull) break;
        reader.place = { sequence, index: index + 1 + offset };
        if (isWanted(event, reader.filter)) send(reader, text);
      }
      if (reader.isFull) return false;
      if (sequence >= api.log.last()) return false;
      reader.place = { sequence: sequence + 1, index: -1 };
    }
    return !reader.isFull;
  };

  const tellGap = (reader: Reader, floor: number): void => {
    const [record] = api.log.records(floor, 1);
    const after = `${reader.place.sequence}.${reader.place.index}`;
    const tip = api.chain.tip();
    const data = {
      after,
      next: floor,
      height: record?.height ?? tip?.height ?? 0,
      blockId: record?.blockId ?? tip?.id ?? '0',
    };
    send(reader, eventText({ name: 'log/gap', data }, undefined));
    reader.place = { sequence: floor, index: -1 };
    reader.isAstray = false;
  };

  const wake = (reader: Reader): void => {
    waiting.add(reader);
    if (isTurnDue) return;
    isTurnDue = true;
    setImmediate(takeTurn);
  };

  const takeTurn = (): void => {
    isTurnDue = false;
    const turn = [...waiting].slice(0, READERS_PER_TURN);
    for (const reader of turn) waiting.delete(reader);
    for (const reader of turn) if (readers.has(reader) && !reader.isFull && feed(reader)) waiting.add(reader);
    const next = [...waiting][0];
    if (next !== undefined) wake(next);
  };

  /** Sends what is of the moment to everybody who takes it now. */
  const tell = (event: NodeEvent): void => {
    const text = eventText(event, undefined);
    for (const reader of readers) if (!reader.isFull && isWanted(event, reader.filter)) send(reader, text);
  };

  const look = (): void => {
    const isNow = new Map(api.peers().map((entry) => [`${entry.info.ip}:${entry.info.wsPort}`, entry]));
    for (const [key, entry] of isNow)
      if (entry.state === 'connected' && peers.get(key)?.state !== 'connected')
        tell({ name: 'peers/connected', data: peerView(entry, dialect, api.params) });
    for (const [key, entry] of peers)
      if (entry.state === 'connected' && isNow.get(key)?.state !== 'connected')
        tell({ name: 'peers/disconnected', data: peerView({ ...entry, state: 'disconnected' }, dialect, api.params) });
    peers = isNow;
    const forgingNow = new Map(api.forgingDelegates().map((delegate) => [delegate.publicKey, delegate]));
    for (const [publicKey, delegate] of forgingNow)
      if (forging.get(publicKey)?.forging !== delegate.forging) {
        const data = { publicKey, forging: delegate.forging };
        tell({ name: 'forging/change', data, delegates: [publicKey] });
      }
    forging = forgingNow;
    const nowMs = performance.now();
    for (const reader of readers)
      if (reader.isFull && nowMs - reader.tookMs > options.stallMs) reader.response.destroy();
  };

  const beat = (): void => {
    for (const reader of readers) if (!reader.isFull) send(reader, ': alive\n\n');
  };

  /** Works only while somebody reads. */
  const begin = (): void => {
    peers = new Map(api.peers().map((entry) => [`${entry.info.ip}:${entry.info.wsPort}`, entry]));
    forging = new Map(api.forgingDelegates().map((delegate) => [delegate.publicKey, delegate]));
    timers = [setInterval(look, options.lookMs), setInterval(beat, options.heartbeatMs)];
    stopListening = api.listen({
      chainChanged: () => {
        for (const reader of readers) wake(reader);
      },
      transactionReceived: (transaction) => {
        tell({ name: 'transactions/new', data: receivedView(transaction, api, dialect), ...partiesOf(transaction) });
      },
    });
  };

  const rest = (): void => {
    for (const timer of timers) clearInterval(timer);
    timers = [];
    stopListening?.();
    stopListening = undefined;
  };

  return {
    add(response, filter, after, isTrusted) {
      const reserved = isTrusted ? 0 : Math.floor(options.readersMax * RESERVED_SHARE);
      if (readers.size >= options.readersMax - reserved) return false;
      // Nothing of a record that was told before: all of the last one has passed.
      const last = { sequence: api.log.last(), index: Number.MAX_SAFE_INTEGER };
      const isAstray = after !== undefined && after.sequence > last.sequence;
      const reader: Reader = {
        response,
        filter,
        place: after ?? last,
        isAstray,
        isFull: false,
        tookMs: performance.now(),
      };
      if (readers.size === 0) begin();
      readers.add(reader);
      options.observer.gauge('http_event_readers', readers.size);
      response.on('drain', () => {
        reader.isFull = false;
        reader.tookMs = performance.now();
        wake(reader);
      });
      response.on('close', () => drop(reader));
      wake(reader);
      return true;
    },
    close() {
      for (const reader of [...readers]) {
        drop(reader);
        reader.response.end();
      }
      waiting = new Set();
    },
  };
}

function isWanted({ name, addresses, delegates }: NodeEvent, filter: EventFilter): boolean {
  return (
    (filter.names.size === 0 || filter.names.has(name)) &&
    (filter.address === undefined || addresses === undefined || addresses.includes(filter.address)) &&
    (filter.delegate === undefined || delegates === undefined || delegates.includes(filter.delegate)) &&
    (name !== 'forging/change' || filter.maySeeForging)
  );
}
