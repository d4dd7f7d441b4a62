/**
 * Reads the events of an event log that does not change, such as the log in a snapshot of the store. A subscriber of
 * the event stream would get the same events up to the end of the log.
 */

import type { NodeApi } from '../../ports/node-api.ts';
import { heightAhead, problemOf } from '../problems.ts';
import { parseQuery } from '../query.ts';
import { checkRequest } from '../route.ts';
import { eventsRoute } from '../routes/events.ts';
import { ChainAsOf, isOfOtherLog, lastPastHeight, placeAtHeight } from './chain-as-of.ts';
import { AFTER_RECORD, idOf, tagOf, type EventName, type EventPlace, type NodeEvent } from './event.ts';
import { blockEvents, eventsOfPart, partsOf } from './expand.ts';
import { isWanted, mayWant, type EventFilter } from './filter.ts';

export interface StoredEvent {
  /** Id of the event; absent for the event `log/gap`. */
  readonly id?: string;
  readonly event: EventName;
  readonly data: unknown;
}

/**
 * Yields the stored events that the query selects, in the order of the log. A query with neither `lastEventId` nor
 * `fromHeight` selects no events.
 *
 * @param query query text of `GET /events`, without `?`
 * @throws Problem if the route refuses a parameter, or if the block at `fromHeight - 1` does not exist yet. If the
 *   query has `finality=final`, also throws if this block is not final yet. `refusalOf` returns the message of the
 *   error
 */
export function* storedEvents(api: NodeApi, query: string): Iterable<StoredEvent> {
  const dialect = { generation: api.params.generation, strict: false };
  const route = eventsRoute(dialect);
  const request = checkRequest(route, { query: parseQuery(query), path: {}, body: undefined, contentType: undefined });
  const { after, fromHeight, filter: asked } = route.subscriptionOf(request, undefined);
  const filter = { ...asked, maySeeForging: true };
  const { log } = api;
  const begin = fromHeight === undefined ? after : placeAtHeight(api, fromHeight, filter.finality);
  if (begin === undefined && fromHeight !== undefined) throw heightAhead(fromHeight, filter.finality);
  if (begin === undefined) return;
  const floor = log.floor();
  const isGone = begin.sequence < floor - 1 || isOfOtherLog(log, begin);
  if (isGone) yield gap(api, idOf(begin), floor);
  let from: EventPlace = isGone ? { sequence: floor, index: -1 } : begin;
  if (from.height !== undefined) {
    const past = new ChainAsOf(api, from.sequence);
    const last = lastPastHeight(past, filter.finality);
    for (let height = from.height; height <= last; height += 1) {
      const finalized = height === last ? past.finalizedHeight() : undefined;
      const index = height === from.height ? from.index : -1;
      yield* wanted(blockEvents(api, past.block(height), finalized, dialect), 0, { ...from, height, index }, filter);
    }
    from = { sequence: from.sequence, index: AFTER_RECORD };
  }
  for (let sequence = from.sequence; sequence <= log.last(); sequence += 1) {
    const [record] = log.records(sequence, 1);
    if (record?.sequence !== sequence || !mayWant(filter, record, api.params)) continue;
    const place = { sequence, tag: tagOf(record), index: sequence === from.sequence ? from.index : -1 };
    let firstIndex = 0;
    for (let part = 0; part < partsOf(record, filter.finality); part += 1) {
      const events = eventsOfPart(api, record, part, filter.finality, dialect);
      yield* wanted(events, firstIndex, place, filter);
      firstIndex += events.length;
    }
  }
}

/**
 * Yields the events of one block, or of one part of a record. Yields only events that come after `place` and that
 * `filter` selects.
 *
 * @param firstIndex index of the first given event among all events of the block or of the record
 */
function* wanted(
  events: readonly NodeEvent[],
  firstIndex: number,
  place: EventPlace,
  filter: EventFilter,
): Iterable<StoredEvent> {
  for (const [offset, event] of events.entries()) {
    const index = firstIndex + offset;
    if (index > place.index && isWanted(event, filter))
      yield { id: idOf({ ...place, index }), event: event.name, data: event.data() };
  }
}

function gap({ log, chain }: NodeApi, after: string, next: number): StoredEvent {
  const [record] = log.records(next, 1);
  const tip = chain.tip();
  const place = { height: record?.height ?? tip?.height ?? 0, blockId: record?.blockId ?? tip?.id ?? '0' };
  return { event: 'log/gap', data: { after, next, ...place } };
}

interface Refusal {
  readonly errors: readonly { readonly message: string; readonly errors?: readonly { readonly message: string }[] }[];
}

/**
 * Returns a message from the list `errors` in the body of the refusal with which the HTTP interface answers `error`:
 * the message of the first element. If this element has its own list `errors` that is not empty, the function returns
 * the first message of that list instead. The result is undefined if the HTTP interface does not answer `error` with a
 * refusal, or if the body of the refusal has no list `errors`.
 */
export function refusalOf(error: unknown, { params }: Pick<NodeApi, 'params'>): string | undefined {
  const body = problemOf(error, params.generation)?.body as Partial<Refusal> | undefined;
  const [first] = body?.errors ?? [];
  return first?.errors?.[0]?.message ?? first?.message;
}
