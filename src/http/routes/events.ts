/** Declares the route of the event stream. */

import type { HttpDialect } from '../dialect.ts';
import { EVENT_NAMES, eventShapes, placeOf, type EventName } from '../events/event.ts';
import { addressParameter, publicKeyParameter, queryParameter } from '../parameters.ts';
import { invalidRequest, parameterError } from '../problems.ts';
import type { CheckedRequest, StreamRoute } from '../route.ts';

export function eventsRoute(dialect: HttpDialect): StreamRoute {
  return {
    kind: 'stream',
    method: 'GET',
    path: '/events',
    summary:
      'Streams events as they happen. Events of the chain have ids. A client that reconnects with the id of its last event gets each later event of the chain once, also after a restart of the node. If the node no longer has some of these events, it sends the event `log/gap` instead.',
    parameters: [
      queryParameter('types', {
        type: 'string',
        minLength: 1,
        maxLength: 300,
        description: `Names of events, separated by commas: ${EVENT_NAMES.join(', ')}. Default: all events.`,
      }),
      addressParameter(
        'address',
        2,
        'Address of an account. The stream contains the events of blocks that the account forged and of transactions that the account sent or received. The stream also contains all events whose names begin with `finalized/`, `rounds/`, `forging/`, `peers/` or `log/`.',
      ),
      publicKeyParameter(
        'delegate',
        'Public key of a delegate. The stream contains the events of blocks that the delegate forged, of transactions that the delegate sent, and of transactions that add or remove a vote for the delegate. The stream contains `forging/change` only for this delegate. The stream also contains all events whose names begin with `finalized/`, `rounds/`, `peers/` or `log/`.',
      ),
      queryParameter('finality', {
        type: 'string',
        enum: ['any', 'final'],
        default: 'any',
        description:
          'With `final`, the node sends the events `blocks/new`, `transactions/included` and `rounds/change` of a block only when the block becomes final, and sends no events about reverted blocks. In generation 2, no block becomes final. A node of generation 2 therefore sends, with `final`, no events about blocks, transactions in blocks and rounds.',
      }),
      queryParameter('fromHeight', {
        type: 'integer',
        minimum: 1,
        description:
          'Height of the first block. The stream sends the events of all blocks from this height to the tip, and then new events. ' +
          'The node ignores `fromHeight` if the request has `lastEventId` or the header `Last-Event-ID`. A client that reconnects with the header `Last-Event-ID` can therefore leave `fromHeight` in the URL.',
      }),
      queryParameter('lastEventId', {
        type: 'string',
        minLength: 1,
        maxLength: 50,
        description:
          'Id of the event after which the stream continues. Clients that cannot send the header `Last-Event-ID` can use this parameter instead. If a request has both, the node uses the id in the header. If this id is invalid, the node uses the parameter. A browser that reconnects with the same URL therefore continues after its newest event.',
      }),
      queryParameter('follow', {
        type: 'boolean',
        description:
          'With `false`, the stream ends after the last existing event of the chain. With `true` (the default), the stream also sends new events.',
      }),
    ],
    unknownParameters: 'refused',
    errors: {
      503: 'Too many event streams are open. Or: Too many event streams, from this address or in total, still send old events.',
    },
    events: eventShapes(dialect),
    subscriptionOf: (request, lastEventIdHeader) => {
      // When a browser reconnects, its URL still contains the older id, and the header contains the id of the newest
      // event. Therefore a valid id in the header has priority.
      const idInUrl = request.text('lastEventId');
      const headerCounts = idInUrl === undefined || placeOf(lastEventIdHeader ?? '') !== undefined;
      const id = headerCounts ? lastEventIdHeader : idInUrl;
      const after = id === undefined ? undefined : placeOf(id);
      if (id !== undefined && after === undefined) throw misnamed('lastEventId', `No event has the id: ${id}`);
      const delegate = request.text('delegate')?.toLowerCase();
      return {
        after,
        fromHeight: after === undefined ? request.number('fromHeight') : undefined,
        filter: {
          names: namesIn(request),
          address: request.text('address'),
          delegate: delegate === '' ? undefined : delegate,
          finality: request.text('finality') === 'final' ? 'final' : 'any',
          ...(request.flag('follow') === false ? { endsWithLog: true } : {}),
        },
      };
    },
  };
}

function namesIn(request: CheckedRequest): ReadonlySet<EventName> {
  const names = new Set<EventName>();
  for (const text of (request.text('types') ?? '').split(',').filter((part) => part !== '')) {
    const name = EVENT_NAMES.find((known) => known === text.trim());
    if (name === undefined) throw misnamed('types', `No enum match for: ${text}`);
    names.add(name);
  }
  return names;
}

function misnamed(parameter: string, message: string) {
  return invalidRequest([parameterError('query', parameter, [{ code: 'ENUM_MISMATCH', message, path: [] }])]);
}
