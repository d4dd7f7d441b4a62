/** Declares the route of the peers that the node knows. */

import type { PeerEntry } from '../../ports/node-api.ts';
import type { Sort } from '../../ports/queries.ts';
import { extendedOnly, type HttpDialect } from '../dialect.ts';
import { int32Parameter, pageMeta, pageParameters, queryParameter, sortOf, sortParameter } from '../parameters.ts';
import type { CheckedRequest, Parameter, Route } from '../route.ts';
import type { Format } from '../formats.ts';
import { withLive } from '../with-live.ts';
import { peerShape, peerView, STATE_NUMBERS } from '../views/peer.ts';
import { COUNTED_PAGE_META, listOf } from '../views/shapes.ts';

export function peerRoutes(dialect: HttpDialect): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/peers',
      summary:
        'Lists the peers that the node knows. The node itself is not in the list. In generation 3, the list omits each peer that announced `advertiseAddress: false`.',
      parameters: [
        textParameter('ip', 'IPv4 address of the peer.', 'ip'),
        int32Parameter('httpPort', 1, 'Port of the peer’s HTTP interface.', 65_535),
        int32Parameter('wsPort', 1, 'Port on which the peer accepts connections from other peers.', 65_535),
        textParameter('os', 'Operating system of the peer.'),
        textParameter('version', 'Version of the peer’s software.', 'version'),
        textParameter('protocolVersion', 'Protocol version of the peer.', 'protocolVersion'),
        stateParameter(dialect),
        int32Parameter('height', 1, 'Height of the peer’s chain.'),
        ...(dialect.generation === 2 ? [BROADHASH] : extendedOnly(dialect, [BROADHASH])),
        ...pageParameters(100),
        sortParameter(['height', 'version'], 'height:desc'),
      ],
      unknownParameters: 'refused',
      answer: { meta: COUNTED_PAGE_META, data: listOf(peerShape(dialect)) },
      errors: {},
      handle: (api, request) => {
        const { offset, limit } = pageMeta(request);
        return withLive(api.peers(), (peers) => {
          const chosen = peers.filter(filterOf(request, dialect)).sort(comparison(sortOf(request)));
          const data = chosen.slice(offset, offset + limit).map((entry) => peerView(entry, dialect, api.params));
          return { meta: { offset, limit, count: chosen.length }, data };
        });
      },
    },
  ];
}

const BROADHASH = textParameter(
  'broadhash',
  'Hash over the ids of the last five blocks of the peer’s chain. In generation 3, only connected peers have this hash.',
  'hex',
);
const STATE_WORDS = ['connected', 'disconnected'] as const;

function stateParameter(dialect: HttpDialect): Parameter {
  const description =
    'State of the connection to the peer. `1` means `disconnected`, `2` means `connected`, and no peer has the state `0`.';
  if (dialect.generation === 2) {
    const own = queryParameter('state', { type: 'integer', format: 'int32', minimum: 0, maximum: 2, description });
    return dialect.strict ? own : { ...own, alsoAccepted: STATE_WORDS };
  }
  const own = queryParameter('state', { type: 'string', enum: STATE_WORDS, description });
  return dialect.strict ? own : { ...own, alsoAccepted: ['0', '1', '2'] };
}

function textParameter(name: string, description: string, format?: Format): Parameter {
  return queryParameter(name, { type: 'string', ...(format === undefined ? {} : { format }), description });
}

function filterOf(request: CheckedRequest, dialect: HttpDialect): (entry: PeerEntry) => boolean {
  const texts = (['ip', 'os', 'version', 'protocolVersion', 'broadhash'] as const).map(
    (name) => [name, request.text(name)] as const,
  );
  const numbers = (['httpPort', 'wsPort', 'height'] as const).map((name) => [name, request.number(name)] as const);
  const wanted = [...texts, ...numbers].filter(([, value]) => value !== undefined);
  const state = request.either('state');
  return ({ info, state: peerState }) =>
    (dialect.generation === 2 || info.advertiseAddress !== false) &&
    (state === undefined || state === peerState || state === String(STATE_NUMBERS[peerState])) &&
    wanted.every(([name, value]) => info[name] === value);
}

/**
 * Compares peers by the field `sort.field` of their peer info, in the direction of `sort`. If a peer has no value of
 * this field, the peer counts as larger than every peer with a value. Among peers with equal values, connected peers
 * come first.
 */
function comparison(sort: Sort<'height' | 'version'>): (a: PeerEntry, b: PeerEntry) => number {
  const sign = sort.direction === 'asc' ? 1 : -1;
  return (a, b) => {
    const [left, right] = [a.info[sort.field], b.info[sort.field]];
    if (left === right) return rankOf(a) - rankOf(b);
    if (left === undefined) return sign;
    if (right === undefined) return -sign;
    return left < right ? -sign : sign;
  };
}

function rankOf(entry: PeerEntry): number {
  return entry.state === 'connected' ? 0 : 1;
}
