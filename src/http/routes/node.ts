/**
 * Declares the routes for the node itself: status, constants, forging, a hash of the state, data for charts,
 * diagnostics (events with their reasons), the recorded events of single slots, and the state of each known peer
 * address (for example connected or banned).
 */

import type { ForgingDelegate } from '../../ports/node-api.ts';
import { extendedMembers, extendedOnly, extendedShape, type HttpDialect } from '../dialect.ts';
import { int32Parameter, pageMeta, pageParameters, publicKeyParameter, queryParameter } from '../parameters.ts';
import { invalidRequest, OR_NOT_ITSELF } from '../problems.ts';
import type { Parameter, Route } from '../route.ts';
import type { Schema } from '../schema.ts';
import {
  constantsShape,
  constantsView,
  DIAGNOSTIC_SHAPE,
  SLOT_REPORT_SHAPE,
  slotReportView,
  diagnosticsView,
  HISTORY_SHAPE,
  historyView,
  statusShape,
  statusView,
} from '../views/node.ts';
import { withLive } from '../with-live.ts';
import { PEER_VERDICT_SHAPE, peerVerdictView, VERDICTS } from '../views/peer-verdict.ts';
import {
  COUNTED_PAGE_META,
  FLAG,
  HEX,
  ID,
  INSTANT,
  listOf,
  NO_META,
  objectOf,
  PUBLIC_KEY,
  COUNT,
  TEXT,
} from '../views/shapes.ts';

export function nodeRoutes(dialect: HttpDialect): readonly Route[] {
  const own = [SWITCH_FORGING_ROUTE, DIGEST_ROUTE, HISTORY_ROUTE, DIAGNOSTICS_ROUTE, SLOTS_ROUTE, PEER_VERDICTS_ROUTE];
  return [statusRoute(dialect), constantsRoute(dialect), forgingRoute(dialect), ...own];
}

function statusRoute(dialect: HttpDialect): Route {
  return {
    method: 'GET',
    path: '/node/status',
    summary: 'Shows the status of the node, for example height, sync and consensus.',
    parameters: [],
    unknownParameters: 'ignored',
    answer: { meta: NO_META, data: statusShape(dialect) },
    errors: {},
    handle: (api) =>
      withLive(api.status(), (status) => ({
        meta: {},
        data: statusView(api, status, dialect),
        height: status.height,
      })),
  };
}

function constantsRoute(dialect: HttpDialect): Route {
  return {
    method: 'GET',
    path: '/node/constants',
    summary: 'Shows the constants of the network and of this version of the node.',
    parameters: [],
    unknownParameters: 'refused',
    answer: { meta: NO_META, data: constantsShape(dialect) },
    errors: {},
    handle: (api) => ({ meta: {}, data: constantsView(api, dialect) }),
  };
}

const FORGING_MEMBERS = { publicKey: PUBLIC_KEY, forging: FLAG };
const PAUSED_SHAPE: Schema = {
  ...objectOf({ reason: TEXT, since: INSTANT, cause: TEXT }, ['cause']),
  description: 'Reason why this node forges for none of its delegates now; absent if there is no such reason.',
};
const WAITING_SHAPE = objectOf({ code: TEXT, reason: TEXT, until: INSTANT }, ['until']);

function forgingShape(dialect: HttpDialect): Schema {
  const added = { waiting: WAITING_SHAPE, paused: PAUSED_SHAPE };
  return listOf(extendedShape(dialect, FORGING_MEMBERS, added, Object.keys(added)));
}

const NOT_LISTED = `The client has no access, or its address is not in \`http.forgingWhitelist\`. ${OR_NOT_ITSELF}`;
const NOT_HERE = `The client has no access, or is not on the machine of the node. ${OR_NOT_ITSELF}`;

function forgingRoute(dialect: HttpDialect): Route {
  const forgingFilter: Parameter = queryParameter('forging', {
    type: 'boolean',
    description: 'Only delegates that forge (`true`), or only delegates that do not forge (`false`).',
  });
  return {
    method: 'GET',
    path: '/node/status/forging',
    summary: 'Lists the delegates configured on this node, and shows whether each delegate forges.',
    parameters: [
      {
        ...publicKeyParameter(
          'publicKey',
          'Public key in lower case. The answer contains only the delegate with this key.',
        ),
        isIgnoredWhenEmpty: true,
      },
      ...(dialect.generation === 3 ? [forgingFilter] : extendedOnly(dialect, [forgingFilter])),
    ],
    unknownParameters: 'ignored',
    answer: { meta: NO_META, data: forgingShape(dialect) },
    errors: { 403: NOT_LISTED },
    access: 'forging',
    handle: (api, request) => {
      const publicKey = request.text('publicKey');
      const wanted = request.flag('forging');
      const chosen = (delegate: ForgingDelegate) =>
        (publicKey === undefined || publicKey === '' || delegate.publicKey === publicKey) &&
        (wanted === undefined || delegate.forging === wanted);
      return withLive(api.forgingDelegates(), (delegates) => {
        return { meta: {}, data: delegates.filter(chosen).map((delegate) => forgingView(delegate, dialect)) };
      });
    },
  };
}

/**
 * Returns the JSON members that describe the forging of a delegate. The members `waiting` and `paused` exist only in
 * the extended dialect. The strict dialect has only the members of a lisk-sdk node.
 */
function forgingView({ forging, publicKey, waiting, paused }: ForgingDelegate, dialect: HttpDialect) {
  return extendedMembers(dialect, { forging, publicKey }, { ...waitingView(waiting), ...pausedView(paused) });
}

function waitingView(waiting: ForgingDelegate['waiting']) {
  if (waiting === undefined) return {};
  const { code, reason, untilMs } = waiting;
  return { waiting: { code, reason, ...(untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() }) } };
}

function pausedView(paused: ForgingDelegate['paused']) {
  if (paused === undefined) return {};
  const { reason, sinceMs, cause } = paused;
  return { paused: { reason, since: new Date(sinceMs).toISOString(), ...(cause === undefined ? {} : { cause }) } };
}

const SWITCH_FORGING_ROUTE: Route = {
  method: 'PUT',
  path: '/node/status/forging',
  summary: 'Enables or disables forging for a configured delegate.',
  parameters: [],
  unknownParameters: 'ignored',
  body: {
    name: 'data',
    schema: {
      type: 'object',
      required: ['password', 'publicKey', 'forging'],
      properties: {
        publicKey: { type: 'string', format: 'publicKey' },
        password: { type: 'string', minLength: 5, description: 'Password that decrypts the configured passphrase.' },
        forging: { type: 'boolean' },
      },
    },
  },
  answer: { meta: NO_META, data: listOf(objectOf(FORGING_MEMBERS)) },
  errors: {
    403: NOT_LISTED,
    404: 'The delegate is not configured, the password is wrong, or the account is not registered as a delegate.',
    422: 'The request enables forging, but the signing record of the delegate was exported from this node, so this node must not sign.',
  },
  access: 'forging',
  handle: async (api, request) => {
    const { publicKey, password, forging } = request.body as { publicKey: string; password: string; forging: boolean };
    const delegate = await api.setForging(publicKey, password, forging);
    return { meta: {}, data: [{ publicKey: delegate.publicKey, forging: delegate.forging }] };
  },
};

const DIGEST_ROUTE: Route = {
  method: 'GET',
  path: '/node/digest',
  summary:
    'Shows a digest of the state of the chain: accounts, votes, delegates, rounds and finality. Two nodes with the same tip must have the same digest.',
  parameters: [
    int32Parameter(
      'height',
      1,
      'Expected height of the tip. The node answers 400 if the tip has another height, because the node has only the state of the tip.',
    ),
  ],
  unknownParameters: 'refused',
  answer: { meta: NO_META, data: objectOf({ height: COUNT, blockId: ID, digest: HEX }) },
  errors: { 403: NOT_HERE },
  access: 'loopback',
  handle: (api, request) => {
    const wanted = request.number('height');
    const tipHeight = api.chain.tip()?.height;
    // Computing the digest takes time, so the requested height is compared with the height of the tip first.
    if (wanted !== undefined && wanted !== tipHeight) throw notAtTip(wanted, tipHeight);
    const { height, blockId, digest } = api.stateDigest();
    return { meta: {}, data: { height, blockId, digest } };
  },
};

function notAtTip(height: number, tipHeight: number | undefined) {
  const message = `The digest of height ${height} is unknown: the node has only the state of its tip, at height ${tipHeight ?? 0}`;
  return invalidRequest([{ name: 'height', message, in: 'query', code: 'INVALID_PARAM' }]);
}

const HISTORY_SPANS = ['hour', 'day'] as const;

const HISTORY_ROUTE: Route = {
  method: 'GET',
  path: '/node/history',
  summary:
    'Shows data of the last hour or day for charts: blocks, transactions, missed slots, reorgs, block delay, pool and peers. The data begin when the node starts. Each point covers an interval of 30 s (last hour) or 10 min (last day). An interval has a point only if the chain changed in the interval, or if the node answered a request to `/node/history` in the interval.',
  parameters: [
    queryParameter('span', {
      type: 'string',
      enum: HISTORY_SPANS,
      default: 'hour',
      description: 'Time to look back: an hour in intervals of 30 s, or a day in intervals of 10 min.',
    }),
  ],
  unknownParameters: 'refused',
  answer: { meta: NO_META, data: HISTORY_SHAPE },
  errors: {},
  handle: (api, request) =>
    withLive(api.history(request.text('span') === 'day' ? 'day' : 'hour'), (history) => ({
      meta: {},
      data: historyView(history),
    })),
};

const DIAGNOSTICS_MAX = 500;

const DIAGNOSTICS_ROUTE: Route = {
  method: 'GET',
  path: '/node/diagnostics',
  summary:
    'Lists the latest diagnostics, newest first, for example refused blocks, dropped peers and missed slots. Each diagnostic states the reason for its event.',
  parameters: [
    queryParameter('limit', {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: DIAGNOSTICS_MAX,
      default: 50,
      description: 'Maximum number of entries of the list.',
    }),
  ],
  unknownParameters: 'refused',
  answer: { meta: NO_META, data: listOf(DIAGNOSTIC_SHAPE) },
  errors: { 403: NOT_HERE },
  access: 'loopback',
  handle: (api, request) =>
    withLive(api.diagnostics(request.number('limit') ?? 50), (diagnostics) => ({
      meta: {},
      data: diagnosticsView(diagnostics),
    })),
};

const SLOTS_MAX = 101;

const SLOTS_ROUTE: Route = {
  method: 'GET',
  path: '/node/slots',
  summary:
    'Shows the events that the node recorded for each requested slot, for example a forged, refused or reverted block, or a pause of forging. Each event has a code, a message and further fields.',
  parameters: [
    queryParameter('from', {
      type: 'integer',
      format: 'int32',
      minimum: 0,
      default: 0,
      description: 'Number of the first slot, counted from the epoch of the network.',
    }),
    queryParameter('limit', {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: SLOTS_MAX,
      default: 1,
      description: 'Number of slots.',
    }),
  ],
  unknownParameters: 'refused',
  answer: { meta: NO_META, data: SLOT_REPORT_SHAPE },
  errors: { 403: NOT_HERE },
  access: 'loopback',
  handle: (api, request) =>
    withLive(api.slotReport(request.number('from') ?? 0, request.number('limit') ?? 1), (report) => ({
      meta: {},
      data: slotReportView(report),
    })),
};

const PEER_VERDICTS_ROUTE: Route = {
  method: 'GET',
  path: '/node/peers',
  summary:
    'Lists the peer addresses that the node knows, and the state of each address. The entry of a banned or dropped peer states the reason for the ban or the drop. `until` is the end of the ban, or of the wait before the next dial.',
  parameters: [
    queryParameter('verdict', { type: 'string', enum: VERDICTS, description: 'Only addresses with this state.' }),
    ...pageParameters(1000),
  ],
  unknownParameters: 'refused',
  answer: { meta: COUNTED_PAGE_META, data: listOf(PEER_VERDICT_SHAPE) },
  errors: { 403: NOT_HERE },
  access: 'loopback',
  handle: (api, request) => {
    const { offset, limit } = pageMeta(request);
    const wanted = request.text('verdict');
    return withLive(api.peerVerdicts(), (verdicts) => {
      const chosen = verdicts.filter(({ verdict }) => wanted === undefined || verdict === wanted);
      const data = chosen.slice(offset, offset + limit).map(peerVerdictView);
      return { meta: { offset, limit, count: chosen.length }, data };
    });
  },
};
