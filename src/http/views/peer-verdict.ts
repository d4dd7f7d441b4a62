/**
 * Shows the verdict on a peer's address as JSON. The verdict is the state of the address from the view of this node,
 * for example connected, banned, or waiting for the next dial.
 */

import type { PeerVerdict } from '../../ports/node-api.ts';
import type { Schema } from '../schema.ts';
import * as shape from './shapes.ts';

export const VERDICTS: readonly PeerVerdict['verdict'][] = [
  'connected',
  'dialling',
  'banned',
  'dropped',
  'waiting',
  'known',
];

export function peerVerdictView({ sinceMs, untilMs, ...rest }: PeerVerdict): Readonly<Record<string, unknown>> {
  return {
    ...rest,
    ...(sinceMs === undefined ? {} : { since: new Date(sinceMs).toISOString() }),
    ...(untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() }),
  };
}

const OPTIONAL: Readonly<Record<string, Schema>> = {
  wsPort: shape.COUNT,
  direction: { type: 'string', enum: ['inbound', 'outbound'], description: '`inbound` if the peer dialled this node.' },
  since: {
    ...shape.INSTANT,
    description: 'Time at which the connection started. For a dropped connection, time at which it ended.',
  },
  until: { ...shape.INSTANT, description: 'End of the ban, or of the wait before the next dial.' },
  code: { type: 'integer', description: 'Close code of a dropped connection or of the last failed dial.' },
  reason: shape.TEXT,
  list: { type: 'string', enum: ['new', 'tried'], description: 'List in the peer book to which the peer belongs.' },
  height: shape.COUNT,
  version: shape.TEXT,
  latencyMs: shape.COUNT,
};

export const PEER_VERDICT_SHAPE: Schema = shape.objectOf(
  {
    ip: { type: 'string', format: 'ip' },
    verdict: { type: 'string', enum: VERDICTS },
    roles: shape.listOf({ type: 'string', enum: ['fixed', 'seed', 'whitelisted', 'blacklisted'] }),
    reputation: {
      type: 'integer',
      description:
        '100 for a peer that never broke a rule. At 0, the node bans the address of the peer. If the configuration names ' +
        'a peer at this address, the node does not ban the address, and only disconnects the peer.',
    },
    ...OPTIONAL,
  },
  Object.keys(OPTIONAL),
);
