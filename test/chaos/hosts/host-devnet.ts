/**
 * A devnet in which each node has its own simulated host. The one-way delays between the hosts are 20 to 150 ms, as
 * between distant countries.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeDevnetFolder } from '../../../src/cli/devnet/folder.ts';
import { planDevnet, startArguments, type PlannedNode } from '../../../src/cli/devnet/plan.ts';
import { nodeClient } from '../../../src/cli/node-client.ts';
import { loadNetwork, packagedNetworkDirectory, type Network } from '../../../src/config/network.ts';
import { CLI_ENTRY } from '../../support/cli.ts';
import { type TestNode, waitForAnswer } from '../../support/devnet.ts';
import { DelaySwitch } from './delay-switch.ts';
import { probeEnvironment, readSamples, type MemorySample } from './memory-probe.ts';
import { addressOfHost, Namespaces } from './namespaces.ts';

export interface HostDevnet {
  readonly network: Network;
  readonly nodes: readonly TestNode[];
  readonly wires: DelaySwitch;
  /** Lines of a node's log, oldest first. */
  logOf(node: TestNode): readonly LogLine[];
  /** Memory samples of a node since its last start, one sample a minute. */
  memoryOf(node: TestNode): readonly MemorySample[];
  /** @param keepsLogs whether to keep the folder with the logs of all nodes @returns the path of the kept folder */
  close(keepsLogs?: boolean): Promise<string | undefined>;
}

export interface LogLine {
  readonly timeMs: number;
  readonly level: string;
  readonly code: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const HTTP_PORT = 4000;
const WS_PORT = 5000;
const DELAY_MS = { least: 20, most: 150 };
const START_MS_MAX = 180_000;
const ANSWER_MS_MAX = 60_000;

/** Starts all nodes and waits until they answer. This process must have its own network namespace. */
export async function startHostDevnet(hosts: number, generation: 2 | 3): Promise<HostDevnet> {
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-hosts-'));
  const network = loadNetwork(packagedNetworkDirectory(generation === 2 ? 'devnet-gen2' : 'devnet'));
  const namespaces = await Namespaces.make(hosts, (host) => HTTP_PORT + host);
  const wires = await DelaySwitch.open({ hosts, delayMs });
  const plans = planDevnet({ nodes: hosts, httpPort: HTTP_PORT, wsPort: WS_PORT, directory, network });
  const ofHosts = plans.map((plan) => onHost(plan, plans));
  const nodes = ofHosts.map((plan) => nodeOn(namespaces.prefix(plan.index), plan, network));
  const close = async (keepsLogs = false): Promise<string | undefined> => {
    await Promise.all(nodes.map((node) => node.kill()));
    wires.close();
    await namespaces.close();
    if (keepsLogs) return directory;
    rmSync(directory, { recursive: true, force: true });
    return undefined;
  };
  try {
    writeDevnetFolder(directory, ofHosts, network, network);
    for (const node of nodes) node.start();
    for (const node of nodes) await waitForAnswer(node, START_MS_MAX);
  } catch (error) {
    await close();
    throw error;
  }
  return { network, nodes, wires, logOf, memoryOf, close };
}

/** The delay depends on the pair of hosts, and is the same in both directions. */
function delayMs(from: number, to: number): number {
  const [low, high] = from < to ? [from, to] : [to, from];
  const share = ((low * 7 + high * 13) % 27) / 26;
  return DELAY_MS.least + share * (DELAY_MS.most - DELAY_MS.least);
}

function onHost(plan: PlannedNode, plans: readonly PlannedNode[]): PlannedNode {
  const { index, wsPort } = plan;
  const { pool: _, ...config } = plan.config as Readonly<Record<string, unknown>>;
  const others = plans.filter((other) => other.index !== index);
  return {
    ...plan,
    config: {
      ...config,
      p2p: {
        port: wsPort,
        host: addressOfHost(index),
        fixedPeers: others.map((other) => `${addressOfHost(other.index)}:${other.wsPort}`),
      },
      log: { format: 'json' },
    },
  };
}

function nodeOn(prefix: readonly string[], plan: PlannedNode, network: Network): TestNode {
  const url = `http://127.0.0.1:${plan.httpPort}`;
  let child: ReturnType<typeof fork> | undefined;
  const isRunning = (): boolean => child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  const end = async (signal: NodeJS.Signals): Promise<string> => {
    if (child === undefined || !isRunning()) return 'not running';
    const ended = once(child, 'exit');
    child.kill(signal);
    return String(await ended);
  };
  const start = (): void => {
    const log = openSync(plan.logFile, 'a', 0o600);
    const [program = '', ...before] = prefix;
    // When this process dies, the IPC channel closes, and then the node stops. The command in `prefix` is `nsenter`,
    // which replaces itself with the node (exec). Therefore, the channel and the signals reach the node.
    child = fork(CLI_ENTRY, startArguments(plan, network.directory).slice(), {
      execPath: program,
      execArgv: [...before, process.execPath],
      stdio: ['ignore', log, log, 'ipc'],
      env: {
        ...process.env,
        ...probeEnvironment(memoryFileOf(plan)),
        BLOOMERY_SUPERVISED: '1',
        BLOOMERY_FORGING_WATERMARK_FOLDER: 'none',
      },
    });
    child.on('error', () => undefined);
    closeSync(log);
  };
  return {
    plan,
    url,
    client: nodeClient(url, ANSWER_MS_MAX),
    start,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    pause: (isPaused) => void child?.kill(isPaused ? 'SIGSTOP' : 'SIGCONT'),
    isRunning,
    pid: () => (isRunning() ? child?.pid : undefined),
  };
}

function memoryFileOf({ logFile }: PlannedNode): string {
  return `${logFile}.memory`;
}

function memoryOf({ plan, pid }: TestNode): readonly MemorySample[] {
  const now = pid();
  return readSamples(memoryFileOf(plan)).filter((sample) => sample.pid === now);
}

function logOf({ plan }: TestNode): readonly LogLine[] {
  return readFileSync(plan.logFile, 'utf8').split('\n').flatMap(lineOf);
}

function lineOf(text: string): readonly LogLine[] {
  try {
    const { time, level, code, data } = JSON.parse(text) as Record<string, unknown>;
    if (typeof time !== 'string' || typeof code !== 'string') return [];
    return [{ timeMs: Date.parse(time), level: String(level), code, data: (data ?? {}) as LogLine['data'] }];
  } catch {
    // The line is not JSON: the node printed the line before it opened its log, or died while it wrote the line.
    return [];
  }
}
