/**
 * Runs nodes under load on simulated hosts, with long delays between the hosts. Three events happen during the run.
 * First, a region (a group of nodes) is cut off for some time. Then a node is killed and restarted. Then another node
 * is cut off alone for some time. Every accepted transaction must get into a block. The cause of each empty slot must
 * be one of the three events, and the nodes must explain the slot correctly. The run fails if a node penalises another
 * node.
 */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../src/primitives/errors.ts';
import {
  waitFor,
  waitForAnswer,
  waitForCommonBlock,
  waitForCommonDigest,
  highestHeight,
} from '../../support/devnet.ts';
import type { TestNode } from '../../support/devnet.ts';
import { MachineWatch } from '../../support/machine.ts';
import { isConfirmed, postTransaction, transfer } from '../transfers.ts';
import { wrongsOf } from '../wrongs.ts';
import { startHostDevnet, type HostDevnet } from './host-devnet.ts';
import { chainOf, explain, type Event, type Explained, growthMb, type Header, lateness, missedIn } from './judge.ts';

export interface HostsOptions {
  readonly hosts: number;
  readonly minutes: number;
  readonly perSecond: number;
  readonly generation: 2 | 3;
  readonly log: (line: string) => void;
}

/**
 * Number of the newest blocks that `explainNew` skips, because it is possible that a reorg still reverts these blocks.
 * The next call, if there is one, examines the skipped blocks.
 */
const SETTLED_BLOCKS = 5;
const REASON_CHARACTERS_MAX = 600;
/**
 * Start and end of each event, as fractions of the run. No event happens in the second half of the run, in which
 * `growthMb` measures the memory.
 */
const PARTS = { cut: [0.06, 0.18], killed: [0.24, 0.28], alone: [0.34, 0.42] } as const;
/** Share of the nodes that are in the region that the run cuts off. */
const REGION = 0.3;
const START_MS_MAX = 180_000;
const CONFIRM_MS_MAX = 240_000;
/**
 * Time after the end of a cut during which the effects of the cut are perhaps still visible. A node closes a stalled
 * connection after 20 s, and dials the peer again within 10 s.
 */
const AFTER_CUT_MS = 45_000;
/**
 * Time after the restart of a killed node during which the effects of the kill are perhaps still visible. A restarted
 * node signs only after peers have reported their tips.
 */
const AFTER_KILL_MS = 30_000;
/**
 * Number of accounts that receive transfers. The number is low, so that memory stays flat. With a new account for each
 * transfer, the account cache would grow for three hours until it is full.
 */
const RECIPIENTS = 300;
const LOOKS_AT_ONCE = 8;
/** Maximum number of memory reports in a run. A run prints at most one report each minute. */
const MEMORY_REPORTS = 20;
/** Shortest run in which a growth of memory counts as a fault. A shorter measurement is not reliable. */
const MEMORY_MINUTES_MIN = 60;
const GROWTH_MB_MAX = 3;

/** @returns a text for each failed check; empty if all checks pass */
export async function runHosts(options: HostsOptions): Promise<readonly string[]> {
  const devnet = await startHostDevnet(options.hosts, options.generation);
  let isWell = false;
  try {
    const wrongs = await runOn(devnet, options);
    isWell = wrongs.length === 0;
    return wrongs;
  } catch (error) {
    for (const line of await statesOf(devnet.nodes)) options.log(line);
    throw error;
  } finally {
    const directory = await devnet.close(!isWell);
    if (directory !== undefined) options.log(`the logs are in ${directory}`);
  }
}

/** @returns a line for each node: its status, or the reason why the node did not answer */
function statesOf(nodes: readonly TestNode[]): Promise<readonly string[]> {
  return Promise.all(
    nodes.map(async ({ client, plan }) => {
      const status = await client.status().catch((error: unknown) => messageOf(error));
      return `node ${plan.index}: ${JSON.stringify(status)}`;
    }),
  );
}

async function runOn(devnet: HostDevnet, options: HostsOptions): Promise<readonly string[]> {
  const { hosts, minutes, log } = options;
  const { nodes } = devnet;
  const machine = new MachineWatch({ countsLoad: false });
  await waitForCommonBlock(nodes, 3, START_MS_MAX);
  await waitFor('connections of all with all', async () => await areAllConnected(nodes), START_MS_MAX);
  const fromHeight = await highestHeight(nodes);
  log(`${hosts} nodes run, at height ${fromHeight}`);

  const endMs = Date.now() + minutes * 60_000;
  const slots = new UnusedSlots(devnet, fromHeight);
  const [events, accepted] = await Promise.all([
    happen(devnet, options, endMs, slots),
    load(devnet, options, endMs),
    reportMemory(devnet, options, endMs),
  ]);
  const memory = nodes.map((node) => devnet.memoryOf(node));
  const lost = await unconfirmed(nodes, accepted);
  const digest = await waitForCommonDigest(nodes, CONFIRM_MS_MAX);
  log(
    `${accepted.length - lost.size} of ${accepted.length} transactions in blocks, all nodes have the state ${digest}`,
  );

  const explained = await slots.explainNew(events);
  const outside = explained.filter((each) => each.events.length === 0);
  const wrong = explained.filter(({ isRight }) => !isRight);
  log(`${explained.length} slots passed unused, ${outside.length} without a cause, ${wrong.length} explained wrongly`);
  for (const each of [...explained.slice(0, 3), ...wrong.slice(0, 10)])
    log(`  slot ${each.slot} (${each.events.join(', ')}): ${each.reasons.join(' | ').slice(0, REASON_CHARACTERS_MAX)}`);

  const times = lateness(devnet, slots.headers, events);
  const isQuick = await machine.wasQuick();
  log(
    `of ${times.blocks} blocks 99 % came within ${times.p99Ms} ms of their moment, the last after ${times.worstMs} ms`,
  );
  for (const { slot, lateMs } of times.late) log(`  the block of slot ${slot} came ${lateMs} ms late`);
  const growths = memory.map((samples) => growthMb(samples));
  log(`objects of each node grew by ${growths.map((mb) => mb.toFixed(1)).join(', ')} MB in the last quarter`);
  const wrongs = await wrongsOf(nodes);
  log(`frames without room at the switch: ${devnet.wires.dropped}`);

  const isHour = minutes >= MEMORY_MINUTES_MIN;
  const grown = growths.filter((mb) => mb > GROWTH_MB_MAX).length;
  if (!isQuick) log('the machine had other work to do: times of blocks are not judged');
  return [
    ...[...lost].map((id) => `transaction ${id} is in no block`),
    ...outside.map(({ slot }) => `slot ${slot} passed unused without a reason`),
    ...wrong.map(({ slot }) => `why missed is wrong of slot ${slot}`),
    ...Object.entries(wrongs).map(([figure, value]) => `${figure}: ${value}`),
    ...(isQuick ? times.late.map(({ slot, lateMs }) => `the block of slot ${slot} came ${lateMs} ms late`) : []),
    ...(isHour && grown > 0 ? [`the memory of ${grown} nodes grew by more than ${GROWTH_MB_MAX} MB`] : []),
  ];
}

/**
 * Collects the slots without a block, with the reasons that the nodes give. `happen` calls `explainNew` after each
 * event, because a node keeps records of at most 1,000 slots.
 */
class UnusedSlots {
  readonly #devnet: HostDevnet;
  readonly headers: Header[] = [];
  readonly #explained: Explained[] = [];
  #fromHeight: number;

  constructor(devnet: HostDevnet, fromHeight: number) {
    this.#devnet = devnet;
    this.#fromHeight = fromHeight;
  }

  /** Examines the slots since the previous call. @returns the empty slots of all calls */
  async explainNew(events: readonly Event[]): Promise<readonly Explained[]> {
    const [, node] = this.#devnet.nodes;
    if (node === undefined) throw new Error('there is one node alone');
    const headers = await chainOf(node, this.#devnet.network.params, this.#fromHeight);
    const settled = headers.slice(0, -SETTLED_BLOCKS);
    for (const slot of missedIn(settled)) this.#explained.push(await explain(this.#devnet, slot, events));
    this.headers.push(...(this.headers.length > 0 ? settled.slice(1) : settled));
    this.#fromHeight = settled.at(-1)?.height ?? this.#fromHeight;
    return this.#explained;
  }
}

async function areAllConnected(nodes: readonly TestNode[]): Promise<boolean> {
  const counts = await Promise.all(nodes.map((node) => node.client.connectedPeers()));
  return counts.every((count) => count === nodes.length - 1);
}

async function happen(
  { nodes, wires }: HostDevnet,
  { minutes, hosts, log }: HostsOptions,
  endMs: number,
  slots: UnusedSlots,
): Promise<readonly Event[]> {
  const startMs = endMs - minutes * 60_000;
  const wait = (ms: number): Promise<void> => sleep(Math.max(0, ms));
  const atPart = (part: number): number => startMs + part * minutes * 60_000;
  const lengthOf = ([from, to]: readonly [number, number]): number => (to - from) * minutes * 60_000;
  const events: Event[] = [];
  const record = async (event: Omit<Event, 'toMs' | 'overMs'>, afterMs: number): Promise<void> => {
    const toMs = Date.now();
    events.push({ ...event, toMs, overMs: toMs + afterMs });
    log(`${event.name}: ${Math.round((toMs - event.fromMs) / 1000)} s`);
    await wait(afterMs);
    await slots.explainNew(events);
  };
  const cutOff = async (name: string, of: readonly number[], part: readonly [number, number]): Promise<void> => {
    await wait(atPart(part[0]) - Date.now());
    const fromMs = Date.now();
    wires.cut(of);
    await wait(lengthOf(part));
    wires.heal();
    await record({ kind: 'cut', name, nodes: of, fromMs }, AFTER_CUT_MS);
  };

  const region = Array.from({ length: Math.max(1, Math.round(hosts * REGION)) }, (_, node) => node + 1);
  await cutOff(`nodes ${region.join(', ')} cut off`, region, PARTS.cut);

  await wait(atPart(PARTS.killed[0]) - Date.now());
  const victim = nodes[hosts - 1];
  if (victim === undefined) throw new Error('there is no node to kill');
  const fromMs = Date.now();
  await victim.kill();
  await wait(lengthOf(PARTS.killed));
  victim.start();
  await waitForAnswer(victim, START_MS_MAX);
  await record({ kind: 'killed', name: `node ${hosts - 1} killed`, nodes: [hosts - 1], fromMs }, AFTER_KILL_MS);

  await cutOff('node 0 alone', [0], PARTS.alone);
  return events;
}

/** @returns ids of accepted transactions */
async function load(
  { nodes, network }: HostDevnet,
  { perSecond, minutes, log }: HostsOptions,
  endMs: number,
): Promise<readonly string[]> {
  const accepted: string[] = [];
  const startMs = endMs - minutes * 60_000;
  for (let number = 0; Date.now() < endMs; number += 1) {
    await sleep(Math.max(0, startMs + (number / perSecond) * 1000 - Date.now()));
    const running = nodes.filter((node) => node.isRunning());
    const node = running[number % running.length];
    if (node === undefined) continue;
    const transaction = transfer(network, number, RECIPIENTS);
    const isAccepted = await postTransaction(node.url, network, transaction).then(
      () => true,
      // If the node was killed during the request, or is not up yet, the transaction counts as not accepted.
      (error: unknown) => {
        if (node.isRunning() && String(error).includes('refused')) throw error;
        return false;
      },
    );
    if (isAccepted) accepted.push(transaction.id);
    if (number % (perSecond * 60) === 0) log(`${accepted.length} transactions accepted`);
  }
  return accepted;
}

async function unconfirmed(nodes: readonly TestNode[], accepted: readonly string[]): Promise<ReadonlySet<string>> {
  const waiting = new Set(accepted);
  const [node] = nodes;
  if (node === undefined) throw new Error('there is no node');
  const look = async (id: string): Promise<void> => {
    if (await isConfirmed(node.url, id)) waiting.delete(id);
  };
  const isDone = async (): Promise<boolean> => {
    const ids = [...waiting];
    while (ids.length > 0) await Promise.all(ids.splice(0, LOOKS_AT_ONCE).map(look));
    return waiting.size === 0;
  };
  await waitFor('all transactions in blocks', isDone, CONFIRM_MS_MAX).catch(() => undefined);
  return waiting;
}

/** At intervals, prints two values for each node: the memory of live objects, and the process's unshared memory. */
async function reportMemory(devnet: HostDevnet, { minutes, log }: HostsOptions, endMs: number): Promise<void> {
  const reportMs = Math.max(60_000, (minutes * 60_000) / MEMORY_REPORTS);
  const startMs = Date.now();
  for (let report = 1; startMs + report * reportMs < endMs; report += 1) {
    await sleep(startMs + report * reportMs - Date.now());
    const each = devnet.nodes.map((node) => {
      const used = devnet.memoryOf(node).at(-1)?.bytes;
      return `${mbText(used)} of ${mbText(residentBytes(node.pid()))}`;
    });
    log(`memory in use after ${Math.round((report * reportMs) / 60_000)} minutes: ${each.join(', ')} MB`);
  }
}

function mbText(bytes: number | undefined): string {
  return bytes === undefined ? '-' : (bytes / 2 ** 20).toFixed(1);
}

function residentBytes(pid: number | undefined): number | undefined {
  try {
    // The file `statm` contains numbers of pages of 4 KiB. The result excludes shared pages, such as pages of the
    // mapped chain.
    const [, resident = 0, shared = 0] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ').map(Number);
    return (resident - shared) * 4096;
  } catch {
    return undefined;
  }
}
