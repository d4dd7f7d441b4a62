/** Runs the nodes of a devnet: starts and watches their processes, and ends all processes when the devnet ends. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Network } from '../../config/network.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { nodeClient, type DelegateCounts, type NodeClient } from '../node-client.ts';
import { startAgentProcess, type NodeProcess } from './node-process.ts';
import type { LinkOptions } from './agent-link.ts';
import { DEVNET_HOST, STARTUP_MS, deadlineMs, type PlannedNode } from './plan.ts';
import { FirstRound, missedBlocks } from './missed-blocks.ts';
import type { RestartMode } from './restart-policy.ts';
import { SupervisedNode } from './supervised-node.ts';
import type { NodeRow, Screen } from './table.ts';

export interface DevnetRun {
  readonly nodes: readonly PlannedNode[];
  readonly network: Network;
  /**
   * States whether the supervisor restarts a node whose process ends after the start of the devnet. A run with
   * `untilHeight` restarts no node.
   */
  readonly restart: RestartMode;
  readonly screen: Screen;
  /** Signal that ends the run. */
  readonly stop: AbortSignal;
  /** The run ends when all nodes have the same block at this height. If undefined, the run has no end height. */
  readonly untilHeight?: number;
  /**
   * Called once, when all nodes answer. The result contains the block that each node has at the lowest tip height of
   * all nodes.
   */
  readonly onReady?: (result: DevnetResult) => void;
  /** Receives the list of the started nodes. The caller can add further nodes to this list later. */
  readonly attach?: (nodes: SupervisedNode[]) => void;
  /** Called when the run ends, before the supervisor stops the nodes. From then on, the caller must add no node. */
  readonly onEnding?: () => void;
  readonly parts: DevnetParts;
}

/** The processes, HTTP clients and clock of a devnet, or their replacements in a test. */
export interface DevnetParts {
  start(node: PlannedNode): NodeProcess;
  client(node: PlannedNode): NodeClient;
  nowMs(): number;
  /** Resolves after `timeMs`, or immediately when `stop` is aborted. */
  pause(timeMs: number, stop: AbortSignal): Promise<void>;
}

/** The block that each node has at a height, and the ports of the node. */
export interface DevnetResult {
  readonly nodes: readonly {
    readonly http: number;
    readonly ws: number;
    readonly height: number;
    readonly blockId: string;
  }[];
}

const POLL_MS = 500;
/**
 * Interval in milliseconds at which the supervisor asks the nodes for their state, until all nodes have answered. The
 * interval is short, so that the supervisor soon notices that all nodes are ready.
 */
const STARTUP_POLL_MS = 150;
/**
 * Time limit for the end of all processes when the devnet stops, in milliseconds. After this time, the supervisor kills
 * the processes that still run. A node usually stops within three seconds, but needs longer on an overloaded machine.
 */
const STOP_MS = 10_000;

/**
 * Makes the `DevnetParts` of a devnet whose nodes run as real processes: functions that start a node, create an HTTP
 * client for a node, give the time, and wait.
 *
 * @param linkOf function that returns the options of the connection between a started node and the supervisor
 */
export function processParts(
  network: Network,
  linkOf: (node: PlannedNode) => LinkOptions,
  nowMs: () => number,
): DevnetParts {
  return {
    start: (node) => startAgentProcess(node, network.directory, linkOf(node)),
    client: (node) => nodeClient(`http://${DEVNET_HOST}:${node.httpPort}`),
    nowMs,
    pause: (timeMs, signal) => sleep(timeMs, undefined, { signal }).catch(() => undefined),
  };
}

/**
 * Runs the nodes until `stop` is aborted, or until all nodes have the same block at `untilHeight`. After an abort of
 * `stop`, the result is undefined. Without `untilHeight`, all nodes must answer in the same check within `STARTUP_MS`;
 * otherwise the run fails. After this check, the run continues even if a node does not answer. If a process ends, the
 * option `restart` decides what the supervisor does. With `untilHeight`, the whole run has a deadline (`deadlineMs`),
 * and fails when a node ends. When this function returns or throws, no process of a node is left.
 *
 * @throws ProtocolError `DEVNET_NODE_ENDED` when a node ends during the start or in a run with `untilHeight`, or when
 *   all nodes are `dead` (`SupervisedNode.stateName`); `DEVNET_TOO_LATE` after `STARTUP_MS` or at the deadline, with
 *   the height of each node
 */
export async function runDevnet(run: DevnetRun): Promise<DevnetResult | undefined> {
  const { parts, restart } = run;
  const nodes: SupervisedNode[] = [];
  try {
    for (const node of run.nodes) {
      const { start, nowMs } = parts;
      nodes.push(new SupervisedNode({ node, client: parts.client(node), restart, start, nowMs }));
    }
    run.attach?.(nodes);
    return await watch(run, nodes);
  } finally {
    run.onEnding?.();
    await stopAll(nodes.flatMap((each) => each.close() ?? []));
  }
}

async function watch(run: DevnetRun, nodes: readonly SupervisedNode[]): Promise<DevnetResult | undefined> {
  const { untilHeight, parts, stop } = run;
  const startedMs = parts.nowMs();
  const allowedMs = untilHeight === undefined ? STARTUP_MS : deadlineMs(untilHeight, run.network.params.blockTimeS);
  let isStarted = false;
  const firstRound = new FirstRound(run.network.params);
  let isReadyReported = run.onReady === undefined;
  // Nodes that answer slowly must not delay the stop of the devnet.
  const stopped = new Promise<undefined>((resolve) => {
    stop.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  while (!stop.aborted) {
    if (!isStarted || untilHeight !== undefined) await refuseEnds(nodes);
    else await superviseAll(nodes, run.screen);
    const read = Promise.all(rowsOf(nodes, { isStarted, firstRound }));
    const rows: readonly NodeRow[] | undefined = await Promise.race([read, stopped]);
    if (rows === undefined) return undefined;
    run.screen.show(rows);
    const heights: readonly number[] = rows.flatMap(({ state }) => (state === undefined ? [] : [state.height]));
    const allAnswer = heights.length === nodes.length;
    isStarted ||= allAnswer;
    if (allAnswer && !isReadyReported) {
      const result = await blocksAt(nodes, Math.min(...heights));
      if (result !== undefined) run.onReady?.(result);
      isReadyReported = result !== undefined;
    }
    if (untilHeight !== undefined && allAnswer && Math.min(...heights) >= untilHeight) {
      const result = await blocksAt(nodes, untilHeight);
      if (result !== undefined && agree(result)) return result;
    }
    const hasDeadline = untilHeight !== undefined || !isStarted;
    if (hasDeadline && parts.nowMs() - startedMs > allowedMs) throw tooLate(run, rows, allowedMs);
    await parts.pause(isStarted ? POLL_MS : STARTUP_POLL_MS, stop);
  }
  return undefined;
}

/** @throws ProtocolError `DEVNET_NODE_ENDED` when a process has ended */
async function refuseEnds(nodes: readonly SupervisedNode[]): Promise<void> {
  for (const each of nodes) {
    const end = await each.end();
    if (end === undefined) continue;
    const { index, logFile } = each.node;
    const { reason } = end;
    const message = `node ${index} ended: ${reason}: its log is ${logFile}`;
    throw new ProtocolError('DEVNET_NODE_ENDED', { index, reason }, message);
  }
}

/** @throws ProtocolError `DEVNET_NODE_ENDED` when all nodes are `dead` (a node that the user killed is not `dead`) */
async function superviseAll(nodes: readonly SupervisedNode[], screen: Screen): Promise<void> {
  for (const each of nodes) {
    const line = await each.supervise();
    if (line !== undefined) screen.print(line);
  }
  if (nodes.some(({ deathReason }) => deathReason === undefined)) return;
  const reasons = nodes.map(({ node, deathReason }) => `node ${node.index}: ${deathReason}`).join('; ');
  throw new ProtocolError('DEVNET_NODE_ENDED', { reasons }, `no node is left: ${reasons}`);
}

/** Data about the run of the devnet, from which `rowsOf` makes the rows of the status table. */
interface TableState {
  readonly isStarted: boolean;
  readonly firstRound: FirstRound;
}

function rowsOf(nodes: readonly SupervisedNode[], { isStarted, firstRound }: TableState): readonly Promise<NodeRow>[] {
  const running = nodes.filter(({ stateName }) => stateName === 'running');
  // The counters of missed blocks are part of the chain's state, so the first answer from any node is enough.
  const asked = running.filter(({ process }) => isStarted || process?.link?.isUsable !== false);
  const delegates = firstAnswer(asked.map(({ client }) => client));
  return nodes.map(async ({ node, client, process, stateName }) => {
    const ports = { index: node.index, httpPort: node.httpPort, wsPort: node.wsPort };
    const without = (absence: NodeRow['absence']): NodeRow => ({
      ...ports,
      state: undefined,
      ...(absence === undefined ? {} : { absence }),
    });
    if (process === undefined || stateName === 'paused') {
      return without(stateName === 'running' ? 'ended' : stateName);
    }
    // During the start of the devnet, a node that is not ready yet gets no requests, because requests would delay its
    // start. The agent in the node's process reports when the node is ready.
    if (!isStarted && process.link?.isUsable === false) return without('starting');
    try {
      const [status, peers, counts] = await Promise.all([client.status(), client.connectedPeers(), delegates]);
      const own = new Set(node.delegates.map(({ publicKey }) => publicKey));
      const mine = counts.filter(({ publicKey }) => own.has(publicKey));
      const exempt = await firstRound.delegateWithoutTurn(status.height, counts, client);
      const state = {
        height: status.height,
        finalized: status.chainMaxHeightFinalized,
        peers,
        forged: mine.reduce((sum, { produced }) => sum + produced, 0),
        missed: mine.reduce((sum, each) => sum + missedBlocks(each, exempt), 0),
      };
      return { ...ports, state };
    } catch (error) {
      // This error means that the node is not ready yet, or is too busy to answer within the time limit of the client.
      // `superviseAll` and `refuseEnds` detect the end of a process.
      if (error instanceof ProtocolError) return without(isStarted ? 'silent' : 'starting');
      throw error;
    }
  });
}

async function firstAnswer(clients: readonly NodeClient[]): Promise<readonly DelegateCounts[]> {
  const answers = clients.map((client) => client.delegates());
  return Promise.any(answers).catch((error: unknown) => {
    const causes = error instanceof AggregateError ? error.errors : [error];
    for (const cause of causes) if (!(cause instanceof ProtocolError)) throw cause;
    return [];
  });
}

/**
 * Returns the block that each node has at `height`. If at least one node has no block at this height or does not
 * answer, the whole result is undefined.
 */
async function blocksAt(watched: readonly SupervisedNode[], height: number): Promise<DevnetResult | undefined> {
  const nodes = await Promise.all(
    watched.map(async ({ node, client }) => {
      const blockId = await client.blockId(height).catch(() => undefined);
      return blockId === undefined ? [] : [{ http: node.httpPort, ws: node.wsPort, height, blockId }];
    }),
  );
  const complete = nodes.flat();
  return complete.length === watched.length ? { nodes: complete } : undefined;
}

function agree(result: DevnetResult): boolean {
  return new Set(result.nodes.map(({ blockId }) => blockId)).size === 1;
}

function tooLate(run: DevnetRun, rows: readonly NodeRow[], allowedMs: number): ProtocolError {
  const heights = rows.map(
    ({ index, state }) => `node ${index} ${state === undefined ? 'silent' : `at ${state.height}`}`,
  );
  const goal =
    run.untilHeight === undefined
      ? 'not all nodes answer'
      : `the nodes do not hold the same block at ${run.untilHeight}`;
  const logs = run.nodes[0]?.logFile ?? '';
  return new ProtocolError(
    'DEVNET_TOO_LATE',
    { untilHeight: run.untilHeight },
    `after ${Math.round(allowedMs / 1000)} s ${goal} (${heights.join(', ')}): the logs are beside ${logs}`,
  );
}

async function stopAll(processes: readonly NodeProcess[]): Promise<void> {
  const running = processes.filter((process) => process.isRunning());
  for (const process of running) process.stop();
  const deadline = new AbortController();
  const all = Promise.all(running.map((process) => process.ended));
  await Promise.race([all, sleep(STOP_MS, undefined, { signal: deadline.signal }).catch(() => undefined)]);
  deadline.abort();
  for (const process of running) if (process.isRunning()) process.kill();
  await all;
}
