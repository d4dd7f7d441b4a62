/**
 * Runs devnets of real processes: starts, kills and restarts nodes, sends HTTP requests, and waits with time limits.
 */

import { existsSync, readFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { writeDevnetFolder } from '../../src/cli/devnet/folder.ts';
import { startNodeProcess, type NodeProcess } from '../../src/cli/devnet/node-process.ts';
import { planDevnet, type PlannedNode } from '../../src/cli/devnet/plan.ts';
import { nodeClient, type NodeClient, type NodeState } from '../../src/cli/node-client.ts';
import { loadNetwork, packagedNetworkDirectory, type Network } from '../../src/config/network.ts';
import { contradictionOf } from '../../src/protocol/gen3/bft.ts';
import type { SignedHeader } from '../../src/protocol/rules.ts';
import { CLI_ENTRY } from './cli.ts';
import { freePortRanges } from './ports.ts';
import { INNER_HOST, LoopbackWires } from './loopback-wires.ts';
import { signedHeadersIn, type JournaledHeader } from './signed-headers.ts';

export interface TestNode {
  readonly plan: PlannedNode;
  readonly url: string;
  readonly client: NodeClient;
  start(): void;
  /** Sends SIGKILL. Resolves when the process is gone. */
  kill(): Promise<void>;
  /** Sends SIGTERM. Resolves when the process is gone, with a text that says why the process ended. */
  stop(): Promise<string>;
  /** Sends SIGSTOP or SIGCONT. */
  pause(isPaused: boolean): void;
  isRunning(): boolean;
  /** Process id; undefined if the node does not run. */
  pid(): number | undefined;
}

export interface TestDevnet {
  readonly directory: string;
  readonly network: Network;
  readonly nodes: readonly TestNode[];
  /** The proxies between the nodes; undefined if `hasWires` is not set. */
  readonly wires: LoopbackWires | undefined;
  /** Kills all nodes and removes the folder of the devnet. */
  close(): Promise<void>;
}

export interface TestDevnetOptions {
  /** Name of a packaged network; default: `devnet`. */
  readonly network?: string;
  /** Folder of a network, instead of a packaged network. */
  readonly networkFolder?: string;
  readonly nodes: number;
  /**
   * Number of spectators, in addition to `nodes`; default: 0. A spectator is a node that does not forge and that
   * `startTestDevnet` does not start. The spectators are at the end of `TestDevnet.nodes`.
   */
  readonly spectators?: number;
  /** Number of delegates of each forging node; default: even shares. */
  readonly shares?: readonly number[];
  /** Whether the nodes talk through proxies, so that a test can cut their connections. */
  readonly hasWires?: boolean;
  /** HTTP options for all nodes. They override the HTTP options that `planDevnet` sets. */
  readonly http?: object;
  /** Verifier options for all nodes. They override the verifier options that `planDevnet` sets. */
  readonly verifier?: object;
  /** Options of the group `notify` for all nodes. */
  readonly notify?: object;
}

/** Time limit for the start of a node: far more than an idle machine needs, because a busy machine is slow. */
const START_MS_MAX = 150_000;
/**
 * Time limit of a request. The limit is long, because a busy machine sometimes pauses for some seconds. Such a pause is
 * not a fault of the node.
 */
const ANSWER_MS_MAX = 60_000;

/** Starts all nodes except the spectators, and waits until they answer. */
export async function startTestDevnet(options: TestDevnetOptions): Promise<TestDevnet> {
  const { nodes: count, spectators = 0 } = options;
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-devnet-'));
  const network = loadNetwork(options.networkFolder ?? packagedNetworkDirectory(options.network ?? 'devnet'));
  const ports = await freePortRanges(count + spectators);
  const even = planDevnet({ nodes: count, httpPort: ports.http, wsPort: ports.ws, directory, network });
  const plans = options.shares === undefined ? even : dealt(even, options.shares);
  const late = Array.from({ length: spectators }, (_, index) => spectatorOf(plans, count + index, ports, directory));
  const all = [...plans, ...late]
    .map((plan) => (options.hasWires === true ? behindWires(plan) : plan))
    .map((plan) => withOptions(plan, 'http', options.http))
    .map((plan) => withOptions(plan, 'verifier', options.verifier))
    .map((plan) => (options.notify === undefined ? plan : withOptions(plan, 'notify', options.notify)));
  const wires = options.hasWires === true ? await LoopbackWires.open(all.map(({ wsPort }) => wsPort)) : undefined;
  const nodes = all.map((plan) => testNode(plan, network));
  const close = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.kill()));
    await wires?.close();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    writeDevnetFolder(directory, all, network, network);
    for (const node of nodes.slice(0, count)) node.start();
    for (const node of nodes.slice(0, count)) await waitForAnswer(node, START_MS_MAX);
  } catch (error) {
    const log = lastWordsOf(plans[0]?.logFile ?? '');
    await close();
    throw new Error(`the devnet did not start (${String(error)}); log of node 0: ${log}`, { cause: error });
  }
  return { directory, network, nodes, wires, close };
}

/** Distributes the delegates of all plans again, so that plan `i` gets `shares[i]` delegates. */
function dealt(plans: readonly PlannedNode[], shares: readonly number[]): readonly PlannedNode[] {
  const left = plans.flatMap(({ delegates }) => delegates);
  return plans.map((plan, index) => {
    const delegates = left.splice(0, shares[index] ?? 0);
    const config = plan.config as { readonly forging: object };
    return { ...plan, delegates, config: { ...config, forging: { ...config.forging, delegates } } };
  });
}

/** Changes the plan of a node so that all other nodes reach it only through the proxies. */
function behindWires(plan: PlannedNode): PlannedNode {
  const { p2p, ...config } = plan.config as { readonly p2p: object };
  return { ...plan, config: { ...config, p2p: { ...p2p, host: INNER_HOST } } };
}

function withOptions(plan: PlannedNode, module: 'http' | 'verifier' | 'notify', options: object = {}): PlannedNode {
  const config = plan.config as Readonly<Record<string, object>>;
  return { ...plan, config: { ...config, [module]: { ...config[module], ...options } } };
}

function testNode(plan: PlannedNode, network: Network): TestNode {
  let process: NodeProcess | undefined;
  const end = async (how: 'kill' | 'stop'): Promise<string> => {
    if (process?.isRunning() !== true) return 'not running';
    process[how]();
    return (await process.ended).reason;
  };
  return {
    plan,
    url: `http://127.0.0.1:${plan.httpPort}`,
    client: nodeClient(`http://127.0.0.1:${plan.httpPort}`, ANSWER_MS_MAX),
    start: () => void (process = startNodeProcess(plan, network.directory, CLI_ENTRY)),
    kill: async () => void (await end('kill')),
    stop: () => end('stop'),
    pause: (isPaused) => process?.pause(isPaused),
    isRunning: () => process?.isRunning() === true,
    pid: () => (process?.isRunning() === true ? process.pid : undefined),
  };
}

/**
 * Plans a node that dials all nodes of `plans` and does not forge. The configurations of those nodes do not contain the
 * address of the new node.
 */
function spectatorOf(
  plans: readonly PlannedNode[],
  index: number,
  ports: { readonly http: number; readonly ws: number },
  directory: string,
): PlannedNode {
  const folder = join(directory, `node-${index}`);
  return {
    index,
    httpPort: ports.http + index,
    wsPort: ports.ws + index,
    directory: folder,
    configFile: join(folder, 'config.json'),
    logFile: join(folder, 'node.log'),
    delegates: [],
    config: {
      http: { port: ports.http + index, host: '127.0.0.1' },
      p2p: { port: ports.ws + index, host: '127.0.0.1', fixedPeers: plans.map(({ wsPort }) => `127.0.0.1:${wsPort}`) },
      forging: { enabled: false },
      verifier: { threads: 0 },
    },
  };
}

/**
 * Polls until the condition returns a value other than undefined and false. After the deadline, throws the error of the
 * condition, or an error with `what` in the message if the condition threw no error.
 *
 * @param lost returns a reason if further waiting is useless; otherwise undefined
 */
export async function waitFor<T>(
  what: string,
  condition: () => Promise<T | undefined | false>,
  deadlineMs: number,
  lost: () => string | undefined = () => undefined,
): Promise<T> {
  const startedMs = Date.now();
  for (;;) {
    const reason = lost();
    if (reason !== undefined) throw new Error(`${what}: ${reason}`);
    const value = await condition().catch((error: unknown) => {
      // Perhaps the node is down or busy, so the loop calls `condition` again.
      if (Date.now() - startedMs > deadlineMs) throw error;
      return undefined;
    });
    if (value !== undefined && value !== false) return value;
    if (Date.now() - startedMs > deadlineMs) throw new Error(`${what}: not within ${deadlineMs} ms`);
    await sleep(150);
  }
}

/** Resolves with the state of the node as soon as the node answers. */
export function waitForAnswer(node: TestNode, deadlineMs: number): Promise<NodeState> {
  const { index, logFile } = node.plan;
  return waitFor(
    `answer of node ${index}`,
    () => node.client.status(),
    deadlineMs,
    () => (node.isRunning() ? undefined : `the node ended: ${lastWordsOf(logFile)}`),
  );
}

/** Returns the end of a log, for the message of a failure. */
export function lastWordsOf(logFile: string): string {
  return existsSync(logFile) ? readFileSync(logFile, 'utf8').slice(-2500) : 'it has no log';
}

/**
 * Returns the ends of the logs of all nodes. The test removes its folders at the end, so the message of a failure must
 * contain the logs.
 */
export function lastWords({ nodes }: TestDevnet): string {
  return nodes.map(({ plan }) => `log of node ${plan.index}: ${lastWordsOf(plan.logFile)}`).join('\n');
}

/** Closes the devnet at the end of the test. If the test failed, the function prints the ends of the logs. */
export function closeAfter(t: ExecutionContext, devnet: TestDevnet): void {
  t.teardown(async () => {
    if (!t.passed) t.log(lastWords(devnet));
    await devnet.close();
  });
}

/** Resolves with the id of the block at this height when all nodes have the same block there. */
export async function waitForCommonBlock(
  nodes: readonly Pick<TestNode, 'client'>[],
  height: number,
  deadlineMs: number,
): Promise<string> {
  return waitFor(
    `the same block at height ${height}`,
    async () => {
      const ids = await Promise.all(nodes.map((node) => node.client.blockId(height)));
      return new Set(ids).size === 1 ? ids[0] : undefined;
    },
    deadlineMs,
  );
}

/** Returns the greatest height of the nodes. Fails if a node does not answer. */
export async function highestHeight(nodes: readonly TestNode[]): Promise<number> {
  const heights = await Promise.all(nodes.map((node) => node.client.status().then((state) => state.height)));
  return Math.max(...heights);
}

/** Resolves with the state digest when all nodes have the same digest at the same tip. */
export function waitForCommonDigest(nodes: readonly Pick<TestNode, 'client'>[], deadlineMs: number): Promise<string> {
  return waitFor(
    'the same state digest',
    async () => {
      const digests = await Promise.all(nodes.map((node) => node.client.digest()));
      const [first] = digests;
      return first !== undefined &&
        digests.every((each) => each.blockId === first.blockId && each.digest === first.digest)
        ? first.digest
        : undefined;
    },
    deadlineMs,
  );
}

/** The places where the nodes of a devnet store their signing journals (files of signed headers). */
interface SigningPlaces {
  readonly network: Pick<Network, 'name'>;
  readonly nodes: readonly { readonly plan: Pick<PlannedNode, 'directory'> }[];
}

/** Describes each pair of contradicting headers that one delegate signed, on one node or on two nodes of the devnet. */
export function contradictions(devnet: SigningPlaces): readonly string[] {
  const byDelegate = new Map<string, SignedHeader[]>();
  for (const { plan } of devnet.nodes) {
    for (const { delegate, header } of journalEntries(plan, devnet.network.name)) {
      byDelegate.set(delegate, [...(byDelegate.get(delegate) ?? []), header]);
    }
  }
  const found: string[] = [];
  for (const [delegate, headers] of byDelegate) {
    for (const [index, one] of headers.entries()) {
      for (const other of headers.slice(index + 1)) {
        const reason = one.blockId === other.blockId ? undefined : contradictionOf(one, other);
        if (reason !== undefined) found.push(`${delegate}: ${one.blockId} and ${other.blockId}: ${reason}`);
      }
    }
  }
  return found;
}

/** Counts the headers in the signing journals (files of signed headers) of all nodes. */
export function signedHeaderCount(devnet: SigningPlaces): number {
  return devnet.nodes.reduce((sum, { plan }) => sum + journalEntries(plan, devnet.network.name).length, 0);
}

function journalEntries(plan: Pick<PlannedNode, 'directory'>, networkName: string): readonly JournaledHeader[] {
  try {
    return signedHeadersIn(readFileSync(join(plan.directory, networkName, 'forging-journal'), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
