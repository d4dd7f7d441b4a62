/** Runs the nodes of a devnet: starts them, watches them, and leaves none behind. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Network } from '../../config/network.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { nodeClient, type DelegateCounts, type NodeClient } from '../node-client.ts';
import { startNodeProcess, type NodeProcess } from './node-process.ts';
import { DEVNET_HOST, STARTUP_MS, deadlineMs, type PlannedNode } from './plan.ts';
import type { NodeRow, Screen } from './table.ts';

export interface DevnetRun {
  readonly nodes: readonly PlannedNode[];
  readonly network: Network;
  /** The executable that runs `bloomery` commands. */
  readonly entry: string;
  readonly screen: Screen;
  /** Ends the run when aborted. */
  readonly stop: AbortSignal;
  /** Ends the run once all nodes hold the same block there. */
  readonly untilHeight?: number;
  /** Called once, when all nodes answer. */
  readonly onReady?: (result: DevnetResult) => void;
  readonly nowMs: () => number;
}

/** The block of each node at a height. */
export interface DevnetResult {
  readonly nodes: readonly {
    readonly http: number;
    readonly ws: number;
    readonly height: number;
    readonly blockId: string;
  }[];
}

const POLL_MS = 500;
/** Until all nodes answer, so that their readiness shows at once. */
const STARTUP_POLL_MS = 150;
/** A node stops within three seconds; a machine under load may need longer. */
const STOP_MS = 10_000;

interface Watched {
  readonly process: NodeProcess;
  readonly client: NodeClient;
}

/**
 * Runs until `stop` (no result), or until all nodes hold the same block at `untilHeight`. No process is left when this
 * returns or throws.
 *
 * @throws ProtocolError `DEVNET_NODE_ENDED` when a node dies, `DEVNET_TOO_LATE` with what is missing at the deadline
 */
export async function runDevnet(run: DevnetRun): Promise<DevnetResult | undefined> {
  const watched: Watched[] = [];
  try {
    for (const node of run.nodes) {
      const client = nodeClient(`http://${DEVNET_HOST}:${node.httpPort}`);
      watched.push({ process: startNodeProcess(node, run.network.directory, run.entry), client });
    }
    return await watch(run, watched);
  } finally {
    await stopAll(watched.map((each) => each.process));
  }
}

async function watch(run: DevnetRun, watched: readonly Watched[]): Promise<DevnetResult | undefined> {
  const { untilHeight } = run;
  const startedMs = run.nowMs();
  const allowedMs = untilHeight === undefined ? STARTUP_MS : deadlineMs(untilHeight, run.network.params.blockTimeS);
  let readyTold = false;
  // Nodes that are slow to answer must not keep anybody from stopping them.
  const stopped = new Promise<undefined>((resolve) => {
    run.stop.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  while (!run.stop.aborted) {
    for (const { process } of watched) if (!process.isRunning()) throw await ended(process);
    const rows = await Promise.race([Promise.all(rowsOf(watched)), stopped]);
    if (rows === undefined) return undefined;
    run.screen.show(rows);
    const heights = rows.flatMap(({ state }) => (state === undefined ? [] : [state.height]));
    const allAnswer = heights.length === watched.length;
    if (allAnswer && !readyTold && run.onReady !== undefined) {
      const result = await blocksAt(watched, Math.min(...heights));
      if (result !== undefined) run.onReady(result);
      readyTold = result !== undefined;
    }
    if (untilHeight !== undefined && allAnswer && Math.min(...heights) >= untilHeight) {
      const result = await blocksAt(watched, untilHeight);
      if (result !== undefined && agree(result)) return result;
    }
    const late = run.nowMs() - startedMs > allowedMs;
    if (late && (untilHeight !== undefined || !allAnswer)) throw tooLate(run, rows, allowedMs);
    await sleep(allAnswer ? POLL_MS : STARTUP_POLL_MS, undefined, { signal: run.stop }).catch(() => undefined);
  }
  return undefined;
}

function rowsOf(watched: readonly Watched[]): readonly Promise<NodeRow>[] {
  // The chain's own counters: one node's word is enough, and the first that answers gives it.
  const delegates = firstAnswer(watched.map(({ client }) => client));
  return watched.map(async ({ process: { node }, client }) => {
    const ports = { index: node.index, httpPort: node.httpPort, wsPort: node.wsPort };
    try {
      const [status, peers, counts] = await Promise.all([client.status(), client.connectedPeers(), delegates]);
      const own = new Set(node.delegates.map(({ publicKey }) => publicKey));
      const mine = counts.filter(({ publicKey }) => own.has(publicKey));
      const state = {
        height: status.height,
        finalized: status.chainMaxHeightFinalized,
        peers,
        forged: mine.reduce((sum, { produced }) => sum + produced, 0),
        missed: mine.reduce((sum, { missed }) => sum + missed, 0),
      };
      return { ...ports, state };
    } catch (error) {
      // Not up yet, or too busy to answer in time; a node that is gone shows by its process.
      if (error instanceof ProtocolError) return { ...ports, state: undefined };
      throw error;
    }
  });
}

async function firstAnswer(clients: readonly NodeClient[]): Promise<readonly DelegateCounts[]> {
  for (const client of clients) {
    try {
      return await client.delegates();
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
    }
  }
  return [];
}

/** The block of each node at a height; undefined while one has none or does not answer. */
async function blocksAt(watched: readonly Watched[], height: number): Promise<DevnetResult | undefined> {
  const nodes = await Promise.all(
    watched.map(async ({ process: { node }, client }) => {
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

async function ended(process: NodeProcess): Promise<ProtocolError> {
  const { index, logFile } = process.node;
  const reason = await process.ended;
  return new ProtocolError(
    'DEVNET_NODE_ENDED',
    { index, reason },
    `node ${index} ended: ${reason}: its log is ${logFile}`,
  );
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
  const patience = new AbortController();
  const all = Promise.all(running.map((process) => process.ended));
  await Promise.race([all, sleep(STOP_MS, undefined, { signal: patience.signal }).catch(() => undefined)]);
  patience.abort();
  for (const process of running) if (process.isRunning()) process.kill();
  await all;
}
