/** The events of a log that nobody adds to: what a reader of the stream would get who asks for what there is. */

import type { NodeApi } from '../../ports/node-api.ts';
import { problemOf } from '../problems.ts';
import { parseQuery } from '../query.ts';
import { checkRequest } from '../route.ts';
import { eventsRoute } from '../routes/events.ts';
import type { EventName } from './event.ts';
import { eventsOf } from './expand.ts';
import { isWanted, mayWant } from './filter.ts';

export interface KeptEvent {
  /** Absent for `log/gap`. */
  readonly id?: string;
  readonly event: EventName;
  readonly data: unknown;
}

/**
 * @param query parameters as `GET /events` takes them
 * @throws Error with the sentence of the refusal for parameters that the route refuses
 */
export function* keptEvents(api: NodeApi, query: string): Iterable<KeptEvent> {
  const dialect = { generation: api.params.generation, strict: false };
  const route = eventsRoute(dialect);
  const request = checkRequest(route, { query: parseQuery(query), path: {}, body: undefined, contentType: undefined });
  const { after, filter: asked } = route.subscriptionOf(request, undefined);
  const filter = { ...asked, maySeeForging: true };
  const { log } = api;
  if (after === undefined) return;
  const floor = log.floor();
  const isGone = after.sequence < floor - 1 || after.sequence > log.last();
  if (isGone) yield gap(api, `${after.sequence}.${after.index}`, floor);
  const from = isGone ? { sequence: floor, index: -1 } : after;
  for (let sequence = from.sequence; sequence <= log.last(); sequence += 1) {
    const [record] = log.records(sequence, 1);
    if (record?.sequence !== sequence || !mayWant(filter, record, api.params)) continue;
    const events = eventsOf(api, record, filter.finality, dialect);
    for (const [index, event] of events.entries()) {
      const isTold = sequence === from.sequence && index <= from.index;
      if (!isTold && isWanted(event, filter))
        yield { id: `${sequence}.${index}`, event: event.name, data: event.data() };
    }
  }
}

function gap({ log, chain }: NodeApi, after: string, next: number): KeptEvent {
  const [record] = log.records(next, 1);
  const tip = chain.tip();
  const place = { height: record?.height ?? tip?.height ?? 0, blockId: record?.blockId ?? tip?.id ?? '0' };
  return { event: 'log/gap', data: { after, next, ...place } };
}

interface Refusal {
  readonly errors: readonly { readonly message: string; readonly errors?: readonly { readonly message: string }[] }[];
}

/** The sentence of what was thrown, where it is a refusal of the interface. */
export function refusalOf(error: unknown, { params }: Pick<NodeApi, 'params'>): string | undefined {
  const body = problemOf(error, params.generation)?.body as Partial<Refusal> | undefined;
  const [first] = body?.errors ?? [];
  return first?.errors?.[0]?.message ?? first?.message;
}
