/**
 * Runs `bloomery devnet` for several minutes, with faults on every node. Each node is suspended twice for 20 s, and is
 * killed twice. The test suspends the node once with a command of the devnet, and once with a signal that the
 * supervisor does not expect. The test also kills the node once in each of these two ways. Another node joins during
 * the run. The report counts the empty slots that no outage explains. At the end, all nodes must have the same state.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { ANSWERS } from '../../src/cli/devnet/control-answers.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { messageOf } from '../../src/primitives/errors.ts';
import {
  contradictions,
  signedHeaderCount,
  waitFor,
  waitForCommonBlock,
  waitForCommonDigest,
} from '../support/devnet.ts';
import { drawFaults, gapsOf, type ChainGaps, type FaultKind, type Outage, type PlannedFault } from './devnet-faults.ts';
import { runningDevnet, type RunningDevnet } from './running-devnet.ts';

export interface DevnetRunOptions {
  readonly minutes: number;
  readonly generation: 2 | 3;
  /** Returns a random number, uniform in [0, 1). The numbers determine the times and the order of the faults. */
  readonly chance: () => number;
  readonly log: (line: string) => void;
}

export interface NodeFigures {
  readonly node: number;
  /** How often the node was suspended, and how often it was killed. */
  readonly stopped: number;
  readonly killed: number;
  /**
   * Longest time from the end of a fault until the node had the height that the other nodes had at the end of the
   * fault.
   */
  readonly backMs: number;
  readonly height: number;
  readonly blockId: string;
}

export interface DevnetRunReport extends ChainGaps {
  readonly nodes: readonly NodeFigures[];
  readonly digest: string;
  /** How often this process got no processor time for more than a second, because the machine was busy. */
  readonly machinePauses: number;
  readonly signedHeaders: number;
  readonly contradictions: readonly string[];
  readonly exitCode: number | null;
}

const NODES = 4;
const STOP_MS = 20_000;
/** Minimum time between the starts of two faults of one node. In this time, the node can recover and forge again. */
const SPACING_MS = 45_000;
/**
 * Earliest and latest time at which another node joins the devnet, as fractions of the duration of the run. The rest of
 * the run is long enough for the faults of this node.
 */
const JOIN_PART = { from: 0.1, to: 0.3 };
/** Maximum time from the command `kill` to the command `restart`. */
const DOWN_MS_MAX = 5000;
/** Time limit for a node to reach the height of the others, on a machine that is busy with other work. */
const BACK_MS_MAX = 150_000;
/**
 * If more than this time passes between two ticks of a timer, the test assumes that neither this process nor the nodes
 * got processor time.
 */
const MACHINE_PAUSE_MS = 1000;
const TICK_MS = 100;
const PAGE_BLOCKS = 100;
/** Shortest run that leaves enough time for all faults of the node that joins. */
export const DEVNET_MINUTES_MIN = 6;

/** @throws Error with the first failed check and the last lines of the nodes' logs */
export async function runDevnetWithFaults(options: DevnetRunOptions): Promise<DevnetRunReport> {
  const devnet = await runningDevnet(NODES, ['--generation', `${options.generation}`]);
  try {
    return await new DevnetRun(devnet, options).run();
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${devnet.lastWords(NODES + 1)}`, { cause: error });
  } finally {
    await devnet.close();
  }
}

class DevnetRun {
  readonly #devnet: RunningDevnet;
  readonly #options: DevnetRunOptions;
  readonly #startedMs = Date.now();
  readonly #broken = new AbortController();
  readonly #outages: Outage[] = [];
  readonly #figures = new Map<number, { stopped: number; killed: number; backMs: number }>();
  #machinePauses = 0;

  constructor(devnet: RunningDevnet, options: DevnetRunOptions) {
    this.#devnet = devnet;
    this.#options = options;
  }

  async run(): Promise<DevnetRunReport> {
    const { minutes, generation, chance } = this.#options;
    const network = loadNetwork(packagedNetworkDirectory(generation === 2 ? 'devnet-gen2' : 'devnet'));
    const runMs = minutes * 60_000;
    const watch = this.#watchMachine();
    try {
      const atWork = Array.from({ length: NODES }, (_, index) => {
        return this.#troubled(index, drawFaults({ fromMs: 0, toMs: runMs }, SPACING_MS, chance));
      });
      const joinMs = runMs * (JOIN_PART.from + chance() * (JOIN_PART.to - JOIN_PART.from));
      const joining = this.#join(joinMs, drawFaults({ fromMs: joinMs + SPACING_MS, toMs: runMs }, SPACING_MS, chance));
      await Promise.all([...atWork, joining, this.#until(runMs)]);
    } finally {
      clearInterval(watch);
      this.#broken.abort();
    }
    const all = Array.from({ length: NODES + 1 }, (_, index) => ({ client: this.#devnet.client(index) }));
    const digest = await waitForCommonDigest(all, BACK_MS_MAX);
    const { height } = await this.#devnet.client(0).digest();
    const blockId = await waitForCommonBlock(all, height, BACK_MS_MAX);
    const { epochMs, blockTimeS } = network.params;
    const times = (await this.#timestamps()).map((timestamp) => epochMs + timestamp * 1000);
    const places = all.map((_, index) => ({ plan: { directory: `${this.#devnet.directory}/node-${index}` } }));
    const signing = { network, nodes: places };
    return {
      ...gapsOf(times, blockTimeS * 1000, this.#outages),
      nodes: all.map((_, node) => ({ node, ...this.#figuresOf(node), height, blockId })),
      digest,
      machinePauses: this.#machinePauses,
      signedHeaders: signedHeaderCount(signing),
      contradictions: contradictions(signing),
      exitCode: await this.#devnet.stop(),
    };
  }

  /** @throws the first failure of the run, as soon as one of the nodes has failed */
  async #until(atMs: number): Promise<void> {
    const leftMs = Math.max(0, this.#startedMs + atMs - Date.now());
    const { signal } = this.#broken;
    await sleep(leftMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }

  async #join(atMs: number, faults: readonly PlannedFault[]): Promise<void> {
    await this.#orBreak(async () => {
      await this.#until(atMs);
      const { index } = ANSWERS.node.read(await this.#devnet.command('add'));
      if (index !== NODES) throw new Error(`the further node is ${index} and not ${NODES}`);
      const backMs = await this.#back(index);
      this.#log(`node ${index} joined and had the others' height after ${backMs} ms`);
    });
    await this.#troubled(NODES, faults);
  }

  async #troubled(index: number, faults: readonly PlannedFault[]): Promise<void> {
    await this.#orBreak(async () => {
      for (const { kind, atMs } of faults) {
        await this.#until(atMs);
        await this.#trouble(index, kind);
      }
    });
  }

  /** Runs `work`, which is the task of one node. If `work` throws an error, the run ends for all nodes. */
  async #orBreak(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // If several nodes fail, the run ends with the first failure. A later call of `abort` does not change the reason.
      this.#broken.abort(error);
      throw this.#broken.signal.reason;
    }
  }

  async #trouble(index: number, kind: FaultKind): Promise<void> {
    const fromMs = Date.now();
    await this.#inflict(index, kind);
    const backMs = await this.#back(index);
    this.#outages.push({ fromMs, toMs: Date.now() });
    const figures = this.#figuresOf(index);
    const isStop = kind === 'pause' || kind === 'stop';
    this.#figures.set(index, {
      stopped: figures.stopped + (isStop ? 1 : 0),
      killed: figures.killed + (isStop ? 0 : 1),
      backMs: Math.max(figures.backMs, backMs),
    });
    this.#log(`node ${index}: ${kind}, back after ${backMs} ms`);
  }

  /** Resolves when the fault is over. At that time, the node perhaps still lacks blocks that the other nodes have. */
  async #inflict(index: number, kind: FaultKind): Promise<void> {
    const { command } = this.#devnet;
    if (kind === 'pause') {
      await command('pause', `${index}`);
      await sleep(STOP_MS);
      await command('resume', `${index}`);
    } else if (kind === 'kill') {
      await command('kill', `${index}`);
      await sleep(this.#options.chance() * DOWN_MS_MAX);
      await command('restart', `${index}`);
    } else {
      const pid = await this.#pidOf(index);
      process.kill(pid, kind === 'stop' ? 'SIGSTOP' : 'SIGKILL');
      if (kind === 'stop') {
        await sleep(STOP_MS);
        process.kill(pid, 'SIGCONT');
      } else {
        const isAnother = async () => ![undefined, pid].includes((await this.#rowOf(index))?.pid);
        await waitFor(`restart of node ${index}`, isAnother, BACK_MS_MAX, this.#devnet.lost);
      }
    }
  }

  /** Waits until the node has the greatest height that the other nodes have now. Returns the waiting time in ms. */
  async #back(index: number): Promise<number> {
    const startedMs = Date.now();
    const heights = await Promise.all(
      Array.from({ length: NODES }, async (_, other) => {
        const state =
          other === index
            ? undefined
            : await this.#devnet
                .client(other)
                .status()
                .catch(() => undefined);
        return state?.height ?? 0;
      }),
    );
    const goal = Math.max(...heights);
    const hasIt = async () => (await this.#devnet.client(index).status()).height >= goal;
    await waitFor(`node ${index} at height ${goal}`, hasIt, BACK_MS_MAX, this.#devnet.lost);
    return Date.now() - startedMs;
  }

  async #rowOf(index: number) {
    return (await this.#devnet.nodes()).find((row) => row.index === index);
  }

  async #pidOf(index: number): Promise<number> {
    const pid = (await this.#rowOf(index))?.pid;
    if (pid === undefined) throw new Error(`node ${index} has no process`);
    return pid;
  }

  #figuresOf(index: number): { stopped: number; killed: number; backMs: number } {
    return this.#figures.get(index) ?? { stopped: 0, killed: 0, backMs: 0 };
  }

  /** A period in which this process got no processor time counts as an outage of all nodes. */
  #watchMachine(): NodeJS.Timeout {
    let lastMs = Date.now();
    return setInterval(() => {
      const nowMs = Date.now();
      if (nowMs - lastMs > MACHINE_PAUSE_MS) {
        this.#machinePauses += 1;
        this.#outages.push({ fromMs: lastMs, toMs: nowMs });
      }
      lastMs = nowMs;
    }, TICK_MS);
  }

  /** Returns the timestamps of all blocks except the genesis block, in seconds since the epoch of the network. */
  async #timestamps(): Promise<readonly number[]> {
    const found: number[] = [];
    for (;;) {
      const query = `sort=height:asc&limit=${PAGE_BLOCKS}&offset=${found.length + 1}`;
      const response = await fetch(`${this.#devnet.url(0)}/api/blocks?${query}`);
      if (!response.ok) throw new Error(`the blocks of node 0 cannot be read: status ${response.status}`);
      const { data } = (await response.json()) as { readonly data: readonly { readonly timestamp: number }[] };
      found.push(...data.map(({ timestamp }) => timestamp));
      if (data.length < PAGE_BLOCKS) return found;
    }
  }

  #log(line: string): void {
    this.#options.log(`${Math.round((Date.now() - this.#startedMs) / 1000)} s: ${line}`);
  }
}
