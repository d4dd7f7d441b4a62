/** Whether the process lives and whether the node is of use, for those who start and balance nodes. */

import type { NodeApi } from '../../ports/node-api.ts';
import type { Route } from '../route.ts';
import { COUNT, FLAG, objectOf, TEXT } from '../views/shapes.ts';

/** Blocks that a node may lag behind most of its peers and still count as synced: what is on its way. */
const LAG_BLOCKS_MAX = 2;

export const HEALTH_ROUTE: Route = {
  kind: 'plain',
  method: 'GET',
  path: '/healthz',
  summary: 'Answers as long as the process does.',
  parameters: [],
  unknownParameters: 'ignored',
  contentType: 'application/json',
  answers: { 200: objectOf({ alive: FLAG }) },
  errors: {},
  respond: () => ({ status: 200, body: { alive: true } }),
};

export const READINESS_ROUTE: Route = {
  kind: 'plain',
  method: 'GET',
  path: '/readyz',
  summary: 'Says whether the node follows its network, and why when it does not.',
  parameters: [],
  unknownParameters: 'ignored',
  contentType: 'application/json',
  answers: {
    200: objectOf({ ready: FLAG, height: COUNT, networkHeight: COUNT }),
    503: objectOf({ ready: FLAG, height: COUNT, networkHeight: COUNT, reason: TEXT, message: TEXT }),
  },
  errors: {},
  respond: (api) => {
    const { height, networkHeight } = api.status();
    const reason = obstacle(api);
    return reason === undefined
      ? { status: 200, body: { ready: true, height, networkHeight } }
      : { status: 503, body: { ready: false, height, networkHeight, reason, message: reason } };
  },
};

function obstacle(api: NodeApi): string | undefined {
  const { syncing, height, networkHeight } = api.status();
  if (syncing) return `The node synchronises with its peers: height ${height} of ${networkHeight}.`;
  const lag = networkHeight - height;
  return lag > LAG_BLOCKS_MAX ? `The node is ${lag} blocks behind most of its peers.` : undefined;
}
