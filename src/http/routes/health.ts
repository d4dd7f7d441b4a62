/**
 * Declares two health routes for load balancers and for systems that restart failed nodes, such as Kubernetes. One
 * route reports that the process is alive, and one route reports whether the node is ready.
 */

import type { NodeApi, NodeStatus } from '../../ports/node-api.ts';
import { durationText } from '../../primitives/duration.ts';
import type { Route } from '../route.ts';
import { COUNT, FLAG, objectOf, TEXT } from '../views/shapes.ts';

/**
 * Maximum number of blocks by which a ready node can be behind its peers. The limit is not 0, because a new block can
 * reach the peers before it reaches this node.
 */
const LAG_BLOCKS_MAX = 2;

/**
 * Maximum age of the tip in slots for a forging node. If the tip is older, the readiness check also uses the heights of
 * the peers. The limit is higher than for nodes that do not forge, because a forging node without peers must be ready
 * too. Such a node is ready if it has forged a block in the last `TIP_AGE_SLOTS_MAX` slots.
 */
const TIP_AGE_SLOTS_MAX = 30;
/**
 * Maximum age of the tip in slots for a node that does not forge. The last block of the network can be one slot old,
 * and a ready node can be `LAG_BLOCKS_MAX` blocks behind that block.
 */
const FOLLOWER_TIP_AGE_SLOTS_MAX = LAG_BLOCKS_MAX + 1;

export const HEALTH_ROUTE: Route = {
  kind: 'plain',
  method: 'GET',
  path: '/healthz',
  summary: 'Answers with status 200 while the process runs.',
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
  summary:
    'Shows whether the node keeps up with its network. If the node does not keep up, the answer has status 503 and contains the reason.',
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
    const reason = await notReadyReason(api, status);
    return reason === undefined
      ? { status: 200, body: { ready: true, height, networkHeight } }
      : { status: 503, body: { ready: false, height, networkHeight, reason, message: reason } };
  },
};

async function notReadyReason(api: NodeApi, status: NodeStatus): Promise<string | undefined> {
  const { syncing, height, networkHeight, secondsSinceEpoch, isAlone } = status;
  if (syncing) return `The node synchronises with its peers: height ${height} of ${networkHeight}.`;
  // A node that is alone needs no peers, for example because its configuration allows no peers. If such a node does not
  // forge, it only serves its existing chain, and the age of the tip does not matter.
  const isForging = (await api.forgingDelegates()).some(({ forging }) => forging);
  if (isAlone === true && !isForging) return undefined;
  const ageS = secondsSinceEpoch - (api.chain.tip()?.timestamp ?? 0);
  if (-ageS > api.params.blockTimeS) {
    return `The clock of the node is ${durationText(-ageS)} behind its last block.`;
  }
  const isOld = ageS > (isForging ? TIP_AGE_SLOTS_MAX : FOLLOWER_TIP_AGE_SLOTS_MAX) * api.params.blockTimeS;
  if (isOld) {
    const connected = (await api.peers()).filter(({ state }) => state === 'connected');
    if (connected.length === 0) return `The node has no peers, and its last block is ${durationText(ageS)} old.`;
    // The tip is old here, which can have two reasons: the node is behind, or the whole network has stopped making
    // blocks. In the second case, the peers are at the height of the node, and the node is ready. The check ignores
    // peers without a height, because a peer that has just connected has possibly not announced its height yet.
    const heights = connected.flatMap(({ info }) => (info.height === undefined ? [] : [info.height]));
    if (heights.length === 0) {
      return `No connected peer has sent its height yet, and the last block is ${durationText(ageS)} old.`;
    }
    const reached = heights.toSorted((a, b) => b - a)[Math.ceil(heights.length / 2) - 1] ?? 0;
    if (reached - height > LAG_BLOCKS_MAX) {
      return `The node is ${reached - height} blocks behind half of its peers or more.`;
    }
  }
  const lag = networkHeight - height;
  return lag > LAG_BLOCKS_MAX ? `The node is ${lag} blocks behind most of its peers.` : undefined;
}
