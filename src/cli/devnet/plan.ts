/** What a devnet will be, decided before anything starts: ports, folders, who forges with which delegates. */

import { join } from 'node:path';
import { isPortBlocked } from '../../primitives/blocked-ports.ts';
import type { ForgerEntry, Forgers, Network } from '../../config/network.ts';
import type { PublicKey } from '../../protocol/types.ts';
import { usageError } from '../problems.ts';
import { nodeOfDelegate } from './fork/stand-in.ts';
import type { ForkShare } from './messages.ts';

export interface DevnetRequest {
  readonly nodes: number;
  readonly httpPort: number;
  readonly wsPort: number;
  /** Folder of the whole devnet. */
  readonly directory: string;
  readonly network: Network;
  /** Form of the log lines of the nodes; for people unless given. */
  readonly logFormat?: 'json';
  /** Delegates of a chain that the devnet is forked from: their keys are not needed. */
  readonly standInFor?: readonly PublicKey[];
}

export interface PlannedNode {
  readonly index: number;
  readonly httpPort: number;
  readonly wsPort: number;
  /** `node-<i>` in the devnet's folder: data, configuration and log of the node. */
  readonly directory: string;
  readonly configFile: string;
  readonly logFile: string;
  /** Content of the configuration file. */
  readonly config: object;
  readonly delegates: readonly ForgerEntry[];
}

/** Everything listens here: the keys of a devnet are known to everybody. */
export const DEVNET_HOST = '127.0.0.1';

/** Percent of its peers that a node of generation 2 must agree with to forge. */
const CONSENSUS_MIN = 51;
/** Until all nodes of a devnet answer, on a machine that is slow or busy with other work. */
export const STARTUP_MS = 180_000;
const BLOCK_TIMES_PER_BLOCK = 3;

/** @throws ProtocolError `USAGE` for ports that overlap, lie beyond the last one or cannot be asked, or a network without known delegates */
export function planDevnet(request: DevnetRequest): readonly PlannedNode[] {
  const { nodes, httpPort, wsPort, directory, network, logFormat, standInFor } = request;
  const forgers = standInFor === undefined ? publishedForgers(network) : undefined;
  if (Math.max(httpPort, wsPort) + nodes - 1 > 65_535) {
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
        ? standInsOf(standInFor ?? [], { index, nodes })
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
        http: { port: httpPort + index, host: DEVNET_HOST },
        p2p: {
          port: ownWsPort,
          host: DEVNET_HOST,
          fixedPeers: wsPorts.filter((port) => port !== ownWsPort).map((port) => `${DEVNET_HOST}:${port}`),
        },
        forging: {
          ...(forgers === undefined
            ? STAND_IN_FORGING
            : { force: true, defaultPassword: forgers.defaultPassword, delegates }),
          // A node without others would wait for their consent for ever.
          ...(network.params.generation === 2 && nodes > 1 ? { consensusMin: CONSENSUS_MIN } : {}),
        },
        pool: { broadcastIntervalMs: broadcastIntervalMs(network) },
        // One process for each core is plenty here.
        verifier: { threads: 0 },
        ...(logFormat === undefined ? {} : { log: { format: logFormat } }),
      },
    };
  });
}

/** The agent forges; what the delegates sign elsewhere is neither looked for nor told of: a node of theirs may run on this machine. */
const STAND_IN_FORGING = { riskDoubleForging: true, watermarkFolder: 'none' };

function standInsOf(publicKeys: readonly PublicKey[], { index, nodes }: ForkShare): readonly ForgerEntry[] {
  return publicKeys
    .filter((publicKey) => nodeOfDelegate(publicKey, nodes) === index)
    .map((publicKey) => ({ publicKey, encryptedPassphrase: '' }));
}

function publishedForgers(network: Network): Forgers {
  const { forgers } = network;
  if (forgers === undefined) throw usageError(`${network.directory}: has no forgers.json, so no devnet can run it`);
  const { activeDelegates } = network.params;
  if (forgers.delegates.length >= activeDelegates) return forgers;
  throw usageError(
    `${network.directory}: forgers.json has ${forgers.delegates.length} of the ${activeDelegates} delegates of a round, so ` +
      'slots would pass unused: make the network anew with bloomery genesis create',
  );
}

/** The devnet asks its nodes by `fetch`, as their users do. */
function refuseBlocked(httpPort: number, index: number): void {
  if (!isPortBlocked(httpPort)) return;
  throw usageError(
    `HTTP port ${httpPort} of node ${index} is one that browsers and fetch refuse: choose other HTTP ports`,
  );
}

/** A node that joins the others later: it follows them and forges nothing, as all delegates are dealt out. */
export function planFollower(
  nodes: readonly PlannedNode[],
  { httpPort, wsPort, directory, network, logFormat }: Omit<DevnetRequest, 'nodes'>,
): PlannedNode {
  const index = nodes.length;
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
      http: { port: httpPort + index, host: DEVNET_HOST },
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

/** A block every few seconds: transactions should not wait longer than one for their announcement. */
function broadcastIntervalMs({ params }: Network): number {
  return Math.min(5000, params.blockTimeS * 500);
}

/** Time until all nodes must hold the block at a height, in milliseconds. */
export function deadlineMs(height: number, blockTimeS: number): number {
  return STARTUP_MS + BLOCK_TIMES_PER_BLOCK * height * blockTimeS * 1000;
}

/** Arguments of `bloomery` that run a planned node. */
export function startArguments(node: PlannedNode, networkDirectory: string): readonly string[] {
  return ['start', '--network', networkDirectory, '--data-dir', node.directory, '--config', node.configFile];
}

/** Arguments of the program of `agent-program.ts` that run a planned node. */
export function agentArguments(node: PlannedNode, networkDirectory: string): readonly string[] {
  return [networkDirectory, node.directory, node.configFile];
}
