/** Plans a devnet before anything is started: ports, folders, and the delegates of each node. */

import { join } from 'node:path';
import { isPortBlocked } from '../../primitives/blocked-ports.ts';
import { forgersOf, type ForgerEntry, type Forgers, type Network } from '../../config/network.ts';
import type { PublicKey } from '../../protocol/types.ts';
import { usageError } from '../error-lines.ts';
import { nodeOfDelegate } from './fork/substitute-key.ts';
import { NODE_INDEX_MAX, type ForkShare } from './messages.ts';

export interface DevnetRequest {
  readonly nodes: number;
  readonly httpPort: number;
  readonly wsPort: number;
  /** Folder of the whole devnet. */
  readonly directory: string;
  readonly network: Network;
  /** Format of the nodes' log lines; undefined for the default format, which is for human readers. */
  readonly logFormat?: 'json';
  /** Delegates of a forked chain, for which the substitute key signs; undefined for a new chain. */
  readonly forkDelegates?: readonly PublicKey[];
}

export interface PlannedNode {
  readonly index: number;
  readonly httpPort: number;
  readonly wsPort: number;
  /** Folder `node-<i>` in the devnet's folder, with data, configuration and log of the node. */
  readonly directory: string;
  readonly configFile: string;
  readonly logFile: string;
  /** Content of the configuration file. */
  readonly config: object;
  readonly delegates: readonly ForgerEntry[];
}

/** All nodes listen only on this address, because the passphrases of a devnet's accounts are public. */
export const DEVNET_HOST = '127.0.0.1';
const PORT_MAX = 65_535;

/**
 * Minimum percentage of the peers that must have the same tip as a node before the node forges. The minimum applies to
 * devnets of generation 2 with several nodes.
 */
const CONSENSUS_MIN = 51;
/**
 * Time limit for the start, in milliseconds: all nodes of a devnet must answer within this time, even on a slow or busy
 * machine.
 */
export const STARTUP_MS = 180_000;
const BLOCK_TIMES_PER_BLOCK = 3;

/**
 * @throws ProtocolError `USAGE` if the HTTP ports and the peer ports overlap, if a port exceeds 65535, or if `fetch`
 *   refuses an HTTP port
 * @throws ProtocolError only for a new chain: `USAGE` if the network has no `forgers.json`, or if this file has fewer
 *   delegates than a round; the error of `forgersOf`
 */
export function planDevnet(request: DevnetRequest): readonly PlannedNode[] {
  const { nodes, httpPort, wsPort, directory, network, logFormat, forkDelegates } = request;
  const forgers = forkDelegates === undefined ? publishedForgers(network) : undefined;
  if (Math.max(httpPort, wsPort) + nodes - 1 > PORT_MAX) {
    throw usageError(`${nodes} nodes from port ${Math.max(httpPort, wsPort)} pass port 65535: choose lower ports`);
  }
  if (Math.abs(httpPort - wsPort) < nodes) {
    throw usageError(`HTTP ports from ${httpPort} and peer ports from ${wsPort} overlap: choose ports further apart`);
  }
  for (let index = 0; index < nodes; index += 1) refuseBlocked(httpPort + index, index);
  const wsPorts = Array.from({ length: nodes }, (_, index) => wsPort + index);
  return wsPorts.map((ownWsPort, index) => {
    const folder = join(directory, `node-${index}`);
    const delegates =
      forgers === undefined
        ? forkForgersOf(forkDelegates ?? [], { index, nodes })
        : forgers.delegates.filter((_, position) => position % nodes === index);
    return {
      index,
      httpPort: httpPort + index,
      wsPort: ownWsPort,
      directory: folder,
      configFile: join(folder, 'config.json'),
      logFile: join(folder, 'node.log'),
      delegates,
      config: {
        // A node of a devnet has no reading processes (separate processes that answer HTTP requests), because a devnet
        // has few HTTP clients, and the processes of the nodes already use all cores.
        http: { port: httpPort + index, host: DEVNET_HOST, processes: 0 },
        p2p: {
          port: ownWsPort,
          host: DEVNET_HOST,
          fixedPeers: wsPorts.filter((port) => port !== ownWsPort).map((port) => `${DEVNET_HOST}:${port}`),
        },
        forging: {
          ...(forgers === undefined
            ? FORK_FORGING
            : { force: true, defaultPassword: forgers.defaultPassword, delegates }),
          // A single node has no peers, so its consensus would never reach `CONSENSUS_MIN`, and the node would never
          // forge.
          ...(network.params.generation === 2 ? { consensusMin: nodes > 1 ? CONSENSUS_MIN : 0 } : {}),
        },
        pool: { broadcastIntervalMs: broadcastIntervalMs(network) },
        // A node of a devnet has no verifier threads, because the processes of the nodes already use all cores.
        verifier: { threads: 0 },
        ...(logFormat === undefined ? {} : { log: { format: logFormat } }),
      },
    };
  });
}

/**
 * Forging options for nodes of a forked devnet. The agent of such a node enables forging. The nodes store no watermarks
 * (copies of the newest signed headers outside the data folder). Otherwise, the devnet could change the watermarks of a
 * node that runs on this machine for the original network, because the delegates are the same.
 */
const FORK_FORGING = { riskDoubleForging: true, watermarkFolder: 'none' };

function forkForgersOf(publicKeys: readonly PublicKey[], { index, nodes }: ForkShare): readonly ForgerEntry[] {
  return publicKeys
    .filter((publicKey) => nodeOfDelegate(publicKey, nodes) === index)
    .map((publicKey) => ({ publicKey, encryptedPassphrase: '' }));
}

function publishedForgers(network: Network): Forgers {
  const forgers = forgersOf(network);
  if (forgers === undefined) throw usageError(`${network.directory}: has no forgers.json, so no devnet can run it`);
  const { activeDelegates } = network.params;
  if (forgers.delegates.length >= activeDelegates) return forgers;
  throw usageError(
    `${network.directory}: forgers.json has ${forgers.delegates.length} of the ${activeDelegates} delegates of a round, so ` +
      'slots would pass unused: create the network again with bloomery genesis create',
  );
}

/** Refuses ports to which `fetch` does not connect, because the devnet and its users query nodes with `fetch`. */
function refuseBlocked(httpPort: number, index: number): void {
  if (!isPortBlocked(httpPort)) return;
  throw usageError(
    `HTTP port ${httpPort} of node ${index} is one that browsers and fetch refuse: choose other HTTP ports`,
  );
}

/**
 * Plans a node that a user adds to a running devnet (a follower). A follower does not forge, because all delegates
 * already belong to other nodes.
 *
 * @throws ProtocolError `USAGE` for a node index above `NODE_INDEX_MAX`, for a port above 65535, and for an HTTP port
 *   that `fetch` refuses
 */
export function planFollower(
  nodes: readonly PlannedNode[],
  { httpPort, wsPort, directory, network, logFormat }: Omit<DevnetRequest, 'nodes'>,
): PlannedNode {
  const index = nodes.length;
  if (index > NODE_INDEX_MAX) throw usageError(`a devnet has at most ${NODE_INDEX_MAX + 1} nodes`);
  if (Math.max(httpPort, wsPort) + index > PORT_MAX)
    throw usageError(`node ${index} would have a port above ${PORT_MAX}: start the devnet with lower ports`);
  refuseBlocked(httpPort + index, index);
  const folder = join(directory, `node-${index}`);
  return {
    index,
    httpPort: httpPort + index,
    wsPort: wsPort + index,
    directory: folder,
    configFile: join(folder, 'config.json'),
    logFile: join(folder, 'node.log'),
    delegates: [],
    config: {
      http: { port: httpPort + index, host: DEVNET_HOST, processes: 0 },
      p2p: {
        port: wsPort + index,
        host: DEVNET_HOST,
        fixedPeers: nodes.map((each) => `${DEVNET_HOST}:${each.wsPort}`),
      },
      forging: { enabled: false },
      pool: { broadcastIntervalMs: broadcastIntervalMs(network) },
      verifier: { threads: 0 },
      ...(logFormat === undefined ? {} : { log: { format: logFormat } }),
    },
  };
}

/**
 * Time between two regular calls of `TransactionPool.step`, in milliseconds (option `pool.broadcastIntervalMs`). `step`
 * verifies the transactions that the pool did not verify on arrival. The time is at most half the length of a slot. If
 * the chain clock runs as fast as the machine's clock, the node therefore calls `step` at least once in each slot.
 */
function broadcastIntervalMs({ params }: Network): number {
  return Math.min(5000, params.blockTimeS * 500);
}

/**
 * Returns the time, in milliseconds from the start of the devnet, within which all nodes must have the block at
 * `height`.
 */
export function deadlineMs(height: number, blockTimeS: number): number {
  return STARTUP_MS + BLOCK_TIMES_PER_BLOCK * height * blockTimeS * 1000;
}

/** Returns the arguments with which `bloomery` runs a planned node. */
export function startArguments(node: PlannedNode, networkDirectory: string): readonly string[] {
  return ['start', '--network', networkDirectory, '--data-dir', node.directory, '--config', node.configFile];
}

/** Returns the arguments with which `agent-program.ts` runs a planned node. */
export function agentArguments(node: PlannedNode, networkDirectory: string): readonly string[] {
  return [networkDirectory, node.directory, node.configFile];
}
