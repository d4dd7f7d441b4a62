/** Whether the process lives and whether the node is of use, for those who start and balance nodes. */

import type { NodeApi, NodeStatus } from '../../ports/node-api.ts';
import type { Route } from '../route.ts';
import { COUNT, FLAG, objectOf, TEXT } from '../views/shapes.ts';

/** Blocks that a node may lag behind most of its peers and still count as synced: what is on its way. */
const LAG_BLOCKS_MAX = 2;

/** A node alone that forges adds a block now and then. */
const TIP_AGE_SLOTS_MAX = 30;
/** One that forges none follows nobody as long as it has no peers: in these slots the network may have gone as far as it may lag. */
const FOLLOWER_TIP_AGE_SLOTS_MAX = LAG_BLOCKS_MAX + 1;

export const HEALTH_ROUTE: Route = {
  kind: 'plain',
  method: 'GET',
  path: '/healthz',
  summary: 'Answers while the process is alive.',
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
  summary: 'Shows whether the node follows its network, or the reason why not.',
  parameters: [],
  unknownParameters: 'ignored',
  contentType: 'application/json',
  answers: {
    200: objectOf({ ready: FLAG, height: COUNT, networkHeight: COUNT }),
    503: objectOf({ ready: FLAG, height: COUNT, networkHeight: COUNT, reason: TEXT, message: TEXT }),
  },
  errors: {},
  respond: async (api) => {
    const status = await api.status();
    const { height, networkHeight } = status;
    const reason = await obstacle(api, status);
    return reason === undefined
      ? { status: 200, body: { ready: true, height, networkHeight } }
      : { status: 503, body: { ready: false, height, networkHeight, reason, message: reason } };
  },
};

async function obstacle(api: NodeApi, status: NodeStatus): Promise<string | undefined> {
  const { syncing, height, networkHeight, secondsSinceEpoch, isAlone } = status;
  if (syncing) return `The node synchronises with its peers: height ${height} of ${networkHeight}.`;
  // Started without peers and forging nothing, it is there for the chain that it has.
  const isForging = (await api.forgingDelegates()).some(({ forging }) => forging);
  if (isAlone === true && !isForging) return undefined;
  const ageS = secondsSinceEpoch - (api.chain.tip()?.timestamp ?? 0);
  // Beside peers a tip of any age is the network's: it may stand still.
  const isOld = ageS > (isForging ? TIP_AGE_SLOTS_MAX : FOLLOWER_TIP_AGE_SLOTS_MAX) * api.params.blockTimeS;
  if (isOld && !(await api.peers()).some(({ state }) => state === 'connected')) {
    return `The node has no peers, and its last block is ${ageS} s old.`;
  }
  const lag = networkHeight - height;
  return lag > LAG_BLOCKS_MAX ? `The node is ${lag} blocks behind most of its peers.` : undefined;
}
